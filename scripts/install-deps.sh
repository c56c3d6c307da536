#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs what is missing on Debian, if we are root; else says what to install.
# usage: install-deps.sh run|test
set -eu

packages="gcc make pkg-config libsqlite3-dev gnuplot-nox fonts-dejavu-core"
if [ "${1:-run}" = test ]; then
    packages="$packages python3 sqlite3 libcmocka-dev shellcheck mandoc libxen-dev"
fi

missing=
for package in $packages; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "xenflush: these packages are missing; as root: apt-get install$missing" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
# shellcheck disable=SC2086 # a list of words
apt-get install -y -q --no-install-recommends $missing >/dev/null
