# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-only
# Step load: a PVH guest sends TCP data to dom0 through netback, and xentrace
# records while it flows.
#   lab.secs=N        how long the guest sends
#   lab.tracesecs=N   how long xentrace records
#   lab.startbytes=N  traffic counts as started after so many bytes
#   lab.guestcpu=N    physical CPU of the guest

# How long traffic may take to start. The guest boots in about two seconds.
start_limit_cs=2000

received() { cat /sys/class/net/vif1.0/statistics/rx_bytes 2>/dev/null || echo 0; }

cat >/tmp/u1.cfg <<CONFIG
name="u1"
type="pvh"
memory=256
vcpus=1
cpus="${lab_guestcpu:-2}"
kernel="/guest/vmlinux"
ramdisk="/guest/initrd"
extra="console=hvc0 quiet loglevel=4 mitigations=off tsc=reliable cryptomgr.notests=1 initcall_blacklist=load_system_certificate_list lab.secs=${lab_secs:-3}"
vif=["script=/etc/xen/scripts/vif-lab"]
on_poweroff="destroy"
on_crash="destroy"
CONFIG

labtool receive 5001 >"$OUT/received.txt" 2>&1 &
receiver=$!
xl create /tmp/u1.cfg || fail "the guest was not created"
say "guest created"

began=$(uptime_cs)
while [ "$(received)" -lt "${lab_startbytes:-300000}" ] && [ -z "$failure" ]; do
    [ $(($(uptime_cs) - began)) -lt $start_limit_cs ] || fail "stalled: no traffic, $(received) bytes received"
    usleep 200000
done

if [ -z "$failure" ]; then
    before=$(received)
    say "traffic flows, $before bytes so far"
    trace_start "$OUT/trace.bin" "${lab_tracesecs:-1}"
    trace_wait
    say "$(($(received) - before)) bytes received while tracing"
else
    # What a person needs to find out why.
    ip addr
    xl list
    xl vcpu-list
    tail -n 5 /var/log/xen/console/guest-u1.log
fi
kill $receiver 2>/dev/null
xl destroy u1 2>/dev/null
