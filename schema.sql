-- SPDX-License-Identifier: GPL-2.0-only
-- schema.sql - the xenflush database, schema version 1.
--
-- Every program of xenflush has this file compiled in; it also loads as it
-- stands into the sqlite3 shell.
--
-- Conventions
--   tsc      TSC cycles since the smallest TSC of any CPU in the trace
--   ts       nanoseconds, computed from tsc when it is read; TSC cycles where
--            the clock rate is not known (run.tsc_hz is NULL)
--   pos      byte offset of the record in the trace, counted through all pieces
--            of a rotated trace; it names a record uniquely
--   cpu      physical CPU
--   dom,vcpu domain and vCPU that were current
--   gfn, mfn, dfn   frame numbers; an invalid frame is NULL
--   64-bit values of 2^63 and more are negative
-- The rows of each record table are in time order: so is their rowid.

PRAGMA application_id = 0x78666c73;     -- "xfls"
PRAGMA user_version = 1;

-- One row: where the trace came from and what was read.
CREATE TABLE run (
    file TEXT,              -- name of the trace (of its first piece); - for a pipe
    label TEXT,             -- free text, given on import
    host TEXT,              -- given on import, or read from a live host
    xen_version TEXT,       -- likewise
    xen_cmdline TEXT,       -- likewise
    mask INTEGER,           -- trace mask, where known
    tsc_hz INTEGER,         -- TSC cycles per second; NULL: not known, ts is cycles
    start_time TEXT,        -- wall clock at tsc 0, ISO 8601 UTC, where known
    first_tsc INTEGER,      -- the smallest TSC of the trace, as recorded
    last_tsc INTEGER,       -- the largest TSC, relative to first_tsc
    duration INTEGER GENERATED ALWAYS AS (last_tsc) VIRTUAL,    -- as ts
    bytes INTEGER,          -- size of the trace
    cpus INTEGER,           -- CPUs that wrote records
    windows INTEGER,        -- CPU_CHANGE headers
    records INTEGER,        -- all records but CPU_CHANGE headers; it is the sum of
                            -- stored, unknown, skipped, wraps and lost_intervals
    stored INTEGER,         -- rows in the record tables below
    unknown INTEGER,        -- flush records not in the contract, kept in raw_record
    skipped INTEGER,        -- records of other classes, counted in other_events
    wraps INTEGER,          -- padding at the end of Xen's ring
    lost_intervals INTEGER, -- lost-records records
    lost INTEGER,           -- records lost, told by them
    untimed INTEGER,        -- records without a TSC, wraps left out
    damaged INTEGER,        -- rows in damage
    damaged_bytes INTEGER,  -- bytes that could not be used
    clock_faults INTEGER,   -- rows in damage of kind clock
    derivation INTEGER,     -- version of the derived tables; NULL: not derived
    tool_version TEXT       -- version of xenflush that imported
);

-- The files of the trace, in order; several are the pieces of a rotated one.
CREATE TABLE piece (
    name TEXT,
    start INTEGER,          -- pos of its first byte
    bytes INTEGER
);

-- What each CPU wrote.
CREATE TABLE trace_cpu (
    cpu INTEGER,
    windows INTEGER,
    records INTEGER,
    lost INTEGER,           -- records lost
    first_tsc INTEGER,      -- NULL: no timed record
    last_tsc INTEGER,
    epoch INTEGER           -- falls of the clock, on any CPU, before its first record
);

-- Intervals in which Xen dropped records of one CPU because its buffer was full.
CREATE TABLE lost (
    cpu INTEGER,
    first_tsc INTEGER,      -- first possible time of a lost record
    last_tsc INTEGER,       -- last possible time
    first_ts INTEGER GENERATED ALWAYS AS (first_tsc) VIRTUAL,
    last_ts INTEGER GENERATED ALWAYS AS (last_tsc) VIRTUAL,
    records INTEGER,        -- NULL: the record that tells is malformed
    dom INTEGER,            -- current when the first record was lost
    vcpu INTEGER,
    pos INTEGER
);

