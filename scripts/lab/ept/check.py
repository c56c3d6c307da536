#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does a trace recorded under Bochs show the EPT half of flushing as it must be?

usage: check.py baseline|batched TRACE
       check.py --self-test

Follows the records of each vCPU from the bytes of the trace, without the project's
own database, and prints what was counted, then each rule that was broken. There is
no IOMMU under Bochs, so every record of an IOTLB flush is one too many. Exit
status: 0 all hold, 1 one does not, 2 usage.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xentrace                                 # pylint: disable=wrong-import-position

BATCH_BEGIN, BATCH_END, IOTLB_FLUSH, IOMMU_INVALIDATE, TLB_FLUSH, IPI_ROUND = (0x00804000 + n for n in range(1, 7))
P2M_TABLE_FREE, UNMAP_CALL = 0x0080400A, 0x0080400C
IOTLB_SKIPPED, TLB_DEFERRED, PAGE_RELEASED, IOTLB_ADDED, IOMMU_WRITEBACK = (0x00808000 + n for n in range(1, 6))

EPT = 1                     # kind of a guest TLB flush
LOCAL_CPU = 1 << 8          # TLB_FLUSH: the mask has the CPU that sends
GUEST_TLB = 1 << 8          # BATCH_END: a flush was deferred
GRANT_UNMAP = 1             # site of PAGE_RELEASED
NEEDED_TLB, NEEDED_IOTLB = 1 << 8, 1 << 9
MOST_OPERATIONS = 32        # of a batch
UNKNOWN_CYCLES = 0xFFFFFFFF

NAMES = {
    BATCH_BEGIN: "batches begun", BATCH_END: "batches ended", TLB_FLUSH: "TLB_FLUSH", IPI_ROUND: "IPI_ROUND",
    UNMAP_CALL: "UNMAP_CALL", TLB_DEFERRED: "deferred", PAGE_RELEASED: "pages released",
}
NO_IOMMU = {
    IOTLB_FLUSH: "IOTLB_FLUSH", IOMMU_INVALIDATE: "IOMMU_INVALIDATE", IOTLB_SKIPPED: "IOTLB_SKIPPED",
    IOTLB_ADDED: "IOTLB_ADDED", IOMMU_WRITEBACK: "IOMMU_WRITEBACK",
}


class VCPU:
    """Where one vCPU is, between its unmap calls and batches."""

    def __init__(self):
        self.seen = False           # a record before this call, so it was seen from its begin
        self.batch = None           # gfns deferred in the open batch
        self.closed = []            # gfns of the batch that ended last and are not released yet
        self.batch_flushes = 0      # since the batch began
        self.flushes = []           # their times, since the last call ended
        self.released = 0           # pages that needed a flush, likewise


