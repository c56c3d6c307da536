# SPDX-License-Identifier: GPL-2.0-only
"""What Xen must have recorded about each step of xfpaths: the rules of check_paths.py.

A rule takes a step, raises Differs at the first thing that is not as it must be, and
returns a few words about what it saw. programs/README.md has the rules in prose.
"""
import collections

FLUSH, PAGE = 0x00804000, 0x00808000
NAMES = {FLUSH + n: name for n, name in enumerate(
    "BATCH_BEGIN BATCH_END IOTLB_FLUSH IOMMU_INVALIDATE TLB_FLUSH IPI_ROUND ASSISTED_FLUSH "
    "L0_FLUSH CACHE_FLUSH P2M_TABLE_FREE SKIP_WINDOW UNMAP_CALL GRANT_COPY".split(), 1)}
NAMES |= {PAGE + n: name for n, name in enumerate(
    "IOTLB_SKIPPED TLB_DEFERRED PAGE_RELEASED IOTLB_ADDED IOMMU_WRITEBACK".split(), 1)}

GROUP = 32                      # operations that Xen unmaps before it flushes
WINDOW_FRAMES = 16              # frames that Xen moves before it flushes
NO_GFN = 2 ** 64 - 1
ADDED, MODIFIED, ALL = 1, 2, 4  # flags of an IOTLB flush
WHOLE = 1 << 15
FILTERED = 5                    # kind of TLB flush: pages allocated, by time stamp
OPEN, CLOSE, SUSPEND, RESUME = 1, 2, 3, 4
GRANT_UNMAP, ADD_PHYSMAP, REMOVE_PAGE = 1, 2, 3
SITE_LEGACY_MAP, SITE_LEGACY_UNMAP, SITE_SHARED_EPT = 1, 2, 3
NEEDED_TLB, NEEDED_IOTLB = 1 << 8, 1 << 9
TARGETED = ("IOTLB_FLUSH", "IOTLB_ADDED", "IOTLB_SKIPPED", "TLB_FLUSH", "PAGE_RELEASED",
            "P2M_TABLE_FREE")
EIO = 5


class Step:
    """A line of xfpaths and the records between its marks."""

    def __init__(self, kind, fields):
        self.kind = kind
        self.fields = fields
        self.name = fields["step"]
        self.records = None         # [(name, words)], in the order of the CPU

    def number(self, key):
        return int(self.fields[key], 0)

    def of(self, *names):
        return [words for name, words in self.records if name in names]

    def count(self, name):
        return len(self.of(name))


def signed(word, width=32):
    return word - 2 ** width if word >= 2 ** (width - 1) else word


def wide(words, low):
    return words[low] + (words[low + 1] << 32)


class Differs(Exception):
    pass


def equal(what, found, expected):
    if found != expected:
        raise Differs(f"{what}: {found}, expected {expected}")


def at_least(what, found, least):
    if found < least:
        raise Differs(f"{what}: {found}, expected at least {least}")


def none_of(step, *names):
    for name in names:
        equal(name, step.count(name), 0)


def operations(text):
    """The frame of each operation, None for one that is bad."""
    frames = []
    for part in text.split(","):
        first, _, count = part.partition("*")
        if first == "bad":
            frames += [None] * int(count)
        else:
            frames += range(int(first, 0), int(first, 0) + int(count))
    return frames


def groups(frames, done, fails):
    """[(operations asked for, frames unmapped)] of the groups that Xen begins.

    `done` operations are performed; then the call ends, or fails in the group of the
    operation after these.
    """
    begun = done // GROUP + 1 if fails else -(-len(frames) // GROUP)
    return [(min(GROUP, len(frames) - g * GROUP),
             [f for f in frames[g * GROUP:min((g + 1) * GROUP, done)] if f is not None])
            for g in range(begun)]


def block(frames):
    """First frame and size of the smallest aligned power of two that holds them."""
    order = (min(frames) ^ max(frames)).bit_length()
    return min(frames) >> order << order, 1 << order


