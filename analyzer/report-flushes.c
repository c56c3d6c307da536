/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report-flushes.c - how many flushes: by domain, over time, by pages served,
 * and by operations of a call.
 */
#include <math.h>

#include "alloc.h"
#include "headline.h"
#include "reports.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static void domain_row(struct table *t, const struct counts *c, bool all)
{
    if (all)
        table_null(t);
    else
        table_int(t, c->dom);
    table_int(t, c->operations);
    table_int(t, c->calls);
    if (all)
        table_null(t);
    else
        table_int(t, c->vcpus);
    table_int(t, c->pages);
    table_int(t, c->batches);
    table_real(t, counts_ratio(c->batch_pages, c->batches));
    table_int(t, c->iotlb_performed);
    table_int(t, c->iotlb_avoided);
    table_int(t, c->iotlb_all - c->iotlb_performed);
    table_int(t, c->tlb_performed);
    table_int(t, c->tlb_avoided);
    table_int(t, c->tlb_all - c->tlb_performed);
    table_int(t, c->ipi_rounds);
    table_int(t, c->ipi_targets);
    table_real(t, counts_ratio(c->asked_pages, c->asked_batch_pages));
    table_real(t, counts_ratio(c->hw_pages, c->hw_batch_pages));
    table_int(t, c->copies);
    table_int(t, c->copy_bytes);
}

void report_domains(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "dom", NULL, COL_ID }, { "operations", NULL, COL_COUNT },
        { "calls", NULL, COL_COUNT }, { "vcpus", NULL, COL_COUNT },
        { "pages_unmapped", NULL, COL_COUNT }, { "batches", NULL, COL_COUNT },
        { "pages_per_batch", NULL, COL_REAL },
        { "iotlb_performed", NULL, COL_COUNT }, { "iotlb_avoided", NULL, COL_COUNT },
        { "iotlb_other", NULL, COL_COUNT },
        { "tlb_performed", NULL, COL_COUNT }, { "tlb_avoided", NULL, COL_COUNT },
        { "tlb_other", NULL, COL_COUNT },
        { "ipi_rounds", NULL, COL_COUNT }, { "ipi_targets", NULL, COL_COUNT },
        { "overflush", NULL, COL_REAL }, { "hw_overflush", NULL, COL_REAL },
        { "copies", NULL, COL_COUNT }, { "copy_bytes", NULL, COL_COUNT },
    };
    struct headline headline;
    size_t i;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    headline_read(db, &headline);
    if (headline.domains > 0)
        domain_row(t, &headline.all, true);
    for (i = 0; i < headline.domains; i++)
        domain_row(t, &headline.domain[i], false);
    for (i = 0; i < headline.notes.count; i++)
        notes_add(notes, "%s", headline.notes.text[i]);
    if (!headline.domains)
        notes_add(notes, "no flush record is left");
    headline_release(&headline);
}

/* ---- timeline ---- */

enum { TIMELINE_VALUES = 7 };

/* Values over time: time, amount, and the column of the timeline it adds to. */
static const struct {
    int column;
    const char *sql;
} timeline_sources[] = {
    { 0, "SELECT end_tsc AS t, pages AS n FROM batch WHERE end_pos IS NOT NULL" },
    { 0, "SELECT end_tsc AS t, unbatched AS n FROM logical_call WHERE unbatched > 0" },
    { 1, "SELECT f.tsc AS t, 1 AS n FROM iotlb_flush f"
         " JOIN iotlb_flush_link l ON l.iotlb_flush = f.rowid" FLUSH_OWNERS " WHERE " FLUSH_INSIDE },
    { 2, "SELECT end_tsc AS t, max(0, pages - iotlb_flushes) AS n FROM batch WHERE state = 0" },
    { 3, "SELECT f.tsc AS t, 1 AS n FROM tlb_flush f"
         " JOIN tlb_flush_link l ON l.tlb_flush = f.rowid" FLUSH_OWNERS " WHERE " FLUSH_INSIDE },
    { 4, "SELECT end_tsc AS t, max(0, pages - tlb_flushes) AS n FROM batch WHERE state = 0" },
    { 5, "SELECT tsc AS t, 1 AS n FROM ipi_round" },
    { 6, "SELECT last_tsc AS t, records AS n FROM lost" },
};

static void timeline_add(struct db *db, int64_t *sums, int buckets, double cycles, size_t source)
{
    sqlite3_stmt *st = db_query(db, "SELECT CAST((iif(t < 0, t + 18446744073709551616.0, t) - %lld) / ? AS INTEGER) AS bucket, sum(n)"
                                " FROM (%s) GROUP BY bucket", (long long)db->skip,
                                timeline_sources[source].sql);

    if (st)
        sqlite3_bind_double(st, 1, cycles);
    while (db_step(db, st)) {
        int64_t bucket = sqlite3_column_int64(st, 0);

        if (bucket >= 0 && bucket < buckets)
            sums[bucket * TIMELINE_VALUES + timeline_sources[source].column] +=
                sqlite3_column_int64(st, 1);
    }
    db_end(st);
}

/* Widths are chosen for about 60 buckets; nothing in a trace may ask for many more. */
static int timeline_buckets(double widths)
{
    return widths >= 0 && widths < 1000 ? (int)widths + 1 : 1;
}

