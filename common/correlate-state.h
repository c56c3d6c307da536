/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * correlate-state.h - what the correlator keeps while things are open.
 * Private to correlate.c (records in) and correlate-call.c (facts out).
 */
#ifndef XENFLUSH_CORRELATE_STATE_H
#define XENFLUSH_CORRELATE_STATE_H

#include "correlate.h"
#include "map.h"

/* An IPI round or IOMMU command that waits for its flush. */
struct part {
    int64_t row;
    uint32_t cur;
    enum xf_event_id event;
    uint64_t cycles;            /* that must fit into the flush's */
    uint32_t word[5];           /* the record's first ones */
};

struct cpu_state {
    uint32_t cpu;
    uint64_t gaps;              /* so far */
    uint64_t gap_tsc;           /* end of the last one */
    struct part *part;          /* oldest first */
    uint32_t parts, parts_size;
};

/* A flush that waits for the end of its batch or call. */
struct pending {
    int64_t row;
    int64_t part;
    uint64_t tsc;
    uint64_t batch;             /* 0: outside */
    enum xf_event_id flush;
    bool closing;
    bool assumed;               /* in a batch whose begin was not seen */
    struct corr_sums sums;      /* of this flush alone */
    uint64_t pages;             /* IOTLB: pages asked for */
    bool whole;
    uint64_t hw_pages;
    uint32_t hw_whole;
};

/* One vCPU that has something open, or had. */
struct cur_state {
    uint32_t cur;
    uint32_t cpu;               /* of its last record */
    uint64_t tsc;
    uint64_t gaps;              /* of that CPU when the record was seen */

    uint32_t closing[2];        /* flushes in the batch not known not to close it: TLB, IOTLB */
    bool in_batch;              /* between BATCH_BEGIN and BATCH_END */
    bool has_batch;             /* `batch` is valid: open, or its releases follow */
    struct corr_batch batch;
    struct corr_batch *done;    /* finished batches of the open part of a call */
    uint32_t dones, dones_size;

    struct pending *pending;    /* ring of flushes, oldest first */
    uint32_t pendings, pending_head, pending_size;

    bool part_lossy;            /* records may be missing since the last call */
    bool seen_batch;            /* a batch began or ended since the last call */
    uint64_t released;          /* outside batches, since the last call */

    bool chained;               /* `call` was preempted; its rest is awaited */
    uint64_t rest;              /* operations still to be done */
    struct corr_call call;
};

struct correlator {
    struct corr_sink sink;
    struct map cpus, curs;
    uint64_t next_batch, next_call;
    uint64_t held;              /* pending flushes of all vCPUs */
    uint64_t parts;             /* parts that wait on all CPUs */
    uint64_t overflow;
};

void corr_sums_add(struct corr_sums *sum, const struct corr_sums *add);

/* Gives out a flush as lying in that call; 0: in none. */
void corr_give_link(struct correlator *corr, const struct pending *pending, uint64_t call);

/* Takes the oldest pending flush out; false: there is none. */
bool corr_pop_pending(struct correlator *corr, struct cur_state *cs, struct pending *out);

/* At the end of the batch, when the newest pending flushes are its own: adds them up. */
void corr_sum_batch(struct cur_state *cs);

/* Moves the current batch, whatever its state, to the finished ones. */
int corr_close_batch(struct correlator *corr, struct cur_state *cs);

/* An UNMAP_CALL record of this cur. */
int corr_unmap_call(struct correlator *corr, struct cur_state *cs,
                    const struct xf_record *record);

/* Gives out all that is open for a cur. */
void corr_abandon(struct correlator *corr, struct cur_state *cs);

#endif
