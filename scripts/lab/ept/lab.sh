#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: lab.sh [--load] XEN
#
# The lab's EPT stage: boots the hypervisor image XEN under Debian's Bochs twice,
# with batching (the default of the queue) and without, runs xfpaths unmap in a PVH
# dom0, and checks both traces. --load does the same with the network load, which
# takes some times longer. Results in $LAB/run/ept-*; a boot whose input is the same
# as before is kept. LAB_JOBS=1 boots one after the other. A boot takes 1.5 GB.
#
# Exit status: 0 all checks hold, 1 one does not or a boot failed, 2 usage,
# 77 skipped: Bochs is not there and cannot be installed.
set -euo pipefail
ept_scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../common.sh
. "$ept_scripts/../common.sh"

packages=(bochs bochs-term bochsbios vgabios grub-pc-bin grub-common xorriso mtools gcc libc6-dev python3)
kind=programs
case ${1:-} in
-h | --help) show_help ;;
--load)
    kind=load
    shift
    ;;
esac
[ $# -eq 1 ] || usage_error "one hypervisor image is needed"
xen=$1
[ -s "$xen" ] || die "$xen is missing"

"$ept_scripts/../packages.sh" "${packages[@]}" >&2 || {
    echo "EPT skipped: not all packages are there: ${packages[*]}"
    exit 77
}

if [ $kind = load ]; then
    options=(--steps=load --set=secs=10 --set=tracesecs=1)
else
    options=(--steps=programs --set=programs=unmap)
fi

key=$( (
    hash_of "$xen" "$LAB/initramfs/dom0.cpio" "$LAB/kernel/vmlinux" "$ept_scripts"
    versions_of "${packages[@]}"
    echo "${options[*]}"
) | sha256sum | cut -c1-16)

# boot ARM [XEN-OPTION...]: unless that very boot is there.
boot() {
    local arm=$1 name=ept-$kind-$1
    shift
    if [ "$(cat "$LAB/run/$name/key" 2>/dev/null)" = "$key" ]; then
        echo "$arm: kept"
        return
    fi
    "$ept_scripts/run.sh" "${options[@]}" "$xen" "$name" "$@" || return
    echo "$key" >"$LAB/run/$name/key"
}

# check ARM: the trace by its bytes, then the same trace through the database.
check() {
    local arm=$1 run=$LAB/run/ept-$kind-$1 others
    echo "$arm:"
    "$ept_scripts/check.py" "$arm" "$run/out/trace.bin" || return
    [ -x "$project/xenflush" ] || return 0
    "$project/xenflush" import --quiet --force --label="EPT, $arm" "$run/out/trace.bin" -o "$run/trace.db" || return
    "$project/xenflush" report "$run/trace.db" | sed -n '/^operations/,/^avoided/p'
    # All guest TLB flushes are of kind 1, EPT, in the database too.
    others=$("$project/xenflush" query "$run/trace.db" --no-headers \
        'SELECT (SELECT count(*) FROM tlb_flush WHERE kind <> 1) + (SELECT count(*) FROM tlb_deferred WHERE kind <> 1)')
    [ "$others" -eq 0 ] || {
        echo "the database has $others guest TLB flushes of other kinds than EPT"
        return 1
    }
}

if [ "${LAB_JOBS:-$(nproc)}" -gt 1 ]; then
    boot batched &
    batched=$!
    boot baseline gnttab=no-unmap-batch && status=0 || status=$?
    wait $batched || status=$?
else
    boot batched && boot baseline gnttab=no-unmap-batch && status=0 || status=$?
fi
[ "$status" -eq 0 ] || exit "$([ "$status" -eq 77 ] && echo 77 || echo 1)"

failed=0
for arm in baseline batched; do
    check $arm || failed=1
done
exit $failed
