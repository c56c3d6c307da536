/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dist.h - exact weighted distributions, computed by SQLite's sorter so that
 * memory stays bounded however long the trace is.
 */
#ifndef XENFLUSH_DIST_H
#define XENFLUSH_DIST_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

struct dist {
    int64_t group;
    int64_t count;          /* values */
    double weight;          /* sum of their weights */
    double mean, p50, p90, p99, max;    /* NaN: no value */
};

/*
 * The distributions of the values of a SELECT with the columns g (an integer),
 * v and w: one for each g, in its order.  NULL values and weights of 0 are
 * left out.  Quantile q is the smallest value with at least q of the weight at
 * or below it.  Returns an array to free(), its length in *count.
 */
struct dist *dist_groups(struct db *db, const char *select, size_t *count);

/* The same for a SELECT of v and w that is one group. */
struct dist dist_of(struct db *db, const char *select);

#endif
