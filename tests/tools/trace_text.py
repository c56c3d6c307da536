#!/usr/bin/env python3
"""Turn a readable text trace into the bytes of an xentrace file.

usage: trace_text.py IN.txt OUT.xentrace

The record layouts are written down here a second time, from the description of
layout 1 and not from the C header, so that an error in either shows up as a
failing fixture.  The language is described in README.md beside this file.
"""

import random
import re
import shlex
import struct
import sys

CPU_CHANGE, LOST_RECORDS, WRAP_BUFFER = 0x0001f003, 0x0001f001, 0x0001f002
WINDOW_BYTES = 12
MAX_CPU = 16383

DOMIDS = {'self': 0x7ff0, 'io': 0x7ff1, 'xen': 0x7ff2, 'cow': 0x7ff3,
          'none': 0x7ff4, 'idle': 0x7fff}
IOMMU_FLAGS = {'added': 1, 'modified': 2, 'all': 4}
TLB_KINDS = {'ept': 1, 'npt': 2, 'hap': 2, 'shadow': 3, 'pv': 4, 'filtered': 5}
CACHE_KINDS = {'wbinvd': 1, 'flush': 2, 'writeback': 3}
GRANULARITY = {'none': 0, 'global': 1, 'domain': 2, 'pages': 3}
CHANGES = {'open': 1, 'close': 2, 'suspend': 3, 'resume': 4}
WINDOW_SITES = {'other': 0, 'add': 2, 'remove': 3}
SKIP_SITES = {'map': 1, 'unmap': 2, 'ept': 3}
RELEASE_SITES = {'grant': 1, 'add': 2, 'remove': 3}

# Name: event, words after `cur`.  Words are separated by `|`.  A word is one name, or
# several with the bits that they fill; `name:64` is two words, low one first; `name:s` is
# signed.
IOTLB_WORDS = 'flags@0-7 whole@15 target@16-31 | dfn:64 | pages | rc:s | cycles'
RECORDS = {
    'BATCH_BEGIN': (0x00804001, 'ops'),
    'BATCH_END': (0x00804002, 'flags@0-7 deferred@8 pages@16-31 | rc:s | lowest:64 | highest:64'),
    'IOTLB_FLUSH': (0x00804003, IOTLB_WORDS),
    'IOMMU_INVALIDATE': (0x00804004, 'granularity@0-7 order@8-15 hwdom@16-31 | iommu | dfn:64 '
                                     '| rc:s | cycles'),
    'TLB_FLUSH': (0x00804005, 'kind@0-7 local@8 target@16-31 | cpus | cycles'),
    'IPI_ROUND': (0x00804006, 'flags@0-23 vector@24-31 | targets | lock_cycles | ack_cycles '
                              '| address:64'),
    'ASSISTED_FLUSH': (0x00804007, 'cpus@0-15 vcpus@16-31 | cycles'),
    'L0_FLUSH': (0x00804008, 'flags | rc:s | cycles'),
    'CACHE_FLUSH': (0x00804009, 'kind@0-7 target@16-31 | bytes | cpus | cycles'),
    'P2M_TABLE_FREE': (0x0080400a, 'pending@0 target@16-31 | mfn:64'),
    'SKIP_WINDOW': (0x0080400b, 'change | site'),
    'UNMAP_CALL': (0x0080400c, 'asked | done | rc:s | cycles'),
    'GRANT_COPY': (0x0080400d, 'done | bytes'),
    'IOTLB_SKIPPED': (0x00808001, 'flags@0-7 site@8-15 target@16-31 | dfn:64 | pages'),
    'TLB_DEFERRED': (0x00808002, 'kind@0-7 target@16-31 | gfn:64 | order'),
    'PAGE_RELEASED': (0x00808003, 'status@0-15:s granter@16-31 | gfn:64 | mfn:64 '
                                  '| site@0-7 tlb@8 iotlb@9 device@10'),
    'IOTLB_ADDED': (0x00808004, IOTLB_WORDS),
    'IOMMU_WRITEBACK': (0x00808005, 'target@16-31 | bytes | changed | cycles'),
}
BATCH_END_UNUSED = {'lowest': 0xffffffffffffffff, 'highest': 0}

