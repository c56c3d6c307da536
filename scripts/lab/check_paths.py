#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what xfpaths did with what Xen recorded about it.

usage: check_paths.py [--batched | --baseline] [--iommu=amd|vtd|none] [--fault=N]
                      XFPATHS_OUTPUT TRACE
       check_paths.py --self-test

XFPATHS_OUTPUT has a line for each call that xfpaths made; the trace has two marks
around it (programs/xen.h), so its mask must select TRC_MEM beside the flush records:
0x0090c000. Each step's records must be exactly those that programs/README.md tells.

  --batched, --baseline   whether groups of unmaps are flushed together; without, the
                          trace tells, and neither can go wrong unnoticed
  --iommu                 the IOMMU of the run (amd). A domain without devices has
                          no command sent by VT-d; AMD sends them for all
  --fault=N               call N of `xfpaths fault`, and no other, must leak

Exit status: 0 all agree, 1 something differs, 2 usage or unusable input, 77 the trace
has no marks.
"""
import collections
import struct
import sys

import xentrace
from path_rules import (CLOSE, NAMES, OPEN, RESUME, SUSPEND, Checker, Differs, Step, block,
                        groups, wide)

MARK = 0x0010F005               # TRC_MEM_DECREASE_RESERVATION
MARK_GFN = 0x4D41524B0000


def parse_output(text):
    """The steps; lines without a mark (cost, end) are left out."""
    steps = []
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2 and words[0] == "XF":
            fields = dict(word.partition("=")[::2] for word in words[2:])
            if "mark" in fields:
                steps.append(Step(words[1], fields))
    return steps


def attach(steps, data):
    """Gives each step its records; returns all names in the trace, counted."""
    marked, names, lost = {}, collections.Counter(), 0
    inside = {}                     # CPU: [number of the step, its records]
    for record in xentrace.records(data):
        lost += record.event == xentrace.LOST_RECORDS
        if record.event == MARK and MARK_GFN <= wide(record.words, 0) < MARK_GFN + 2 ** 32:
            number, end = divmod(wide(record.words, 0) - MARK_GFN, 2)
            if end:
                begun, records = inside.pop(record.cpu, (None, None))
                if begun == number:
                    marked[number] = records
            else:
                inside[record.cpu] = (number, [])
        elif record.event in NAMES:
            names[NAMES[record.event]] += 1
            if record.cpu in inside:
                inside[record.cpu][1].append((NAMES[record.event], record.words))
    for step in steps:
        vcpu = step.number("cpu")   # of domain 0
        records = marked.get(step.number("mark"))
        if records is not None:
            step.records = [(name, words) for name, words in records if words[0] == vcpu]
    return names, lost


def check(output, data, options, say):
    """Exit status."""
    steps = parse_output(output)
    if not steps:
        say("check_paths: xfpaths has done nothing that leaves a mark")
        return 2
    names, lost = attach(steps, data)
    if lost:
        say(f"check_paths: the trace has lost records ({lost} gaps): larger buffers are needed")
        return 1
    if all(step.records is None for step in steps):
        say("check_paths: the trace has no marks: record with mask 0x0090c000")
        return 77
    batched = options.get("batched")
    if batched is None:
        batched = names["BATCH_BEGIN"] > 0
    checker = Checker(batched, options.get("iommu", "amd"), options.get("fault"))
    wrong = 0
    for step in steps:
        try:
            say(f"  ok    {step.name:<20} {checker.step(step)}")
        except Differs as difference:
            wrong += 1
            say(f"  WRONG {step.name:<20} {difference}")
    say(f"{len(steps) - wrong} of {len(steps)} steps agree with the trace, "
        f"unmaps {'in groups' if batched else 'page by page'}")
    return int(wrong > 0)


# ---- Self-test ------------------------------------------------------------------------

def make_trace(records, cpu=0):
    body = b""
    for event, words in records:
        timed = event != MARK
        body += struct.pack("<I", event | len(words) << 28 | timed << 31)
        body += struct.pack("<Q", 1000 + len(body)) if timed else b""
        body += struct.pack(f"<{len(words)}I", *(word & 0xFFFFFFFF for word in words))
    return struct.pack("<3I", xentrace.CPU_CHANGE | 2 << 28, cpu, len(body)) + body


def mark(number, end):
    gfn = MARK_GFN + 2 * number + end
    return MARK, (gfn & 0xFFFFFFFF, gfn >> 32, 0)


BY_NAME = {name: event for event, name in NAMES.items()}


def record(name, *words):
    return BY_NAME[name], (0, *words)


def self_test_unmap(batched):
    """Two pages and a bad operation between them, in one call."""
    pages = (0x1000020, 0x1000022)
    line = ("XF unmap step=three mark=1 asked=3 done=3 rc=0 granter=5 one_page=0 "
            "ops=0x1000020*1,bad*1,0x1000022*1 cpu=0 tsc0=100 tsc1=900\n")
    made = [mark(1, 0)]
    if batched:
        made += [record("BATCH_BEGIN", 3)]
        for gfn in pages:
            made += [record("IOTLB_SKIPPED", 0x202, gfn, 0, 1),
                     record("TLB_DEFERRED", 2, gfn, 0, 0)]
        made += [record("TLB_FLUSH", 2, 1, 10),
                 record("IOMMU_INVALIDATE", 0x903, 8, 0x1000020, 0, 0, 9),
                 record("IOTLB_FLUSH", 2, 0x1000020, 0, 4, 0, 20),
                 record("BATCH_END", 2 << 16 | 0x102, 0, 0x1000020, 0, 0x1000022, 0)]
    else:
        for gfn in pages:
            made += [record("TLB_FLUSH", 2, 1, 10), record("IOMMU_INVALIDATE", 3, 8, gfn, 0, 0, 9),
                     record("IOTLB_FLUSH", 2, gfn, 0, 1, 0, 20)]
    made += [record("PAGE_RELEASED", 5 << 16, gfn, 0, gfn + 7, 0, 0x301) for gfn in pages]
    made += [record("UNMAP_CALL", 3, 3, 0, 700), mark(1, 1)]
    return line, made


def self_test_move():
    """A frame is moved onto another page."""
    line = ("XF physmap step=move mark=2 how=range domain=3 frames=1 removed=1 from=0x10 to=0x20 "
            "rc=0 cpu=0 tsc0=1 tsc1=2\n")
    d = 3 << 16

    def flush(gfn, flags):
        return [record("IOMMU_INVALIDATE", d | 3, 8, gfn, 0, 0, 9),
                record("IOTLB_FLUSH", d | flags, gfn, 0, 1, 0, 9)]

    return line, [
        mark(2, 0),
        record("SKIP_WINDOW", OPEN, 2),
        record("SKIP_WINDOW", SUSPEND, 3),
        *flush(0x20, 2),
        record("SKIP_WINDOW", RESUME, 3),
        record("PAGE_RELEASED", d, 0x20, 0, 9, 0, 0x303),
        record("IOTLB_SKIPPED", d | 0x202, 0x10, 0, 1),
        record("IOTLB_SKIPPED", d | 0x101, 0x20, 0, 1),
        record("SKIP_WINDOW", CLOSE, 2),
        *flush(0x10, 2),
        record("PAGE_RELEASED", d, 0x10, 0, 8, 0, 0x302),
        *flush(0x20, 3),
        mark(2, 1)]


def self_test():
    def quiet(text):
        del text

    for batched in (False, True):
        cases = [self_test_unmap(batched), self_test_move()]
        output = "".join(line for line, _ in cases)
        made = [record_ for _, records in cases for record_ in records]
        for options in ({}, {"batched": batched}):
            said = []
            assert check(output, make_trace(made), options, said.append) == 0, said
        assert check(output, make_trace(made), {"batched": not batched}, quiet) == 1
        # Each record counts: without any one of them, or with one too many, or with
        # another first value in it, the trace no longer agrees.
        for i, (event, words) in enumerate(made):
            before, after = made[:i], made[i + 1:]
            wrong = [before + after,
                     before + [(event, (words[0], words[1] + 64, *words[2:]))] + after]
            if event != MARK:
                wrong.append(before + [made[i], made[i]] + after)
            for trace in wrong:
                status = check(output, make_trace(trace), {"batched": batched}, quiet)
                assert status == 1, (i, NAMES.get(event))
    line, made = self_test_unmap(True)
    assert check(line, make_trace([r for r in made if r[0] != MARK]), {}, quiet) == 77
    lost = xentrace.LOST_RECORDS, (1, 0, 0, 0)
    assert check(line, make_trace(made + [lost]), {}, quiet) == 1
    assert check("XF end differences=0\n", make_trace(made), {}, quiet) == 2
    assert block([5]) == (5, 1) and block([0x20, 0x40]) == (0, 0x80) and block([4, 7]) == (4, 4)
    assert groups([1] * 48, 40, True) == [(32, [1] * 32), (16, [1] * 8)]
    assert groups([1] * 33, 33, False) == [(32, [1] * 32), (1, [1])]
    assert groups([1] * 8, 0, True) == [(8, [])]
    print("check_paths: self-test passed")


def arguments(words):
    options, files = {}, []
    for word in words:
        if word in ("--batched", "--baseline"):
            options["batched"] = word == "--batched"
        elif word in ("--iommu=amd", "--iommu=vtd", "--iommu=none"):
            options["iommu"] = word.partition("=")[2]
        elif word.startswith("--fault=") and word[8:].isdigit():
            options["fault"] = int(word[8:])
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    return (options, files) if len(files) == 2 else None


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    given = arguments(sys.argv[1:])
    if not given:
        print(__doc__, file=sys.stderr)
        return 2
    options, (output, trace) = given
    try:
        with open(output, encoding="ascii", errors="replace") as file:
            text = file.read()
        with open(trace, "rb") as file:
            data = file.read()
        return check(text, data, options, print)
    except (OSError, xentrace.Broken) as problem:
        print(f"check_paths: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
