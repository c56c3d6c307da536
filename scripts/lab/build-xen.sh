#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: build-xen.sh TREE OUTDIR [MAKE-ARGUMENT...]
#
# Builds the hypervisor of TREE, and nothing else, with Debian's configuration
# when the tree has it; OUTDIR gets xen and xen-syms. MAKE-ARGUMENT is for Xen's
# make, debug=y for instance. Time, host and user are fixed, so that an equal
# tree gives an equal image, whose boots are then equal too.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) show_help ;;
esac
[ $# -ge 2 ] || usage_error "a tree and a directory are needed"
tree=$1 out=$2
shift 2
[ -f "$tree/xen/Makefile" ] || die "$tree is no Xen tree"
mkdir -p "$out"

arguments=(XEN_TARGET_ARCH=x86_64 XEN_BUILD_DATE="Thu Jan 1 00:00:00 UTC 2026"
    XEN_BUILD_TIME=00:00:00 XEN_BUILD_HOST=lab XEN_DOMAIN=lab XEN_WHOAMI=lab
    EXTRA_CFLAGS_XEN_CORE="-ffile-prefix-map=$(cd "$tree" && pwd -P)=." debug=n "$@")

if [ ! -f "$tree/xen/.config" ] && [ -f "$tree/debian/xen-kconfig" ]; then
    cp "$tree/debian/xen-kconfig" "$tree/xen/.config"
fi
make -C "$tree/xen" "${arguments[@]}" olddefconfig
make -C "$tree/xen" "${arguments[@]}" -j"$(nproc)"
cp "$tree/xen/xen" "$tree/xen/xen-syms" "$out/"
