/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * headline.c - counting; see headline.h.
 *
 * Whatever belongs together has the same domain, so each query counts by
 * domain and the counts of all are their sums.  A query's columns are the
 * domain and then the counts named beside it.
 */
#include "headline.h"

#include <math.h>

#include "alloc.h"

#define MAX_COUNTS 10
#define AT(field) (offsetof(struct counts, field) + 1)      /* 0 ends a list */

static const struct {
    const char *sql;
    size_t count[MAX_COUNTS + 1];
} queries[] = {
    { "SELECT dom, sum(done), sum(parts > 0), sum(unbatched), count(DISTINCT vcpu)"
      " FROM logical_call GROUP BY dom",
      { AT(operations), AT(calls), AT(pages), AT(vcpus) } },
    { "SELECT dom, sum(iif(end_pos IS NULL, 0, pages)), sum(state = 0),"
      " sum(iif(state = 0, pages, 0)),"
      " sum(iif(state = 0, max(0, pages - iotlb_flushes), 0)),"
      " sum(iif(state = 0, max(0, pages - tlb_flushes), 0)),"
      " sum(iif(state = 0 AND iotlb_closing > closing_whole, closing_pages, 0)),"
      " sum(iif(state = 0 AND iotlb_closing > closing_whole, pages, 0)),"
      " sum(iif(state = 0 AND hw_pages > 0, hw_pages, 0)),"
      " sum(iif(state = 0 AND hw_pages > 0, pages, 0))"
      " FROM batch GROUP BY dom",
      { AT(pages), AT(batches), AT(batch_pages), AT(iotlb_avoided), AT(tlb_avoided),
        AT(asked_pages), AT(asked_batch_pages), AT(hw_pages), AT(hw_batch_pages) } },
    { "SELECT f.dom, count(*), total(" FLUSH_INSIDE ")"
      " FROM iotlb_flush f LEFT JOIN iotlb_flush_link l ON l.iotlb_flush = f.rowid" FLUSH_OWNERS
      " GROUP BY f.dom", { AT(iotlb_all), AT(iotlb_performed) } },
    { "SELECT f.dom, count(*), total(" FLUSH_INSIDE ")"
      " FROM tlb_flush f LEFT JOIN tlb_flush_link l ON l.tlb_flush = f.rowid" FLUSH_OWNERS
      " GROUP BY f.dom", { AT(tlb_all), AT(tlb_performed) } },
    { "SELECT dom, count(*), sum(targets) FROM ipi_round GROUP BY dom",
      { AT(ipi_rounds), AT(ipi_targets) } },
    { "SELECT dom, sum(done), sum(bytes) FROM grant_copy GROUP BY dom",
      { AT(copies), AT(copy_bytes) } },
    /* The other tables name domains only. */
    { "SELECT DISTINCT dom FROM batch_begin", { 0 } },
    { "SELECT DISTINCT dom FROM batch_end", { 0 } },
    { "SELECT DISTINCT dom FROM iommu_invalidate", { 0 } },
    { "SELECT DISTINCT dom FROM assisted_flush", { 0 } },
    { "SELECT DISTINCT dom FROM l0_flush", { 0 } },
    { "SELECT DISTINCT dom FROM cache_flush", { 0 } },
    { "SELECT DISTINCT dom FROM p2m_table_free", { 0 } },
    { "SELECT DISTINCT dom FROM skip_window", { 0 } },
    { "SELECT DISTINCT dom FROM unmap_call", { 0 } },
    { "SELECT DISTINCT dom FROM iotlb_skipped", { 0 } },
    { "SELECT DISTINCT dom FROM tlb_deferred", { 0 } },
    { "SELECT DISTINCT dom FROM page_released", { 0 } },
    { "SELECT DISTINCT dom FROM iotlb_added", { 0 } },
    { "SELECT DISTINCT dom FROM iommu_writeback", { 0 } },
};

/* The counts of a domain, made where they are not there yet, kept in order. */
static struct counts *domain_counts(struct headline *headline, int64_t dom)
{
    size_t i = 0;

    while (i < headline->domains && headline->domain[i].dom < dom)
        i++;
    if (i < headline->domains && headline->domain[i].dom == dom)
        return &headline->domain[i];
    headline->domain = alloc_grow(headline->domain, &headline->size, headline->domains,
                                  sizeof(*headline->domain));
    memmove(&headline->domain[i + 1], &headline->domain[i],
            (headline->domains - i) * sizeof(*headline->domain));
    headline->domains++;
    memset(&headline->domain[i], 0, sizeof(*headline->domain));
    headline->domain[i].dom = dom;
    return &headline->domain[i];
}

static void add_count(struct counts *counts, size_t at, int64_t value)
{
    int64_t *field = (int64_t *)(void *)((char *)counts + at - 1);

    *field += value;
}

static void count(struct db *db, struct headline *headline, size_t query)
{
    sqlite3_stmt *st = db_query(db, "%s", queries[query].sql);
    size_t i;

    while (db_step(db, st)) {
        struct counts *counts = domain_counts(headline, sqlite3_column_int64(st, 0));

        for (i = 0; queries[query].count[i]; i++) {
            int64_t value = sqlite3_column_int64(st, (int)i + 1);

            add_count(counts, queries[query].count[i], value);
            add_count(&headline->all, queries[query].count[i], value);
        }
    }
    db_end(st);
}

