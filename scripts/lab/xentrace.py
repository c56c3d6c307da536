# SPDX-License-Identifier: GPL-2.0-only
"""Reads xentrace files for the lab's witnesses. It shares no code with the collector
and is strict where that is lenient: the lab's traces must be whole.
"""
import struct

CPU_CHANGE = 0x0001F003
LOST_RECORDS = 0x0001F001
IOMMU_INVALIDATE = 0x00804004


class Broken(Exception):
    """The trace is not what xentrace writes; the message says where and why."""


class Record:
    __slots__ = ("event", "cpu", "tsc", "words", "position")

    def __init__(self, event, cpu, tsc, words, position):
        self.event = event
        self.cpu = cpu
        self.tsc = tsc          # None: untimed
        self.words = words
        self.position = position


def records(data):
    """Every record of a trace but the headers of windows, in the order of the file."""
    position, window_end, cpu = 0, 0, None
    while position < len(data):
        start = position
        if position + 4 > len(data):
            raise Broken(f"cut at byte {position}")
        header, = struct.unpack_from("<I", data, position)
        event, count, timed = header & 0x0FFFFFFF, header >> 28 & 7, header >> 31
        size = 4 + 8 * timed + 4 * count
        if position + size > len(data):
            raise Broken(f"record at byte {position} is cut by the end of the trace")
        tsc = None
        if timed:
            tsc, = struct.unpack_from("<Q", data, position + 4)
        words = struct.unpack_from(f"<{count}I", data, position + 4 + 8 * timed)
        position += size
        if event == CPU_CHANGE:
            if start != window_end or count != 2:
                raise Broken(f"a window begins at byte {start}, the last one ends at {window_end}")
            cpu, window = words
            window_end = position + window
            continue
        if position > window_end:
            raise Broken(f"record at byte {start} goes beyond its window")
        yield Record(event, cpu, tsc, words, start)
    if position != window_end:
        raise Broken(f"the last window should end at byte {window_end}")


def in_time_order(data):
    """The timed records of all CPUs, by TSC; of equal ones, in the order of the file."""
    return sorted((r for r in records(data) if r.tsc is not None), key=lambda r: (r.tsc, r.position))


def encode(event, words, tsc=None):
    """One record as bytes, for hand-made input."""
    header = event | len(words) << 28 | (tsc is not None) << 31
    stamp = b"" if tsc is None else struct.pack("<Q", tsc)
    return struct.pack("<I", header) + stamp + struct.pack(f"<{len(words)}I", *words)


def window(cpu, *encoded):
    """A window of such records."""
    body = b"".join(encoded)
    return encode(CPU_CHANGE, (cpu, len(body))) + body
