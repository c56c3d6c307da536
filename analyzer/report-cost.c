/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report-cost.c - what flushing costs: time of an unmapped page by part, and
 * rounds of flush IPIs.
 *
 * Quantiles are exact; see dist.h.  A value that the trace does not know
 * (4294967295 cycles, or NULL in the derived tables) is left out and counted.
 */
#include <math.h>

#include "alloc.h"
#include "dist.h"
#include "headline.h"
#include "reports.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static void dist_cells(struct db *db, struct table *t, const struct dist *d)
{
    table_real(t, db_time(db, d->mean));
    table_real(t, db_time(db, d->p50));
    table_real(t, db_time(db, d->p90));
    table_real(t, db_time(db, d->p99));
    table_real(t, db_time(db, d->max));
}

/* Whole calls with their pages and the cycles of their parts. */
#define CALLS \
    "(SELECT c.cycles, c.iotlb_cycles AS iotlb, c.lock_cycles AS lock, c.ack_cycles AS ack," \
    " c.unbatched + coalesce(sum(b.pages), 0) AS pages" \
    " FROM logical_call c LEFT JOIN batch b ON b.call = c.call" \
    " WHERE c.state = 0 AND NOT c.lossy GROUP BY c.call)"

/* Columns p (1: pages) and v, the cycles of one part. */
#define PER_PAGE(value) "SELECT (1.0 * (" value ")) / pages AS v, pages AS w FROM " CALLS

static const struct {
    const char *name;
    const char *select;
} page_parts[] = {
    { "iotlb", PER_PAGE("iotlb") },
    { "ipi_lock_wait", PER_PAGE("lock") },
    { "ipi_answers", PER_PAGE("ack") },
    { "rest", PER_PAGE("max(0, cycles - iotlb - lock - ack)") },
    { "total", PER_PAGE("cycles") },
};

static void note_left_out(struct db *db, struct notes *notes)
{
    int64_t lossy = db_int(db, "SELECT count(*) FROM logical_call WHERE lossy OR state <> 0");
    int64_t unknown = db_int(db, "SELECT count(*) FROM logical_call WHERE state = 0 AND NOT lossy"
                             " AND (cycles IS NULL OR iotlb_cycles IS NULL OR"
                             " lock_cycles IS NULL OR ack_cycles IS NULL)");

    if (lossy)
        notes_add(notes, "%lld calls left out: not whole in the trace, or touched by loss",
                  (long long)lossy);
    if (unknown)
        notes_add(notes, "%lld calls have a part of unknown duration, left out of that part",
                  (long long)unknown);
}

void report_time_per_page(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "part", NULL, COL_TEXT }, { "calls", NULL, COL_COUNT }, { "pages", NULL, COL_COUNT },
        { "mean", NULL, COL_TIME }, { "p50", NULL, COL_TIME }, { "p90", NULL, COL_TIME },
        { "p99", NULL, COL_TIME }, { "max", NULL, COL_TIME },
        { "share", "of the mean", COL_SHARE },
    };
    struct dist dist[COUNT(page_parts)];
    size_t i, last = COUNT(page_parts) - 1;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    for (i = 0; i <= last; i++)
        dist[i] = dist_of(db, page_parts[i].select);
    for (i = 0; i <= last && dist[last].count; i++) {
        table_text(t, page_parts[i].name);
        table_int(t, dist[i].count);
        table_int(t, (int64_t)dist[i].weight);
        dist_cells(db, t, &dist[i]);
        table_real(t, dist[last].mean > 0 ? dist[i].mean / dist[last].mean : NAN);
    }
    if (!dist[last].count)
        notes_add(notes, "no whole unmap call of known duration with pages");
    note_left_out(db, notes);
}

/* ---- IPIs ---- */

/*
 * Rounds by what they are for.  s: 0 flushes of unmaps, 1 other flushes, 2 no
 * flush of a guest seen (call-function rounds, Xen's own mappings).
 */
#define ROUNDS \
    "(SELECT i.targets, i.lock_cycles, i.ack_cycles, coalesce(o.s, 2) AS s FROM ipi_round i" \
    " LEFT JOIN (SELECT l.ipi_round AS round, l.call IS NULL AND l.batch IS NULL AS s" \
    "   FROM tlb_flush_link l WHERE l.ipi_round IS NOT NULL" \
    "  UNION ALL SELECT p.part, coalesce(l.call, l.batch, k.call, k.batch) IS NULL" \
    "   FROM flush_part p" \
    "   LEFT JOIN tlb_flush_link l ON p.flush_table = 'tlb_flush' AND l.tlb_flush = p.flush" \
    "   LEFT JOIN iotlb_flush_link k ON p.flush_table = 'iotlb_flush' AND k.iotlb_flush = p.flush" \
    "  WHERE p.part_table = 'ipi_round') o ON o.round = i.rowid)"