class Checker:
    def __init__(self, arm, data):
        self.batched = arm == "batched"
        self.counted = collections.Counter()
        self.wrong = []
        self.batches = self.calls = 0           # those that were judged
        self.vcpus = collections.defaultdict(VCPU)
        self.rounds = {}                        # CPU: the IPI_ROUND before this record
        self.changed = []                       # flushes whose IPI_ROUND names other CPUs
        for record in xentrace.in_time_order(data):
            self.take(record)
        # The domain's dirty mask lives: it is counted, and read again to send. That may
        # give two answers now and then, not as a rule.
        if len(self.changed) * 20 > self.counted[TLB_FLUSH]:
            self.fail(self.changed[0], f"{len(self.changed)} times TLB_FLUSH and its IPI_ROUND do not agree "
                      "about the number of other CPUs; here the first")
        if not self.calls:
            self.wrong.append("no unmap call was recorded from begin to end")
        if self.batched and not self.batches:
            self.wrong.append("no batch with pages was recorded from begin to end")

    def fail(self, record, what):
        self.wrong.append(f"byte {record.position}: {what}")

    def take(self, record):
        event = record.event
        self.counted[event] += 1
        if event == xentrace.LOST_RECORDS:
            self.fail(record, "records were lost")
        elif event in NO_IOMMU:
            self.fail(record, f"{NO_IOMMU[event]} without an IOMMU")
        elif event in HANDLERS:
            HANDLERS[event](self, record, self.vcpus[record.words[0]])
        self.rounds[record.cpu] = record if event == IPI_ROUND else None

    def batch_begin(self, record, vcpu):
        if not self.batched:
            self.fail(record, "a batch, though batching is off")
        if vcpu.batch is not None:
            self.fail(record, "a batch within a batch")
        if not 1 <= record.words[1] <= MOST_OPERATIONS:
            self.fail(record, f"a batch of {record.words[1]} operations")
        self.all_released(record, vcpu)
        vcpu.batch, vcpu.batch_flushes = [], 0

    def all_released(self, record, vcpu):
        if vcpu.closed:
            self.fail(record, f"{len(vcpu.closed)} pages of the batch before were not released")
        vcpu.closed = []

    def deferred(self, record, vcpu):
        _, target, low, high, order = record.words
        if target & 0xFF != EPT:
            self.fail(record, f"TLB_DEFERRED of kind {target & 0xFF}, not EPT")
        if order:
            self.fail(record, f"TLB_DEFERRED of order {order}")
        if not self.batched:
            self.fail(record, "TLB_DEFERRED, though batching is off")
        elif vcpu.batch is not None:
            vcpu.batch.append(low | high << 32)

    def flush(self, record, vcpu):
        _, target, cpus, _ = record.words
        if target & 0xFF != EPT:
            self.fail(record, f"TLB_FLUSH of kind {target & 0xFF}, not EPT")
        others = cpus - bool(target & LOCAL_CPU)
        sent = self.rounds.get(record.cpu)
        if others != (sent.words[2] if sent else 0):
            self.changed.append(record)
        vcpu.batch_flushes += 1
        vcpu.flushes.append(record.tsc)

    def batch_end(self, record, vcpu):
        if vcpu.batch is None:                  # began before the trace
            return
        _, flags, status, low, low_high, high, high_high = record.words
        gfns, pages = vcpu.batch, flags >> 16
        low, high = low | low_high << 32, high | high_high << 32
        if status or flags & 0xFF:
            self.fail(record, "an IOTLB flush at the end of a batch, without an IOMMU")
        if len(gfns) != pages or bool(flags & GUEST_TLB) != bool(pages):
            self.fail(record, f"a batch of {pages} pages, {len(gfns)} of them deferred")
        if gfns and (low, high) != (min(gfns), max(gfns)):
            self.fail(record, "the batch's range is not that of its pages")
        if vcpu.batch_flushes != bool(pages):
            self.fail(record, f"a batch of {pages} pages has {vcpu.batch_flushes} flushes")
        self.batches += bool(pages)
        vcpu.closed, vcpu.batch = gfns, None

    def released(self, record, vcpu):
        flags = record.words[6]
        if flags & 0xFF != GRANT_UNMAP:
            return
        gfn = record.words[2] | record.words[3] << 32
        if flags & NEEDED_IOTLB:
            self.fail(record, "a page that needed an IOTLB flush, without an IOMMU")
        if vcpu.batch is not None:
            self.fail(record, f"gfn {gfn:#x} is released within its batch, before the flush")
        elif gfn in vcpu.closed:
            vcpu.closed.remove(gfn)
        elif self.batched and flags & NEEDED_TLB and vcpu.seen:
            self.fail(record, f"gfn {gfn:#x} is released and was in no batch that has ended")
        vcpu.released += bool(flags & NEEDED_TLB)

    def call(self, record, vcpu):
        _, asked, done, _, cycles = record.words
        self.all_released(record, vcpu)
        # Without this the call may have begun before the trace.
        if vcpu.seen and cycles != UNKNOWN_CYCLES:
            self.calls += 1
            flushes = sum(time >= record.tsc - cycles for time in vcpu.flushes)
            what = f"a call of {asked} operations, {done} done: {vcpu.released} pages, {flushes} flushes"
            most = (done + MOST_OPERATIONS - 1) // MOST_OPERATIONS if self.batched else vcpu.released
            if flushes > most or (not self.batched and flushes < most):
                self.fail(record, what)
        vcpu.seen, vcpu.flushes, vcpu.released = True, [], 0

    def report(self):
        counts = ", ".join(f"{name} {self.counted[event]:,}" for event, name in NAMES.items() if self.counted[event])
        pages = self.counted[PAGE_RELEASED]
        print(f"{counts}: {self.counted[TLB_FLUSH] / pages:.3f} EPT flushes a page" if pages else counts or "nothing")
        print(f"judged: {self.calls:,} calls and {self.batches:,} batches with pages, from begin to end")
        if self.changed:
            print(f"{len(self.changed)} of the flushes: the mask changed between counting and sending")
        for what in self.wrong[:20]:
            print(f"wrong: {what}")
        if len(self.wrong) > 20:
            print(f"wrong: and {len(self.wrong) - 20} more")
        return 1 if self.wrong else 0


