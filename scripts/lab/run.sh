#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: run.sh [OPTION...] NAME [XEN-OPTION...]
#
# Boots a Xen with a PVH dom0 under QEMU, runs steps in dom0, and leaves in
# $LAB/run/NAME what they made (out/, trace.bin among it), serial.log, and with
# --watch-iommu the emulated IOMMU's own account, iommu.log. XEN-OPTIONs go to
# Xen's command line.
#
#   --xen=IMAGE         what to boot (default: the lab's build of the queue)
#   --initramfs=FILE    dom0's (default: the lab's)
#   --vmlinux=FILE      dom0's kernel (default: the lab's)
#   --out=DIR           results there instead of $LAB/run/NAME
#   --iommu=amd|vtd     which IOMMU is emulated (amd)
#   --cpus=N            physical CPUs (3: two for dom0, one for the guest)
#   --seed=N            of the emulation's random numbers (7)
#   --steps=A,B         steps of dom0 (load); they are dom0/*.sh
#   --set=KEY=VALUE     a parameter of a step, lab.KEY=VALUE
#   --mask=MASK         of xentrace (0x0080c000)
#   --watch-iommu       record QEMU's trace events of the IOMMU model
#   --limit=SECONDS     wall time that the run may take (600)
#
# Exit status: 0 the steps succeeded, 1 they did not, 2 usage, 3 stalled or out
# of time, 4 Xen or Linux crashed.
#
# The emulation counts instructions instead of time (-icount), so that a run with
# equal input is equal in every record, on any machine and under any load.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

xen=$LAB/xen/xen
initramfs=$LAB/initramfs/dom0.cpio
vmlinux=$LAB/kernel/vmlinux
iommu=amd cpus=3 seed=${SEED:-7} steps=load mask=0x0080c000 limit=600
out='' watch=no settings=()
while [ $# -gt 0 ]; do
    case $1 in
    --xen=*) xen=${1#*=} ;;
    --initramfs=*) initramfs=${1#*=} ;;
    --vmlinux=*) vmlinux=${1#*=} ;;
    --out=*) out=${1#*=} ;;
    --iommu=*) iommu=${1#*=} ;;
    --cpus=*) cpus=${1#*=} ;;
    --seed=*) seed=${1#*=} ;;
    --steps=*) steps=${1#*=} ;;
    --set=*) settings+=("lab.${1#*=}") ;;
    --mask=*) mask=${1#*=} ;;
    --watch-iommu) watch=yes ;;
    --limit=*) limit=${1#*=} ;;
    -h | --help) show_help ;;
    -*) usage_error "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -ge 1 ] || usage_error "no name given"
name=$1
shift
out=${out:-$LAB/run/$name}

case $iommu in
amd)
    device=amd-iommu
    iommu_option=iommu=verbose
    events=(amdvi_command_exec amdvi_pages_inval amdvi_all_inval)
    ;;
vtd)
    # The emulated CPU makes Xen believe that EPT tables can be shared.
    device=intel-iommu
    iommu_option=iommu=verbose,no-sharept
    events=(vtd_inv_desc_iotlb_global vtd_inv_desc_iotlb_domain vtd_inv_desc_iotlb_pages)
    ;;
*) usage_error "--iommu is amd or vtd" ;;
esac
for file in "$xen" "$initramfs" "$vmlinux"; do
    [ -s "$file" ] || die "$file is missing: make lab-prepare makes it, or name another"
done

rm -rf "$out"
mkdir -p "$out/boot"
out=$(cd "$out" && pwd)
# QEMU hands the file names to the guest: the same short ones everywhere, or the
# place of the work directory would change the run.
ln -s "$(realpath "$xen")" "$out/boot/xen"
ln -s "$(realpath "$vmlinux")" "$out/boot/vmlinux"
ln -s "$(realpath "$initramfs")" "$out/boot/dom0.cpio"

dom0_cpus=$((cpus > 1 ? 2 : 1))
xen_options=("com1=115200,8n1" console=com1 dom0=pvh "dom0_mem=768M,max:768M"
    "dom0_max_vcpus=$dom0_cpus" dom0_vcpus_pin loglvl=all guest_loglvl=all noreboot=1
    "$iommu_option" "$@")
