/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * skip.c - leaving out the beginning of a trace; see skip.h.
 *
 * A TEMP VIEW with the name of a table shadows the table, so the queries of
 * the reports need not know.  Each view keeps the rows that began at or after
 * the limit.  What belongs to a call goes with the call: of a call that began
 * before the limit and ended after it, the batches, flushes and IPI rounds are
 * left out too.  These calls are few; their flushes and rounds are looked up
 * once, into small temporary tables.
 */
#include "skip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "log.h"

/* Record tables, with what is to be taken from tsc for the begin. */
static const struct {
    const char *table;
    const char *begin;
    const char *also;       /* a further condition; NULL: none */
} views[] = {
#define TSC_CYCLES "tsc - iif(cycles = 4294967295, 0, cycles)"
    { "batch_begin", "tsc", NULL },
    { "batch_end", "tsc", NULL },
    { "iotlb_flush", TSC_CYCLES, "rowid NOT IN (SELECT row FROM temp.cut_iotlb)" },
    { "iommu_invalidate", TSC_CYCLES, NULL },
    { "tlb_flush", TSC_CYCLES, "rowid NOT IN (SELECT row FROM temp.cut_tlb)" },
    { "ipi_round", "tsc - iif(ack_cycles = 4294967295, 0, ack_cycles)"
                   " - iif(lock_cycles = 4294967295, 0, lock_cycles)",
      "rowid NOT IN (SELECT row FROM temp.cut_ipi)" },
    { "assisted_flush", TSC_CYCLES, NULL },
    { "l0_flush", TSC_CYCLES, NULL },
    { "cache_flush", TSC_CYCLES, NULL },
    { "p2m_table_free", "tsc", NULL },
    { "skip_window", "tsc", NULL },
    { "unmap_call", TSC_CYCLES, NULL },
    { "grant_copy", "tsc", NULL },
    { "iotlb_skipped", "tsc", NULL },
    { "tlb_deferred", "tsc", NULL },
    { "page_released", "tsc", NULL },
    { "iotlb_added", TSC_CYCLES, NULL },
    { "iommu_writeback", TSC_CYCLES, NULL },
    { "batch", "coalesce(begin_tsc, end_tsc)",
      "(call IS NULL OR call NOT IN (SELECT call FROM temp.cut_call))" },
    { "logical_call", "coalesce(begin_tsc, end_tsc)", NULL },
    { "lost", "last_tsc", NULL },
};

static bool find_cut_calls(struct db *db, long long limit)
{
    return db_exec(db, "CREATE TEMP TABLE cut_call AS SELECT call FROM main.logical_call"
                       " WHERE coalesce(begin_tsc, end_tsc) < %lld AND end_tsc >= %lld",
                   limit, limit) &&
           db_exec(db, "CREATE TEMP TABLE cut_tlb AS SELECT l.tlb_flush AS row, l.ipi_round"
                       " FROM main.tlb_flush_link l"
                       " WHERE l.call IN (SELECT call FROM temp.cut_call)") &&
           db_exec(db, "CREATE TEMP TABLE cut_iotlb AS SELECT l.iotlb_flush AS row"
                       " FROM main.iotlb_flush_link l"
                       " WHERE l.call IN (SELECT call FROM temp.cut_call)") &&
           db_exec(db, "CREATE TEMP TABLE cut_ipi AS"
                       " SELECT ipi_round AS row FROM temp.cut_tlb WHERE ipi_round IS NOT NULL"
                       " UNION SELECT part FROM main.flush_part"
                       " WHERE part_table = 'ipi_round' AND ("
                       " (flush_table = 'tlb_flush' AND flush IN (SELECT row FROM temp.cut_tlb))"
                       " OR (flush_table = 'iotlb_flush'"
                       "     AND flush IN (SELECT row FROM temp.cut_iotlb)))");
}

static int hide(struct db *db, int64_t limit)
{
    size_t i;

    if (!find_cut_calls(db, limit))
        return STATUS_FAILED;
    for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        if (!db_exec(db, "CREATE TEMP VIEW %s AS SELECT rowid, * FROM main.%s"
                         " WHERE %s >= %lld%s%s", views[i].table, views[i].table,
                     views[i].begin, (long long)limit, views[i].also ? " AND " : "",
                     views[i].also ? views[i].also : ""))
            return STATUS_FAILED;
    db->skip = limit;
    return STATUS_OK;
}

int skip_start(struct db *db, const char *duration)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = { { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 } };
    double cycles = NAN, number;
    char *unit;
    size_t i;

    number = strtod(duration, &unit);
    if (unit != duration && strcmp(unit, "cycles") == 0)
        cycles = number;
    for (i = 0; unit != duration && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        if (!db->tsc_hz) {
            log_error("--skip-start=%s: the TSC rate of %s is not known: give cycles, or "
                      "import again with --tsc-hz", duration, db->path);
            return STATUS_USAGE;
        }
        cycles = number * units[i].seconds * (double)db->tsc_hz;
    }
    if (!(cycles >= 0 && cycles < 9e18)) {
        log_error("--skip-start=%s: not a duration: give a number with s, ms, us, ns or cycles",
                  duration);
        return STATUS_USAGE;
    }
    if (cycles > (double)(uint64_t)db->last_tsc) {
        log_error("--skip-start=%s: leaves nothing of %s: it is %.9g %s long", duration, db->path,
                  db_time(db, (double)(uint64_t)db->last_tsc) / (db->tsc_hz ? 1e9 : 1),
                  db->tsc_hz ? "s" : "cycles");
        return STATUS_NOTHING;
    }
    return cycles < 0.5 ? STATUS_OK : hide(db, (int64_t)llround(cycles));
}