HANDLERS = {
    BATCH_BEGIN: Checker.batch_begin, TLB_DEFERRED: Checker.deferred, TLB_FLUSH: Checker.flush,
    BATCH_END: Checker.batch_end, PAGE_RELEASED: Checker.released, UNMAP_CALL: Checker.call,
}


CALLER, FIRST_GFN = 0x00000001, 0x1000


class Script:
    """A trace made by hand, of one CPU: each record 10 ticks after the one before."""

    def __init__(self):
        self.parts = []
        self.tsc = 1000

    def add(self, event, *words, caller=CALLER):
        self.tsc += 10
        self.parts.append(xentrace.encode(event, (caller, *words), self.tsc))
        return self

    def flush(self, kind=EPT, cpus=2, sent=1):
        self.add(IPI_ROUND, 0, sent, 1, 2, 0, 0)
        return self.add(TLB_FLUSH, kind | LOCAL_CPU, cpus, 5)

    def page(self, gfn):
        return self.add(PAGE_RELEASED, 1 << 16, gfn, 0, 7, 0, GRANT_UNMAP | NEEDED_TLB)

    def call(self, operations, began):
        return self.add(UNMAP_CALL, operations, operations, 0, self.tsc + 10 - began)

    def batched(self, pages, flush=True, release=True, kind=EPT):
        began = self.tsc + 5
        self.add(BATCH_BEGIN, pages)
        for gfn in range(FIRST_GFN, FIRST_GFN + pages):
            self.add(TLB_DEFERRED, kind, gfn, 0, 0)
        if flush:
            self.flush()
        self.add(BATCH_END, pages << 16 | GUEST_TLB, 0, FIRST_GFN, 0, FIRST_GFN + pages - 1, 0)
        for gfn in range(FIRST_GFN, FIRST_GFN + (pages if release else pages - 1)):
            self.page(gfn)
        return self.call(pages, began)

    def baseline(self, pages, flushes):
        began = self.tsc + 5
        for _ in range(flushes):
            self.flush()
        for gfn in range(FIRST_GFN, FIRST_GFN + pages):
            self.page(gfn)
        return self.call(pages, began)

    def wrong(self, arm):
        return Checker(arm, xentrace.window(0, *self.parts)).wrong


def self_test():
    """(a trace, its arm, a word of the only complaint; None: there must be none)"""
    def start():
        return Script().call(1, 0)      # what comes after it is seen from its begin
    cases = (
        (start().batched(3).batched(32), "batched", None),
        (start().baseline(3, 3), "baseline", None),
        # A flush between two calls belongs to none.
        (start().flush().baseline(2, 2), "baseline", None),
        (start().baseline(3, 2), "baseline", "3 pages, 2 flushes"),
        (start().batched(3, flush=False), "batched", "has 0 flushes"),
        (start().batched(3, release=False), "batched", "1 pages of the batch before"),
        (start().batched(1, kind=2), "batched", "kind 2"),
        (start().baseline(1, 0), "baseline", "1 pages, 0 flushes"),
        (start().flush(cpus=3).baseline(1, 1), "baseline", "do not agree"),
        (start().batched(1).add(IOTLB_FLUSH, 0, 0, 0, 1, 0, 9), "batched", "without an IOMMU"),
        (start().batched(1).add(TLB_FLUSH, EPT | LOCAL_CPU, 2, 5), "batched", "do not agree"),
        (start().batched(1), "baseline", "though batching is off"),
        (start(), "batched", "no batch"),
        (start().batched(1).page(9).batched(1), "batched", "in no batch"),
    )
    failed = 0
    for number, (script, arm, word) in enumerate(cases, start=1):
        wrong = script.wrong(arm)
        good = any(word in what for what in wrong) if word else not wrong
        if not good:
            print(f"case {number}: expected {word or 'nothing'}, got {wrong or 'nothing'}")
        failed += not good
    print(f"check.py: {len(cases) - failed} of {len(cases)} cases as expected")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 3 or sys.argv[1] not in ("baseline", "batched"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[2], "rb") as file:
            return Checker(sys.argv[1], file.read()).report()
    except (OSError, xentrace.Broken) as problem:
        print(f"check.py: {sys.argv[2]}: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
