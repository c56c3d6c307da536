/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report-ranges.c - which pages: amplification of flushed ranges, guests that
 * granted the pages, and guest frames over time.
 */
#include <math.h>

#include "alloc.h"
#include "headline.h"
#include "reports.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

/*
 * Batches by the power of two of their amplification, flushed pages by pages
 * of the batch: bucket n is [2^n, 2^(n+1)).
 */
static void amplification(struct db *db, struct table *t, const char *what, const char *column,
                          const char *has, const char *whole, int64_t batches)
{
    sqlite3_stmt *st = db_query(db,
        "WITH RECURSIVE edge(low) AS (SELECT 1.0 / 1024 UNION ALL SELECT low * 2 FROM edge"
        " WHERE low < 1e18) SELECT low, 2 * low, count(*), sum(pages), sum(%s) FROM batch"
        " JOIN edge ON 1.0 * %s / pages >= low AND 1.0 * %s / pages < 2 * low"
        " WHERE state = 0 AND pages > 0 AND %s GROUP BY low ORDER BY low",
        column, column, column, has);
    int64_t wide;

    while (db_step(db, st)) {
        table_text(t, what);
        table_real(t, sqlite3_column_double(st, 0));
        table_real(t, sqlite3_column_double(st, 1));
        table_int(t, sqlite3_column_int64(st, 2));
        table_real(t, counts_ratio(sqlite3_column_int64(st, 2), batches));
        table_int(t, sqlite3_column_int64(st, 3));
        table_int(t, sqlite3_column_int64(st, 4));
        table_real(t, counts_ratio(sqlite3_column_int64(st, 4), sqlite3_column_int64(st, 3)));
    }
    db_end(st);
    wide = db_int(db, "SELECT count(*) FROM batch WHERE state = 0 AND %s", whole);
    if (!wide)
        return;
    table_text(t, what);
    table_null(t);
    table_null(t);
    table_int(t, wide);
    table_real(t, counts_ratio(wide, batches));
    table_int(t, db_int(db, "SELECT sum(pages) FROM batch WHERE state = 0 AND %s", whole));
    table_null(t);
    table_null(t);
}

void report_ranges(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "range", NULL, COL_TEXT }, { "from", "flushed/page", COL_REAL },
        { "below", "flushed/page", COL_REAL }, { "batches", NULL, COL_COUNT },
        { "share", NULL, COL_SHARE }, { "pages", "unmapped", COL_COUNT },
        { "pages_flushed", NULL, COL_COUNT }, { "ratio", NULL, COL_REAL },
    };
    int64_t batches = db_int(db, "SELECT count(*) FROM batch WHERE state = 0");
    int64_t whole;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    amplification(db, t, "asked", "closing_pages", "iotlb_closing > closing_whole",
                  "closing_whole > 0", batches);
    amplification(db, t, "hardware", "hw_pages", "hw_pages > 0", "hw_whole > 0", batches);
    whole = db_int(db, "SELECT count(*) FROM iotlb_flush WHERE whole");
    if (db_int(db, "SELECT EXISTS (SELECT 1 FROM batch WHERE state = 0 AND"
               " (closing_whole > 0 OR hw_whole > 0))"))
        notes_add(notes, "a row without bounds: flushes of a whole domain, which name no pages");
    if (whole)
        notes_add(notes, "%lld of %lld IOTLB flushes of the trace are of a whole domain",
                  (long long)whole, (long long)db_int(db, "SELECT count(*) FROM iotlb_flush"));
    if (!batches)
        notes_add(notes, "no batch in the trace: each flush is for its own page");
    else if (!table_rows(t))
        notes_add(notes, "no batch closed with an IOTLB flush: no range was flushed");
}

