#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run Bochs until its guest is done, stalls or runs out of time.

usage: drive.py [--limit S] [--stall S] DIRECTORY COMMAND...

Debian's Bochs has no display without a screen but `term`, which needs a terminal
that is read from, or it blocks: COMMAND runs on a pseudo terminal, whose output is
left in display.log (the last of it). What the guest says is in DIRECTORY/serial.log. Bochs is stopped when a
line there says that the lab's dom0 ended (exit status 0), when Xen or Linux says that it died (1), when
nothing has been said for --stall seconds (3), or after --limit seconds (4); 5 says
that Bochs ended by itself before any of these.
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

DONE = re.compile(rb"LAB [0-9.]+ end ")
DEAD = re.compile(rb"Panic on CPU|Kernel panic|FATAL (TRAP|PAGE FAULT)|Xen BUG at")


class Watch:
    """The serial log: new bytes, and whether they hold one of our words."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.tail = b""
        self.changed = time.monotonic()

    def look(self):
        try:
            with open(self.path, "rb") as log:
                log.seek(self.offset)
                new = log.read()
        except FileNotFoundError:
            return None
        if not new:
            return None
        self.offset += len(new)
        self.changed = time.monotonic()
        text = self.tail + new
        self.tail = text[-64:]
        if DONE.search(text):
            return 0
        return 1 if DEAD.search(text) else None


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
            if not alive:
                status = 5
            elif now - watch.changed > args.stall:
                status = 3
            elif now - began > args.limit:
                status = 4
        # What follows the last word: a panic's stack, say.
        end = time.monotonic() + (3 if status == 1 else 0)
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
