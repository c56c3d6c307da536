#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: fetch-kernel.sh OUTDIR
#
# Debian's kernel and a static busybox, unpacked and not installed: OUTDIR/vmlinux,
# OUTDIR/modules/, OUTDIR/busybox, and OUTDIR/version. An uncompressed kernel,
# because decompressing takes long under emulation.
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
cd "$out"

[ -s "$apt_dir/sources.list" ] || private_apt_update
kernel=$(private_apt apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
[ -n "$kernel" ] || die "the index has no linux-image-amd64"
private_apt apt-get download "$kernel" busybox-static

dpkg-deb -x linux-image-*.deb kernel
dpkg-deb -x busybox-static_*.deb busybox.d
python3 "$lab_scripts/vmlinux.py" kernel/boot/vmlinuz-* vmlinux
mv kernel/lib/modules/* modules
cp busybox.d/bin/busybox busybox
for package in ./*.deb; do
    dpkg-deb --show "$package"
done >version
rm -rf kernel busybox.d ./*.deb
