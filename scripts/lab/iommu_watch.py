#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes down what an emulated IOMMU is told, as QEMU's own trace events tell it.

usage: iommu_watch.py amd|vtd EVENTS QEMU_PID OUTPUT
       iommu_watch.py --self-test

EVENTS is a FIFO that QEMU (-D) logs its trace events to. OUTPUT gets one line an
invalidation, in the order in which the IOMMU carried them out:

    pages DOMAIN DFN ORDER      2^ORDER pages from frame DFN
    domain DOMAIN               all pages of a domain
    global                      everything

DOMAIN is the hardware's domain id; numbers are hexadecimal.

QEMU's VT-d events carry the address. Those of the AMD model do not: the event
tells where in the command ring the IOMMU reads, and the command is read there, in
the memory that the emulated machine and this program share. The ring holds 256
commands and an event takes about a hundred bytes, so it must be read before the
CPU has gone once around: the FIFO is made so small that QEMU waits for us.
"""
import fcntl
import mmap
import os
import re
import struct
import sys

PAGE_SHIFT = 12
FIFO_BYTES = 4096

AMD_COMMAND = re.compile(rb"amdvi_command_exec .* head at 0x([0-9a-f]+) .* base at 0x([0-9a-f]+)")
AMD_PAGES = re.compile(rb"amdvi_pages_inval .* domain 0x([0-9a-f]+) ")
AMD_ALL = re.compile(rb"amdvi_all_inval ")
VTD_PAGES = re.compile(rb"vtd_inv_desc_iotlb_pages .* domain 0x([0-9a-f]+) addr 0x([0-9a-f]+) mask 0x([0-9a-f]+)")
VTD_DOMAIN = re.compile(rb"vtd_inv_desc_iotlb_domain .* domain 0x([0-9a-f]+)")
VTD_GLOBAL = re.compile(rb"vtd_inv_desc_iotlb_global ")


def hexadecimal(match):
    return [int(text, 16) for text in match.groups()]


class AmdEvents:
    """The AMD model's events; `memory` is the machine's, as bytes by physical address
    (2 GB have no hole for devices below them)."""

    INVALIDATE_PAGES = 3
    ALL_ADDRESSES = 51          # the order of an address of nothing but ones

    def __init__(self, memory):
        self.memory = memory
        self.at = None          # physical address of the command being carried out

    def line(self, event):
        if found := AMD_COMMAND.match(event):
            head, base = hexadecimal(found)
            self.at = base + head
        elif found := AMD_PAGES.match(event):
            return self.pages(hexadecimal(found)[0])
        elif AMD_ALL.match(event):
            return "global"
        return None

    def pages(self, domain):
        first, second = struct.unpack_from("<QQ", self.memory, self.at)
        if first >> 60 != self.INVALIDATE_PAGES or first >> 32 & 0xFFFF != domain:
            raise ValueError(f"the command at {self.at:#x}, {first:016x} {second:016x}, is not the "
                             f"one that the event tells of: read too late?")
        frame = second >> PAGE_SHIFT
        if not second & 1:
            return f"pages {domain:x} {frame:x} 0"
        # With the size bit, the lowest zero bit of the frame tells the size.
        order = 1
        while frame >> (order - 1) & 1:
            order += 1
        if order >= self.ALL_ADDRESSES:
            return f"domain {domain:x}"
        return f"pages {domain:x} {frame >> order << order:x} {order:x}"


class VtdEvents:
    """The VT-d model's events."""

    @staticmethod
    def line(event):
        if found := VTD_PAGES.match(event):
            domain, address, order = hexadecimal(found)
            return f"pages {domain:x} {address >> PAGE_SHIFT >> order << order:x} {order:x}"
        if found := VTD_DOMAIN.match(event):
            return f"domain {hexadecimal(found)[0]:x}"
        if VTD_GLOBAL.match(event):
            return "global"
        return None


def machine_memory(pid):
    """The memory of the machine that process PID emulates, shared with it."""
    directory = f"/proc/{pid}/fd"
    for name in os.listdir(directory):
        path = f"{directory}/{name}"
        if os.readlink(path).startswith("/memfd:memory-backend-memfd"):
            with open(path, "rb") as file:
                return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    sys.exit("iommu_watch: QEMU's memory is not a shared memfd")


def watch(model, events_path, pid, output_path):
    with open(events_path, "rb", buffering=0) as events, open(output_path, "w", encoding="ascii") as output:
        fcntl.fcntl(events, fcntl.F_SETPIPE_SZ, FIFO_BYTES)
        parser, rest = VtdEvents(), b""
        while chunk := events.read(FIFO_BYTES):
            if model == "amd" and not isinstance(parser, AmdEvents):
                parser = AmdEvents(machine_memory(pid))
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if text := parser.line(line):
                    output.write(text + "\n")


def self_test():
    def command(first, second):
        return struct.pack("<QQ", first, second)

    memory = bytearray(0x3000)
    invalidate = 3 << 60
    for number, (first, second) in enumerate((
            (invalidate | 5 << 32, 0x12345000),                         # one page
            (invalidate | 5 << 32, 0x00000000000FF001 | 0x40000000),    # 512 pages
            (invalidate | 7 << 32, 0x7FFFFFFFFFFFF001 | 3),             # the domain
            (1 << 60, 0))):                                             # completion wait
        memory[0x1000 + 16 * number:0x1010 + 16 * number] = command(first, second)
    parser = AmdEvents(bytes(memory))

    def carried_out(number, domain):
        at = f"amdvi_command_exec command buffer head at 0x{16 * number:x} command buffer tail at 0x40 " \
             f"command buffer base at 0x1000"
        assert parser.line(at.encode()) is None
        return parser.line(f"amdvi_pages_inval AMD-Vi pages for domain 0x{domain:x} invalidated".encode())

    assert carried_out(0, 5) == "pages 5 12345 0"
    assert carried_out(1, 5) == "pages 5 40000 9", carried_out(1, 5)
    assert carried_out(2, 7) == "domain 7"
    for wrong in ((0, 6), (3, 5)):
        try:
            carried_out(*wrong)
        except ValueError:
            continue
        raise AssertionError("a command that does not fit its event was taken")
    assert parser.line(b"amdvi_all_inval Invalidation of all AMD-Vi cache requested ") == "global"
    assert parser.line(b"amdvi_iotlb_reset IOTLB exceed size limit - reset ") is None

    vtd = VtdEvents.line
    assert vtd(b"vtd_inv_desc_iotlb_pages iotlb invalidate domain 0x1 addr 0x12345000 mask 0x0") == "pages 1 12345 0"
    assert vtd(b"vtd_inv_desc_iotlb_pages iotlb invalidate domain 0x1 addr 0x12345000 mask 0x9") == "pages 1 12200 9"
    assert vtd(b"vtd_inv_desc_iotlb_domain iotlb invalidate whole domain 0x2") == "domain 2"
    assert vtd(b"vtd_inv_desc_iotlb_global iotlb invalidate global") == "global"
    assert vtd(b"vtd_inv_desc_wait_sw wait invalidate status write addr 0x1 data 0x1") is None
    print("iommu_watch: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 5 and sys.argv[1] in ("amd", "vtd"):
        watch(*sys.argv[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
