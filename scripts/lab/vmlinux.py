#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Takes the ELF kernel out of a bzImage: vmlinux.py BZIMAGE VMLINUX

The setup header tells where the payload lies (the Linux x86 boot protocol, 2.08
and later); Debian compresses it with xz. The payload's last four bytes are the
unpacked length, which the compressor does not know of.
"""
import lzma
import struct
import sys

SETUP_SECTS = 0x1F1
PAYLOAD_OFFSET = 0x248
PAYLOAD_LENGTH = 0x24C
SECTOR = 512


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        image = file.read()
    protected_mode = (image[SETUP_SECTS] + 1) * SECTOR
    offset, = struct.unpack_from("<I", image, PAYLOAD_OFFSET)
    length, = struct.unpack_from("<I", image, PAYLOAD_LENGTH)
    begin = protected_mode + offset
    kernel = lzma.LZMADecompressor().decompress(image[begin:begin + length - 4])
    if not kernel.startswith(b"\x7fELF"):
        sys.exit(f"vmlinux.py: {source}: the payload is no ELF kernel")
    with open(target, "wb") as file:
        file.write(kernel)


if __name__ == "__main__":
    main()