double counts_ratio(int64_t numerator, int64_t denominator)
{
    return denominator ? (double)numerator / (double)denominator : NAN;
}

static void note_loss(struct db *db, struct headline *headline)
{
    int64_t lossy = db_int(db, "SELECT count(*) FROM batch WHERE lossy");
    int64_t gaps = db_int(db, "SELECT count(*) FROM lost");
    int64_t cut = db_int(db, "SELECT count(*) FROM batch WHERE state <> 0");
    int64_t open_pages = db_int(db, "SELECT sum(b.pages) FROM batch b JOIN logical_call c"
                                " ON c.call = b.call WHERE c.parts = 0");

    headline->lost = db_int(db, "SELECT sum(records) FROM lost");
    if (open_pages)
        notes_add(&headline->notes, "%lld of the pages belong to calls whose return is not in the "
                  "trace: pages, but no operations, are counted", (long long)open_pages);
    if (gaps)
        notes_add(&headline->notes, "%lld records were lost in %lld gaps, %lld batches are "
                  "touched by that: counts are lower bounds (larger trace buffers lose less)",
                  (long long)headline->lost, (long long)gaps, (long long)lossy);
    else if (lossy)
        notes_add(&headline->notes, "damage to the trace touches %lld batches", (long long)lossy);
    if (cut)
        notes_add(&headline->notes, "batches not whole in the trace (cut at its start or end, or "
                  "by loss), left out of avoided: %lld", (long long)cut);
}

static void note_run(struct db *db, struct headline *headline)
{
    sqlite3_stmt *st = db_query(db, "SELECT damaged, damaged_bytes, unknown, clock_faults FROM run");

    if (db_step(db, st)) {
        int64_t clock = sqlite3_column_int64(st, 3);
        int64_t damaged = sqlite3_column_int64(st, 0) - clock;

        if (damaged > 0)
            notes_add(&headline->notes, "the trace is damaged in %lld places, %lld bytes of it could "
                      "not be used (table damage)", (long long)damaged,
                      (long long)sqlite3_column_int64(st, 1));
        if (sqlite3_column_int64(st, 2))
            notes_add(&headline->notes, "%lld flush records are of an unknown kind or layout and are "
                      "not counted (table raw_record): does this Xen need a newer xenflush?",
                      (long long)sqlite3_column_int64(st, 2));
        if (clock > 0)
            notes_add(&headline->notes, "the TSC stepped %lld times: durations around these times are "
                      "doubtful (table damage, kind clock)", (long long)clock);
    }
    db_end(st);
}

static void note_iotlb(struct db *db, struct headline *headline)
{
    const struct counts *all = &headline->all;

    headline->no_iotlb = all->iotlb_performed == 0 &&
        !db_int(db, "SELECT EXISTS (SELECT 1 FROM batch WHERE state = 0 AND"
                    " (flags <> 0 OR skipped > 0 OR iotlb_flushes > 0))") &&
        !db_int(db, "SELECT EXISTS (SELECT 1 FROM iotlb_skipped)");
    if (headline->no_iotlb && all->batches)
        notes_add(&headline->notes, "no IOTLB flush was wanted in any batch (no IOMMU half on this "
                  "host): \"avoided\" of the IOTLB is only the arithmetic of its definition");
}

static void note_ranges(struct db *db, struct headline *headline)
{
    const struct counts *all = &headline->all;
    int64_t whole = db_int(db, "SELECT sum(closing_whole > 0) FROM batch WHERE state = 0");
    int64_t wide = db_int(db, "SELECT sum(hw_whole > 0) FROM batch WHERE state = 0");

    if (whole)
        notes_add(&headline->notes, "%lld batches closed with an IOTLB flush of a whole domain, which "
                  "names no pages: overflush %s", (long long)whole,
                  all->asked_batch_pages ? "is that of the other batches" : "is not known");
    if (wide)
        notes_add(&headline->notes, "%lld batches closed with an IOMMU command wider than pages: "
                  "hw_overflush %s", (long long)wide,
                  all->hw_batch_pages ? "is that of the other commands" : "is not known");
}

static void note_mask(struct db *db, struct headline *headline)
{
    if (headline->all.pages &&
        !db_int(db, "SELECT EXISTS (SELECT 1 FROM page_released)"
                    " OR EXISTS (SELECT 1 FROM iotlb_skipped)"
                    " OR EXISTS (SELECT 1 FROM tlb_deferred)"
                    " OR EXISTS (SELECT 1 FROM iotlb_added)"))
        notes_add(&headline->notes, "no record of a page: the trace has the cheap mask 0x00804000; "
                  "questions about pages and guests need 0x0080c000");
    if (!db->tsc_hz)
        notes_add(&headline->notes, "the TSC rate is not known: times are in cycles (import with "
                  "--tsc-hz to have nanoseconds)");
}

bool headline_read(struct db *db, struct headline *headline)
{
    size_t i;

    memset(headline, 0, sizeof(*headline));
    for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
        count(db, headline, i);
    note_iotlb(db, headline);
    note_ranges(db, headline);
    note_loss(db, headline);
    note_run(db, headline);
    note_mask(db, headline);
    return !db->failed;
}

void headline_release(struct headline *headline)
{
    free(headline->domain);
    notes_release(&headline->notes);
}