def sound(step):
    """Flags, kinds and granularities are such as the records may have."""
    for name, w in step.records:
        value = w[1] & 0xFF
        if name in ("IOTLB_FLUSH", "IOTLB_ADDED", "IOTLB_SKIPPED", "BATCH_END"):
            equal(f"{name}, unknown flags", value & ~(ADDED | MODIFIED | ALL), 0)
        elif name == "TLB_DEFERRED" or (name == "TLB_FLUSH" and value != FILTERED):
            equal(f"{name}, EPT or NPT", value in (1, 2), True)
        elif name == "IOMMU_INVALIDATE":
            equal("IOMMU_INVALIDATE, granularity", value in (1, 2, 3), True)


class Checker:
    def __init__(self, batched, iommu, fault):
        self.batched = batched
        self.iommu = iommu
        self.fault = fault
        self.fault_calls = 0

    # -- One IOTLB flush and the commands for it

    def commands(self, step):
        """Each command belongs to the IOTLB flush that is recorded next and covers it."""
        pending = []
        for name, w in step.records:
            if name == "IOMMU_INVALIDATE":
                pending.append(w)
            elif name in ("IOTLB_FLUSH", "IOTLB_ADDED"):
                self.command(name, w, pending)
                pending = []
        equal("commands without a flush", len(pending), 0)

    def command(self, name, flush, commands):
        target, flags, rc = flush[1] >> 16, flush[1] & 0xFF, signed(flush[5])
        equal(f"{name} with flags", name == "IOTLB_ADDED", flags == ADDED)
        if self.iommu == "amd":
            equal(f"commands of {name} with flags {flags}", len(commands),
                  1 if flags & MODIFIED and not rc else 0)
        elif target == 0 and flags & MODIFIED and not rc:
            at_least(f"commands of {name}", len(commands), 1)
        first, pages = wide(flush, 2), flush[4]
        for w in commands:
            granularity, order = w[1] & 0xFF, w[1] >> 8 & 0xFF
            base = wide(w, 3) >> order << order
            if granularity == 3 and not base <= first <= first + pages <= base + (1 << order):
                raise Differs(f"a command for {1 << order} frames at {base:#x} does not hold "
                              f"{pages} at {first:#x}")
            if flags & ALL and granularity == 3:
                raise Differs("a flush of everything sent a command for pages")

    # -- Unmap calls

    def calls(self, step, asked, done, rc):
        """The records of one call: several, if it was preempted."""
        left, performed, records = asked, 0, step.of("UNMAP_CALL")
        at_least("UNMAP_CALL", len(records), 1)
        for i, w in enumerate(records):
            last = i == len(records) - 1
            equal(f"UNMAP_CALL {i + 1}, operations asked", w[1], left)
            equal(f"UNMAP_CALL {i + 1}, rc", signed(w[3]), rc if last else 0)
            left -= w[2]
            performed += w[2]
        equal("UNMAP_CALL, operations done", performed, done)
        ticks = step.number("tsc1") - step.number("tsc0")
        if not 0 < sum(w[4] for w in records) <= ticks:
            raise Differs(f"UNMAP_CALL took {sum(w[4] for w in records)} cycles of {ticks}")

    def released(self, step, frames, granter):
        records = step.of("PAGE_RELEASED")
        equal("PAGE_RELEASED, frames", [wide(w, 2) for w in records], frames)
        for w in records:
            equal("PAGE_RELEASED, granter", w[1] >> 16, granter)
            equal("PAGE_RELEASED, status", w[1] & 0xFFFF, 0)
            equal("PAGE_RELEASED, site", w[6] & 0xFF, GRANT_UNMAP)
            equal("PAGE_RELEASED, needed", w[6] >> 8,
                  (NEEDED_TLB | (NEEDED_IOTLB if self.iommu != "none" else 0)) >> 8)
        return [wide(w, 4) for w in records]

    def flushes_each(self, step, frames):
        """Baseline: both halves of the flush for each page."""
        none_of(step, "BATCH_BEGIN", "BATCH_END", "IOTLB_SKIPPED", "TLB_DEFERRED")
        equal("TLB_FLUSH, targets", [w[1] >> 16 for w in step.of("TLB_FLUSH")], [0] * len(frames))
        if self.iommu != "none":
            equal("IOTLB_FLUSH, frames and pages",
                  [(wide(w, 2), w[4]) for w in step.of("IOTLB_FLUSH")], [(f, 1) for f in frames])
        order = [name for name in (name for name, _ in step.records)
                 if name in ("TLB_FLUSH", "PAGE_RELEASED")]
        if order[:1] == ["PAGE_RELEASED"]:
            raise Differs("a page is released before any flush")

    def split(self, step):
        """The records of each group: [(inside the batch, after it)]."""
        parts, open_ = [], False
        for name, w in step.records:
            if name == "BATCH_BEGIN":
                equal("a group begins inside another", open_, False)
                parts.append(([], []))
                open_ = True
            if not parts:
                raise Differs(f"{name} before the first group")
            parts[-1][0 if open_ else 1].append((name, w))
            if name == "BATCH_END":
                open_ = False
        equal("a group is left open", open_, False)
        return parts

    def flushes_grouped(self, step, expected, failing=False):
        parts = self.split(step)
        equal("groups", len(parts), len(expected))
        for (inside, after), (asked, frames) in zip(parts, expected):
            self.group(inside, after, asked, frames, failing)

    def group(self, inside, after, asked, frames, failing):
        names = collections.Counter(name for name, _ in inside)
        begin, end = inside[0][1], inside[-1][1]
        some, iommu = bool(frames), self.iommu != "none"

        def of(wanted):
            return [w for name, w in inside if name == wanted]

        equal("BATCH_BEGIN, operations", begin[1], asked)
        equal("BATCH_END, pages", end[1] >> 16, len(frames))
        equal("BATCH_END, gfns", (wide(end, 3), wide(end, 5)),
              (min(frames), max(frames)) if some else (NO_GFN, 0))
        equal("BATCH_END, TLB flush deferred", bool(end[1] & 0x100), some)
        equal("BATCH_END, rc", signed(end[2]), -EIO if failing else 0)
        equal("TLB_DEFERRED, frames", [wide(w, 2) for w in of("TLB_DEFERRED")], frames)
        equal("TLB_FLUSH", names["TLB_FLUSH"], int(some))
        equal("PAGE_RELEASED inside", names["PAGE_RELEASED"], 0)
        equal("records after the group",
              {name for name, _ in after} - {"PAGE_RELEASED", "UNMAP_CALL", "IPI_ROUND"}, set())
        if not iommu:
            return
        skipped = of("IOTLB_SKIPPED")
        equal("IOTLB_SKIPPED, frames", [wide(w, 2) for w in skipped], frames)
        flags = 0
        for w in skipped:
            flags |= w[1] & 0xFF
        equal("BATCH_END, flags of the skipped flushes", end[1] & 0xFF, flags)
        equal("IOTLB_FLUSH", names["IOTLB_FLUSH"], int(some))
        for w in of("IOTLB_FLUSH"):
            equal("IOTLB_FLUSH, flags", w[1] & 0xFF, flags)
            equal("IOTLB_FLUSH, rc", signed(w[5]), -EIO if failing else 0)
            if not w[1] & WHOLE:
                equal("IOTLB_FLUSH, range", (wide(w, 2), w[4]), block(frames))

    def unmap(self, step):
        asked, done, rc = step.number("asked"), step.number("done"), step.number("rc")
        frames = operations(step.fields["ops"])
        unmapped = [f for f in frames[:done] if f is not None]
        self.calls(step, asked, done, rc)
        mfns = self.released(step, unmapped, step.number("granter"))
        equal("pages of memory", len(set(mfns)),
              1 if step.number("one_page") else len(unmapped))
        if self.batched:
            self.flushes_grouped(step, groups(frames, done, rc < 0))
        else:
            self.flushes_each(step, unmapped)
        self.commands(step)
        return f"{asked} operations, {len(unmapped)} pages, {step.count('UNMAP_CALL')} calls"

    def fault_call(self, step):
        """A call whose closing flush fails, or one like any other."""
        self.fault_calls += 1
        asked, leaked = step.number("asked"), step.number("leaked")
        frames = [step.number("gfn") + i for i in range(asked)]
        if self.fault is not None:
            equal("pages leaked", leaked, asked if self.fault_calls == self.fault else 0)
        self.calls(step, asked, asked, step.number("rc"))
        self.released(step, [] if leaked else frames, step.number("granter"))
        if self.batched:
            self.flushes_grouped(step, groups(frames, asked, False), failing=bool(leaked))
        else:
            self.flushes_each(step, frames)
        self.commands(step)
        return f"{leaked} of {asked} pages leaked"

    @staticmethod
    def leak(step):
        equal("pages that the destroyed granter owns", step.number("owned"), step.number("leaked"))
        return f"{step.number('leaked')} pages stay with the dying domain"

    # -- The others

    @staticmethod
    def assisted(step):
        vcpus, calls = step.number("vcpus"), step.of("ASSISTED_FLUSH")
        equal("ASSISTED_FLUSH", len(calls), step.number("calls"))
        equal("ASSISTED_FLUSH, vCPUs", {w[1] >> 16 for w in calls}, {vcpus})
        interrupted = [w[1] & 0xFFFF for w in calls]
        if max(interrupted) >= vcpus:
            raise Differs(f"{max(interrupted)} CPUs interrupted for {vcpus} vCPUs")
        if step.number("busy"):
            equal("ASSISTED_FLUSH, CPUs interrupted beside a busy vCPU", set(interrupted), {1})
        return f"{len(calls)} calls, {sum(interrupted)} CPUs interrupted"

    @staticmethod
    def cache(step):
        flushes, records = step.number("flushes"), step.of("CACHE_FLUSH")
        if flushes < 0:
            at_least("CACHE_FLUSH", len(records), 1)
        else:
            equal("CACHE_FLUSH", len(records), flushes)
        for w in records:
            equal("CACHE_FLUSH, target", w[1] >> 16, step.number("domain"))
            equal("CACHE_FLUSH, kind and bytes", (w[1] & 0xFF, w[2]), (1, 0))
            at_least("CACHE_FLUSH, CPUs", w[3], 1)
        return f"{len(records)} flushes"

    @staticmethod
    def copy(step):
        records = step.of("GRANT_COPY")
        equal("GRANT_COPY, operations", sum(w[1] for w in records), step.number("asked"))
        equal("GRANT_COPY, bytes", sum(w[2] for w in records), step.number("bytes"))
        return f"{step.number('asked')} operations, {step.number('bytes')} bytes"

    def physmap(self, step):
        domain = step.number("domain")
        for name, w in step.records:
            filtered = name == "TLB_FLUSH" and w[1] & 0xFF == FILTERED
            if name in TARGETED and not filtered:
                equal(f"{name}, target", w[1] >> 16, domain)
        equal("PAGE_RELEASED, status",
              {w[1] & 0xFFFF for w in step.of("PAGE_RELEASED")} - {0}, set())
        none_of(step, "BATCH_BEGIN", "BATCH_END", "TLB_DEFERRED")
        self.commands(step)
        how = step.fields["how"]
        if how != "range":
            none_of(step, "SKIP_WINDOW", "IOTLB_SKIPPED")
        return getattr(self, "physmap_" + how)(step)

    @staticmethod
    def frames(step, key, count):
        return [step.number(key) + i for i in range(count)]

    @staticmethod
    def released_by(step, site):
        return [wide(w, 2) for w in step.of("PAGE_RELEASED") if w[6] & 0xFF == site]

    def physmap_range(self, step):
        """open (suspend resume)* close, and flushes put off just where it is open."""
        count, removed = step.number("frames"), step.number("removed")
        state, windows, suspensions, ranges = CLOSE, 0, 0, []
        follows = {OPEN: (CLOSE,), SUSPEND: (OPEN, RESUME), RESUME: (SUSPEND,),
                   CLOSE: (OPEN, RESUME)}
        for name, w in step.records:
            if name == "SKIP_WINDOW":
                if state not in follows.get(w[1], ()):
                    raise Differs(f"SKIP_WINDOW {w[1]} after {state}")
                equal(f"SKIP_WINDOW {w[1]}, site", w[2],
                      ADD_PHYSMAP if w[1] in (OPEN, CLOSE) else REMOVE_PAGE)
                state = w[1]
                windows += state == OPEN
                suspensions += state == SUSPEND
            elif name == "IOTLB_SKIPPED":
                equal("a flush is put off with the window open", state in (OPEN, RESUME), True)
            elif name == "IOTLB_FLUSH":
                equal("a flush is issued with the window open", state in (OPEN, RESUME), False)
                ranges += [(state, wide(w, 2), w[4], w[1] & 0xFF)]
        equal("the window is left in state", state, CLOSE)
        equal("suspensions", suspensions, removed)
        if not -(-count // WINDOW_FRAMES) <= windows <= count:
            raise Differs(f"{windows} windows for {count} frames")
        skipped = collections.defaultdict(list)
        for w in step.of("IOTLB_SKIPPED"):
            skipped[w[1] >> 8 & 0xFF].append(wide(w, 2))
        old, new = self.frames(step, "from", count), self.frames(step, "to", count)
        if SITE_SHARED_EPT not in skipped:
            equal("IOTLB_SKIPPED, old frames", skipped[SITE_LEGACY_UNMAP], old)
            equal("IOTLB_SKIPPED, new frames", skipped[SITE_LEGACY_MAP], new)
        self.closing(ranges, windows, old, new)
        equal("PAGE_RELEASED by moving", self.released_by(step, ADD_PHYSMAP), old)
        equal("PAGE_RELEASED by removal", self.released_by(step, REMOVE_PAGE), new[:removed])
        return f"{count} frames, {windows} windows, {suspensions} suspensions"

    @staticmethod
    def closing(ranges, windows, old, new):
        """Closed, a window flushes its old frames, then its new ones."""
        closing = [r for r in ranges if r[0] == CLOSE]
        equal("IOTLB_FLUSH after windows", len(closing), 2 * windows)

        def expand(flushes):
            return [first + i for _, first, pages, _ in flushes for i in range(pages)]

        equal("IOTLB_FLUSH, old frames", expand(closing[::2]), old)
        equal("IOTLB_FLUSH, new frames", expand(closing[1::2]), new)
        equal("IOTLB_FLUSH of a removed frame, pages",
              {pages for state, _, pages, _ in ranges if state == SUSPEND} - {1}, set())

    def physmap_list(self, step):
        count = step.number("frames")
        equal("IOTLB_FLUSH, frames", [wide(w, 2) for w in step.of("IOTLB_FLUSH")],
              self.frames(step, "from", count))
        equal("IOTLB_ADDED, frames", [wide(w, 2) for w in step.of("IOTLB_ADDED")],
              self.frames(step, "to", count))
        return f"{count} frames, no window"

    def physmap_special(self, step):
        equal("IOTLB_ADDED, frames", [wide(w, 2) for w in step.of("IOTLB_ADDED")],
              self.frames(step, "to", 1))
        return "no window"

    def physmap_unhook(self, step):
        equal("IOTLB_FLUSH, frames", [wide(w, 2) for w in step.of("IOTLB_FLUSH")],
              self.frames(step, "from", 1))
        return "no window"

    def physmap_release(self, step):
        frames = self.frames(step, "from", step.number("removed"))
        equal("IOTLB_FLUSH, frames", [wide(w, 2) for w in step.of("IOTLB_FLUSH")], frames)
        equal("PAGE_RELEASED", self.released_by(step, REMOVE_PAGE), frames)
        return f"{len(frames)} frames, no window"

    @staticmethod
    def physmap_superpage(step):
        tables = step.of("P2M_TABLE_FREE")
        at_least("P2M_TABLE_FREE", len(tables), 1)
        equal("P2M_TABLE_FREE, flush pending", {w[1] & 1 for w in tables}, {0})
        return f"{len(tables)} tables freed"

    def step(self, step):
        if step.records is None:
            raise Differs("its marks are not in the trace")
        sound(step)
        return {"unmap": self.unmap, "assisted": self.assisted, "cache": self.cache,
                "copy": self.copy, "physmap": self.physmap, "fault": self.fault_call,
                "leak": self.leak}[step.kind](step)
