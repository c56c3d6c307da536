#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Many windows, far apart: the same records in a million windows, in few, and
# with each CPU's windows all at one end of the file give the same rows.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

tools=$top/tests/tools
trace=$top/tests/traces/vtd-batched.xentrace

dump() {
    for table in batch_begin batch_end iotlb_flush iommu_invalidate tlb_flush ipi_round \
        unmap_call grant_copy iotlb_skipped tlb_deferred page_released iotlb_added; do
        sqlite3 "$1" "SELECT '$table', * FROM $table" | cut -d'|' -f1,2,5-
    done | cksum
}

python3 "$tools/make_big.py" "$trace" "$scratch/few" 200000
python3 "$tools/make_big.py" --window=1 "$trace" "$scratch/many" 200000
python3 - "$scratch/few" "$scratch/apart" <<'PY'
import struct, sys
data = open(sys.argv[1], 'rb').read()
windows, at = {}, 0
while at < len(data):
    _, cpu, size = struct.unpack_from('<III', data, at)
    windows.setdefault(cpu, []).append(data[at:at + 12 + size])
    at += 12 + size
with open(sys.argv[2], 'wb') as out:
    for cpu in sorted(windows, reverse=True):
        out.writelines(windows[cpu])
PY
for name in few many apart; do
    exits "$name windows" 0 "$XENFLUSH" import -q "$scratch/$name" -o "$scratch/$name.db"
done
same "one window a record" "$(dump "$scratch/few.db")" "$(dump "$scratch/many.db")"
same "each CPU at one end of the file" "$(dump "$scratch/few.db")" "$(dump "$scratch/apart.db")"
same "all windows were counted" 1 "$(sqlite3 "$scratch/many.db" 'SELECT windows > 190000 FROM run')"

finish