# A comma would end the module in QEMU's -initrd; QEMU takes two for one.
linux_options=(console=hvc0 loglevel=4 mitigations=off tsc=reliable
    # Self-tests and certificates would be a large part of Linux' boot.
    cryptomgr.notests=1 initcall_blacklist=load_system_certificate_list "lab.steps=${steps//,/,,}"
    "lab.mask=$mask" "lab.guestcpu=$((cpus - 1))" "${settings[@]//,/,,}")

qemu=(qemu-system-x86_64
    -machine "q35,kernel-irqchip=split,memory-backend=ram" -accel "tcg,thread=single"
    # The features taken away break under emulation, or are slow there.
    -cpu "EPYC,+svm,+npt,-monitor,-rdtscp,-xsave,-avx,-avx2,-f16c,-fma"
    -smp "$cpus" -m 2G -object "memory-backend-memfd,id=ram,size=2G,share=on" -nodefaults -display none -no-reboot
    -icount "shift=0,sleep=off" -rtc "base=2026-01-01,clock=vm" -seed "$seed"
    -device "$device,intremap=on"
    -object "memory-backend-file,id=results,size=64M,mem-path=$out/bar,share=on"
    -device "ivshmem-plain,memdev=results"
    -serial "file:$out/serial.log"
    -kernel xen -append "${xen_options[*]}"
    -initrd "vmlinux ${linux_options[*]},dom0.cpio")
if [ "$watch" = yes ]; then
    printf '%s\n' "${events[@]}" >"$out/boot/events"
    mkfifo "$out/boot/fifo"
    qemu+=(-trace "events=$out/boot/events" -D "$out/boot/fifo" -msg "timestamp=off")
fi

truncate -s 64M "$out/bar"
: >"$out/serial.log"
cd "$out/boot"
"${qemu[@]}" >"$out/qemu.out" 2>"$out/qemu.err" &
emulator=$!
trap 'kill "$emulator" 2>/dev/null || true' EXIT
if [ "$watch" = yes ]; then
    python3 "$lab_scripts/iommu_watch.py" "$iommu" "$out/boot/fifo" "$emulator" "$out/iommu.log" \
        2>"$out/iommu_watch.err" &
    watcher=$!
fi

# Ends the emulation when nothing is to be hoped for any more.
crash='Panic on CPU|Kernel panic|FATAL (TRAP|PAGE FAULT)|Xen BUG at'
status=0
while kill -0 "$emulator" 2>/dev/null; do
    sleep 1
    if grep -aqE "$crash" "$out/serial.log"; then
        sleep 2                     # for the rest of the message
        status=4
    elif [ "$SECONDS" -ge "$limit" ]; then
        echo "run $name: not done after $limit s; see $out/serial.log" >&2
        status=3
    fi
    [ $status -eq 0 ] || kill "$emulator" 2>/dev/null || true
done
wait "$emulator" || true
trap - EXIT
if [ "$watch" = yes ] && ! wait "$watcher"; then
    echo "run $name: the IOMMU's events were not read:" >&2
    tail -n 3 "$out/iommu_watch.err" >&2
    [ $status -ne 0 ] || status=1
fi

if [ $status -eq 4 ]; then
    echo "run $name: crashed:" >&2
    grep -aE -m1 -A12 "$crash" "$out/serial.log" >&2 || true
fi
[ $status -eq 0 ] || exit $status

# The BAR: a magic number, the length, and the archive at 4096.
if [ "$(head -c 8 "$out/bar")" != XSLABOUT ]; then
    echo "run $name: no results; see $out/serial.log and qemu.err" >&2
    exit 3
fi
length=$(od -An -t u8 -j 8 -N 8 "$out/bar" | tr -d ' ')
mkdir "$out/out"
dd if="$out/bar" bs=4096 skip=1 count="$length" iflag=count_bytes status=none | tar -C "$out/out" -xf -
rm -r "${out:?}/bar" "${out:?}/boot"

result=$(grep -aoE '^LAB [0-9.]+ end .*' "$out/serial.log" | tail -n 1)
case $result in
*" end ok"*) echo "run $name: ok after $SECONDS s" ;;
*stalled*)
    echo "run $name: $result" >&2
    exit 3
    ;;
*)
    echo "run $name: ${result:-ended early}; see $out/serial.log" >&2
    exit 1
    ;;
esac
