/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * merge.h - the second pass: all records of a scanned trace in time order.
 *
 * A k-way merge of the CPUs.  Records of one CPU keep the order of the trace;
 * among CPUs they are ordered by epoch, time (see clock.h), CPU id.  An untimed
 * record follows the record before it on its CPU at once.  Each CPU reads its
 * own segments through a small buffer, so it does not matter how far apart in
 * the file the windows of one moment lie.
 */
#ifndef XENFLUSH_MERGE_H
#define XENFLUSH_MERGE_H

#include "scan.h"

struct merge_record {
    uint32_t header;            /* see wire.h */
    uint32_t cpu;
    uint64_t pos;
    bool has_tsc;               /* false: untimed, and none before it on this CPU */
    uint64_t tsc;               /* as recorded; untimed: that of the record before */
    uint64_t before_tsc;        /* of the CPU's timed record before; tsc if none */
    bool gap;                   /* bytes of this CPU before it were unusable */
    const unsigned char *extra; /* extra words, little endian */
};

/* Returns 0, or anything else to stop. */
typedef int merge_function(void *context, const struct merge_record *record);

/* Returns 0, what the function returned, or -1 after a message or interrupted(). */
int merge_run(struct scan *scan, merge_function *function, void *context);

#endif
