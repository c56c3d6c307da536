#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Builds the initramfs of dom0, with that of the guest inside.

usage: initramfs.py KERNEL_DIR OUTDIR

KERNEL_DIR is what fetch-kernel.sh made. OUTDIR gets dom0.cpio. The archive is
written here byte by byte, sorted and without times or owners, so that equal
input gives an equal archive: the boots that use it are deterministic, and their
results are kept as long as the archive stays the same.
"""
import glob
import os
import re
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLSTACK = "/usr/lib/xen-4.17/bin"
LIBRARIES = "lib/x86_64-linux-gnu"

GUEST_MODULES = ["xen-netfront"]
DOM0_MODULES = ["xen-evtchn", "xen-gntdev", "xen-gntalloc", "xen-privcmd", "xenfs", "xen-netback", "msr"]
DOM0_PROGRAMS = [f"{TOOLSTACK}/{name}" for name in
                 ("xl", "xenstored", "xenconsoled", "xentrace", "xenperf", "xen-init-dom0")
                 ] + ["/usr/bin/xenstore"]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Archive:
    """A tree of files, written as a cpio archive of the newc format."""

    def __init__(self):
        self.entries = {}

    def add(self, path, data, mode):
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.directory(parent)
        self.entries[path] = (mode, data)

    def directory(self, path):
        self.add(path, b"", stat.S_IFDIR | 0o755)

    def file(self, path, data, mode=0o644):
        self.add(path, data, stat.S_IFREG | mode)

    def link(self, path, target):
        self.add(path, target.encode(), stat.S_IFLNK | 0o777)

    def program(self, source, path=None):
        """A program with the shared libraries that it needs."""
        self.file(path or "bin/" + os.path.basename(source), read(source), 0o755)
        listing = subprocess.run(["ldd", source], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True, check=False).stdout
        for library in re.findall(r"(/\S+)", listing):
            name = os.path.basename(library)
            where = "lib64" if name.startswith("ld-linux") else LIBRARIES
            self.file(f"{where}/{name}", read(library), 0o755)

    def bytes(self):
        out = bytearray()
        members = sorted(self.entries.items()) + [("TRAILER!!!", (0, b""))]
        for number, (path, (mode, data)) in enumerate(members, start=1):
            name = path.encode() + b"\0"
            fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
            out += b"070701" + b"".join(b"%08x" % field for field in fields) + name
            out += bytes(-len(out) % 4)
            out += data
            out += bytes(-len(out) % 4)
        return bytes(out)


class Modules:
    """The kernel's modules by name, and what each needs first."""

    def __init__(self, directory):
        self.files = {}
        for path in glob.glob(f"{directory}/kernel/**/*.ko", recursive=True):
            self.files[os.path.basename(path)[:-3].replace("-", "_")] = path

    def needs(self, name):
        info = run("readelf", "-p", ".modinfo", self.files[name])
        found = re.search(r"depends=(\S*)", info)
        return [n.replace("-", "_") for n in found.group(1).split(",") if n] if found else []

    def in_order(self, names):
        order = []

        def visit(name):
            name = name.replace("-", "_")
            if name in order or name not in self.files:     # built in
                return
            for other in self.needs(name):
                visit(other)
            order.append(name)

        for name in names:
            visit(name)
        return order

    def into(self, archive, names, scratch):
        order = self.in_order(names)
        for name in order:
            run("objcopy", "--strip-debug", self.files[name], scratch)
            archive.file(f"modules/{name}.ko", read(scratch))
        os.unlink(scratch)
        archive.file("modules/order", "".join(name + "\n" for name in order).encode())


def common_parts(kernel_dir, init):
    archive = Archive()
    for path in ("dev", "proc", "sys", "tmp"):
        archive.directory(path)
    archive.file("bin/busybox", read(f"{kernel_dir}/busybox"), 0o755)
    archive.link("bin/sh", "busybox")
    archive.file("init", read(f"{HERE}/{init}"), 0o755)
    return archive


def guest_archive(kernel_dir, modules, out):
    archive = common_parts(kernel_dir, "guest/init")
    archive.program(f"{out}/labtool")
    modules.into(archive, GUEST_MODULES, f"{out}/module")
    return archive.bytes()


def dom0_archive(kernel_dir, modules, out):
    archive = common_parts(kernel_dir, "dom0/init")
    modules.into(archive, DOM0_MODULES, f"{out}/module")
    for program in DOM0_PROGRAMS + [f"{out}/labtool"] + sorted(glob.glob(f"{out}/programs/*")):
        archive.program(program)
    # The C library loads this one by itself, when a thread ends.
    archive.file(f"{LIBRARIES}/libgcc_s.so.1", read(f"/{LIBRARIES}/libgcc_s.so.1"), 0o755)
    for step in sorted(glob.glob(f"{HERE}/dom0/*.sh")):
        archive.file("lab/" + os.path.basename(step), read(step))
    archive.file("etc/xen/scripts/vif-lab", read(f"{HERE}/dom0/vif-lab"), 0o755)
    archive.file("etc/xen/xl.conf", b'autoballoon="off"\n')
    for path in ("var/lib/xen", "var/log/xen", "var/lib/xenstored"):
        archive.directory(path)
    run("strip", "-o", f"{out}/guest-vmlinux", f"{kernel_dir}/vmlinux")
    archive.file("guest/vmlinux", read(f"{out}/guest-vmlinux"))
    archive.file("guest/initrd", guest_archive(kernel_dir, modules, out))
    return archive.bytes()


def compile_programs(out):
    """labtool, and what lies in programs/: a C file with a main is a program of
    that name, the other files there are linked into each."""
    compiler = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static"]
    run(*compiler, "-o", f"{out}/labtool", f"{HERE}/labtool.c")
    os.makedirs(f"{out}/programs", exist_ok=True)
    sources = sorted(glob.glob(f"{HERE}/programs/*.c"))
    mains = [path for path in sources if re.search(rb"^int main\(", read(path), re.M)]
    shared = [path for path in sources if path not in mains]
    for source in mains:
        name = os.path.basename(source)[:-2]
        run(*compiler, "-o", f"{out}/programs/{name}", source, *shared)


def main():
    kernel_dir, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    compile_programs(out)
    archive = dom0_archive(kernel_dir, Modules(f"{kernel_dir}/modules"), out)
    with open(f"{out}/dom0.cpio", "wb") as file:
        file.write(archive)
    print(f"dom0.cpio: {len(archive)} bytes")


if __name__ == "__main__":
    main()
