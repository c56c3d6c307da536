/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clock.h - the order of one CPU's records when its TSC is not what it should be.
 *
 * Within a CPU the order of the records in the trace is the truth; the TSC only
 * places them among those of other CPUs.  Three faults are told apart:
 *   step   the TSC goes back a little, or for one record only: until it has
 *          caught up, records count as written at the highest TSC before
 *   spike  one record alone is far ahead of both its neighbours: it counts as
 *          written when the one before was
 *   fall   the TSC goes back far and stays there (a resume after suspend, or a
 *          second trace in the file): a new epoch begins, all of whose records
 *          come after those of the epoch before, on every CPU
 * A spike and a fall are only known when the next record has been seen, so the
 * scan finds them and leaves a list of corrections, which the merge obeys.
 */
#ifndef XENFLUSH_CLOCK_H
#define XENFLUSH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "damage.h"

/* Corrections kept for a trace; falls and spikes after these count as steps. */
#define CLOCK_MAX_CORRECTIONS 65536

struct clock_correction {
    uint64_t pos;               /* record that it begins with */
    bool fall;                  /* else a spike */
};

/* What all CPUs of a trace share. */
struct clock_trace {
    uint64_t far;               /* TSC cycles: more than this back is far */
    uint32_t epoch;             /* highest of any CPU */
    uint32_t corrections;
    uint64_t smallest;          /* TSC of the trace; UINT64_MAX: none seen */
    uint64_t largest;           /* spikes left out */
    struct damage_log *damage;
};

/* One CPU, while scanning. */
struct clock_scan {
    uint32_t cpu;
    uint32_t first_epoch;       /* of its first record */
    uint32_t falls;             /* so far */
    bool started;
    uint64_t first, last;       /* TSC of its first and last timed record */
    uint64_t last_pos;
    uint64_t max, max_pos;      /* highest of the epoch, and who raised it */
    uint64_t max_before;        /* highest before that */
    bool behind;                /* below max: a step has been noted */
    bool falling;               /* the last record was far below max */
    struct clock_correction *correction;
    uint32_t corrections;
};

/* A timed record of the CPU, in the order of the trace. */
void clock_scan_slow(struct clock_trace *trace, struct clock_scan *clock,
                     uint64_t tsc, uint64_t pos);

static inline void clock_scan_record(struct clock_trace *trace, struct clock_scan *clock,
                                     uint64_t tsc, uint64_t pos)
{
    if (clock->started && tsc >= clock->max && !clock->behind && !clock->falling) {
        clock->max_before = clock->max;
        clock->max = clock->last = tsc;
        clock->max_pos = clock->last_pos = pos;
        return;
    }
    clock_scan_slow(trace, clock, tsc, pos);
}

/* After the CPU's last record. */
void clock_scan_end(struct clock_trace *trace, struct clock_scan *clock);

/* One CPU, while merging. */
struct clock_merge {
    const struct clock_correction *next, *end;
    uint32_t epoch;
    uint64_t max;
};

/* The time that orders this record within the epoch; changes the epoch. */
static inline uint64_t clock_order(struct clock_merge *clock, uint64_t tsc, uint64_t pos)
{
    if (clock->next != clock->end && clock->next->pos == pos) {
        if (!clock->next++->fall)
            return clock->max;
        clock->epoch++;
        clock->max = tsc;
    }
    if (tsc > clock->max)
        clock->max = tsc;
    return clock->max;
}

#endif