void report_guests(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "granter", NULL, COL_ID }, { "pages", NULL, COL_COUNT }, { "share", NULL, COL_SHARE },
        { "failed", NULL, COL_COUNT }, { "mappers", NULL, COL_COUNT },
        { "tlb_needed", NULL, COL_COUNT }, { "iotlb_needed", NULL, COL_COUNT },
        { "device", NULL, COL_COUNT }, { "batches", NULL, COL_COUNT },
        { "pages_per_batch", NULL, COL_REAL },
    };
    /*
     * A release belongs to the batch of its cur that ended last, if no UNMAP_CALL
     * came between: each of these steps begins a part, which the releases share.
     */
    sqlite3_stmt *st = db_query(db,
        "WITH step(release, o, dom, vcpu, batch, granter, status, tlb, iotlb, device) AS ("
        "  SELECT 0, end_tsc * 4, dom, vcpu, batch, NULL, NULL, NULL, NULL, NULL"
        "    FROM batch WHERE end_pos IS NOT NULL"
        "  UNION ALL SELECT 0, tsc * 4 + 2, dom, vcpu, 0, NULL, NULL, NULL, NULL, NULL"
        "    FROM unmap_call"
        "  UNION ALL SELECT 1, tsc * 4 + 1, dom, vcpu, NULL, granter, status, tlb_needed,"
        "    iotlb_needed, device FROM page_released),"
        " numbered AS (SELECT *, count(batch) OVER (PARTITION BY dom, vcpu ORDER BY o"
        "    ROWS UNBOUNDED PRECEDING) AS part FROM step),"
        " owned AS (SELECT *, nullif(max(batch) OVER (PARTITION BY dom, vcpu, part), 0) AS b"
        "    FROM numbered)"
        " SELECT granter, count(*), 1.0 * count(*) / sum(count(*)) OVER (), sum(status < 0),"
        "  count(DISTINCT dom), sum(tlb), sum(iotlb), sum(device), count(DISTINCT b),"
        "  1.0 * sum(b IS NOT NULL) / nullif(count(DISTINCT b), 0)"
        " FROM owned WHERE release GROUP BY granter ORDER BY 2 DESC, 1");
    int column;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    while (db_step(db, st))
        for (column = 0; column < (int)COUNT(columns); column++) {
            if (columns[column].type == COL_SHARE || columns[column].type == COL_REAL)
                table_real(t, db_real(st, column));
            else
                table_int(t, sqlite3_column_int64(st, column));
        }
    db_end(st);
    if (!table_rows(t))
        notes_add(notes, "no page_released record: the cheap mask 0x00804000 has none; trace with "
                  "0x0080c000 to ask about guests");
}

/*
 * For the heat map: cells of time and gfn.  Released pages where there are
 * any, else the dfns of IOTLB flushes.
 */
void report_gfns(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "time", NULL, COL_TIME }, { "gfn", NULL, COL_REAL }, { "pages", NULL, COL_COUNT },
        { "time_width", NULL, COL_TIME }, { "gfn_width", NULL, COL_REAL },
        { "released", NULL, COL_COUNT },
    };
    bool released = db_int(db, "SELECT EXISTS (SELECT 1 FROM page_released WHERE gfn >= 0)");
    const char *from = released ? "SELECT tsc, gfn AS g FROM page_released WHERE gfn >= 0"
                                : "SELECT tsc, dfn AS g FROM iotlb_flush WHERE dfn >= 0 AND NOT whole";
    int64_t low = db_int(db, "SELECT min(g) FROM (%s)", from);
    int64_t high = db_int(db, "SELECT max(g) FROM (%s)", from);
    int64_t rows = (high - low) / 60 + 1;
    double width = bucket_width(db, 120), cycles = width / db_time(db, 1);
    sqlite3_stmt *st = db_query(db, "SELECT CAST((tsc - %lld) / ? AS INTEGER) AS x,"
                                " (g - %lld) / %lld AS y, count(*) FROM (%s) GROUP BY x, y",
                                (long long)db->skip, (long long)low, (long long)rows, from);

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    if (st)
        sqlite3_bind_double(st, 1, cycles);
    while (db_step(db, st)) {
        table_real(t, db_time(db, (double)db->skip) +
                   (sqlite3_column_double(st, 0) + 0.5) * width);
        table_real(t, (double)low + (sqlite3_column_double(st, 1) + 0.5) * (double)rows);
        table_int(t, sqlite3_column_int64(st, 2));
        table_real(t, width);
        table_real(t, (double)rows);
        table_int(t, released);
    }
    db_end(st);
    if (!table_rows(t))
        notes_add(notes, "no page was released, and no IOTLB flush names its pages");
}
