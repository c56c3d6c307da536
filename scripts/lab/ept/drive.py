#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run Bochs until its guest is done, stalls or runs out of time.

usage: drive.py [--limit S] [--stall S] DIRECTORY COMMAND...

Debian's Bochs has no display without a screen but `term`, which needs a terminal
that is read from, or it blocks: COMMAND runs on a pseudo terminal in DIRECTORY, and
the last of what it shows there goes to display.log. What the guest says is in
serial.log; Bochs is stopped when

    0   a line there says that the lab's dom0 has ended
    3   it has used --stall seconds of CPU time without a new word there
    4   it has run for --limit seconds
    5   it has ended by itself before any of these
    6   Xen or Linux says there that it has crashed

and the number is the exit status.
"""
import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

STALLED, TOO_LONG, ENDED, CRASHED = 3, 4, 5, 6
DONE = re.compile(rb"LAB [0-9.]+ end ")
DEAD = re.compile(rb"Panic on CPU|Kernel panic|FATAL (TRAP|PAGE FAULT)|Xen BUG at")


class Watch:
    """The serial log: new bytes, and whether they hold one of our words."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.tail = b""
        self.grew = False

    def look(self):
        """0 or CRASHED when the guest has ended well or badly, else None."""
        try:
            with open(self.path, "rb") as log:
                log.seek(self.offset)
                new = log.read()
        except FileNotFoundError:
            new = b""
        self.grew = bool(new)
        self.offset += len(new)
        text = self.tail + new
        self.tail = text[-64:]
        if DONE.search(text):
            return 0
        return CRASHED if DEAD.search(text) else None


def cpu_seconds(pid):
    """CPU time that a process has used: on a busy machine, silence has no other measure."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(command, directory):
    """The child's pid and the master side of its terminal."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
    return pid, master


class Display:
    """The terminal: read so that Bochs does not block, the last of it kept."""

    KEEP = 1 << 16

    def __init__(self, master):
        self.master = master
        self.last = b""

    def drain(self, seconds):
        """Read what there is within so many seconds; False once it is closed."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            new = os.read(self.master, 65536)
        except OSError:
            return False
        self.last = (self.last + new)[-self.KEEP:]
        return bool(new)


def stop(pid):
    """Bochs may need a second to leave; it does not always heed a polite signal."""
    for what in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            return
        for _ in range(20):
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.1)


def run(args):
    pid, master = start(args.command, args.directory)
    display = Display(master)
    watch = Watch(os.path.join(args.directory, "serial.log"))
    began = looked = time.monotonic()
    spoke = 0.0                     # CPU time at the last new word
    status = None
    try:
        while status is None:
            alive = display.drain(0.5)
            now = time.monotonic()
            if now - looked < 0.5 and alive:
                continue
            looked = now
            status = watch.look()
            if status is not None:
                break
            used = cpu_seconds(pid)
            if watch.grew:
                spoke = used
            if not alive:
                status = ENDED
            elif used - spoke > args.stall:
                status = STALLED
            elif now - began > args.limit:
                status = TOO_LONG
        # What follows the last word: a panic's stack, say.
        end = time.monotonic() + (3 if status == CRASHED else 0)
        while time.monotonic() < end and display.drain(0.5):
            pass
    finally:
        stop(pid)
        os.close(master)
        with open(os.path.join(args.directory, "display.log"), "wb") as log:
            log.write(display.last)
    return status


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--limit", type=float, default=1500)
    parser.add_argument("--stall", type=float, default=240)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if not args.command:
        parser.error("no command")
    # Leave by way of `finally`: Bochs is in a session of its own.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(run(args))


if __name__ == "__main__":
    main()
