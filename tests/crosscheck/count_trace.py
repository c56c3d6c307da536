#!/usr/bin/env python3
"""Count a trace from its bytes, as a witness that shares no code with xenflush.

    count_trace.py TRACE                            print the counts as JSON
    count_trace.py TRACE --check DB                 compare with an imported database
    count_trace.py TRACE --headline FILE            compare with the headline report

FILE is what `xenflush report DB headline --format=json` printed; both options can be given
together.  Each mismatch is printed on standard error.  Exit status: 0 all equal, 1 a
mismatch, 2 unusable input or usage.
"""
import argparse
import collections
import json
import math
import pathlib
import sqlite3
import struct
import sys

LOST_RECORDS = 0x0001F001
WRAP_BUFFER = 0x0001F002
CPU_CHANGE = 0x0001F003
ALL_ONES = 2 ** 64 - 1


# ---- The values in a record's words --------------------------------------------------

def bits(word, first, last):
    """Bits first to last (both included) of a word."""
    return (word >> first) & (2 ** (last - first + 1) - 1)


def signed(value, width):
    """A number of `width` bits read as two's complement."""
    return value - 2 ** width if value >= 2 ** (width - 1) else value


def address(low, high):
    """A 64-bit value, low word first; 2^63 and more are negative, as in SQLite."""
    return signed(low + (high << 32), 64)


def frame(low, high):
    """A frame number: like address(), but all ones mean that there is none."""
    return None if low + (high << 32) == ALL_ONES else address(low, high)


def upper(word):
    """Bits 16 to 31: mostly the target domid."""
    return bits(word, 16, 31)


def iotlb_columns(w):
    return {"target": upper(w[1]), "flags": bits(w[1], 0, 7), "whole": bits(w[1], 15, 15),
            "dfn": frame(w[2], w[3]), "pages": w[4], "rc": signed(w[5], 32),
            "cycles": w[6]}


# Table name: (event, extra words, columns from these words; w[0] is `cur`, the others are
# numbered as in the description of the records).
KINDS = {
    "batch_begin": (0x00804001, 2, lambda w: {"ops": w[1]}),
    "batch_end": (0x00804002, 7, lambda w: {
        "flags": bits(w[1], 0, 7), "tlb_deferred": bits(w[1], 8, 8), "pages": upper(w[1]),
        "rc": signed(w[2], 32), "gfn_low": frame(w[3], w[4]),
        "gfn_high": frame(w[5], w[6])}),
    "iotlb_flush": (0x00804003, 7, iotlb_columns),
    "iommu_invalidate": (0x00804004, 7, lambda w: {
        "hw_domain": upper(w[1]), "mask_order": bits(w[1], 8, 15),
        "granularity": bits(w[1], 0, 7), "iommu": w[2], "dfn": frame(w[3], w[4]),
        "rc": signed(w[5], 32), "cycles": w[6]}),
    "tlb_flush": (0x00804005, 4, lambda w: {
        "target": upper(w[1]), "kind": bits(w[1], 0, 7), "local_cpu": bits(w[1], 8, 8),
        "cpus": w[2], "cycles": w[3]}),
    "ipi_round": (0x00804006, 7, lambda w: {
        "vector": bits(w[1], 24, 31), "flags": bits(w[1], 0, 23), "targets": w[2],
        "lock_cycles": w[3], "ack_cycles": w[4], "address": address(w[5], w[6])}),
    "assisted_flush": (0x00804007, 3, lambda w: {
        "vcpus": upper(w[1]), "cpus": bits(w[1], 0, 15), "cycles": w[2]}),
    "l0_flush": (0x00804008, 4, lambda w: {
        "flags": w[1], "rc": signed(w[2], 32), "cycles": w[3]}),
    "cache_flush": (0x00804009, 5, lambda w: {
        "target": upper(w[1]), "kind": bits(w[1], 0, 7), "bytes": w[2], "cpus": w[3],
        "cycles": w[4]}),
    "p2m_table_free": (0x0080400A, 4, lambda w: {
        "target": upper(w[1]), "pending": bits(w[1], 0, 0), "mfn": frame(w[2], w[3])}),
    "skip_window": (0x0080400B, 3, lambda w: {"change": w[1], "site": w[2]}),
    "unmap_call": (0x0080400C, 5, lambda w: {
        "asked": w[1], "done": w[2], "rc": signed(w[3], 32), "cycles": w[4]}),
    "grant_copy": (0x0080400D, 3, lambda w: {"done": w[1], "bytes": w[2]}),
    "iotlb_skipped": (0x00808001, 5, lambda w: {
        "target": upper(w[1]), "site": bits(w[1], 8, 15), "flags": bits(w[1], 0, 7),
        "dfn": frame(w[2], w[3]), "pages": w[4]}),
    "tlb_deferred": (0x00808002, 5, lambda w: {
        "target": upper(w[1]), "kind": bits(w[1], 0, 7), "gfn": frame(w[2], w[3]),
        "page_order": w[4]}),
    "page_released": (0x00808003, 7, lambda w: {
        "granter": upper(w[1]), "status": signed(bits(w[1], 0, 15), 16),
        "gfn": frame(w[2], w[3]), "mfn": frame(w[4], w[5]), "site": bits(w[6], 0, 7),
        "tlb_needed": bits(w[6], 8, 8), "iotlb_needed": bits(w[6], 9, 9),
        "device": bits(w[6], 10, 10)}),
    "iotlb_added": (0x00808004, 7, iotlb_columns),
    "iommu_writeback": (0x00808005, 5, lambda w: {
        "target": upper(w[1]), "bytes": w[2], "changed": w[3], "cycles": w[4]}),
}
KIND_OF_EVENT = {event: name for name, (event, words, columns) in KINDS.items()}
COLUMNS = {name: ["tsc", "pos", "cpu", "dom", "vcpu"] + list(columns([0] * words))
           for name, (event, words, columns) in KINDS.items()}


