#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does an imported trace show one flush a page, or one a batch?

usage: check_counts.py baseline|batched DATABASE
       check_counts.py --self-test

Prints what was counted, then each check that fails. A trace begins and ends within
batches and calls: only whole ones are judged. Exit status: 0 all hold, 1 one
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

WHOLE_BATCH = "state = 0 AND lossy = 0"


def calls_where(*conditions):
    """Counts the unmap calls (parts of preempted ones apart) for which a condition holds.

    What a vCPU recorded since its call before belongs to the call: no times are
    compared with cycles, because a record can be stamped long after its clock was
    read. The first call of each vCPU is left out; it may have begun before the trace.
    """
    return ("WITH part AS (SELECT dom, vcpu, tsc, done, rc, lag(tsc) OVER"
            " (PARTITION BY dom, vcpu ORDER BY tsc, pos) AS before FROM unmap_call)"
            f" SELECT count(*) FROM part WHERE before IS NOT NULL AND ({' OR '.join(conditions)})")


def in_call(what, table, condition="1"):
    """An aggregate over a table's rows that belong to the call."""
    return (f"(SELECT {what} FROM indexed_{table} x WHERE x.dom = part.dom AND x.vcpu = part.vcpu"
            f" AND x.tsc > before AND x.tsc <= part.tsc AND {condition})")


INDEXED = ("page_released", "tlb_flush", "iotlb_flush", "batch_begin", "batch_end")


def index_by_vcpu(database):
    """in_call() would be slow without; the database itself is not touched."""
    for table in INDEXED:
        database.execute(f"CREATE TEMP TABLE indexed_{table} AS SELECT * FROM {table}")
        database.execute(f"CREATE INDEX temp.{table}_by_vcpu ON indexed_{table} (dom, vcpu, tsc)")


RELEASED = in_call("count(*)", "page_released", "site = 1")
TLB_FLUSHES = in_call("count(*)", "tlb_flush")
IOTLB_FLUSHES = in_call("count(*)", "iotlb_flush")
FULL_BATCHES = in_call("count(*)", "batch_end", "pages > 0")
BATCHED = in_call("coalesce(sum(ops), 0)", "batch_begin")