-- What is wrong with the trace, in the order of the file.
CREATE TABLE damage (
    offset INTEGER,         -- where it begins, as pos
    bytes INTEGER,          -- bytes that could not be used
    kind TEXT,              -- window, record, garbage, cut, lost, clock
    what TEXT,
    cpu INTEGER,            -- NULL: not known
    fault TEXT,             -- clock: step (goes back, order kept), spike (one record
                            -- far ahead), fall (far back for good); NULL otherwise
    tsc INTEGER,            -- clock: the TSC that is at fault; NULL otherwise
    before_tsc INTEGER      -- clock: the TSC before it
);

-- Records of other classes, counted.
CREATE TABLE other_events (
    event INTEGER,          -- NULL: events of all kinds beyond those told apart
    name TEXT,
    cpu INTEGER,
    dom INTEGER,            -- where the record tells it
    count INTEGER
);

-- Flush records that are not in the contract (unknown number, other word count,
-- no TSC); with `import --keep-other` also the records counted in other_events.
CREATE TABLE raw_record (
    tsc INTEGER,            -- NULL: an untimed record before any timed one of its CPU
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    event INTEGER,
    timed INTEGER,          -- 0: tsc is that of the CPU's record before it
    words INTEGER,          -- number of words that follow
    w0 INTEGER, w1 INTEGER, w2 INTEGER, w3 INTEGER, w4 INTEGER, w5 INTEGER, w6 INTEGER
);

-- [records] written by `make schema` from the table of events
-- BATCH_BEGIN 0x00804001: a group of at most 32 unmaps begins.
CREATE TABLE batch_begin (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    ops INTEGER             -- operations in this group
);

-- BATCH_END 0x00804002: the group ends, its closing flushes are done.
CREATE TABLE batch_end (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    flags INTEGER,          -- gathered from the skipped flushes: 1 added, 2 modified, 4 all
    tlb_deferred INTEGER,   -- 1: a guest TLB flush was deferred
    pages INTEGER,          -- pages whose removal succeeded
    rc INTEGER,             -- result of the closing IOTLB flush, negative errno
    gfn_low INTEGER,        -- lowest gfn; NULL: no page
    gfn_high INTEGER        -- highest gfn; 0 where gfn_low is NULL
);

