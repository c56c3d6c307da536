#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: build-xen.sh [--debug] [--copy] TREE OUTDIR [MAKE-ARGUMENT...]
#
# Builds the hypervisor of TREE, and nothing else, with Debian's configuration
# when the tree has it; OUTDIR gets xen and xen-syms. Time, host and user are fixed,
# so that an equal tree gives an equal image, whose boots are then equal too.
#
#   --debug   with assertions (CONFIG_DEBUG; make's debug=y is without effect)
#   --copy    builds in OUTDIR, TREE stays as it is; else a later build of TREE
#             makes only what has changed
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

debug=n copy=no
while [ $# -gt 0 ]; do
    case $1 in
    --debug) debug=y ;;
    --copy) copy=yes ;;
    -h | --help) show_help ;;
    -*) usage_error "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -ge 2 ] || usage_error "a tree and a directory are needed"
tree=$1 out=$2
shift 2
[ -f "$tree/xen/Makefile" ] || die "$tree is no Xen tree"
case " $* " in
*" debug="*) usage_error "debug= is without effect, take --debug" ;;
esac
mkdir -p "$out"
if [ $copy = yes ]; then
    cp -a "$tree" "$out/build"
    tree=$out/build
fi

config=$tree/xen/.config
if [ ! -f "$config" ] && [ -f "$tree/debian/xen-kconfig" ]; then
    cp "$tree/debian/xen-kconfig" "$config"
fi
touch "$config"
sed -i '/CONFIG_DEBUG[= ]/d' "$config"
echo "CONFIG_DEBUG=$debug" >>"$config"

arguments=(XEN_TARGET_ARCH=x86_64 XEN_BUILD_DATE="Thu Jan 1 00:00:00 UTC 2026"
    XEN_BUILD_TIME=00:00:00 XEN_BUILD_HOST=lab XEN_DOMAIN=lab XEN_WHOAMI=lab
    EXTRA_CFLAGS_XEN_CORE="-ffile-prefix-map=$(cd "$tree" && pwd -P)=." "$@")
make -C "$tree/xen" "${arguments[@]}" olddefconfig
make -C "$tree/xen" "${arguments[@]}" -j"$(nproc)"

grep -q "^CONFIG_DEBUG=y" "$config" && built=y || built=n
[ "$built" = "$debug" ] || die "the configuration has CONFIG_DEBUG=$built, wanted was $debug"
cp "$tree/xen/xen" "$tree/xen/xen-syms" "$out/"
[ $copy = no ] || rm -r "${out:?}/build"
