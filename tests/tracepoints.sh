#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The patch queues, as far as that needs no Xen source, and the lab's checkers on
# hand-made input. That the patches apply, build and boot is the business of
# `make -C tracepoints check` and of the lab.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

header=$top/tracepoints/trace_flush.h

# The header as a queue's first patch adds it.
header_in() {
    sed -n '\|^+++ b/xen/include/public/trace_flush.h|,/^diff /s/^+\([^+].*\)\{0,1\}$/\1/p' "$1"/0001-*.patch
}

# Lines that the queue adds to Xen outside the header.
added_by() {
    awk '/^diff /{ skip = /trace_flush\.h|tools\// } /^\+/ && !skip' "$1"/*.patch
}

for queue in "$top"/tracepoints/4.*; do
    name=$(basename "$queue")
    header_in "$queue" >"$scratch/header.h"
    check "$name: adds the header as it is here" cmp "$header" "$scratch/header.h"

    added_by "$queue" >"$scratch/added"
    sed -n 's/^#define \(TRC_FLUSH_[A-Z0-9_]*\) *(TRC_HW_FLUSH\(_PAGE\)\{0,1\} + .*/\1/p' "$header" \
        >"$scratch/records"
    while read -r record; do
        case $record in
        TRC_FLUSH_TLB | TRC_FLUSH_CACHE | TRC_FLUSH_IPI_ROUND) continue ;; # by the helpers
        esac
        exits "$name: writes $record" 0 grep -q "$record\\b" "$scratch/added"
    done <"$scratch/records"
    for helper in trace_flush_tlb trace_flush_cache trace_flush_ipi_round; do
        exits "$name: uses $helper" 0 grep -q "$helper(" "$scratch/added"
    done
done

exits "style of the patches, and fitting them to other trees" 0 "$top/tracepoints/check.sh" --style

for checker in "$top"/scripts/lab/*.py; do
    grep -q -e --self-test "$checker" || continue
    exits "self-test of $(basename "$checker")" 0 python3 "$checker" --self-test
done

# The first window of a fixture made by hand, and no more windows than there are.
trace=$top/tests/traces/production.xentrace
check "cut_trace: keeps the windows asked for" \
    python3 "$top/tests/tools/cut_trace.py" 1 "$trace" "$scratch/cut"
size=$(od -An -t u4 -j 8 -N 4 "$trace" | tr -d ' ')
same "cut_trace: to the byte" "$((size + 12))" "$(wc -c <"$scratch/cut" | tr -d ' ')"
exits "cut_trace: says when there are fewer" 1 \
    python3 "$top/tests/tools/cut_trace.py" 999999 "$trace" "$scratch/none"

finish
