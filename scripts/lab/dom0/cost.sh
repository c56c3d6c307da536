# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-only
# Step cost: xfpaths counts the instructions of map and unmap calls, with the trace
# mask of the run. Mask 0: tracing is off, its buffers were never made.
#   lab.runs=N   how often each call is made

case ${lab_mask:-0} in
0x00000000 | 0) tracing=no ;;
*) tracing=yes ;;
esac

if [ $tracing = yes ]; then
    trace_start "$OUT/trace.bin"
    sleep 1
fi
xfpaths "cost=${lab_runs:-50}" >"$OUT/cost.txt" 2>"$OUT/xfpaths.err"
status=$?
if [ $tracing = yes ]; then
    sleep 1
    trace_stop
fi
cat "$OUT/cost.txt" "$OUT/xfpaths.err"
[ $status -eq 0 ] || fail "xfpaths: exit status $status"