#define KNOWN(column) "nullif(" column ", 4294967295)"

static const struct {
    const char *scope;
    const char *select;     /* g, lock, ack of rounds */
} round_groups[] = {
    { "all", "SELECT 0 AS g, %s AS v, 1 AS w FROM ipi_round" },
    { "unmaps", "SELECT 0 AS g, %s AS v, 1 AS w FROM " ROUNDS " WHERE s = 0" },
    { "other flushes", "SELECT 0 AS g, %s AS v, 1 AS w FROM " ROUNDS " WHERE s = 1" },
    { "no flush seen", "SELECT 0 AS g, %s AS v, 1 AS w FROM " ROUNDS " WHERE s = 2" },
    { "by targets", "SELECT targets AS g, %s AS v, 1 AS w FROM ipi_round" },
};

static struct dist *rounds_dist(struct db *db, size_t group, const char *value, size_t *count)
{
    char *before = sqlite3_mprintf("%s", round_groups[group].select);
    char *at, *select;
    struct dist *dist;

    alloc_checked(before);
    at = strstr(before, "%s");
    *at = '\0';
    select = alloc_checked(sqlite3_mprintf("%s%s%s", before, value, at + 2));
    dist = dist_groups(db, select, count);
    sqlite3_free(select);
    sqlite3_free(before);
    return dist;
}

static const struct dist *dist_find(const struct dist *dist, size_t count, int64_t group)
{
    static const struct dist none = { 0, 0, 0, NAN, NAN, NAN, NAN, NAN };
    size_t i;

    for (i = 0; i < count; i++)
        if (dist[i].group == group)
            return &dist[i];
    return &none;
}

static void rounds_rows(struct db *db, struct table *t, size_t group, int64_t all, int64_t pages)
{
    size_t counts, locks, acks, i;
    struct dist *count = rounds_dist(db, group, "targets", &counts);
    struct dist *lock = rounds_dist(db, group, KNOWN("lock_cycles"), &locks);
    struct dist *ack = rounds_dist(db, group, KNOWN("ack_cycles"), &acks);
    bool by_targets = strcmp(round_groups[group].scope, "by targets") == 0;

    for (i = 0; i < counts; i++) {
        const struct dist *l = dist_find(lock, locks, count[i].group);
        const struct dist *a = dist_find(ack, acks, count[i].group);

        table_text(t, round_groups[group].scope);
        if (by_targets)
            table_int(t, count[i].group);
        else
            table_null(t);
        table_int(t, count[i].count);
        table_real(t, counts_ratio(count[i].count, all));
        table_int(t, llround(count[i].mean * (double)count[i].count));
        table_real(t, counts_ratio(count[i].count, pages));
        table_real(t, pages ? count[i].mean * (double)count[i].count / (double)pages : NAN);
        dist_cells(db, t, l);
        dist_cells(db, t, a);
    }
    free(count);
    free(lock);
    free(ack);
}

void report_ipis(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "rounds_of", NULL, COL_TEXT }, { "targets_each", NULL, COL_COUNT },
        { "rounds", NULL, COL_COUNT }, { "share", NULL, COL_SHARE },
        { "targets", NULL, COL_COUNT }, { "rounds_per_page", NULL, COL_REAL },
        { "targets_per_page", NULL, COL_REAL },
        { "lock_mean", NULL, COL_TIME }, { "lock_p50", NULL, COL_TIME },
        { "lock_p90", NULL, COL_TIME }, { "lock_p99", NULL, COL_TIME },
        { "lock_max", NULL, COL_TIME },
        { "answer_mean", NULL, COL_TIME }, { "answer_p50", NULL, COL_TIME },
        { "answer_p90", NULL, COL_TIME }, { "answer_p99", NULL, COL_TIME },
        { "answer_max", NULL, COL_TIME },
    };
    int64_t all = db_int(db, "SELECT count(*) FROM ipi_round");
    int64_t unknown = db_int(db, "SELECT count(*) FROM ipi_round WHERE"
                             " lock_cycles = 4294967295 OR ack_cycles = 4294967295");
    int64_t pages = db_int(db, "SELECT (SELECT coalesce(sum(pages), 0) FROM batch"
                           " WHERE end_pos IS NOT NULL) +"
                           " (SELECT coalesce(sum(unbatched), 0) FROM logical_call)");
    size_t i;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    for (i = 0; i < COUNT(round_groups); i++)
        rounds_rows(db, t, i, all, pages);
    if (!all)
        notes_add(notes, "no round of flush IPIs in the trace");
    if (unknown)
        notes_add(notes, "%lld rounds have an unknown duration, left out of its quantiles",
                  (long long)unknown);
}
