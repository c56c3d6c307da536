#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: packages.sh [PACKAGE...]
#
# Installs what the lab needs and is missing, if we are root; else names it.
# Without arguments: what boots need. qemu emulates, xen-utils is dom0's
# toolstack, the rest builds Xen.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

[ "${1:-}" != --help ] || show_help
[ $# -gt 0 ] || set -- qemu-system-x86 xen-utils-4.17 xenstore-utils gcc libc6-dev libxen-dev make bison flex \
    python3 git patch dpkg-dev binutils xz-utils
[ "$(uname -m)" = x86_64 ] || die "the lab needs an x86-64 machine"
command -v apt-get >/dev/null || die "the lab needs Debian (12, bookworm): there is no apt-get here"

missing=()
for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || die "these packages are missing; as root: apt-get install ${missing[*]}"

export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
