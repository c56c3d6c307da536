#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: fetch-xen.sh OUTDIR
#
# Debian's Xen source, unpacked into OUTDIR/xen, its version in OUTDIR/version.
# XEN_SOURCE=DIR takes a copy of that tree instead. The newest version that the
# index lists may be gone from the mirror already, or not be there yet: then the
# next one is taken. XEN_VERSION=PREFIX (default: that of the toolstack, 4.17)
# tells which to look for.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=apt.sh
. "$lab_scripts/apt.sh"

case ${1:-} in
-h | --help) show_help ;;
'') usage_error "no directory given" ;;
esac
out=$1
mkdir -p "$out"

if [ -n "${XEN_SOURCE:-}" ]; then
    [ -f "$XEN_SOURCE/xen/Makefile" ] || die "XEN_SOURCE=$XEN_SOURCE is no Xen tree"
    cp -a "$XEN_SOURCE" "$out/xen"
    git -C "$XEN_SOURCE" describe --always --dirty >"$out/version" 2>/dev/null ||
        echo "a tree given" >"$out/version"
    exit 0
fi

private_apt_update
prefix=${XEN_VERSION:-4.17}
versions=$(private_apt apt-cache showsrc xen |
    awk -v prefix="$prefix" '$1 == "Version:" && index($2, prefix) == 1 { print $2 }' | sort -Vru)
[ -n "$versions" ] || die "no source of Xen $prefix in the index: is XEN_VERSION right?"

cd "$out"
for version in $versions; do
    echo "trying xen $version"
    if private_apt apt-get source --download-only "xen=$version"; then
        dpkg-source --no-check -x xen_*.dsc xen
        echo "$version" >version
        exit 0
    fi
    rm -f xen_*
done
die "the mirror has none of Xen's sources that its index lists: ${versions//$'\n'/, }"
