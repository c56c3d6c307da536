#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Do the trace and the emulated IOMMU tell of the same invalidations?

usage: witness_qemu.py TRACE IOMMU_LOG
       witness_qemu.py --self-test

TRACE is what xentrace recorded, IOMMU_LOG what iommu_watch.py wrote in the same
run. The log covers the whole run, the trace a part of it: the IOMMU_INVALIDATE
records must be a contiguous piece of the log, the same commands with the same
domain ids, frames and orders in the same order, with nothing left out. The
records are looked for by their first ones, and the first pair that differs after
that is shown. Exit status: 0 they agree, 1 they do not, 2 usage, 3 the trace has
no such record to judge by.

The address is meaningless in commands for a domain or for everything, and is not
compared there. A command that failed (rc) has gone to the IOMMU as well.
"""
import sys

import xentrace

GRANULARITY = {1: "global", 2: "domain", 3: "pages"}
ANCHOR = 8                      # records that tell where in the log the trace begins


class Disagreement(Exception):
    pass


def command_of(record):
    """One IOMMU_INVALIDATE record as a line of the log."""
    _, packed, _, low, high = record.words[:5]
    kind = GRANULARITY.get(packed & 0xFF)
    domain, order, frame = packed >> 16, packed >> 8 & 0xFF, low | high << 32
    if kind == "pages":
        return f"pages {domain:x} {frame >> order << order:x} {order:x}"
    if kind == "domain":
        return f"domain {domain:x}"
    if kind == "global":
        return "global"
    raise Disagreement(f"byte {record.position}: granularity {packed & 0xFF} tells of no command")


def recorded_commands(data):
    found = []
    for record in xentrace.in_time_order(data):
        if record.event == xentrace.LOST_RECORDS:
            raise Disagreement(f"records of CPU {record.cpu} were lost: nothing can be said")
        if record.event == xentrace.IOMMU_INVALIDATE:
            if len(record.words) != 7:
                raise Disagreement(f"byte {record.position}: {len(record.words)} words, not 7")
            found.append((command_of(record), record))
    return found


def places_of(commands, log):
    """Where in the log the first commands occur."""
    anchor = commands[:ANCHOR]
    first, places = anchor[0], []
    for place in range(len(log) - len(anchor) + 1):
        if log[place] == first and log[place:place + len(anchor)] == anchor:
            places.append(place)
    return places


def agreeing(commands, log, place):
    """How many commands agree with the log from that place on."""
    count = 0
    while count < len(commands) and place + count < len(log) and commands[count] == log[place + count]:
        count += 1
    return count


def compare(data, log):
    """What to say about a trace that agrees with the log; Disagreement if not."""
    recorded = recorded_commands(data)
    if not recorded:
        return None
    commands = [command for command, _ in recorded]
    places = places_of(commands, log)
    if not places:
        raise Disagreement("the trace begins with commands that the IOMMU never got in this order: "
                           + ", ".join(commands[:ANCHOR]))
    best = max(places, key=lambda place: agreeing(commands, log, place))
    count = agreeing(commands, log, best)
    if count < len(commands):
        record = recorded[count][1]
        got = log[best + count] if best + count < len(log) else "nothing more"
        raise Disagreement(f"after {count} equal commands, the trace has '{commands[count]}' (byte "
                           f"{record.position}, CPU {record.cpu}), the IOMMU got '{got}' (line {best + count + 1})")
    matching = sum(agreeing(commands, log, place) == len(commands) for place in places)
    where = f"lines {best + 1} to {best + len(commands)} of {len(log)}"
    if matching > 1:
        where += f" (or at {matching - 1} other places)"
    kinds = {}
    for command in commands:
        kind = command.split()[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"{len(commands)} IOMMU_INVALIDATE records are {where}, the same in the same order ({told})"


def self_test():
    def invalidate(tsc, domain, kind, order=0, frame=0):
        words = (0, domain << 16 | order << 8 | kind, 0, frame & 0xFFFFFFFF, frame >> 32, 0, 100)
        return xentrace.encode(xentrace.IOMMU_INVALIDATE, words, tsc)

    def disagrees(trace, log, about):
        try:
            compare(trace, log)
        except Disagreement as problem:
            assert about in str(problem), problem
            return
        raise AssertionError(f"not noticed: {about}")

    log = ["domain 1", "pages 1 10 0", "pages 1 200 9", "global", "pages 1 123456789 0", "domain 2", "pages 1 10 0"]
    # Two CPUs, whose records interleave; the frame of an order is aligned down.
    trace = (xentrace.window(0, invalidate(10, 1, 3, 0, 0x10), invalidate(30, 9, 1, 0, 0x77))
             + xentrace.window(1, invalidate(20, 1, 3, 9, 0x3FF), xentrace.encode(0x0001F002, ()),
                               invalidate(40, 1, 3, 0, 0x123456789)))
    assert compare(trace, log).startswith("4 IOMMU_INVALIDATE records are lines 2 to 5 of 7,"), compare(trace, log)
    assert compare(xentrace.window(0), log) is None
    assert "or at 1 other" in compare(xentrace.window(0, invalidate(1, 1, 3, 0, 0x10)), log)

    long_log = log + [f"pages 1 {frame:x} 0" for frame in range(100, 120)]
    long_trace = [invalidate(frame, 1, 3, 0, frame) for frame in range(100, 120)]
    assert compare(xentrace.window(0, *long_trace), long_log)
    missing, added, changed = long_trace[:12] + long_trace[13:], long_trace[:], long_trace[:]
    added.insert(12, invalidate(111, 1, 3, 0, 5))
    changed[12] = invalidate(112, 1, 3, 9, 112)
    disagrees(xentrace.window(0, *missing), long_log, "after 12 equal commands, the trace has 'pages 1 71 0'")
    disagrees(xentrace.window(0, *added), long_log, "after 12 equal commands, the trace has 'pages 1 5 0'")
    disagrees(xentrace.window(0, *changed), long_log, "the trace has 'pages 1 0 9'")
    disagrees(xentrace.window(0, *long_trace), long_log[:-1], "nothing more")
    disagrees(xentrace.window(0, *reversed(changed[:3])), log, "never got")
    disagrees(xentrace.window(0, invalidate(1, 1, 0)), log, "granularity 0")
    disagrees(xentrace.window(0, xentrace.encode(xentrace.LOST_RECORDS, (1, 0, 0, 0), 1)), log, "lost")
    for cut in range(1, len(trace)):
        try:
            compare(trace[:cut], log)
        except (xentrace.Broken, Disagreement):
            continue
        raise AssertionError(f"cut at {cut} not noticed")
    print("witness_qemu: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], "rb") as file:
            data = file.read()
        with open(sys.argv[2], encoding="ascii") as file:
            log = file.read().splitlines()
        said = compare(data, log)
    except OSError as problem:
        print(f"witness_qemu: {problem}", file=sys.stderr)
        return 2
    except (Disagreement, xentrace.Broken) as problem:
        print(f"witness_qemu: {problem}", file=sys.stderr)
        return 1
    print(said or "no IOMMU_INVALIDATE record in the trace")
    return 0 if said else 3


if __name__ == "__main__":
    sys.exit(main())