# ---- From bytes to records -----------------------------------------------------------

Record = collections.namedtuple("Record", "pos cpu event tsc words")  # tsc: None untimed
# `cols` holds the columns of the row's table, the common ones included.
Row = collections.namedtuple("Row", "table cur cols")


def read_records(data):
    """Yield every record, CPU_CHANGE headers included, in the order of the file."""
    pos = 0
    cpu = None
    while pos < len(data):
        start = pos
        try:
            (header,) = struct.unpack_from("<I", data, pos)
            pos += 4
            tsc = None
            if bits(header, 31, 31):
                (tsc,) = struct.unpack_from("<Q", data, pos)
                pos += 8
            count = bits(header, 28, 30)
            words = struct.unpack_from("<%dI" % count, data, pos)
            pos += 4 * count
        except struct.error:
            raise ValueError("cut off inside the record at byte %d" % start)
        event = bits(header, 0, 27)
        if event == CPU_CHANGE:
            if tsc is not None or count != 2:
                raise ValueError("bad CPU_CHANGE header at byte %d" % start)
            cpu = words[0]
        elif cpu is None:
            raise ValueError("does not begin with a CPU_CHANGE header")
        yield Record(start, cpu, event, tsc, words)


def row_of(record, first_tsc):
    """The table row of a flush record; None for any other record.

    A record of a known event without TSC or with another number of words is not of this
    layout, so nothing can be said about its words."""
    kind = KIND_OF_EVENT.get(record.event)
    event, words, columns = KINDS.get(kind, (None, None, None))
    if kind is None or record.tsc is None or len(record.words) != words:
        return None
    cur = record.words[0]
    cols = {"tsc": record.tsc - first_tsc, "pos": record.pos, "cpu": record.cpu,
            "dom": bits(cur, 16, 31), "vcpu": bits(cur, 0, 15)}
    cols.update(columns(record.words))
    return Row(kind, cur, cols)


def lost_per_cpu(gaps):
    """From (CPU, number of lost records) of each gap."""
    result = {}
    for cpu, records in gaps:
        on_cpu = result.setdefault(str(cpu), {"gaps": 0, "records": 0})
        on_cpu["gaps"] += 1
        on_cpu["records"] += records
    return result


def count_trace(data):
    records = list(read_records(data))
    stamps = [record.tsc for record in records if record.tsc is not None]
    first_tsc = min(stamps, default=None)
    result = {
        "records": 0, "windows": 0, "wraps": 0, "kinds": {kind: 0 for kind in KINDS},
        "other_events": collections.Counter(), "first_tsc": first_tsc,
        "last_tsc": max(stamps, default=None),
        "sums": {kind: {name: 0 for name in COLUMNS[kind]} for kind in KINDS},
    }
    rows = []
    gaps = []
    for record in records:
        if record.event == CPU_CHANGE:
            result["windows"] += 1
            continue
        result["records"] += 1
        row = row_of(record, first_tsc)
        if row:
            rows.append(row)
            result["kinds"][row.table] += 1
            for name, value in row.cols.items():
                if value is not None:
                    result["sums"][row.table][name] += value
        elif record.event == WRAP_BUFFER:
            result["wraps"] += 1
        elif record.event == LOST_RECORDS and len(record.words) == 4:
            gaps.append((record.cpu, record.words[0]))  # the first word is the count
        else:
            result["other_events"]["0x%08x" % record.event] += 1
    result["lost_gaps"] = len(gaps)
    result["lost"] = sum(records for cpu, records in gaps)
    result["lost_per_cpu"] = lost_per_cpu(gaps)
    rows.sort(key=lambda row: (row.cols["tsc"], row.cols["cpu"], row.cols["pos"]))
    result["headline"] = dict(headline(rows), lost=result["lost"])
    # Whatever belongs together has the same `cur`, hence the same domain: the answer for
    # one domain is the answer for its rows.  Lost records have no known `cur`.
    result["headline"]["domains"] = [
        dict(dom=dom, **headline([row for row in rows if row.cols["dom"] == dom]))
        for dom in sorted({row.cols["dom"] for row in rows})]
    return result