# What must hold, and a query that counts the exceptions: any number but 0 fails.
ALWAYS = (
    ("the trace is whole: nothing lost, damaged or unknown",
     "SELECT lost + damaged + unknown FROM run"),
    ("unmap calls were recorded from begin to end", f"SELECT ({calls_where('1')}) = 0"),
    ("each operation of a call released one page", calls_where(f"done <> {RELEASED}")),
    ("no unmap call failed", "SELECT count(*) FROM unmap_call WHERE rc <> 0"),
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
         "SELECT (SELECT count(*) FROM tlb_flush) < (SELECT count(*) FROM page_released"
         " WHERE site = 1 AND tsc > (SELECT min(tsc) FROM tlb_flush))"),
        ("as many IOTLB_FLUSH as pages, or more",
         "SELECT (SELECT count(*) FROM iotlb_flush) < (SELECT count(*) FROM page_released"
         " WHERE site = 1 AND tsc > (SELECT min(tsc) FROM iotlb_flush))"),
        ("in each call, one TLB and one IOTLB flush a page",
         calls_where(f"done <> {TLB_FLUSHES}", f"done <> {IOTLB_FLUSHES}")),
    ),
    "batched": (
        ("batches were recorded from begin to end",
         f"SELECT count(*) = 0 FROM batch WHERE {WHOLE_BATCH} AND pages > 0"),
        ("no operation of a call is outside a batch", calls_where(f"done <> {BATCHED}")),
        ("in each call, one TLB and one IOTLB flush a batch with pages",
         calls_where(f"{FULL_BATCHES} <> {TLB_FLUSHES}", f"{FULL_BATCHES} <> {IOTLB_FLUSHES}")),
        ("each batch with pages has one TLB and one IOTLB flush, at its end",
         f"SELECT count(*) FROM batch WHERE {WHOLE_BATCH} AND pages > 0"
         " AND (tlb_flushes <> 1 OR tlb_closing <> 1 OR iotlb_flushes <> 1 OR iotlb_closing <> 1)"),
        ("a batch without pages has none",
         f"SELECT count(*) FROM batch WHERE {WHOLE_BATCH} AND pages = 0 AND tlb_flushes + iotlb_flushes <> 0"),
        ("each page of a batch was skipped and deferred once, and released",
         f"SELECT count(*) FROM batch WHERE {WHOLE_BATCH}"
         " AND (skipped <> pages OR deferred <> pages OR released <> pages)"),
        ("closing TLB_FLUSH: as many as whole batches with pages",
         f"SELECT (SELECT count(*) FROM tlb_flush_link JOIN batch USING (batch)"
         f" WHERE {WHOLE_BATCH} AND closing = 1)"
         f" - (SELECT count(*) FROM batch WHERE {WHOLE_BATCH} AND pages > 0)"),
        ("closing IOTLB_FLUSH likewise",
         f"SELECT (SELECT count(*) FROM iotlb_flush_link JOIN batch USING (batch)"
         f" WHERE {WHOLE_BATCH} AND closing = 1)"
         f" - (SELECT count(*) FROM batch WHERE {WHOLE_BATCH} AND pages > 0)"),
        ("the closing IOTLB flush spans what was skipped",
         "SELECT count(*) FROM batch b JOIN iotlb_flush_link l ON l.batch = b.batch AND l.closing = 1"
         " JOIN iotlb_flush f ON f.rowid = l.iotlb_flush WHERE b.state = 0 AND b.lossy = 0 AND f.whole = 0"
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
    index_by_vcpu(database)
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
    # A call at 10, which may be cut; one at 100 with two pages.
    call = """
        INSERT INTO run (lost, damaged, unknown) VALUES (0, 0, 0);
        INSERT INTO unmap_call (dom, vcpu, tsc, done, rc) VALUES (0, 1, 10, 9, 0), (0, 1, 100, 2, 0);
        INSERT INTO page_released (dom, vcpu, tsc, gfn, site) VALUES (0, 1, 90, 7, 1), (0, 1, 91, 9, 1);"""
    baseline = call + """
        INSERT INTO tlb_flush (dom, vcpu, tsc) VALUES (0, 1, 80), (0, 1, 82);
        INSERT INTO iotlb_flush (dom, vcpu, tsc, dfn, pages, whole, rc)
            VALUES (0, 1, 81, 7, 1, 0, 0), (0, 1, 83, 9, 1, 0, 0);
        INSERT INTO iotlb_flush_link (iotlb_flush, iommu_invalidate) VALUES (1, 1), (2, 2);"""
    batched = call + """
        INSERT INTO batch_begin (dom, vcpu, tsc, ops) VALUES (0, 1, 50, 2);
        INSERT INTO batch_end (dom, vcpu, tsc, pages) VALUES (0, 1, 85, 2);
        INSERT INTO batch (batch, state, lossy, pages, gfn_low, gfn_high, skipped, deferred, released,
                           tlb_flushes, tlb_closing, iotlb_flushes, iotlb_closing)
            VALUES (1, 0, 0, 2, 7, 9, 2, 2, 2, 1, 1, 1, 1);
        INSERT INTO tlb_flush (dom, vcpu, tsc) VALUES (0, 1, 80);
        INSERT INTO iotlb_flush (dom, vcpu, tsc, dfn, pages, whole, rc) VALUES (0, 1, 81, 0, 16, 0, 0);
        INSERT INTO tlb_flush_link (tlb_flush, batch, closing) VALUES (1, 1, 1);
        INSERT INTO iotlb_flush_link (iotlb_flush, batch, closing, iommu_invalidate) VALUES (1, 1, 1, 1);"""
    for arm, good in (("baseline", baseline), ("batched", batched)):
        assert not failures(made(good), arm), failures(made(good), arm)
    wrong = (
        ("baseline", baseline, "UPDATE run SET lost = 5", "the trace is whole"),
        ("baseline", baseline, "DELETE FROM unmap_call WHERE tsc > 10", "recorded from begin to end"),
        ("baseline", baseline, "UPDATE unmap_call SET rc = -14", "no unmap call failed"),
        ("baseline", baseline, "DELETE FROM page_released WHERE gfn = 9", "released one page"),
        ("baseline", baseline, "UPDATE tlb_flush SET vcpu = 0 WHERE tsc = 80", "in each call, one TLB"),
        ("baseline", baseline, "UPDATE iotlb_flush SET tsc = 101 WHERE tsc = 83", "in each call, one TLB"),
        ("baseline", baseline, "DELETE FROM tlb_flush WHERE tsc = 80", "as many TLB_FLUSH"),
        ("baseline", baseline, "INSERT INTO iotlb_skipped (dfn) VALUES (7)", "no batch"),
        ("batched", batched, "UPDATE batch_begin SET ops = 1", "outside a batch"),
        ("batched", batched, "INSERT INTO tlb_flush (dom, vcpu, tsc) VALUES (0, 1, 95)", "flush a batch with pages"),
        ("batched", batched, "DELETE FROM batch", "batches were recorded"),
        ("batched", batched, "UPDATE batch SET iotlb_closing = 0", "at its end"),
        ("batched", batched, "UPDATE batch SET pages = 0", "a batch without pages has none"),
        ("batched", batched, "UPDATE batch SET deferred = 1", "skipped and deferred once"),
        ("batched", batched, "UPDATE tlb_flush_link SET closing = 0", "closing TLB_FLUSH"),
        ("batched", batched, "UPDATE iotlb_flush_link SET closing = 0", "closing IOTLB_FLUSH"),
        ("batched", batched, "UPDATE iotlb_flush SET pages = 9", "spans what was skipped"),
        ("batched", batched, "UPDATE iotlb_flush SET dfn = 8", "spans what was skipped"),
        ("batched", batched, "UPDATE iotlb_flush SET rc = -5", "every IOTLB flush succeeded"),
        ("batched", batched, "UPDATE iotlb_flush_link SET iommu_invalidate = NULL", "sent its command"),
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
