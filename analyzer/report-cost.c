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

/* Columns v, the cycles of a part for each page, and w, the pages. */
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
        notes_add(notes, "calls left out, not whole in the trace or touched by loss: %lld",
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
 * Rounds by what they are for, gathered once into a temporary table.  s: 0
 * flushes of unmaps, 1 other flushes, 2 no flush seen (call-function rounds,
 * Xen's own mappings).
 */
static void gather_rounds(struct db *db)
{
    db_exec(db, "CREATE TEMP TABLE round_use (round INTEGER PRIMARY KEY, s INTEGER)");
    db_exec(db, "INSERT OR IGNORE INTO temp.round_use"
                " SELECT ipi_round, call IS NULL AND batch IS NULL FROM main.tlb_flush_link"
                " WHERE ipi_round IS NOT NULL ORDER BY 1");
    db_exec(db, "INSERT OR IGNORE INTO temp.round_use"
                " SELECT p.part, coalesce(l.call, l.batch, k.call, k.batch) IS NULL"
                " FROM main.flush_part p LEFT JOIN main.tlb_flush_link l"
                " ON p.flush_table = 'tlb_flush' AND l.tlb_flush = p.flush"
                " LEFT JOIN main.iotlb_flush_link k"
                " ON p.flush_table = 'iotlb_flush' AND k.iotlb_flush = p.flush"
                " WHERE p.part_table = 'ipi_round'");
    db_exec(db, "CREATE TEMP TABLE round AS SELECT i.targets,"
                " nullif(i.lock_cycles, 4294967295) AS lock,"
                " nullif(i.ack_cycles, 4294967295) AS ack, coalesce(u.s, 2) AS s"
                " FROM ipi_round i LEFT JOIN temp.round_use u ON u.round = i.rowid");
    db_exec(db, "DROP TABLE temp.round_use");
}

static struct dist *rounds_dist(struct db *db, const char *group, const char *value,
                                size_t *count)
{
    char *select = alloc_checked(sqlite3_mprintf(
        "SELECT %s AS g, %s AS v, 1 AS w FROM temp.round", group, value));
    struct dist *dist = dist_groups(db, select, count);

    sqlite3_free(select);
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

/* Rows for each value of `group`; without names it is the number of targets. */
static void rounds_rows(struct db *db, struct table *t, const char *group,
                        const char *const *names, int64_t all, int64_t pages)
{
    sqlite3_stmt *st = db_query(db, "SELECT %s AS g, count(*), sum(targets) FROM temp.round"
                                " GROUP BY g ORDER BY g", group);
    size_t locks, acks;
    struct dist *lock = rounds_dist(db, group, "lock", &locks);
    struct dist *ack = rounds_dist(db, group, "ack", &acks);

    while (db_step(db, st)) {
        int64_t g = sqlite3_column_int64(st, 0), rounds = sqlite3_column_int64(st, 1);
        int64_t targets = sqlite3_column_int64(st, 2);

        table_text(t, names ? names[g] : "by targets");
        if (names)
            table_null(t);
        else
            table_int(t, g);
        table_int(t, rounds);
        table_real(t, counts_ratio(rounds, all));
        table_int(t, targets);
        table_real(t, counts_ratio(rounds, pages));
        table_real(t, counts_ratio(targets, pages));
        dist_cells(db, t, dist_find(lock, locks, g));
        dist_cells(db, t, dist_find(ack, acks, g));
    }
    db_end(st);
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
    static const char *const all_name[] = { "all" };
    static const char *const uses[] = { "unmaps", "other flushes", "no flush seen" };

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    gather_rounds(db);
    rounds_rows(db, t, "0", all_name, all, pages);
    rounds_rows(db, t, "s", uses, all, pages);
    rounds_rows(db, t, "targets", NULL, all, pages);
    db_exec(db, "DROP TABLE temp.round");
    if (!all)
        notes_add(notes, "no round of flush IPIs in the trace");
    if (unknown)
        notes_add(notes, "%lld rounds have an unknown duration, left out of its quantiles",
                  (long long)unknown);
}
