#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does an imported trace show one flush a page, or one a batch?

usage: check_counts.py baseline|batched DATABASE
       check_counts.py --self-test

Prints what was counted, then each check that fails. Only whole batches and calls
are judged; a trace begins and ends within some. Exit status: 0 all hold, 1 one
does not, 2 usage.
"""
import os
import sqlite3
import sys

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema.sql")

COUNTED = (
    ("pages", "SELECT count(*) FROM page_released WHERE site = 1"),
    ("batches", "SELECT count(*) FROM batch_begin"),
    ("TLB_FLUSH", "SELECT count(*) FROM tlb_flush"),
    ("IOTLB_FLUSH", "SELECT count(*) FROM iotlb_flush"),
    ("IPI_ROUND", "SELECT count(*) FROM ipi_round"),
    ("IOMMU_INVALIDATE", "SELECT count(*) FROM iommu_invalidate"),
    ("skipped", "SELECT count(*) FROM iotlb_skipped"),
    ("deferred", "SELECT count(*) FROM tlb_deferred"),
)

WHOLE_CALL = "state = 0 AND lossy = 0"
WHOLE_BATCH = "state = 0 AND lossy = 0"

# What must hold, and a query that counts the exceptions: any number but 0 fails.
ALWAYS = (
    ("the trace is whole: nothing lost, damaged or unknown",
     "SELECT lost + damaged + unknown FROM run"),
    ("unmap calls were recorded from begin to end",
     f"SELECT count(*) = 0 FROM logical_call WHERE {WHOLE_CALL}"),
    ("each operation of a call released one page",
     f"SELECT count(*) FROM logical_call WHERE {WHOLE_CALL} AND released <> done"),
    ("no unmap call failed",
     f"SELECT count(*) FROM logical_call WHERE {WHOLE_CALL} AND rc <> 0"),
    ("every IOTLB flush succeeded", "SELECT count(*) FROM iotlb_flush WHERE rc <> 0"),
    ("every IOTLB flush sent its command",
     "SELECT count(*) FROM iotlb_flush_link WHERE iommu_invalidate IS NULL"),
)

EXPECTED = {
    "baseline": (
        ("no batch, nothing skipped, nothing deferred",
         "SELECT (SELECT count(*) FROM batch_begin) + (SELECT count(*) FROM batch_end)"
         " + (SELECT count(*) FROM iotlb_skipped) + (SELECT count(*) FROM tlb_deferred)"),
        ("as many TLB_FLUSH as pages, or more",
         "SELECT (SELECT count(*) FROM tlb_flush) < (SELECT count(*) FROM page_released WHERE site = 1)"),
        ("as many IOTLB_FLUSH as pages, or more",
         "SELECT (SELECT count(*) FROM iotlb_flush) < (SELECT count(*) FROM page_released WHERE site = 1)"),
        ("in each call, one TLB and one IOTLB flush a page",
         f"SELECT count(*) FROM logical_call WHERE {WHOLE_CALL}"
         " AND (tlb_flushes <> done OR iotlb_flushes <> done)"),
    ),
    "batched": (
        ("batches were recorded from begin to end",
         f"SELECT count(*) = 0 FROM batch WHERE {WHOLE_BATCH} AND pages > 0"),
        ("no operation of a call is outside a batch",
         f"SELECT count(*) FROM logical_call WHERE {WHOLE_CALL} AND unbatched <> 0"),
        ("each batch with pages has one TLB and one IOTLB flush, at its end",
         f"SELECT count(*) FROM batch WHERE {WHOLE_BATCH} AND pages > 0"
         " AND (tlb_flushes <> 1 OR tlb_closing <> 1 OR iotlb_flushes <> 1 OR iotlb_closing <> 1)"),
        ("a batch without pages has none",
         f"SELECT count(*) FROM batch WHERE {WHOLE_BATCH} AND pages = 0 AND tlb_flushes + iotlb_flushes <> 0"),
        ("each page of a batch was skipped and deferred once, and released",
         f"SELECT count(*) FROM batch WHERE {WHOLE_BATCH}"
         " AND (skipped <> pages OR deferred <> pages OR released <> pages)"),
        ("no flush of an unmap call is outside a batch",
         "SELECT (SELECT count(*) FROM tlb_flush_link WHERE call IS NOT NULL AND batch IS NULL)"
         " + (SELECT count(*) FROM iotlb_flush_link WHERE call IS NOT NULL AND batch IS NULL)"),
        ("TLB_FLUSH within batches: as many as batches with pages that end",
         "SELECT (SELECT count(*) FROM tlb_flush_link WHERE batch IS NOT NULL AND closing = 1)"
         " - (SELECT count(*) FROM batch WHERE pages > 0 AND end_pos IS NOT NULL)"),
        ("IOTLB_FLUSH likewise",
         "SELECT (SELECT count(*) FROM iotlb_flush_link WHERE batch IS NOT NULL AND closing = 1)"
         " - (SELECT count(*) FROM batch WHERE pages > 0 AND end_pos IS NOT NULL)"),
        ("the closing IOTLB flush spans what was skipped",
         f"SELECT count(*) FROM batch b JOIN iotlb_flush_link l ON l.batch = b.batch AND l.closing = 1"
         " JOIN iotlb_flush f ON f.rowid = l.iotlb_flush"
         f" WHERE b.{WHOLE_BATCH.replace('lossy', 'b.lossy')} AND f.whole = 0"
         " AND (f.dfn > b.gfn_low OR f.dfn + f.pages <= b.gfn_high)"),
    ),
}


def value(database, query):
    return database.execute(query).fetchone()[0]


def counts(database):
    return {name: value(database, query) for name, query in COUNTED}


def counts_of(path):
    return counts(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def failures(database, arm):
    return [(what, found) for what, query in ALWAYS + EXPECTED[arm] if (found := value(database, query)) != 0]


def ratios(counted):
    """Flushes per page and, where there are batches, per batch."""
    text = []
    for name in ("TLB_FLUSH", "IOTLB_FLUSH"):
        for per, number in (("page", counted["pages"]), ("batch", counted["batches"])):
            if number:
                text.append(f"{counted[name] / number:.3f} {name} a {per}")
    return ", ".join(text)


def made(statements):
    """A database of the project's schema, in memory."""
    database = sqlite3.connect(":memory:")
    with open(SCHEMA, encoding="utf-8") as file:
        database.executescript(file.read())
    database.executescript(statements)
    return database