# Which names a field of a record may be given instead of a number.
SYMBOLS = {
    ('TLB_FLUSH', 'kind'): TLB_KINDS, ('TLB_DEFERRED', 'kind'): TLB_KINDS,
    ('CACHE_FLUSH', 'kind'): CACHE_KINDS,
    ('IOMMU_INVALIDATE', 'granularity'): GRANULARITY,
    ('SKIP_WINDOW', 'change'): CHANGES, ('SKIP_WINDOW', 'site'): WINDOW_SITES,
    ('IOTLB_SKIPPED', 'site'): SKIP_SITES, ('PAGE_RELEASED', 'site'): RELEASE_SITES,
    ('BATCH_END', 'flags'): IOMMU_FLAGS, ('IOTLB_FLUSH', 'flags'): IOMMU_FLAGS,
    ('IOTLB_ADDED', 'flags'): IOMMU_FLAGS, ('IOTLB_SKIPPED', 'flags'): IOMMU_FLAGS,
}


class TextError(Exception):
    """Something in the text cannot be understood; carries the line number."""

    def __init__(self, line, text):
        super().__init__('line %d: %s' % (line, text))


class Field:
    """One named field of a record: which word it starts at and which bits it fills."""

    def __init__(self, text, word):
        match = re.fullmatch(r'(\w+)(?:@(\d+)(?:-(\d+))?)?(?::(64|s))?', text)
        self.name, low, high, form = match.groups()
        self.word = word
        self.signed = form == 's'
        self.shift = int(low or 0)
        if form == '64':
            self.bits = 64
        elif low:
            self.bits = int(high or low) - self.shift + 1
        else:
            self.bits = 32


def layout(words):
    """Return ({name: Field}, number of words after `cur`)."""
    fields, count = {}, 0
    for word in words.split('|'):
        for text in word.split():
            field = Field(text, count)
            fields[field.name] = field
        count += 2 if word.strip().endswith(':64') else 1
    return fields, count


LAYOUTS = {name: layout(words) for name, (_, words) in RECORDS.items()}


def fit(value, bits, signed, what):
    """Return value as an unsigned number of that many bits, or raise ValueError."""
    if value < 0 and (signed or bits == 64) and value >= -1 << (bits - 1):
        return value & ((1 << bits) - 1)
    if not 0 <= value < 1 << bits:
        raise ValueError('%s=%d does not fit into %d bits' % (what, value, bits))
    return value


class Scope:
    """Where a repeated block stands: the round, and what that adds to the TSCs."""

    def __init__(self, shift=0, number=0):
        self.shift, self.number = shift, number

    def value(self, text, bits, symbols=None):
        """A number, `~0`, a name, names joined by `+`; `@STEP` adds STEP a round."""
        base, _, step = text.partition('@')
        extra = int(step, 0) * self.number if step else 0
        if base == '~0':
            return (1 << bits) - 1 + extra
        total = 0
        for part in base.split('+'):
            if symbols and part in symbols:
                total |= symbols[part]
            else:
                total += int(part, 0)
        return total + extra


class Trace:
    """The bytes being made, and where the pieces begin."""

    def __init__(self):
        self.out = bytearray()
        self.starts = [0]
        self.records = 0        # without CPU_CHANGE headers
        self.mangled = False    # a reader need not find all the records
        self.window = None      # offset of the open window's header, its size as given

    def close(self):
        """End the open window: its size is now known."""
        if self.window is None:
            return
        offset, given = self.window
        size = len(self.out) - offset - WINDOW_BYTES
        if given:
            self.mangled = True
            size = size + int(given, 0) if given[0] in '+-' else int(given, 0)
        struct.pack_into('<I', self.out, offset + 8, size & 0xffffffff)
        self.window = None

    def open(self, cpu, given):
        self.close()
        self.mangled |= not 0 <= cpu <= MAX_CPU
        self.window = (len(self.out), given)
        self.out += struct.pack('<III', CPU_CHANGE | 2 << 28, cpu & 0xffffffff, 0)

    def record(self, event, tsc, words):
        head = event | len(words) << 28
        if tsc is not None:
            self.out += struct.pack('<IQ', head | 1 << 31, tsc)
        else:
            self.out += struct.pack('<I', head)
        self.out += struct.pack('<%dI' % len(words), *words)
        self.records += 1
        self.mangled |= self.window is None

    def raw(self, data):
        self.out += data
        self.mangled = True

    def cut(self, count):
        self.close()
        del self.out[max(0, len(self.out) - count):]
        self.mangled = True

    def split(self, count):
        """Begin a piece with the last `count` bytes, wherever that is."""
        self.starts.append(len(self.out) - count)

    def pieces(self):
        return [bytes(self.out[begin:end])
                for begin, end in zip(self.starts, self.starts[1:] + [len(self.out)])]


