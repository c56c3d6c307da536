# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-only
# Step parallel, the last one under Bochs: hands what the steps made to the host
# through the parallel port, where QEMU's lab has a shared memory device.

dmesg >"$OUT/dmesg.txt"
xl dmesg >"$OUT/xl-dmesg.txt"
cp -r /var/log/xen "$OUT/log"
tar -C "$OUT" -cf /tmp/parallel.tar .
lpput /tmp/parallel.tar || fail "lpput: exit status $?"
say "$(wc -c </tmp/parallel.tar) bytes through the parallel port"
