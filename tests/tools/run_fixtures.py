#!/usr/bin/env python3
"""Import text traces and compare the outcome with what each one expects.

usage: run_fixtures.py [--keep=DIR] XENFLUSH FIXTURE...

Prints TAP.  Beside the fixture's own expectations every import must end by itself within
a minute, without a report of a sanitizer, and leave a database that is consistent with the
bytes of the trace (see Check.invariants).
"""

import contextlib
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import trace_text  # noqa: E402

TIMEOUT = 60
SANITIZER = ('AddressSanitizer', 'LeakSanitizer', 'MemorySanitizer', 'runtime error')
# Columns of the table `run` and what they are the sum of (None: all rows of the record tables).
DERIVED = ('batch', 'logical_call', 'tlb_flush_link', 'iotlb_flush_link', 'flush_part')

SUMS = (
    ('stored', None),
    ('stored + unknown + skipped + wraps + lost_intervals', 'SELECT records FROM run'),
    ('unknown', 'SELECT count(*) FROM raw_record'),
    ('skipped', 'SELECT coalesce(sum(count), 0) FROM other_events'),
    ('lost_intervals', 'SELECT count(*) FROM lost'),
    ('lost', 'SELECT coalesce(sum(records), 0) FROM lost'),
    ('damaged', 'SELECT count(*) FROM damage'),
    ('clock_faults', "SELECT count(*) FROM damage WHERE kind = 'clock'"),
    ('windows', 'SELECT sum(windows) FROM trace_cpu'),
    ('records', 'SELECT sum(records) FROM trace_cpu'),
)


class Outcome:
    """What a program left behind; `status` is None after a timeout."""

    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr


