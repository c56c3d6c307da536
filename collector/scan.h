/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scan.h - the first pass over a trace: what is where, and what is wrong.
 *
 * Walks every record once.  Afterwards each CPU's good records are known as
 * segments, the clock's faults as corrections, the smallest TSC, the counts,
 * and everything unusable has been noted as damage.
 *
 * The chain of records is trusted more than a window's size: a window whose
 * size is wrong keeps all records that follow each other without a break.  At
 * bytes that cannot be a record, the scan looks for the next window header, or
 * inside a window for the next place from which eight records in a row (or all
 * up to the window's end) are plausible, and goes on there.
 */
#ifndef XENFLUSH_SCAN_H
#define XENFLUSH_SCAN_H

#include "clock.h"
#include "damage.h"
#include "input.h"
#include "map.h"
#include "segments.h"

struct scan_cpu {
    uint32_t cpu;
    uint64_t windows, records, lost;
    bool gap;                   /* unusable bytes of it since its last segment */
    uint64_t gaps_seen;         /* value of gaps_of_all at its last segment */
    struct clock_scan clock;
    struct segment_list segments;
};

struct scan {
    const struct input *input;
    struct damage_log *damage;
    struct segment_file segment_file;
    struct clock_trace clock;
    struct map by_id;           /* CPU id to struct scan_cpu */
    struct scan_cpu **cpu;      /* in the order of their ids after scan_run */
    uint32_t cpus;
    uint64_t gaps_of_all;       /* runs of unusable bytes that may be of any CPU */
    uint64_t windows, records, wraps, untimed;
    uint64_t lost_intervals, lost;
};

/*
 * tsc_hz 0: not known.  spool_dir: for a temporary file.  Returns 0, or -1
 * after a message; interrupted() ends it early with -1.
 */
int scan_run(struct scan *scan, const struct input *input, struct damage_log *damage,
             const char *spool_dir, uint64_t tsc_hz);

void scan_release(struct scan *scan);

#endif