# ---- The headline --------------------------------------------------------------------

Batch = collections.namedtuple("Batch", "end inner")  # inner: rows of its cur, in order


def complete_batches(rows):
    """The batches whose BATCH_BEGIN and BATCH_END were both seen.

    A batch lies inside one call: where another BATCH_BEGIN or an UNMAP_CALL of the same
    cur comes first, the BATCH_END was lost, and a later one is another batch's."""
    batches = []
    inner = {}  # cur: rows since its BATCH_BEGIN, while a batch is open
    for row in rows:
        if row.table == "batch_begin":
            inner[row.cur] = []
        elif row.table == "batch_end" and row.cur in inner:
            batches.append(Batch(row, inner.pop(row.cur)))
        elif row.table == "unmap_call":
            inner.pop(row.cur, None)
        elif row.cur in inner:
            inner[row.cur].append(row)
    return batches


def flushes_inside(rows, batches, kind):
    """Positions of the flushes of a kind inside a batch, or inside an unmap call (which
    is written when the call ends, so a flush waits for the call that claims it)."""
    inside = {row.cols["pos"] for batch in batches for row in batch.inner
              if row.table == kind}
    waiting = collections.defaultdict(list)  # cur: flushes that no call has claimed yet
    for row in rows:
        if row.table == kind:
            waiting[row.cur].append(row)
        elif row.table == "unmap_call":
            begin = row.cols["tsc"] - row.cols["cycles"]
            claimed = [one for one in waiting[row.cur] if one.cols["tsc"] >= begin]
            inside.update(one.cols["pos"] for one in claimed)
            waiting[row.cur] = [one for one in waiting[row.cur] if one.cols["tsc"] < begin]
    return inside


def done_outside_batches(rows):
    """Operations of the calls without BATCH_BEGIN or BATCH_END since the call before."""
    done = 0
    saw_batch = set()  # each cur with one since its last call
    for row in rows:
        if row.table in ("batch_begin", "batch_end"):
            saw_batch.add(row.cur)
        elif row.table == "unmap_call":
            if row.cur not in saw_batch:
                done += row.cols["done"]
            saw_batch.discard(row.cur)
    return done


def closing_iotlb_flushes(batch):
    """The IOTLB flushes of a batch after the last skipped one."""
    closing = []
    for row in batch.inner:
        if row.table == "iotlb_skipped":
            closing = []
        elif row.table == "iotlb_flush":
            closing.append(row)
    return closing


def invalidations_by_flush(rows):
    """Position of an IOTLB flush: its invalidations.  They come before it, on the same
    CPU and with the same cur, and take no more cycles than it."""
    result = {}
    before = collections.defaultdict(list)  # since the last IOTLB flush, by CPU and cur
    for row in rows:
        where = (row.cols["cpu"], row.cur)
        if row.table == "iommu_invalidate":
            before[where].append(row)
        elif row.table in ("iotlb_flush", "iotlb_added"):
            result[row.cols["pos"]] = [one for one in before.pop(where, [])
                                       if one.cols["cycles"] <= row.cols["cycles"]]
    return result


def pages_invalidated(invalidations):
    """Pages that the commands of one flush named (only granularity 3 does).  Each IOMMU
    gets the same ranges, so with several of them the one that got most counts."""
    by_iommu = collections.Counter()
    for one in invalidations:
        if one.cols["granularity"] == 3:
            by_iommu[one.cols["iommu"]] += 2 ** one.cols["mask_order"]
    return max(by_iommu.values(), default=0)


