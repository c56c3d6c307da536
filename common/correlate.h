/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * correlate.h - which IPI round and IOMMU command belongs to which flush, which
 * flush to which batch, which batch to which unmap call.
 *
 * A pure library: records go in one by one in time order, facts come out
 * through the functions of a sink.  It reads and writes no file and keeps only
 * what is open: at most CORR_MAX_CURS vCPUs, CORR_MAX_PENDING flushes whose call
 * is not known yet, and CORR_MAX_PARTS_HELD parts whose flush is not; whatever is
 * above that is given out early, the oldest first, as belonging to nothing seen,
 * and counted.
 *
 * Life cycle: corr_create, corr_record and corr_gap in time order, corr_finish
 * once, corr_destroy.
 *
 * The rules
 *   - Records are written at the end of an operation, the inner one first.  An
 *     IPI round belongs to the next TLB, IOTLB, CPU cache or assisted flush of
 *     the same CPU and cur, if its lock and answer cycles fit into that
 *     flush's; an IOMMU command to the next IOTLB_FLUSH or IOTLB_ADDED likewise.
 *   - A flush between BATCH_BEGIN and BATCH_END of its cur lies in that batch,
 *     and a batch lies in an unmap call, whether the call's record was seen or
 *     not.  Any other flush lies in the next unmap call of its cur, if it is
 *     not older than the call's latest possible begin.
 *   - Where a BATCH_END comes without its begin, the flushes of the cur since the
 *     last batch or call count as that batch's; their call is found by time.
 *   - A flush closes its batch when no skip (IOTLB) or deferral (TLB) follows
 *     within the batch.
 *   - Pages released after BATCH_END, up to the next BATCH_BEGIN or UNMAP_CALL
 *     of the cur, were unmapped by that batch.
 *   - UNMAP_CALL with rc 0 and fewer operations done than asked was preempted;
 *     if the next one of the cur asks for the rest, both are one logical call.
 */
#ifndef XENFLUSH_CORRELATE_H
#define XENFLUSH_CORRELATE_H

#include <stdbool.h>
#include <stdint.h>

#include "events.h"

#define CORR_MAX_CURS     8192
#define CORR_MAX_PENDING  32768
#define CORR_MAX_PARTS_HELD 16384
/*
 * IPI rounds and commands that wait on one CPU, more than any flush has; older
 * ones belong to no flush.
 */
#define CORR_MAX_PARTS    512

enum corr_batch_state {
    CORR_BATCH_COMPLETE = 0,
    CORR_BATCH_NO_BEGIN = 1,    /* BATCH_BEGIN not in the trace */
    CORR_BATCH_NO_END = 2,      /* BATCH_END not in the trace */
};

enum corr_call_state {
    CORR_CALL_COMPLETE = 0,
    CORR_CALL_NO_REST = 1,      /* preempted, and its rest is not in the trace */
    CORR_CALL_NO_RECORD = 2,    /* has batches, but UNMAP_CALL is not in the trace */
};

/* Which cycles of corr_sums are not known. */
#define CORR_UNKNOWN_IOTLB 1
#define CORR_UNKNOWN_TLB   2
#define CORR_UNKNOWN_LOCK  4
#define CORR_UNKNOWN_ACK   8

/* Costs and counts that a batch and a call both sum up; cycles are TSC cycles. */
struct corr_sums {
    uint32_t iotlb_flushes;     /* IOTLB_FLUSH records */
    uint32_t tlb_flushes;       /* TLB_FLUSH records */
    uint32_t ipi_rounds;        /* that belong to these flushes */
    uint64_t ipi_targets;
    uint64_t iotlb_cycles;
    uint64_t tlb_cycles;
    uint64_t lock_cycles;       /* of the IPI rounds */
    uint64_t ack_cycles;
    uint8_t unknown;            /* CORR_UNKNOWN_*: a record said 0xffffffff, left out */
};

struct corr_batch {
    uint64_t id;                /* from 1, in order of the begin */
    uint64_t call;              /* id of its logical call */
    uint32_t cur;
    uint32_t cpu;               /* of its first record */
    bool moved;                 /* its records come from two CPUs or more */
    bool lossy;                 /* records may be missing */
    enum corr_batch_state state;
    bool has_begin, has_end;
    uint64_t begin_pos, end_pos;
    uint64_t begin_tsc, end_tsc;
    uint32_t ops;               /* valid with has_begin */
    uint32_t end_word[XF_MAX_WORDS];    /* BATCH_END; valid with has_end */
    uint32_t skipped, deferred, released;
    uint32_t iotlb_closing, tlb_closing;
    uint64_t closing_pages;     /* whole-domain flushes left out */
    uint32_t closing_whole;
    uint64_t hw_pages;
    uint32_t hw_whole;
    struct corr_sums sums;
};

struct corr_call {
    uint64_t id;                /* from 1 */
    uint32_t cur;
    uint32_t cpu;               /* of its last record */
    enum corr_call_state state;
    bool lossy;
    uint32_t parts;             /* UNMAP_CALL records */
    uint64_t pos;               /* of the last of them; valid with parts */
    bool cycles_known;
    int64_t begin_tsc;          /* latest possible; valid with cycles_known */
    uint64_t end_tsc;
    uint64_t asked, done, unbatched;
    int32_t rc;
    uint64_t cycles;
    uint64_t batches;
    uint64_t released;
    struct corr_sums sums;
};

/* Where a TLB_FLUSH or IOTLB_FLUSH belongs. */
struct corr_link {
    enum xf_event_id flush;     /* XF_TLB_FLUSH or XF_IOTLB_FLUSH */
    int64_t row;                /* its rowid */
    uint64_t batch;             /* 0: none */
    uint64_t call;              /* 0: none */
    bool closing;
    int64_t part;               /* rowid of its first IPI round or command; 0: none */
};

/* A part that corr_link has no place for. */
struct corr_part {
    enum xf_event_id flush;
    int64_t flush_row;
    enum xf_event_id part;      /* XF_IPI_ROUND or XF_IOMMU_INVALIDATE */
    int64_t part_row;
};

struct corr_sink {
    void *context;
    void (*batch)(void *context, const struct corr_batch *batch);
    void (*call)(void *context, const struct corr_call *call);
    void (*link)(void *context, const struct corr_link *link);
    void (*part)(void *context, const struct corr_part *part);
};

struct correlator;

struct correlator *corr_create(const struct corr_sink *sink);   /* NULL: no memory */

/*
 * The next record in time order; row is its rowid in its table.  Returns 0, or
 * -1 when memory is exhausted.
 */
int corr_record(struct correlator *corr, enum xf_event_id event, int64_t row,
                const struct xf_record *record);

/*
 * Records of this CPU are missing up to tsc (lost, or damaged).  Returns 0, or
 * -1 when memory is exhausted.
 */
int corr_gap(struct correlator *corr, uint32_t cpu, uint64_t tsc);

/* The end of the trace: gives out all that is open. */
void corr_finish(struct correlator *corr);

/* How many flushes, batches and parts were given out early to keep memory bounded. */
uint64_t corr_overflow(const struct correlator *corr);

void corr_destroy(struct correlator *corr);

#endif