def self_test():
    baseline = """
        INSERT INTO run (lost, damaged, unknown) VALUES (0, 0, 0);
        INSERT INTO logical_call (call, state, lossy, done, unbatched, released, tlb_flushes, iotlb_flushes, rc)
            VALUES (1, 0, 0, 2, 2, 2, 2, 2, 0);
        INSERT INTO page_released (gfn, site) VALUES (7, 1), (9, 1);
        INSERT INTO tlb_flush (kind) VALUES (2), (2);
        INSERT INTO iotlb_flush (dfn, pages, whole, rc) VALUES (7, 1, 0, 0), (9, 1, 0, 0);
        INSERT INTO tlb_flush_link (tlb_flush, call) VALUES (1, 1), (2, 1);
        INSERT INTO iotlb_flush_link (iotlb_flush, call, iommu_invalidate) VALUES (1, 1, 1), (2, 1, 2);"""
    batched = """
        INSERT INTO run (lost, damaged, unknown) VALUES (0, 0, 0);
        INSERT INTO logical_call (call, state, lossy, done, unbatched, released, tlb_flushes, iotlb_flushes, rc)
            VALUES (1, 0, 0, 2, 0, 2, 1, 1, 0);
        INSERT INTO batch (batch, state, lossy, call, end_pos, pages, gfn_low, gfn_high, skipped, deferred, released,
                           tlb_flushes, tlb_closing, iotlb_flushes, iotlb_closing)
            VALUES (1, 0, 0, 1, 100, 2, 7, 9, 2, 2, 2, 1, 1, 1, 1);
        INSERT INTO tlb_flush (kind) VALUES (2);
        INSERT INTO iotlb_flush (dfn, pages, whole, rc) VALUES (0, 16, 0, 0);
        INSERT INTO tlb_flush_link (tlb_flush, call, batch, closing) VALUES (1, 1, 1, 1);
        INSERT INTO iotlb_flush_link (iotlb_flush, call, batch, closing, iommu_invalidate) VALUES (1, 1, 1, 1, 1);"""
    for arm, good in (("baseline", baseline), ("batched", batched)):
        assert not failures(made(good), arm), failures(made(good), arm)
    wrong = (
        ("baseline", baseline, "UPDATE run SET lost = 5", "the trace is whole"),
        ("baseline", baseline, "DELETE FROM logical_call", "recorded from begin to end"),
        ("baseline", baseline, "UPDATE logical_call SET tlb_flushes = 1", "in each call, one TLB"),
        ("baseline", baseline, "DELETE FROM tlb_flush WHERE rowid = 1", "as many TLB_FLUSH"),
        ("baseline", baseline, "INSERT INTO iotlb_skipped (dfn) VALUES (7)", "no batch"),
        ("batched", batched, "UPDATE iotlb_flush SET pages = 9", "spans what was skipped"),
        ("batched", batched, "UPDATE batch SET deferred = 1", "skipped and deferred once"),
        ("batched", batched, "UPDATE batch SET iotlb_closing = 0", "at its end"),
        ("batched", batched, "UPDATE iotlb_flush SET rc = -5", "every IOTLB flush succeeded"),
        ("batched", batched, "UPDATE iotlb_flush_link SET iommu_invalidate = NULL", "sent its command"),
        ("batched", batched, "INSERT INTO tlb_flush_link (tlb_flush, call) VALUES (2, 1)", "outside a batch"),
        ("batched", batched, "UPDATE batch SET pages = 0", "a batch without pages has none"),
    )
    for arm, good, change, about in wrong:
        found = [what for what, _ in failures(made(good + change), arm)]
        assert any(about in what for what in found), (change, found)
    print("check_counts: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 3 or sys.argv[1] not in EXPECTED:
        print(__doc__, file=sys.stderr)
        return 2
    arm, path = sys.argv[1:]
    try:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        counted, failed = counts(database), failures(database, arm)
    except sqlite3.Error as problem:
        print(f"check_counts: {path}: {problem}", file=sys.stderr)
        return 2
    print(", ".join(f"{number} {name}" for name, number in counted.items()))
    print(ratios(counted))
    for what, found in failed:
        print(f"check_counts: {path}: not so: {what} ({found})", file=sys.stderr)
    print(f"{len(ALWAYS + EXPECTED[arm]) - len(failed)} of {len(ALWAYS + EXPECTED[arm])} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
