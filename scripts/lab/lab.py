#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The lab: boots a real Xen under emulation and checks what its trace records tell.

usage: lab.py [--seed=N] TARGET...

  prepare    fetch and build all that boots need
  amd, vtd   boot a pair with that IOMMU, baseline and batched, side by side; check both
  programs   boot with the programs that drive what no network load reaches; check
  debug      boot a pair with a debug=y hypervisor: no assertion, no warning
  cost       count the instructions of map and unmap calls on one CPU; print a table
  ept        boot under Bochs, which emulates EPT (slow, optional)
  clean      remove the work directory

LAB names the work directory (~/.cache/xenflush-lab). What is made there already of
the same input is kept. XEN_SOURCE=DIR takes that Xen tree instead of Debian's;
LAB_XEN=IMAGE boots that hypervisor and builds none. LAB_JOBS=N boots so many
machines at a time (as many as CPUs and memory allow). Exit status: 0 all checks hold,
1 something failed, 2 usage.
"""
import argparse
import functools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import check_counts
import stages
from stages import Content, Failed, key_of, package_versions

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
XENFLUSH = f"{PROJECT}/xenflush"
TSC_HZ = "1GHz"                         # -icount shift=0: one instruction is a nanosecond
BASELINE = ("gnttab=no-unmap-batch",)   # the option that turns batching off
MACHINE_MEMORY = 5 << 29                # of the host for one emulated machine, 2.5 GB
TARGETS = ("prepare", "amd", "vtd", "programs", "debug", "cost", "ept", "clean")
SKIPPED = 77
FAULT = 2                               # which closing flush is made to fail
# What Xen says when an assertion fails or something is wrong; that a PVH dom0 is
# experimental is no trouble.
TROUBLE = re.compile(r"Assertion|Xen BUG|Xen WARN|BUG at|WARN at|lock order|Panic|FATAL")


def script(name):
    return f"{HERE}/{name}"


def sources(*names):
    return [Content(script(name)) for name in names]


class Boot:
    """One boot: its name, what Xen is told, and which steps dom0 runs."""

    def __init__(self, name, iommu="amd", xen="xen", options=(), steps="load", cpus=3, mask=0x0080C000,
                 watch=True, settings=()):
        self.name = name
        self.iommu = iommu
        self.xen = xen
        self.options = list(options)
        self.run_options = [f"--iommu={iommu}", f"--steps={steps}", f"--cpus={cpus}", f"--mask={mask:#010x}"]
        self.run_options += [f"--set={setting}" for setting in settings]
        if watch:
            self.run_options.append("--watch-iommu")

    @property
    def arm(self):
        return "baseline" if set(BASELINE) <= set(self.options) else "batched"


def pair(iommu, xen="xen", suffix=""):
    return [Boot(f"{iommu}-{arm}{suffix}", iommu, xen, options)
            for arm, options in (("baseline", BASELINE), ("batched", ()))]


def program_boots():
    """What no network load reaches, batched and not; in one more boot, the closing
    flush of the second batch fails."""
    mask = 0x0090C000           # the programs mark their calls with records of class TRC_MEM
    return [Boot("amd-programs", steps="programs", mask=mask),
            Boot("amd-programs-baseline", steps="programs", mask=mask, options=BASELINE),
            Boot("amd-fault", steps="programs", mask=mask, options=[f"iotlb-flush-fault={FAULT}"],
                 settings=["programs=fault=4"])]


def debug_boots():
    return pair("amd", "xen-debug", "-debug"), [
        Boot("amd-programs-debug", xen="xen-debug", steps="programs", mask=0x0090C000)]


def cost_boots():
    """One CPU, so that a tick of the TSC is an instruction of that CPU. {title: boot}"""
    def boot(name, xen, mask, options=()):
        return Boot(f"cost-{name}", xen=xen, mask=mask, options=options, steps="cost", cpus=1, watch=False,
                    settings=["buffer=2048"])

    boots = {"stock Xen": boot("stock", "xen-stock", 0)}
    masks = (("tracing off", "off", 0), ("cheap mask", "cheap", 0x00804000), ("full mask", "full", 0x0080C000))
    for what, name, mask in masks:
        boots[f"patched, {what}, baseline"] = boot(f"{name}-baseline", "xen", mask, BASELINE)
        boots[f"patched, {what}, batched"] = boot(f"{name}-batched", "xen", mask)
    return boots


class Plan:
    """What the stages are made of, and of which other stages; each is made on first use."""

    def __init__(self, lab, seed):
        self.lab = lab
        self.seed = seed

    @functools.cache
    def packages(self):
        began = time.monotonic()
        with open(self.lab.path("log", "packages.log"), "wb") as log:
            if self.lab.command(log, [script("packages.sh")]) != 0:
                raise Failed("packages:\n" + stages.tail_of(log.name))
        self.lab.note("packages", time.monotonic() - began, "there")

    @functools.cache
    def source(self):
        self.packages()
        given = os.environ.get("XEN_SOURCE")
        key = key_of("source", *sources("fetch-xen.sh", "apt.sh"), os.environ.get("XEN_VERSION"),
                     *([Content(given)] if given else []))
        return self.lab.stage("source", key, [script("fetch-xen.sh"), "@OUT@"]), key

    @functools.cache
    def kernel(self):
        self.packages()
        key = key_of("kernel", *sources("fetch-kernel.sh", "vmlinux.py", "apt.sh"))
        return self.lab.stage("kernel", key, [script("fetch-kernel.sh"), "@OUT@"]), key

    @functools.cache
    def initramfs(self):
        kernel, kernel_key = self.kernel()
        key = key_of("initramfs", kernel_key, *sources("initramfs.py", "labtool.c", "dom0", "guest", "programs"),
                     package_versions("xen-utils-4.17", "xenstore-utils", "libxen*", "libc6*", "gcc*", "binutils"))
        return self.lab.stage("initramfs", key, [script("initramfs.py"), kernel, "@OUT@"])

    @functools.cache
    def tree(self):
        """Xen's source with the queue applied."""
        source, source_key = self.source()
        key = key_of("tree", source_key, *sources("make-tree.sh", "patches"), Content(f"{PROJECT}/tracepoints"))
        return self.lab.stage("tree", key, [script("make-tree.sh"), f"{source}/xen", "@OUT@"]), key

    def built(self, name, tree, tree_key, *options):
        key = key_of("xen", tree_key, *sources("build-xen.sh"), options,
                     package_versions("gcc", "gcc-12", "binutils"))
        self.lab.stage(name, key, [script("build-xen.sh"), "--copy", *options, f"{tree}/xen", "@OUT@"])
        return self.lab.path(name, "xen")

    @functools.cache
    def image(self, name):
        """A hypervisor: xen (with the queue), xen-debug (the same with assertions) or xen-stock."""
        if name == "xen-stock":
            return self.built(name, *self.source())
        if name == "xen-debug":
            return self.built(name, *self.tree(), "--debug")
        return os.environ.get("LAB_XEN") or self.built(name, *self.tree())

    @functools.cache
    def xenalyze(self):
        tree, tree_key = self.tree()
        builder = f"{PROJECT}/tracepoints/build-xenalyze.sh"
        key = key_of("xenalyze", tree_key, Content(builder), package_versions("gcc", "libc6-dev"))
        return self.lab.stage("xenalyze", key, [builder, f"{tree}/xen", "@OUT@/xenalyze"]) + "/xenalyze"

    def prepare(self, boots):
        """Everything that boots need; the boots then only wait for each other."""
        self.kernel()
        self.initramfs()
        for boot in boots:
            self.image(boot.xen)

    def boot(self, boot):
        image, initramfs, vmlinux = self.image(boot.xen), f"{self.initramfs()}/dom0.cpio", f"{self.kernel()[0]}/vmlinux"
        options = [*boot.run_options, f"--seed={self.seed}"]
        key = key_of("boot", *sources("run.sh", "common.sh", "iommu_watch.py"), Content(image), Content(initramfs),
                     Content(vmlinux), options, boot.options, package_versions("qemu-system-x86", "seabios"))
        command = [script("run.sh"), f"--xen={image}", f"--initramfs={initramfs}", f"--vmlinux={vmlinux}",
                   "--out=@OUT@", *options, boot.name, *boot.options]
        return self.lab.stage(f"run/{boot.name}", key, command)

    def boot_all(self, boots):
        self.prepare(boots)
        self.lab.side_by_side([functools.partial(self.boot, boot) for boot in boots], boots_at_a_time())


