#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The lab's initramfs, changed for a boot under Bochs.

usage: initrd.py IN.cpio OUT.cpio [-PATH | PATH=FILE]...

Leaves out the member PATH, or adds FILE as member PATH with FILE's permissions.
Reading the image through the emulated BIOS takes most of a minute for each 100 MB,
so what a run does not need is left out.
"""
import os
import stat
import sys

HEADER = 110        # bytes of a newc header: magic, then 13 fields of 8 hex digits
MAGIC = b"070701"
TRAILER = b"TRAILER!!!"


def padded(data):
    return data + bytes(-len(data) % 4)


def members(data):
    """(name, whole member) of each member, trailer left out."""
    at = 0
    while True:
        head = data[at:at + HEADER]
        if len(head) < HEADER or head[:6] != MAGIC:
            raise ValueError(f"no newc header at byte {at}")
        size, name_size = int(head[54:62], 16), int(head[94:102], 16)
        name = data[at + HEADER:at + HEADER + name_size - 1]
        content = at + (HEADER + name_size + 3) // 4 * 4
        end = content + (size + 3) // 4 * 4
        if end > len(data):
            raise ValueError(f"member cut short at byte {at}")
        if name == TRAILER:
            return
        yield name, data[at:end]
        at = end


def member(name, mode, content, number):
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = MAGIC + b"".join(b"%08x" % field for field in fields)
    return padded(head + name + b"\0") + padded(content)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source, target, *changes = sys.argv[1:]
    left_out = {os.fsencode(word[1:]) for word in changes if word.startswith("-")}
    added = dict(word.split("=", 1) for word in changes if not word.startswith("-"))
    left_out |= {os.fsencode(name) for name in added}
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as out:
        for name, whole in members(data):
            if name not in left_out:
                out.write(whole)
        # Inode numbers above any in the source, or the kernel would see hard links.
        for number, (name, path) in enumerate(sorted(added.items()), start=1 << 24):
            with open(path, "rb") as file:
                mode = stat.S_IFREG | stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                out.write(member(os.fsencode(name), mode, file.read(), number))
        out.write(member(TRAILER, 0, b"", 0))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as problem:
        sys.exit(f"initrd.py: {problem}")