-- IOTLB_FLUSH 0x00804003: an IOTLB flush has completed.
CREATE TABLE iotlb_flush (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    flags INTEGER,          -- 1 added, 2 modified, 4 all
    whole INTEGER,          -- 1: the whole domain
    dfn INTEGER,            -- first dfn
    pages INTEGER,          -- pages asked for; saturates at 4294967295
    rc INTEGER,             -- 0, or a negative errno
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- IOMMU_INVALIDATE 0x00804004: the command that really went to one IOMMU.
CREATE TABLE iommu_invalidate (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    hw_domain INTEGER,      -- the IOMMU's own domain id, not a domid
    mask_order INTEGER,     -- address mask order: 2^order pages
    granularity INTEGER,    -- 0 none, 1 global, 2 domain, 3 pages
    iommu INTEGER,          -- index of the IOMMU; AMD: its PCI address
    dfn INTEGER,            -- as sent: align down to the order; only for granularity 3
    rc INTEGER,             -- 0, or a negative errno
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- TLB_FLUSH 0x00804005: the guest TLBs of a domain were flushed.
CREATE TABLE tlb_flush (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    kind INTEGER,           -- 1 EPT, 2 NPT, 3 shadow, 4 PV, 5 filtered by time stamp
    local_cpu INTEGER,      -- 1: the sender's own CPU is in the mask
    cpus INTEGER,           -- CPUs in the mask, counted before sending
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- IPI_ROUND 0x00804006: flush IPIs were sent and all targets have answered.
CREATE TABLE ipi_round (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    vector INTEGER,         -- interrupt vector
    flags INTEGER,          -- Xen's FLUSH_* bits; 0: a call-function round
    targets INTEGER,        -- CPUs targeted
    lock_cycles INTEGER,    -- TSC cycles waiting for the lock
    ack_cycles INTEGER,     -- TSC cycles from sending to the last answer
    address INTEGER         -- virtual address; from 2^63 on negative
);

-- ASSISTED_FLUSH 0x00804007: a guest asked for a flush (HVMOP_flush_tlbs, Viridian).
CREATE TABLE assisted_flush (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    vcpus INTEGER,          -- vCPUs flushed
    cpus INTEGER,           -- physical CPUs interrupted
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- L0_FLUSH 0x00804008: Xen as a guest asked the hypervisor below for a flush.
CREATE TABLE l0_flush (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    flags INTEGER,          -- Xen's FLUSH_* bits
    rc INTEGER,             -- 0, or a negative errno
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- CACHE_FLUSH 0x00804009: CPU caches were flushed or written back.
CREATE TABLE cache_flush (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    kind INTEGER,           -- 1 WBINVD, 2 line flush, 3 line write-back
    bytes INTEGER,          -- 0: the whole cache
    cpus INTEGER,           -- CPUs
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- P2M_TABLE_FREE 0x0080400a: a page of p2m tables is freed.
CREATE TABLE p2m_table_free (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    pending INTEGER,        -- 1: a flush is still pending
    mfn INTEGER             -- the freed page
);

-- SKIP_WINDOW 0x0080400b: iommu_dont_flush_iotlb changes outside grant unmaps.
CREATE TABLE skip_window (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    change INTEGER,         -- 1 open, 2 close, 3 suspend, 4 resume
    site INTEGER            -- 2 add to physmap, 3 page removal, 0 other
);

-- UNMAP_CALL 0x0080400c: GNTTABOP_unmap_grant_ref returns or is preempted.
CREATE TABLE unmap_call (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    asked INTEGER,          -- operations asked for
    done INTEGER,           -- operations done
    rc INTEGER,             -- 0, or a negative errno
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- GRANT_COPY 0x0080400d: one GNTTABOP_copy call.
CREATE TABLE grant_copy (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    done INTEGER,           -- operations done
    bytes INTEGER           -- bytes copied
);

-- IOTLB_SKIPPED 0x00808001: an IOTLB flush was not issued because of iommu_dont_flush_iotlb.
CREATE TABLE iotlb_skipped (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    site INTEGER,           -- 1 legacy map, 2 legacy unmap, 3 shared EPT
    flags INTEGER,          -- flags it would have used; 0: nothing was pending
    dfn INTEGER,            -- first dfn
    pages INTEGER           -- pages
);

-- TLB_DEFERRED 0x00808002: a guest TLB flush was put off to the end of the group.
CREATE TABLE tlb_deferred (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    kind INTEGER,           -- 1 EPT, 2 NPT, 3 shadow, 4 PV, 5 filtered by time stamp
    gfn INTEGER,            -- guest frame
    page_order INTEGER      -- 2^order pages
);

-- PAGE_RELEASED 0x00808003: the reference to an unmapped page is dropped.
CREATE TABLE page_released (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    granter INTEGER,        -- domain that granted the page
    status INTEGER,         -- status of the operation
    gfn INTEGER,            -- frame in the mapper (PV: virtual page number)
    mfn INTEGER,            -- machine frame
    site INTEGER,           -- 1 grant unmap, 2 add to physmap, 3 page removal
    tlb_needed INTEGER,     -- 1: its guest TLB half needed a flush
    iotlb_needed INTEGER,   -- 1: its IOTLB half needed a flush
    device INTEGER          -- 1: it was a device mapping
);

-- IOTLB_ADDED 0x00808004: an IOTLB flush for a page that was mapped; most hardware needs no command for it.
CREATE TABLE iotlb_added (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    flags INTEGER,          -- 1 added, 2 modified, 4 all
    whole INTEGER,          -- 1: the whole domain
    dfn INTEGER,            -- first dfn
    pages INTEGER,          -- pages asked for; saturates at 4294967295
    rc INTEGER,             -- 0, or a negative errno
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- IOMMU_WRITEBACK 0x00808005: IOMMU page tables were written back.
CREATE TABLE iommu_writeback (
    tsc INTEGER,
    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,
    pos INTEGER,
    cpu INTEGER,
    dom INTEGER,
    vcpu INTEGER,
    target INTEGER,         -- domain whose translations are flushed
    bytes INTEGER,          -- bytes written back
    changed INTEGER,        -- bytes changed
    cycles INTEGER          -- TSC cycles; 4294967295: that or more, or unknown
);

-- [end of records]

-- [derived]
-- What follows is worked out from the record tables: it can be dropped, and
-- `xenflush derive` makes it again.

-- One row a batch: a group of at most 32 unmaps with its flushes.
CREATE TABLE batch (
    batch INTEGER PRIMARY KEY,
    dom INTEGER,
    vcpu INTEGER,
    cpu INTEGER,            -- of its first record
    cpus INTEGER,           -- 1, or 2: its vCPU moved
    state INTEGER,          -- 0 complete, 1 begin not in the trace, 2 end not in the trace
    lossy INTEGER,          -- 1: records may be missing in it (lost, damaged)
    call INTEGER,           -- logical_call
    begin_pos INTEGER,      -- BATCH_BEGIN; NULL: not seen
    end_pos INTEGER,        -- BATCH_END; NULL: not seen
    begin_tsc INTEGER,
    end_tsc INTEGER,
    begin_ts INTEGER GENERATED ALWAYS AS (begin_tsc) VIRTUAL,
    end_ts INTEGER GENERATED ALWAYS AS (end_tsc) VIRTUAL,
    ops INTEGER,            -- operations of the group
    pages INTEGER,          -- pages removed
    flags INTEGER,          -- IOMMU flags gathered
    rc INTEGER,             -- of the closing IOTLB flush
    gfn_low INTEGER,
    gfn_high INTEGER,
    skipped INTEGER,        -- IOTLB_SKIPPED records
    deferred INTEGER,       -- TLB_DEFERRED records
    released INTEGER,       -- PAGE_RELEASED records, up to the next batch
    iotlb_flushes INTEGER,  -- IOTLB_FLUSH records
    tlb_flushes INTEGER,    -- TLB_FLUSH records
    iotlb_closing INTEGER,  -- of these, at the end: no skip follows in the batch
    tlb_closing INTEGER,    -- of these, at the end: no deferral follows
    closing_pages INTEGER,  -- pages asked for by closing IOTLB flushes; whole-domain ones are
                            -- left out
    closing_whole INTEGER,  -- closing IOTLB flushes of a whole domain
    hw_pages INTEGER,       -- pages of their commands (the IOMMU with the most); 0: none of pages
    hw_whole INTEGER,       -- their commands wider than pages
    ipi_rounds INTEGER,
    ipi_targets INTEGER,
    iotlb_cycles INTEGER,   -- cycles by part; unknown ones are left out
    tlb_cycles INTEGER,
    lock_cycles INTEGER,    -- of the IPI rounds, within tlb_cycles
    ack_cycles INTEGER,
    verdict TEXT            -- NULL until checked
);

-- One row an unmap hypercall; the parts of a preempted one are one logical call.
CREATE TABLE logical_call (
    call INTEGER PRIMARY KEY,
    dom INTEGER,
    vcpu INTEGER,
    cpu INTEGER,            -- of its last record
    state INTEGER,          -- 0 complete, 1 preempted and its rest is not in the trace,
                            -- 2 its UNMAP_CALL is not in the trace
    lossy INTEGER,          -- 1: records may be missing in it (lost, damaged)
    parts INTEGER,          -- UNMAP_CALL records
    pos INTEGER,            -- of the last of them
    begin_tsc INTEGER,      -- latest possible begin
    end_tsc INTEGER,
    begin_ts INTEGER GENERATED ALWAYS AS (begin_tsc) VIRTUAL,
    end_ts INTEGER GENERATED ALWAYS AS (end_tsc) VIRTUAL,
    asked INTEGER,          -- operations asked for by its first part
    done INTEGER,           -- operations done by all parts
    unbatched INTEGER,      -- done by parts without a batch
    rc INTEGER,             -- of the last part
    batches INTEGER,
    released INTEGER,       -- PAGE_RELEASED records
    iotlb_flushes INTEGER,  -- all flushes inside, those of batches included
    tlb_flushes INTEGER,
    ipi_rounds INTEGER,
    ipi_targets INTEGER,
    cycles INTEGER,         -- of all parts; NULL: not known
    iotlb_cycles INTEGER,   -- cycles by part, NULL: not known
    tlb_cycles INTEGER,
    lock_cycles INTEGER,    -- of the IPI rounds, within tlb_cycles
    ack_cycles INTEGER
);

-- Where each flush belongs; the key is the rowid in the record table.
CREATE TABLE tlb_flush_link (
    tlb_flush INTEGER PRIMARY KEY,
    batch INTEGER,          -- NULL: not in a batch
    call INTEGER,           -- NULL: not in an unmap call
    closing INTEGER,        -- 1: at the end of its batch
    ipi_round INTEGER       -- rowid of its IPI round; NULL: none
);
CREATE TABLE iotlb_flush_link (
    iotlb_flush INTEGER PRIMARY KEY,
    batch INTEGER,
    call INTEGER,
    closing INTEGER,
    iommu_invalidate INTEGER -- rowid of its command; NULL: none
);
-- What the two tables above have no place for: further IPI rounds and commands
-- of one flush, and those of other kinds of flush.
CREATE TABLE flush_part (
    flush_table TEXT,       -- tlb_flush, iotlb_flush, iotlb_added, cache_flush, assisted_flush
    flush INTEGER,          -- rowid there
    part_table TEXT,        -- ipi_round, iommu_invalidate
    part INTEGER            -- rowid there
);
-- [indices] made after loading
CREATE INDEX batch_by_call ON batch (call);

-- [views]
-- Every flush with its batch, its call and what it cost.
CREATE VIEW flush AS
    SELECT 'tlb' AS type, f.rowid AS flush, f.tsc, f.ts, f.pos, f.cpu, f.dom, f.vcpu,
           f.target, NULL AS pages, NULL AS whole, 0 AS rc, f.cycles,
           l.batch, l.call, l.closing,
           i.targets, i.lock_cycles, i.ack_cycles, NULL AS hw_granularity, NULL AS hw_order
      FROM tlb_flush f JOIN tlb_flush_link l ON l.tlb_flush = f.rowid
           LEFT JOIN ipi_round i ON i.rowid = l.ipi_round
    UNION ALL
    SELECT 'iotlb', f.rowid, f.tsc, f.ts, f.pos, f.cpu, f.dom, f.vcpu,
           f.target, f.pages, f.whole, f.rc, f.cycles,
           l.batch, l.call, l.closing,
           NULL, NULL, NULL, v.granularity, v.mask_order
      FROM iotlb_flush f JOIN iotlb_flush_link l ON l.iotlb_flush = f.rowid
           LEFT JOIN iommu_invalidate v ON v.rowid = l.iommu_invalidate;

-- Which flush each IPI round belongs to; a round of no flush is not listed.
CREATE VIEW ipi_owner AS
    SELECT ipi_round, 'tlb_flush' AS flush_table, tlb_flush AS flush
      FROM tlb_flush_link WHERE ipi_round IS NOT NULL
    UNION ALL
    SELECT part, flush_table, flush FROM flush_part WHERE part_table = 'ipi_round';

-- Which IOTLB flush each IOMMU command belongs to.
CREATE VIEW invalidate_owner AS
    SELECT iommu_invalidate, 'iotlb_flush' AS flush_table, iotlb_flush AS flush
      FROM iotlb_flush_link WHERE iommu_invalidate IS NOT NULL
    UNION ALL
    SELECT part, flush_table, flush FROM flush_part WHERE part_table = 'iommu_invalidate';
