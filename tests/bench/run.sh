#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Import of 5 million records against xenalyze --dump-all of the same file: CPU
# time in paired runs, ratio, peak memory, size of the database.
# Environment: RUNS (5), RECORDS (5000000), XENFLUSH_TRACES (more traces).
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
runs=${RUNS:-5}
records=${RECORDS:-5000000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cpu_and_memory() {  # prints CPU seconds and peak KiB of a command
    python3 - "$@" <<'PY'
import os, resource, subprocess, sys
with open(os.devnull, 'w') as null:
    code = subprocess.call(sys.argv[1:], stdout=null, stderr=null)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print('%.3f %d' % (used.ru_utime + used.ru_stime, used.ru_maxrss))
sys.exit(code)
PY
}

xenalyze=$(command -v xenalyze || true)
[ -n "$xenalyze" ] || echo "xenalyze is not installed (package xen-utils-4.17): no ratio" >&2

printf '%-24s %10s %10s %7s %9s %9s %9s\n' trace import_s xenalyze_s ratio peak_KiB raw/trace db/trace
for trace in "$top"/tests/traces/amd-baseline.xentrace "$top"/tests/traces/amd-batched.xentrace \
    "$top"/tests/traces/vtd-batched.xentrace ${XENFLUSH_TRACES:+"$XENFLUSH_TRACES"/vtd-baseline.xentrace}; do
    [ -f "$trace" ] || continue
    python3 "$top/tests/tools/make_big.py" "$trace" "$scratch/big" "$records" >/dev/null
    : >"$scratch/results"
    i=0
    while [ "$i" -lt "$runs" ]; do
        ours=$(cpu_and_memory "$top/xenflush" import -q "$scratch/big" -o "$scratch/big.db" --force --tsc-hz=1GHz)
        theirs="nan 0"
        [ -z "$xenalyze" ] || theirs=$(cpu_and_memory "$xenalyze" --svm-mode --dump-all "$scratch/big")
        echo "$ours $theirs" >>"$scratch/results"
        i=$((i + 1))
    done
    raw=$(sqlite3 "$scratch/big.db" "SELECT sum(pgsize) FROM dbstat WHERE name NOT IN ('batch',
        'logical_call', 'tlb_flush_link', 'iotlb_flush_link', 'flush_part', 'batch_by_call')" 2>/dev/null || echo 0)
    python3 - "$scratch/results" "$(basename "$trace" .xentrace)" "$raw" \
        "$(stat -c %s "$scratch/big.db")" "$(stat -c %s "$scratch/big")" <<'PY'
import statistics, sys
rows = [list(map(float, line.split())) for line in open(sys.argv[1])]
name, raw, db, trace = sys.argv[2], *map(int, sys.argv[3:])
median = statistics.median
print('%-24s %10.2f %10.2f %7.2f %9d %9s %9.2f' % (
    name, median(r[0] for r in rows), median(r[2] for r in rows), median(r[0] / r[2] for r in rows),
    max(r[1] for r in rows), '%.2f' % (raw / trace) if raw else '?', db / trace))
PY
done