def options(parts, allowed):
    """Turn `name=value` words into a dictionary; unknown or doubled names are errors."""
    found = {}
    for part in parts:
        name, equals, value = part.partition('=')
        if not equals:
            raise ValueError('"%s" is not of the form name=value' % part)
        if name not in allowed:
            raise ValueError('unknown field "%s"' % name)
        if name in found:
            raise ValueError('field "%s" given twice' % name)
        found[name] = value
    return found


def parse_cur(text, scope):
    """`domid.vcpu`; the domid may be a name such as `idle`."""
    dom, dot, vcpu = text.partition('.')
    if not dot:
        raise ValueError('cur=%s is not domid.vcpu' % text)
    return (fit(scope.value(dom, 16, DOMIDS), 16, False, 'domid'),
            fit(scope.value(vcpu, 16), 16, False, 'vcpu'))


def resize(words, given):
    """`words=N`: make the record longer (zeros) or shorter than its layout says."""
    if given is None:
        return words
    count = int(given, 0)
    if not 0 <= count <= 7:
        raise ValueError('a record has 0 to 7 words')
    return (words + [0] * 7)[:count]


def named_words(name, parts, scope):
    fields, count = LAYOUTS[name]
    given = options(parts, set(fields) | {'cur', 'words'})
    dom, vcpu = parse_cur(given.pop('cur', '0.0'), scope)
    size = given.pop('words', None)
    words = [dom << 16 | vcpu] + [0] * count
    values = dict(BATCH_END_UNUSED) if name == 'BATCH_END' else {}
    for key, text in given.items():
        symbols = DOMIDS if key in ('target', 'granter') else SYMBOLS.get((name, key))
        field = fields[key]
        values[key] = fit(scope.value(text, field.bits, symbols), field.bits, field.signed, key)
    for key, value in values.items():
        field = fields[key]
        words[1 + field.word] |= (value << field.shift) & 0xffffffff
        if field.bits == 64:
            words[2 + field.word] = value >> 32
    return resize(words, size)


def lost_words(parts, scope):
    """The domid is the low half here and the vCPU the high one, unlike in `cur`."""
    given = options(parts, {'count', 'cur', 'first', 'words'})
    dom, vcpu = parse_cur(given.get('cur', '0.0'), scope)
    first = fit(scope.value(given.get('first', '0'), 64) + scope.shift, 64, False, 'first')
    count = fit(scope.value(given.get('count', '0'), 32), 32, False, 'count')
    return resize([count, vcpu << 16 | dom, first & 0xffffffff, first >> 32], given.get('words'))


def event_record(name, parts, scope):
    """Return the event number and words of one record line."""
    if name in RECORDS:
        return RECORDS[name][0], named_words(name, parts, scope)
    if name == 'LOST':
        return LOST_RECORDS, lost_words(parts, scope)
    if name == 'WRAP':
        given = options(parts, {'words'})
        return WRAP_BUFFER, [0] * fit(int(given.get('words', '0'), 0), 3, False, 'words')
    if name == 'EVENT' and parts:
        given = options(parts[1:], {'w'})
        words = [fit(scope.value(text, 32), 32, True, 'w')
                 for text in given.get('w', '').split(',') if text]
        if len(words) > 7:
            raise ValueError('a record has at most 7 words')
        return fit(int(parts[0], 0), 28, False, 'event'), words
    raise ValueError('unknown record "%s"' % name)


def raw_bytes(parts):
    if parts and '=' in parts[0]:
        given = options(parts, {'zeros', 'ascii', 'random', 'seed', 'u32'})
        if 'zeros' in given:
            return bytes(int(given['zeros'], 0))
        if 'ascii' in given:
            return given['ascii'].encode('ascii')
        if 'random' in given:
            source = random.Random(int(given.get('seed', '1'), 0))
            return source.getrandbits(8 * int(given['random'], 0)).to_bytes(
                int(given['random'], 0), 'little')
        if 'u32' in given:
            return b''.join(struct.pack('<I', int(w, 0)) for w in given['u32'].split(','))
    return bytes.fromhex(''.join(parts))