def headline(rows):
    batches = complete_batches(rows)

    def ratio(numerator, denominator):
        return numerator / denominator if denominator else None

    def count(table, among):
        return sum(1 for row in among if row.table == table)

    def total(table, column):
        return sum(row.cols[column] for row in rows if row.table == table)

    def flush_counts(kind):
        performed = len(flushes_inside(rows, batches, kind))
        avoided = sum(max(0, batch.end.cols["pages"] - count(kind, batch.inner))
                      for batch in batches)
        return {"performed": performed, "avoided": avoided,
                "other": count(kind, rows) - performed}

    # Each ratio is over the batches that have a flush to be counted: a whole-domain flush
    # or command names no pages.
    invalidations_of = invalidations_by_flush(rows)
    asked = asked_batch_pages = sent = sent_batch_pages = 0
    for batch in batches:
        closing = closing_iotlb_flushes(batch)
        ranges = [flush.cols["pages"] for flush in closing if not flush.cols["whole"]]
        if ranges:
            asked += sum(ranges)
            asked_batch_pages += batch.end.cols["pages"]
        commands = [pages_invalidated(invalidations_of[flush.cols["pos"]])
                    for flush in closing]
        if any(commands):
            sent += sum(commands)
            sent_batch_pages += batch.end.cols["pages"]

    return {
        "operations": total("unmap_call", "done"),
        "pages_unmapped": total("batch_end", "pages") + done_outside_batches(rows),
        "batches": len(batches),
        "pages_per_batch": ratio(sum(batch.end.cols["pages"] for batch in batches),
                                 len(batches)),
        "iotlb": flush_counts("iotlb_flush"),
        "tlb": flush_counts("tlb_flush"),
        "ipi": {"rounds": count("ipi_round", rows),
                "targets": total("ipi_round", "targets")},
        "overflush": ratio(asked, asked_batch_pages),
        "hw_overflush": ratio(sent, sent_batch_pages),
    }


# ---- Comparison ----------------------------------------------------------------------

class Comparison:
    mismatches = 0

    def equal(self, what, counted, found):
        same = counted == found
        if isinstance(counted, float) and isinstance(found, (int, float)):
            same = math.isclose(counted, found, rel_tol=1e-9)
        if not same:
            self.mismatches += 1
            print("%s: counted %s, found %s" % (what, counted, found), file=sys.stderr)

    def equal_by_key(self, what, counted, found):
        for key in sorted(set(counted) | set(found)):
            self.equal("%s %s" % (what, key), counted.get(key), found.get(key))


def check_database(counted, path, compare):
    database = sqlite3.connect(pathlib.Path(path).resolve().as_uri() + "?mode=ro", uri=True)

    def query(sql):
        try:
            return database.execute(sql).fetchall()
        except sqlite3.OperationalError as error:  # such as a missing column
            compare.equal(sql, "a result", "an error: %s" % error)
            return []

    compare.equal("rows of run", [(1,)], query("SELECT count(*) FROM run"))
    for name in ("records", "lost", "wraps", "windows"):
        for value, in query("SELECT %s FROM run" % name):
            compare.equal("run." + name, counted[name], value)

    for kind in KINDS:
        for number, in query("SELECT count(*) FROM " + kind):
            compare.equal("rows of " + kind, counted["kinds"][kind], number)
        for name in COLUMNS[kind]:
            # Added here: SQL's sum() refuses totals beyond 64 bits.
            values = query("SELECT %s FROM %s WHERE %s IS NOT NULL" % (name, kind, name))
            compare.equal("sum of %s.%s" % (kind, name), counted["sums"][kind][name],
                          sum(value for value, in values))

    compare.equal_by_key("lost on CPU", counted["lost_per_cpu"],
                         lost_per_cpu(query("SELECT cpu, records FROM lost")))

    # There may be several rows for an event, one for each CPU and domain.
    others = collections.Counter()
    for event, number in query("SELECT event, count FROM other_events"):
        others["0x%08x" % event] += number
    compare.equal_by_key("other_events", counted["other_events"], others)


def check_headline(counted, found, compare, prefix="headline"):
    """Compare the fields that are counted here; the report may have more."""
    for name, value in counted.items():
        what = "%s.%s" % (prefix, name)
        if name == "domains":
            by_dom = {entry["dom"]: entry for entry in found.get(name, [])}
            compare.equal(what, sorted(entry["dom"] for entry in value), sorted(by_dom))
            for entry in value:
                check_headline(entry, by_dom.get(entry["dom"], {}), compare,
                               "%s[%d]" % (what, entry["dom"]))
        elif isinstance(value, dict):
            check_headline(value, found.get(name, {}), compare, what)
        else:
            compare.equal(what, value, found.get(name, "no such field"))


def main():
    parser = argparse.ArgumentParser(description="Count a trace from its bytes.")
    parser.add_argument("trace")
    parser.add_argument("--check", metavar="DB", help="compare with this database")
    parser.add_argument("--headline", metavar="FILE", help="compare with this report")
    options = parser.parse_args()
    compare = Comparison()
    try:
        counted = count_trace(pathlib.Path(options.trace).read_bytes())
        if options.check:
            check_database(counted, options.check, compare)
        if options.headline:
            found = json.loads(pathlib.Path(options.headline).read_text())
            check_headline(counted["headline"], found, compare)
    except (OSError, ValueError, sqlite3.Error) as error:
        print("count_trace: %s: %s" % (options.trace, error), file=sys.stderr)
        return 2
    if not options.check and not options.headline:
        print(json.dumps(counted, indent=1))
    return 1 if compare.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
