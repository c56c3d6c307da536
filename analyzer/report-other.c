/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report-other.c - flushes of other kinds and what goes with them, and the
 * facts of the trace itself.
 */
#include <math.h>
#include <string.h>

#include "headline.h"
#include "reports.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

#define CYCLES "total(nullif(cycles, 4294967295)), sum(cycles = 4294967295)"

/* what, kind, count, amount, what the amount is of, cycles, unknown cycles */
static const char *const other_selects[] = {
    "SELECT 'assisted flush', 'asked for by guests', count(*), sum(cpus), 'CPUs interrupted', "
    CYCLES " FROM assisted_flush",
    "SELECT 'flush by the hypervisor below', iif(rc = 0, 'done', 'failed'), count(*), NULL, NULL, "
    CYCLES " FROM l0_flush GROUP BY rc = 0",
    "SELECT 'CPU cache flush', CASE kind WHEN 1 THEN 'WBINVD' WHEN 2 THEN 'line flush'"
    " WHEN 3 THEN 'line write-back' ELSE 'kind ' || kind END, count(*), sum(bytes), 'bytes', "
    CYCLES " FROM cache_flush GROUP BY kind",
    "SELECT 'IOMMU table write-back', NULL, count(*), sum(bytes), 'bytes', "
    CYCLES " FROM iommu_writeback",
    "SELECT 'IOMMU table write-back', 'changed', count(*), sum(changed), 'bytes', NULL, NULL"
    " FROM iommu_writeback",
    "SELECT 'grant copy', NULL, count(*), sum(done), 'operations', NULL, NULL FROM grant_copy",
    "SELECT 'grant copy', 'data', count(*), sum(bytes), 'bytes', NULL, NULL FROM grant_copy",
    "SELECT 'IOTLB flush for added pages', iif(whole, 'whole domain', 'pages'), count(*),"
    " iif(whole, NULL, sum(pages)), iif(whole, NULL, 'pages'), " CYCLES
    " FROM iotlb_added GROUP BY whole",
    "SELECT 'IOMMU command', CASE granularity WHEN 0 THEN 'none' WHEN 1 THEN 'global'"
    " WHEN 2 THEN 'domain' WHEN 3 THEN 'pages' ELSE 'granularity ' || granularity END,"
    " count(*), NULL, NULL, " CYCLES " FROM iommu_invalidate GROUP BY granularity",
    "SELECT 'p2m table page freed', iif(pending, 'flush pending', 'no flush pending'), count(*),"
    " NULL, NULL, NULL, NULL FROM p2m_table_free GROUP BY pending",
    "SELECT 'IOTLB skip window', CASE site WHEN 2 THEN 'add to physmap, ' WHEN 3 THEN"
    " 'page removal, ' ELSE 'other, ' END || CASE change WHEN 1 THEN 'open' WHEN 2 THEN 'close'"
    " WHEN 3 THEN 'suspend' WHEN 4 THEN 'resume' ELSE change END, count(*),"
    " NULL, NULL, NULL, NULL FROM skip_window GROUP BY site, change",
};

void report_other(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "what", NULL, COL_TEXT }, { "kind", NULL, COL_TEXT }, { "records", NULL, COL_COUNT },
        { "amount", NULL, COL_COUNT }, { "of", NULL, COL_TEXT }, { "total", NULL, COL_TIME },
        { "mean", NULL, COL_TIME }, { "unknown_times", NULL, COL_COUNT },
    };
    size_t i;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    for (i = 0; i < COUNT(other_selects); i++) {
        sqlite3_stmt *st = db_query(db, "%s", other_selects[i]);

        while (db_step(db, st) && sqlite3_column_int64(st, 2)) {
            int64_t records = sqlite3_column_int64(st, 2), unknown = sqlite3_column_int64(st, 6);
            double cycles = db_real(st, 5);

            table_text(t, (const char *)sqlite3_column_text(st, 0));
            table_text(t, (const char *)sqlite3_column_text(st, 1));
            table_int(t, records);
            if (sqlite3_column_type(st, 3) == SQLITE_NULL)
                table_null(t);
            else
                table_int(t, sqlite3_column_int64(st, 3));
            table_text(t, (const char *)sqlite3_column_text(st, 4));
            table_real(t, db_time(db, cycles));
            table_real(t, records > unknown ? db_time(db, cycles / (double)(records - unknown)) : NAN);
            if (isnan(cycles))
                table_null(t);
            else
                table_int(t, unknown);
        }
        db_end(st);
    }
    if (!table_rows(t))
        notes_add(notes, "none of these in the trace");
}

/* Rows of section, name, value, each made by one SELECT. */
static const char *const run_selects[] = {
    "SELECT 'cpu', 'cpu ' || cpu, windows || ' windows, ' || records || ' records'"
    " || iif(lost, ', ' || lost || ' lost', '') FROM trace_cpu ORDER BY cpu",
    "SELECT 'piece', name, bytes || ' bytes from byte ' || start FROM piece ORDER BY start",
    "SELECT 'lost', 'cpu ' || cpu, coalesce(records, 'unknown') || ' records, tsc ' ||"
    " coalesce(first_tsc, '?') || ' to ' || coalesce(last_tsc, '?') FROM lost LIMIT 1000",
    "SELECT 'damage', kind, what || ' at byte ' || offset ||"
    " iif(bytes, ', ' || bytes || ' bytes', '') FROM damage LIMIT 1000",
    "SELECT 'other events', coalesce(name, printf('0x%08x', event), 'further kinds'),"
    " CAST(sum(count) AS TEXT) FROM other_events GROUP BY event ORDER BY sum(count) DESC",
    "SELECT 'unknown records', printf('0x%08x, %d words', event, words), CAST(count(*) AS TEXT)"
    " FROM raw_record GROUP BY event, words",
};

void report_run(struct db *db, struct table *t, struct notes *notes)
{
    static const struct column columns[] = {
        { "section", NULL, COL_TEXT }, { "name", NULL, COL_TEXT }, { "value", NULL, COL_TEXT },
    };
    sqlite3_stmt *st = db_query(db, "SELECT * FROM run");
    size_t i;
    int column;

    table_init(t, columns, COUNT(columns), db_time_unit(db));
    while (db_step(db, st))
        for (column = 0; column < sqlite3_column_count(st); column++) {
            const char *name = sqlite3_column_name(st, column);
            char mask[24];

            if (sqlite3_column_type(st, column) == SQLITE_NULL)
                continue;
            table_text(t, "run");
            table_text(t, name);
            snprintf(mask, sizeof(mask), "0x%08llx",
                     (unsigned long long)sqlite3_column_int64(st, column));
            table_text(t, strcmp(name, "mask") == 0 ? mask :
                       (const char *)sqlite3_column_text(st, column));
        }
    db_end(st);
    for (i = 0; i < COUNT(run_selects); i++) {
        st = db_query(db, "%s", run_selects[i]);
        while (db_step(db, st))
            for (column = 0; column < 3; column++)
                table_text(t, (const char *)sqlite3_column_text(st, column));
        db_end(st);
    }
    if (db_int(db, "SELECT max((SELECT count(*) FROM lost), (SELECT count(*) FROM damage))") > 1000)
        notes_add(notes, "only the first 1,000 lost intervals and damages are listed: query the "
                  "tables lost and damage for all");
    if (!db->tsc_hz)
        notes_add(notes, "the TSC rate is not known: times are in cycles");
}
