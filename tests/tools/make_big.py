#!/usr/bin/env python3
"""Make a big trace out of a small one: its records again and again, each round later.

usage: make_big.py [--window=N] IN.xentrace OUT.xentrace RECORDS

The result holds exactly RECORDS records (CPU_CHANGE headers are not counted) in the
windows of the input, each CPU's times in order, and is as legal as the input is; only at
the seams a batch may be cut, as the input itself is cut at its ends.  --window=N makes
windows of at most N records instead, for traces with very many windows.

All times of a window are moved at once: the window is one big number, to which a number
is added that has the shift at each place where a time stands.  No time may overflow, so
no carry leaves its place.
"""

import struct
import sys

CPU_CHANGE, LOST_RECORDS = 0x0001f003, 0x0001f001
GAP = 1000      # ticks between two rounds


class Window:
    """Some records of one CPU: bytes, where the times are, where the records end."""

    def __init__(self, cpu):
        self.cpu = cpu
        self.data = bytearray()
        self.times = []
        self.ends = []

    def add(self, record, times):
        self.times += [len(self.data) + at for at in times]
        self.data += record
        self.ends.append(len(self.data))

    def freeze(self):
        """Prepare for moves: the number, and the number with a 1 at each time."""
        ones = bytearray(len(self.data))
        for at in self.times:
            ones[at] = 1
        self.number = int.from_bytes(self.data, 'little')
        self.ones = int.from_bytes(ones, 'little')

    def moved(self, shift, records):
        """The bytes, with header, of the first `records` records, `shift` ticks later."""
        size = self.ends[records - 1]
        body = (self.number + self.ones * shift).to_bytes(len(self.data), 'little')
        return struct.pack('<III', CPU_CHANGE | 2 << 28, self.cpu, size) + body[:size]


def read(data, limit):
    """Split a clean trace into windows; return them with the first and last time."""
    windows, at, first, last = [], 0, None, None
    while at < len(data):
        head, = struct.unpack_from('<I', data, at)
        event, timed = head & 0x0fffffff, head >> 31
        size = 4 + 8 * timed + 4 * (head >> 28 & 7)
        if at + size > len(data):
            raise ValueError('the trace is cut at byte %d' % at)
        if event == CPU_CHANGE:
            windows.append(Window(struct.unpack_from('<I', data, at + 4)[0]))
            at += size
            continue
        if not windows:
            raise ValueError('the trace does not begin with a window')
        if limit and len(windows[-1].ends) == limit:
            windows.append(Window(windows[-1].cpu))
        times = [4] if timed else []
        if timed:
            tsc, = struct.unpack_from('<Q', data, at + 4)
            first = tsc if first is None else min(first, tsc)
            last = tsc if last is None else max(last, tsc)
            if event == LOST_RECORDS:
                times.append(20)
        windows[-1].add(data[at:at + size], times)
        at += size
    return [w for w in windows if w.ends], first or 0, last or 0


def make(data, out, wanted, limit):
    windows, first, last = read(data, limit)
    if not windows:
        raise ValueError('there are no records in it')
    for window in windows:
        window.freeze()
    shift = 0
    while wanted > 0:
        for window in windows:
            records = min(wanted, len(window.ends))
            if records:
                out.write(window.moved(shift, records))
            wanted -= records
        shift += last - first + GAP
        if last + shift >= 1 << 63:
            raise ValueError('times do not fit')


def main(arguments):
    limit = 0
    if arguments and arguments[0].startswith('--window='):
        limit = int(arguments.pop(0)[9:])
    if len(arguments) != 3:
        sys.stderr.write(__doc__.split('\n\n')[1] + '\n')
        return 2
    try:
        with open(arguments[0], 'rb') as file:
            data = file.read()
        with open(arguments[1], 'wb') as out:
            make(data, out, int(arguments[2]), limit)
    except (OSError, ValueError) as error:
        sys.stderr.write('%s: %s\n' % (arguments[0], error))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