void report_timeline(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "start", NULL, COL_TIME }, { "end", NULL, COL_TIME }, { "pages", NULL, COL_COUNT },
        { "iotlb_performed", NULL, COL_COUNT }, { "iotlb_avoided", NULL, COL_COUNT },
        { "tlb_performed", NULL, COL_COUNT }, { "tlb_avoided", NULL, COL_COUNT },
        { "ipi_rounds", NULL, COL_COUNT }, { "lost", NULL, COL_COUNT },
    };
    double width = bucket_width(db, 60), start = db_time(db, (double)db->skip);
    double cycles = width / db_time(db, 1);
    int buckets = timeline_buckets(db_span(db) / cycles), bucket, value;
    int64_t *sums, any = 0;
    size_t i;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    sums = alloc_checked(calloc((size_t)buckets * TIMELINE_VALUES, sizeof(*sums)));
    for (i = 0; i < COUNT(timeline_sources); i++)
        timeline_add(db, sums, buckets, cycles, i);
    for (bucket = 0; bucket < buckets * TIMELINE_VALUES; bucket++)
        any |= sums[bucket];
    for (bucket = 0; bucket < buckets && any; bucket++) {
        table_real(t, start + bucket * width);
        table_real(t, start + (bucket + 1) * width);
        for (value = 0; value < TIMELINE_VALUES; value++)
            table_int(t, sums[bucket * TIMELINE_VALUES + value]);
    }
    free(sums);
    if (!any)
        notes_add(notes, "no unmap, flush or loss in this time");
}

/* ---- histograms ---- */

void report_pages_per_flush(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "pages", NULL, COL_COUNT },
        { "tlb_flushes", NULL, COL_COUNT }, { "tlb_share", NULL, COL_SHARE },
        { "iotlb_flushes", NULL, COL_COUNT }, { "iotlb_share", NULL, COL_SHARE },
    };
    static const char select[] =
        "SELECT p, sum(tlb), 1.0 * sum(tlb) / nullif(sum(sum(tlb)) OVER (), 0),"
        " sum(1 - tlb), 1.0 * sum(1 - tlb) / nullif(sum(sum(1 - tlb)) OVER (), 0) FROM ("
        " SELECT iif(l.closing AND b.batch IS NOT NULL, b.pages, 1) AS p, 1 AS tlb"
        "   FROM tlb_flush f JOIN tlb_flush_link l ON l.tlb_flush = f.rowid"
        "   LEFT JOIN batch b ON b.batch = l.batch"
        "  WHERE b.state = 0 OR (l.batch IS NULL AND l.call IS NOT NULL)"
        " UNION ALL"
        " SELECT iif(l.closing AND b.batch IS NOT NULL, b.pages, 1), 0"
        "   FROM iotlb_flush f JOIN iotlb_flush_link l ON l.iotlb_flush = f.rowid"
        "   LEFT JOIN batch b ON b.batch = l.batch"
        "  WHERE b.state = 0 OR (l.batch IS NULL AND l.call IS NOT NULL))"
        " GROUP BY p ORDER BY p";
    sqlite3_stmt *st = db_query(db, "%s", select);
    int64_t cut = db_int(db, "SELECT sum(tlb_flushes + iotlb_flushes) FROM batch WHERE state <> 0");
    int column;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    while (db_step(db, st))
        for (column = 0; column < 5; column++) {
            if (column == 2 || column == 4)
                table_real(t, db_real(st, column));
            else
                table_int(t, sqlite3_column_int64(st, column));
        }
    db_end(st);
    if (!table_rows(t))
        notes_add(notes, "no flush inside an unmap call or a whole batch");
    if (cut)
        notes_add(notes, "flushes left out, because their batch is not whole in the trace: %lld",
                  (long long)cut);
}

void report_ops_per_call(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "ops_from", NULL, COL_COUNT }, { "ops_to", NULL, COL_COUNT },
        { "calls", NULL, COL_COUNT }, { "share", NULL, COL_SHARE },
        { "operations", NULL, COL_COUNT }, { "operations_share", NULL, COL_SHARE },
    };
    /* Exact up to 64, then by powers of two; the trick counts the bits of asked. */
    sqlite3_stmt *st = db_query(db,
        "WITH RECURSIVE edge(low, high) AS (SELECT 0, 0 UNION ALL"
        " SELECT high + 1, iif(high < 64, high + 1, iif(high < 127, 127, 2 * high + 1))"
        " FROM edge WHERE high < 4294967295),"
        " asked(a, n, ops) AS (SELECT asked, count(*), sum(done) FROM logical_call"
        " WHERE state = 0 AND asked IS NOT NULL GROUP BY asked)"
        " SELECT low, high, sum(n), 1.0 * sum(n) / sum(sum(n)) OVER (), sum(ops),"
        " 1.0 * sum(ops) / nullif(sum(sum(ops)) OVER (), 0)"
        " FROM asked JOIN edge ON a BETWEEN low AND high GROUP BY low ORDER BY low");
    int64_t cut = db_int(db, "SELECT count(*) FROM logical_call WHERE state <> 0");
    double single = 0, calls = 0;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    while (db_step(db, st)) {
        calls += sqlite3_column_double(st, 2);
        if (sqlite3_column_int64(st, 1) <= 1)
            single += sqlite3_column_double(st, 2);
        table_int(t, sqlite3_column_int64(st, 0));
        table_int(t, sqlite3_column_int64(st, 1));
        table_int(t, sqlite3_column_int64(st, 2));
        table_real(t, db_real(st, 3));
        table_int(t, sqlite3_column_int64(st, 4));
        table_real(t, db_real(st, 5));
    }
    db_end(st);
    if (cut)
        notes_add(notes, "calls left out, because they are not whole in the trace: %lld",
                  (long long)cut);
    if (!table_rows(t))
        notes_add(notes, "no whole unmap call in the trace");
    else if (single > 0)
        notes_add(notes, "%.1f%% of the calls ask for a single operation: batching within a call "
                  "cannot help these", 100 * single / calls);
}
