#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: run.sh [OPTION...] XEN NAME [XEN-OPTION...]
#
# Boots the hypervisor image XEN with a PVH dom0 under Debian's Bochs, which
# emulates VMX with EPT and VPID and has no IOMMU; runs steps of the lab in dom0,
# and leaves in $LAB/run/NAME what they made (out/, trace.bin among it), serial.log,
# bochs.log and display.log. XEN-OPTIONs go to Xen's command line.
#
#   --initramfs=FILE    dom0's (default: the lab's)
#   --vmlinux=FILE      dom0's kernel (default: the lab's)
#   --out=DIR           results there instead of $LAB/run/NAME
#   --cpus=N            physical CPUs (2; 3 for step load: dom0 has two of them)
#   --steps=A,B         steps of dom0 (programs); see ../dom0/*.sh
#   --set=KEY=VALUE     a parameter of a step, lab.KEY=VALUE
#   --mask=MASK         of xentrace (0x0080c000)
#   --model=MODEL       Bochs' name of a CPU model with EPT (corei7_haswell_4770)
#   --ips=N             emulated instructions a second, also the rate of the TSC
#   --limit=SECONDS     wall time that the run may take (3600)
#   --stall=SECONDS     CPU time of Bochs without a word on the console (240)
#
# Exit status: 0 the steps succeeded, 1 they did not, 2 usage, 3 stalled or out of
# time, 4 Xen or Linux crashed, 77 Bochs or GRUB's tools are not there.
set -euo pipefail
ept_scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../common.sh
. "$ept_scripts/../common.sh"

bios=/usr/share/bochs/BIOS-bochs-latest
vga_bios=/usr/share/vgabios/vgabios.bin
grub=/usr/lib/grub/i386-pc

initramfs=$LAB/initramfs/dom0.cpio
vmlinux=$LAB/kernel/vmlinux
steps=programs mask=0x0080c000 model=corei7_haswell_4770 limit=3600 stall=240
ips='' cpus='' out='' settings=()
while [ $# -gt 0 ]; do
    case $1 in
    --initramfs=*) initramfs=${1#*=} ;;
    --vmlinux=*) vmlinux=${1#*=} ;;
    --out=*) out=${1#*=} ;;
    --cpus=*) cpus=${1#*=} ;;
    --steps=*) steps=${1#*=} ;;
    --set=*) settings+=("lab.${1#*=}") ;;
    --mask=*) mask=${1#*=} ;;
    --model=*) model=${1#*=} ;;
    --ips=*) ips=${1#*=} ;;
    --limit=*) limit=${1#*=} ;;
    --stall=*) stall=${1#*=} ;;
    -h | --help) show_help ;;
    -*) usage_error "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -ge 2 ] || usage_error "a hypervisor image and a name are needed"
xen=$1 name=$2
shift 2
out=${out:-$LAB/run/$name}

for tool in bochs grub-mkrescue xorriso gcc python3; do
    command -v "$tool" >/dev/null || {
        echo "run.sh: skipped: there is no $tool" >&2
        exit 77
    }
done
for file in "$bios" "$vga_bios" "$grub/multiboot.mod"; do
    [ -e "$file" ] || {
        echo "run.sh: skipped: $file is missing" >&2
        exit 77
    }
done
for file in "$xen" "$initramfs" "$vmlinux"; do
    [ -s "$file" ] || die "$file is missing: run lab.py prepare, or name another"
done

# A guest boots slowly: only the network load needs one, and its kernel.
changes=(-guest/vmlinux -guest/initrd)
case ,$steps, in
*,load,*)
    changes=()
    cpus=${cpus:-3} ips=${ips:-100000000}
    ;;
*) cpus=${cpus:-2} ips=${ips:-50000000} ;;
esac
dom0_cpus=$((cpus > 1 ? 2 : 1))

rm -rf "$out"
mkdir -p "$out/iso/boot/grub"
out=$(cd "$out" && pwd)

gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -o "$out/lpput" "$ept_scripts/lpput.c"
"$ept_scripts/initrd.py" "$initramfs" "$out/iso/boot/initrd" "${changes[@]}" \
    "bin/lpput=$out/lpput" "lab/parallel.sh=$ept_scripts/parallel.step.sh"
cp "$xen" "$out/iso/boot/xen"
cp "$vmlinux" "$out/iso/boot/vmlinux"

# x2apic, apicv and mwait-idle: what Bochs emulates of them does not suit Xen.
xen_options=("com1=115200,8n1" console=com1 serial_tx_buffer=4M dom0=pvh "dom0_mem=640M,max:640M"
    "dom0_max_vcpus=$dom0_cpus" dom0_vcpus_pin dom0-iommu=none loglvl=all guest_loglvl=all noreboot=1
    x2apic=0 apicv=0 mwait-idle=0 spec-ctrl=no xpti=0 "$@")
# Self tests, certificates and page checks are more than half of Linux' boot here.
linux_options=(console=hvc0 earlyprintk=xen loglevel=4 mitigations=off tsc=reliable cryptomgr.notests=1
    initcall_blacklist=load_system_certificate_list rodata=off
    "lab.steps=$steps,parallel" "lab.mask=$mask" "lab.guestcpu=$((cpus - 1))" "${settings[@]}")

# Not multiboot2: with that GRUB sets a graphics mode, which Bochs' `term` display
# refuses. GRUB leaves out the first word of a command line.
cat >"$out/iso/boot/grub/grub.cfg" <<CONFIG
set timeout=0
insmod serial
serial --unit=0 --speed=115200
terminal_output serial
insmod multiboot
multiboot /boot/xen xen ${xen_options[*]}
module /boot/vmlinux vmlinux ${linux_options[*]}
module --nounzip /boot/initrd
boot
CONFIG
grub-mkrescue -d "$grub" --fonts= --locales= --themes= -o "$out/boot.iso" "$out/iso" >"$out/mkrescue.log" 2>&1 ||
    die "grub-mkrescue failed; see $out/mkrescue.log"
rm -r "$out/iso"

# A fixed clock that does not follow the host's: a run can be repeated.
cat >"$out/bochsrc" <<CONFIG
config_interface: textconfig
display_library: term
plugin_ctrl: sb16=0, es1370=0, speaker=0
romimage: file=$bios
vgaromimage: file=$vga_bios
cpu: model=$model, count=$cpus, ips=$ips, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=1536, host=1536
clock: sync=none, time0=1767225600
ata0-master: type=cdrom, path=boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.log
parport1: enabled=1, file=results.tar
log: bochs.log
panic: action=fatal
error: action=report
info: action=report
debug: action=ignore
CONFIG
# Debian's Bochs has the debugger built in and waits at its prompt.
echo continue >"$out/commands"
: >"$out/serial.log"

status=0
"$ept_scripts/drive.py" "--limit=$limit" "--stall=$stall" "$out" bochs -f bochsrc -rc commands || status=$?
rm -f "$out/boot.iso" "$out/commands" "$out/lpput"
case $status in
0) ;;
6)
    echo "run $name: crashed:" >&2
    grep -aE -m1 -A12 'Panic on CPU|Kernel panic|FATAL|Xen BUG' "$out/serial.log" >&2 || true
    exit 4
    ;;
3)
    echo "run $name: nothing on the console for $stall s of CPU time; see $out/serial.log" >&2
    exit 3
    ;;
4)
    echo "run $name: not done after $limit s; see $out/serial.log" >&2
    exit 3
    ;;
*)
    echo "run $name: Bochs ended early; see $out/display.log and bochs.log" >&2
    exit 1
    ;;
esac

mkdir "$out/out"
tar -C "$out/out" -xf "$out/results.tar" || die "run $name: the results are cut; see $out/serial.log"
rm "$out/results.tar"
result=$(grep -aoE '^LAB [0-9.]+ end .*' "$out/serial.log" | tail -n 1 | tr -d '\r')
case $result in
*" end ok") echo "run $name: ok after $SECONDS s" ;;
*)
    echo "run $name: ${result:-ended early}; see $out/serial.log" >&2
    exit 1
    ;;
esac