def boots_at_a_time():
    if "LAB_JOBS" in os.environ:
        return max(1, int(os.environ["LAB_JOBS"]))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count(), memory // MACHINE_MEMORY))


class Checks:
    """Runs checks, prints what they say, and remembers whether one failed."""

    def __init__(self, plan):
        self.plan = plan
        self.lab = plan.lab
        self.failed = 0
        self.counted = []               # (boot's name, what check_counts counts)

    def run(self, what, command, accepted=(0,), brief=None):
        """With `brief`, all that is said goes to that file, and what is ok is not shown."""
        with tempfile.TemporaryFile() as output:
            status = self.lab.command(output, command)
            output.seek(0)
            lines = output.read().decode("utf-8", "replace").splitlines()
        good = status in accepted
        if brief:
            with open(brief, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            lines = [line for line in lines if not line.lstrip().startswith("ok ")]
        self.told(what, good, [line for line in lines if line])
        return good

    def told(self, what, good, lines):
        self.failed += not good
        self.lab.say(f"    {'ok' if good else 'FAILED':<7}{what}: " + ("\n" + " " * 11).join(lines or ["done"]))

    def imported(self, name):
        run = self.lab.path("run", name)
        database = f"{run}/trace.db"
        with open(f"{self.plan.source()[0]}/version", encoding="utf-8") as file:
            version = file.read().strip()
        done = self.run("import", [XENFLUSH, "import", "--quiet", "--force", f"--tsc-hz={TSC_HZ}", f"--label={name}",
                                   f"--xen-version={version}", f"{run}/out/trace.bin", "-o", database])
        return database if done else None

    def load(self, boot):
        """The trace of a network load: counts, and both witnesses."""
        self.lab.say(f"  {boot.name}")
        run = self.lab.path("run", boot.name)
        database = self.imported(boot.name)
        if not database:
            return
        with open(f"{run}/report.txt", "w", encoding="utf-8") as file:
            subprocess.run([XENFLUSH, "report", database], stdout=file, check=False)
        self.run("counts", [script("check_counts.py"), boot.arm, database])
        self.counted.append((boot.name, check_counts.counts_of(database)))
        self.run("QEMU", [script("witness_qemu.py"), f"{run}/out/trace.bin", f"{run}/iommu.log"])
        self.run("xenalyze", [script("witness_xenalyze.py"), self.plan.xenalyze(), f"{run}/out/trace.bin", database])

    def table(self):
        """What the loads' traces hold, side by side."""
        if not self.counted:
            return
        names = list(self.counted[0][1])
        lines = ["", "| run | " + " | ".join(names) + " | flushes a page |", "|---" + "|---:" * (len(names) + 1) + "|"]
        for run, counted in self.counted:
            flushes = counted["TLB_FLUSH"] + counted["IOTLB_FLUSH"]
            a_page = f"{flushes / counted['pages']:.3f}" if counted["pages"] else "-"
            lines.append(f"| {run} | " + " | ".join(f"{counted[name]:,}" for name in names) + f" | {a_page} |")
        self.lab.say("\n".join(lines))

    def programs(self, boot):
        """The programs' own account against the trace."""
        self.lab.say(f"  {boot.name}")
        run = self.lab.path("run", boot.name)
        database = self.imported(boot.name)
        if not database:
            return
        options = [f"--{boot.arm}", f"--iommu={boot.iommu}"]
        if any(option.startswith("iotlb-flush-fault") for option in boot.options):
            options.append(f"--fault={FAULT}")
        self.run("paths", [script("check_paths.py"), *options, f"{run}/out/xfpaths.txt", f"{run}/out/trace.bin"],
                 brief=f"{run}/paths.txt")
        self.run("QEMU", [script("witness_qemu.py"), f"{run}/out/trace.bin", f"{run}/iommu.log"])
        self.run("xenalyze", [script("witness_xenalyze.py"), self.plan.xenalyze(), f"{run}/out/trace.bin", database])

    def debug(self, boot):
        """A debug hypervisor says so itself when something is wrong."""
        with open(self.lab.path("run", boot.name, "serial.log"), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        wrong = [line for line in lines if TROUBLE.search(line)]
        debug = any("debug=y" in line for line in lines)
        self.told(f"{boot.name}, serial log", debug and not wrong,
                  wrong or ["no assertion, no BUG, no warning" if debug else "this is no debug=y hypervisor"])

    def cost(self, boots):
        """Nothing may be lost, or the records would cost less than they do."""
        for boot in boots.values():
            if not os.path.exists(self.lab.path("run", boot.name, "out", "trace.bin")):
                continue                # tracing was off
            self.lab.say(f"  {boot.name}")
            if database := self.imported(boot.name):
                with sqlite3.connect(database) as connection:
                    lost, stored = connection.execute("SELECT lost, stored FROM run").fetchone()
                self.told("records", lost == 0 and stored > 0, [f"{stored} flush records, {lost} lost"])
        command = [script("cost_table.py")]
        command += [f"{title}={self.lab.path('run', boot.name, 'out', 'cost.txt')}" for title, boot in boots.items()]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        self.failed += done.returncode != 0
        self.lab.say("\n" + done.stdout)


def directory():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.realpath(os.environ.get("LAB") or f"{cache}/xenflush-lab")


def run_targets(lab, targets, seed):
    plan = Plan(lab, seed)
    checks = Checks(plan)
    lab.say(f"lab in {lab.directory}")
    jobs = []                           # (boot, what checks it); a boot can be checked twice
    for iommu in ("amd", "vtd"):
        if iommu in targets:
            jobs += [(boot, checks.load) for boot in pair(iommu)]
    if "programs" in targets:
        jobs += [(boot, checks.programs) for boot in program_boots()]
    if "debug" in targets:
        loads, programs = debug_boots()
        jobs += [(boot, checks.load) for boot in loads] + [(boot, checks.programs) for boot in programs]
        jobs += [(boot, checks.debug) for boot in loads + programs]
    costs = cost_boots() if "cost" in targets else {}
    boots = list(dict.fromkeys([boot for boot, _ in jobs] + list(costs.values())))

    if boots and not os.path.exists(XENFLUSH):
        raise Failed(f"{XENFLUSH} is missing: run make first")
    plan.prepare(boots or [Boot("any")])
    if jobs:
        plan.xenalyze()
    plan.boot_all(boots)
    began = time.monotonic()
    for boot, check in jobs:
        check(boot)
    checks.table()
    if costs:
        checks.cost(costs)
    lab.note("checks", time.monotonic() - began, "done")
    if "ept" in targets:
        checks.run("EPT", [script("ept/lab.sh"), plan.image("xen")], (0, SKIPPED))
    return checks.failed


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    if options.help:
        print(__doc__)
        return 0
    unknown = [target for target in options.targets if target not in TARGETS]
    if unknown or not options.targets:
        print(f"lab.py: {'no target ' + unknown[0] if unknown else 'no target given'}; see --help", file=sys.stderr)
        return 2
    if "clean" in options.targets and len(options.targets) > 1:
        print("lab.py: clean goes alone", file=sys.stderr)
        return 2

    began = time.monotonic()
    try:
        lab = stages.Lab(directory())
        if "clean" in options.targets:
            shutil.rmtree(lab.directory)
            print(f"removed {lab.directory}")
            return 0
        failed = run_targets(lab, options.targets, options.seed)
    except Failed as problem:
        print(f"lab: {problem}", file=sys.stderr)
        return 1
    lab.summary(began)
    if failed:
        print(f"lab: {failed} checks failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
