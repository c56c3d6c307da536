#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does xenalyze read the same records from a trace as the database has?

usage: witness_xenalyze.py XENALYZE TRACE DATABASE
       witness_xenalyze.py --self-test

XENALYZE is Xen's own reader, built from the tree with the queue. Its dump of the
trace names each flush record; every name is counted and compared with the number
of rows of that table. Exit status: 0 equal, 1 not, 2 usage or xenalyze failed,
3 the trace has no such record to judge by.
"""
import collections
import re
import sqlite3
import subprocess
import sys

TABLES = ("batch_begin", "batch_end", "iotlb_flush", "iommu_invalidate", "tlb_flush", "ipi_round",
          "assisted_flush", "l0_flush", "cache_flush", "p2m_table_free", "skip_window", "unmap_call",
          "grant_copy", "iotlb_skipped", "tlb_deferred", "page_released", "iotlb_added", "iommu_writeback")

# Time (not for the first record), a mark for each CPU, the vCPU that xenalyze thinks
# runs; then the record's name, and the vCPU that the record itself tells.
LINE = re.compile(r"^.? *(?:[0-9.]+ )?\S+ d[0-9?]+v[0-9?]+ ([a-z0-9_]+) d[0-9]+v[0-9]+\b")


def counts_of_dump(lines):
    counted = collections.Counter()
    for line in lines:
        found = LINE.match(line)
        if found and found.group(1) in TABLES:
            counted[found.group(1)] += 1
    return counted


def counts_of_database(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


def differences(dumped, stored):
    return [f"{table}: xenalyze {dumped[table]}, database {stored[table]}"
            for table in TABLES if dumped[table] != stored[table]]


def self_test():
    dump = """\
                x. d32768v0 batch_end d0v0 iommu_flushed modified
   0.000049523 .x d32768v1 set_p2m_entry d0 o0 t 8 g c4667 m 13e8c5
   0.000055443 .x d32768v1 iotlb_added d0v1 target d0 flags added extent range dfn 0xc4667 pages 1 rc 0 cycles 42
   0.000055657 .x d32768v1 grant-map domain 1
]  0.000169440 .x d?v? grant_copy d0v1 done 1 bytes 66
 123.000277228 x-- d0v0 batch_begin d0v0 ops 7
 123.000277229 x-- d0v0 batch_begin d0v0 ops 1
"""
    counted = counts_of_dump(dump.splitlines())
    assert counted == {"iotlb_added": 1, "batch_begin": 2, "batch_end": 1, "grant_copy": 1}, counted
    stored = dict.fromkeys(TABLES, 0) | counted
    assert not differences(counted, stored)
    stored["tlb_flush"] = 1
    assert differences(counted, stored) == ["tlb_flush: xenalyze 0, database 1"]
    print("witness_xenalyze: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    xenalyze, trace, path = sys.argv[1:]
    with subprocess.Popen([xenalyze, "--svm-mode", "--dump-all", trace], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace") as reader:
        dumped = counts_of_dump(reader.stdout)
        complaint = reader.stderr.read()
    if reader.returncode != 0:
        print(f"witness_xenalyze: xenalyze failed: {complaint[-300:]}", file=sys.stderr)
        return 2
    try:
        stored = counts_of_database(path)
    except sqlite3.Error as problem:
        print(f"witness_xenalyze: {path}: {problem}", file=sys.stderr)
        return 2
    differing = differences(dumped, stored)
    for line in differing:
        print(f"witness_xenalyze: {line}", file=sys.stderr)
    if differing:
        return 1
    total = sum(stored.values())
    kinds = sum(number > 0 for number in stored.values())
    print(f"{total} records of {kinds} kinds, the same number of each in xenalyze's dump and in the database"
          if total else "no flush record in the trace")
    return 0 if total else 3


if __name__ == "__main__":
    sys.exit(main())
