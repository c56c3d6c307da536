/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dist.c - exact weighted quantiles; see dist.h.
 *
 * Two passes: the first sums up each group, the second reads the values in
 * order and notes the value at which the running weight reaches each quantile.
 */
#include "dist.h"

#include <math.h>

#include "alloc.h"

static struct dist *sum_up(struct db *db, const char *select, size_t *count)
{
    sqlite3_stmt *st = db_query(db,
        "SELECT g, count(*), total(w), total(1.0 * v * w), max(v) FROM (%s)"
        " WHERE v IS NOT NULL AND w > 0 GROUP BY g ORDER BY g", select);
    struct dist *dist = NULL;
    size_t size = 0;

    *count = 0;
    while (db_step(db, st)) {
        struct dist *d;

        dist = alloc_grow(dist, &size, *count, sizeof(*dist));
        d = &dist[(*count)++];
        d->group = sqlite3_column_int64(st, 0);
        d->count = sqlite3_column_int64(st, 1);
        d->weight = sqlite3_column_double(st, 2);
        d->mean = sqlite3_column_double(st, 3) / d->weight;
        d->max = sqlite3_column_double(st, 4);
        d->p50 = d->p90 = d->p99 = NAN;
    }
    db_end(st);
    return dist;
}

/* A quantile is met when the running weight reaches its share of the whole. */
static void meet(double *quantile, double share, const struct dist *d, double running,
                 double value)
{
    if (isnan(*quantile) && running >= share * d->weight * (1 - 1e-12))
        *quantile = value;
}

struct dist *dist_groups(struct db *db, const char *select, size_t *count)
{
    struct dist *dist = sum_up(db, select, count);
    sqlite3_stmt *st = db_query(db,
        "SELECT g, v, w FROM (%s) WHERE v IS NOT NULL AND w > 0 ORDER BY g, v", select);
    double running = 0;
    size_t i = 0;

    while (db_step(db, st)) {
        int64_t group = sqlite3_column_int64(st, 0);
        double value = sqlite3_column_double(st, 1);

        while (i < *count && dist[i].group != group) {
            i++;
            running = 0;
        }
        if (i == *count)
            break;
        running += sqlite3_column_double(st, 2);
        meet(&dist[i].p50, 0.50, &dist[i], running, value);
        meet(&dist[i].p90, 0.90, &dist[i], running, value);
        meet(&dist[i].p99, 0.99, &dist[i], running, value);
    }
    db_end(st);
    return dist;
}

struct dist dist_of(struct db *db, const char *select)
{
    struct dist none = { 0, 0, 0, NAN, NAN, NAN, NAN, NAN };
    char *grouped = sqlite3_mprintf("SELECT 0 AS g, v, w FROM (%s)", select);
    struct dist *dist;
    size_t count;

    alloc_checked(grouped);
    dist = dist_groups(db, grouped, &count);
    if (count)
        none = dist[0];
    free(dist);
    sqlite3_free(grouped);
    return none;
}