def run(command, cwd, stdin=None):
    """Run the command in a process group of its own, which is killed if it hangs."""
    process = subprocess.Popen(command, cwd=cwd, stdin=stdin or subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        status = None
    return Outcome(status, out.decode(errors='replace'), err.decode(errors='replace'))


def feed_pipe(descriptor, data):
    """Write everything into a pipe; a reader that stops early is its own business."""
    try:
        with os.fdopen(descriptor, 'wb') as pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass


def feed_slowly(path, data, stop):
    """Write one byte at a time into a FIFO, once somebody reads it."""
    while not stop.is_set():
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:
            time.sleep(0.005)
    else:
        return
    os.set_blocking(descriptor, True)
    try:
        for byte in data:
            os.write(descriptor, bytes([byte]))
            time.sleep(0.0002)
    except BrokenPipeError:
        pass
    os.close(descriptor)


def shell_rows(rows):
    """Rows as the sqlite3 shell prints them: NULL is empty, columns joined by `|`."""
    return ['|'.join('' if value is None else str(value) for value in row) for row in rows]


class Check:
    """One fixture: its trace, the import and the complaints about it."""

    def __init__(self, xenflush, path, directory):
        self.xenflush, self.path, self.directory = xenflush, path, directory
        self.complaints = []
        self.database = os.path.join(directory, 'trace.db')
        self.parser = trace_text.parse_file(path)
        self.names = trace_text.write_pieces(self.parser.trace,
                                             os.path.join(directory, 'trace.xentrace'))
        self.outcome = None

    def complain(self, text):
        self.complaints.append(text)

    def load(self):
        """Run the import in the way that the fixture asks for."""
        expect = self.parser.expect
        command = [self.xenflush, 'import', '-o', self.database] + expect.options
        if expect.no_stderr:
            command.append('--quiet')
        if expect.input == 'file':
            return run(command + self.names, self.directory)
        data = bytes(self.parser.trace.out)
        if expect.input == 'pipe':
            reader, writer = os.pipe()
            thread = threading.Thread(target=feed_pipe, args=(writer, data), daemon=True)
            thread.start()
            outcome = run(command + ['-'], self.directory, stdin=reader)
            os.close(reader)
            thread.join()
            return outcome
        fifo = os.path.join(self.directory, 'fifo')
        os.mkfifo(fifo)
        stop = threading.Event()
        thread = threading.Thread(target=feed_slowly, args=(fifo, data, stop), daemon=True)
        thread.start()
        outcome = run(command + [fifo], self.directory)
        stop.set()
        thread.join(10)
        return outcome

    def program(self, outcome, wanted, what):
        """Complain about an exit status, a hang, a crash or a sanitizer's report."""
        if outcome.status is None:
            self.complain('%s hangs: stopped after %d s' % (what, TIMEOUT))
        elif outcome.status < 0:
            self.complain('%s died of signal %d' % (what, -outcome.status))
        elif wanted is None and outcome.status not in (0, 1):
            self.complain('%s: exit status %d, expected 0 or 1' % (what, outcome.status))
        elif wanted is not None and outcome.status != wanted:
            self.complain('%s: exit status %d, expected %d' % (what, outcome.status, wanted))
        for word in SANITIZER:
            if word in outcome.stderr:
                self.complain('%s: "%s" on stderr' % (what, word))

    def messages(self):
        expect = self.parser.expect
        for text in expect.stderr:
            if text not in self.outcome.stderr:
                self.complain('stderr lacks "%s"' % text)
        if expect.no_stderr and self.outcome.stderr:
            self.complain('stderr is not empty')

    def queries(self, connection):
        for query, rows in self.parser.expect.sql:
            try:
                found = shell_rows(connection.execute(query))
            except sqlite3.Error as error:
                self.complain('%s: %s' % (query, error))
                continue
            if found != rows:
                self.complain(query)
                self.complain('  expected: ' + '\n            '.join(rows))
                self.complain('  found:    ' + '\n            '.join(found))

    def derive_again(self):
        """What is derived must come out of the record tables as it did while importing."""
        copy = os.path.join(self.directory, 'again.db')
        shutil.copy(self.database, copy)
        outcome = run([self.xenflush, 'derive', copy], self.directory)
        self.program(outcome, 0, 'derive')
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            connection.execute('ATTACH ? AS again', (copy,))
            for name in DERIVED:
                query = 'SELECT * FROM %s.' + name + ' ORDER BY 1, 2, 3, 4'
                if (connection.execute(query % 'main').fetchall()
                        != connection.execute(query % 'again').fetchall()):
                    self.complain('%s is another when it is derived again' % name)

    def one(self, connection, query):
        return connection.execute(query).fetchone()[0]

    def invariants(self, connection):
        """What holds for every import, whatever the trace."""
        if self.one(connection, 'PRAGMA integrity_check') != 'ok':
            self.complain('the database fails its integrity check')
        damaged = self.one(connection, 'SELECT count(*) FROM damage')
        if (self.outcome.status == 0) != (damaged == 0):
            self.complain('exit status %s with %d rows in damage'
                          % (self.outcome.status, damaged))
        offsets = [row[0] for row in connection.execute('SELECT offset FROM damage')]
        if offsets != sorted(offsets):
            self.complain('damage is not in the order of the file: %s' % offsets)
        rows = 0
        for name, (event, _) in trace_text.RECORDS.items():
            rows += self.table(connection, name.lower(), event)
        records = self.one(connection, 'SELECT records FROM run')
        trace = self.parser.trace
        if not trace.mangled and records != trace.records:
            self.complain('run.records is %s, the trace has %d' % (records, trace.records))
        for column, query in SUMS:
            found = self.one(connection, 'SELECT %s FROM run' % column)
            wanted = rows if query is None else self.one(connection, query)
            if found != wanted:
                self.complain('run: %s is %s, should be %s' % (column, found, wanted))

    def table(self, connection, name, event):
        """Each row's `pos` is a header word of the table's event; rows are in time order.
        Returns the number of rows."""
        rows, last = 0, None
        data = bytes(self.parser.trace.out)
        for tsc, pos in connection.execute('SELECT tsc, pos FROM %s ORDER BY rowid' % name):
            tsc &= (1 << 64) - 1
            if last is not None and tsc < last and self.outcome.status == 0:
                self.complain('%s: time goes back at byte %d' % (name, pos))
            last = tsc
            rows += 1
            head = struct.unpack_from('<I', data, pos)[0] if 0 <= pos <= len(data) - 4 else 0
            if head & 0x0fffffff != event:
                self.complain('%s: no such record at byte %d' % (name, pos))
        return rows

    def run(self):
        expect = self.parser.expect
        self.outcome = self.load()
        self.program(self.outcome, expect.exit, 'import')
        self.messages()
        imported = self.outcome.status in (0, 1)
        if imported and os.path.exists(self.database):
            connection = sqlite3.connect('file:%s?mode=ro' % self.database, uri=True)
            try:
                self.invariants(connection)
            except sqlite3.Error as error:
                self.complain('database: %s' % error)
            self.queries(connection)
            connection.close()
            self.derive_again()
        elif imported or expect.sql:
            self.complain('no database to query')
        for name, status in expect.reports:
            self.program(run([self.xenflush, 'report', self.database, name], self.directory),
                         status, 'report ' + name)
        if self.complaints and self.outcome.stderr:
            self.complain('stderr of import:\n' + self.outcome.stderr.rstrip()[:4000])
        return self.complaints


def check(xenflush, path, keep):
    directory = tempfile.mkdtemp(prefix='xenflush-fixture-')
    try:
        return Check(xenflush, path, directory).run()
    except (OSError, UnicodeDecodeError, trace_text.TextError) as error:
        return [str(error)]
    finally:
        if keep:
            place = os.path.join(keep, os.path.basename(path).rsplit('.', 1)[0])
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(directory, place, ignore=shutil.ignore_patterns('fifo'))
        shutil.rmtree(directory)


def main(arguments):
    keep = None
    if arguments and arguments[0].startswith('--keep='):
        keep = arguments.pop(0)[7:]
    if len(arguments) < 2:
        sys.stderr.write(__doc__.split('\n\n')[1] + '\n')
        return 2
    xenflush, failed = os.path.abspath(arguments[0]), 0
    for number, path in enumerate(arguments[1:], 1):
        name = '/'.join(path.rsplit('.', 1)[0].split('/')[-2:])
        complaints = check(xenflush, path, keep)
        print('%sok %d - %s' % ('not ' if complaints else '', number, name))
        for line in '\n'.join(complaints).splitlines():
            print('# ' + line)
        sys.stdout.flush()
        failed += bool(complaints)
    print('1..%d' % len(arguments[1:]))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
