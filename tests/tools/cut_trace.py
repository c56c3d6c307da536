#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Keeps the first whole windows of an xentrace file: a small real trace for tests.

usage: cut_trace.py WINDOWS TRACE OUTPUT

A window is a CPU_CHANGE record and the bytes that it announces. No byte is
changed. Exit status: 0 cut, 1 the trace has fewer windows or is damaged.
"""
import struct
import sys

CPU_CHANGE = 2 << 28 | 0x0001F003   # untimed, two words: CPU, bytes in the window


def end_of(data, windows):
    """Where the window number `windows` ends; windows lie end to end from byte 0."""
    at = 0
    for number in range(windows):
        if at + 12 > len(data):
            raise ValueError(f"only {number} windows")
        header, _cpu, size = struct.unpack_from("<III", data, at)
        if header != CPU_CHANGE or at + 12 + size > len(data):
            raise ValueError(f"no whole window at byte {at}")
        at += 12 + size
    return at


def main():
    if len(sys.argv) != 4 or not sys.argv[1].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[2], "rb") as file:
        data = file.read()
    try:
        end = end_of(data, int(sys.argv[1]))
    except ValueError as problem:
        print(f"cut_trace.py: {sys.argv[2]}: {problem}", file=sys.stderr)
        return 1
    with open(sys.argv[3], "wb") as file:
        file.write(data[:end])
    return 0


if __name__ == "__main__":
    sys.exit(main())