class Expectations:
    """What the importer must do with the trace."""

    def __init__(self):
        self.exit = 0           # None: 0 or 1
        self.stderr = []
        self.no_stderr = False
        self.sql = []           # [query, rows]
        self.reports = []       # [name, exit status]
        self.options = []
        self.input = 'file'

    def line(self, text):
        """Handle one `expect` line."""
        match = re.fullmatch(r'expect sql "([^"]*)"(?:\s*=\s?(.*))?', text)
        if match:
            rows = [] if match.group(2) is None else [match.group(2).strip()]
            self.sql.append([match.group(1), rows])
            return
        parts = shlex.split(text, comments=True)[1:]
        if parts[:1] == ['exit'] and len(parts) == 2:
            self.exit = None if parts[1] == 'any' else int(parts[1])
        elif parts[:1] == ['stderr'] and len(parts) == 2:
            self.stderr.append(parts[1])
        elif parts == ['no-stderr']:
            self.no_stderr = True
        elif parts[:1] == ['report'] and len(parts) == 4 and parts[2] == 'exit':
            self.reports.append([parts[1], int(parts[3])])
        else:
            raise ValueError('expectation not understood')

    def row(self, text):
        """A line `= a|b` is one more row of the last query."""
        if not self.sql:
            raise ValueError('a row without a query')
        self.sql[-1][1].append(text[1:].strip())


class Parser:
    """Reads the text; the result is in .trace and .expect."""

    def __init__(self, text):
        self.trace, self.expect = Trace(), Expectations()
        self.lines = list(enumerate(text.splitlines(), 1))
        self.run(0, len(self.lines), Scope())
        self.trace.close()

    def run(self, begin, end, scope):
        at = begin
        while at < end:
            number, line = self.lines[at]
            try:
                at = self.one(at, line.strip(), scope)
            except IndexError:
                raise TextError(number, 'a word is missing') from None
            except (ValueError, struct.error) as error:
                raise TextError(number, error) from error

    def one(self, at, line, scope):
        """Do the line at index `at` and return the index to go on with."""
        if line.startswith('expect'):
            self.expect.line(line)
            return at + 1
        if line.startswith('='):
            self.expect.row(line)
            return at + 1
        parts = shlex.split(line, comments=True)
        if not parts:
            return at + 1
        if parts[0] == 'repeat':
            return self.repeat(at, parts[1:], scope)
        self.item(parts[0], parts[1:], scope)
        return at + 1

    def repeat(self, at, parts, scope):
        step = int(options(parts[1:], {'step'}).get('step', '0'), 0)
        depth, stop = 1, at + 1
        while True:
            if stop == len(self.lines):
                raise ValueError('repeat without end')
            word = self.lines[stop][1].split('#')[0].split()[:1]
            depth += (word == ['repeat']) - (word == ['end'])
            if depth == 0:
                break
            stop += 1
        for number in range(int(parts[0], 0)):
            self.run(at + 1, stop, Scope(scope.shift + step * number, number))
        return stop + 1

    def item(self, word, parts, scope):
        trace = self.trace
        if word == 'window':
            given = options(parts, {'cpu', 'size'})
            trace.open(scope.value(given.get('cpu', '0'), 32), given.get('size'))
        elif word == 'close':
            options(parts, ())
            trace.close()
        elif word == 'raw':
            trace.raw(raw_bytes(parts))
        elif word == 'cut':
            trace.cut(int(parts[0], 0))
        elif word == 'piece':
            trace.close()
            trace.split(0)
        elif word == 'split':
            trace.split(int(parts[0], 0))
        elif word == 'options':
            self.expect.options += parts
        elif word == 'input' and parts in (['pipe'], ['fifo-slow'], ['file']):
            self.expect.input = parts[0]
        elif word == '-' or re.match(r'\d', word):
            if not parts:
                raise ValueError('a time without a record')
            tsc = None if word == '-' else fit(int(word, 0) + scope.shift, 64, False, 'TSC')
            event, words = event_record(parts[0], parts[1:], scope)
            trace.record(event, tsc, words)
        else:
            raise ValueError('"%s" not understood' % word)


def parse_file(path):
    with open(path, encoding='utf-8') as file:
        return Parser(file.read())


def write_pieces(trace, path):
    """Write the trace to `path`, further pieces beside it; return the names."""
    names = []
    for number, piece in enumerate(trace.pieces(), 1):
        names.append(path if number == 1 else '%s.%d' % (path, number))
        with open(names[-1], 'wb') as file:
            file.write(piece)
    return names


def main(arguments):
    if len(arguments) != 2:
        sys.stderr.write(__doc__.split('\n\n')[1] + '\n')
        return 2
    try:
        parser = parse_file(arguments[0])
    except (OSError, UnicodeDecodeError, TextError) as error:
        sys.stderr.write('%s: %s\n' % (arguments[0], error))
        return 1
    write_pieces(parser.trace, arguments[1])
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
