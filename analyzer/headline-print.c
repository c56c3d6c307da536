/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * headline-print.c - the headline as one JSON object, and as a person reads it.
 */
#include "headline.h"

#include <inttypes.h>
#include <math.h>

#include "table.h"

#define INT(value) number_int((char[NUMBER_SIZE]){ 0 }, value)
#define REAL(value) number_real((char[NUMBER_SIZE]){ 0 }, value)

static void json_ratio(const char *name, int64_t numerator, int64_t denominator, FILE *out)
{
    fprintf(out, "\"%s\": ", name);
    json_real(out, counts_ratio(numerator, denominator));
}

/* The fields that all and each domain have in common. */
static void json_counts(const struct counts *c, FILE *out)
{
    fprintf(out, "\"operations\": %" PRId64 ", \"pages_unmapped\": %" PRId64
            ", \"batches\": %" PRId64 ", ", c->operations, c->pages, c->batches);
    json_ratio("pages_per_batch", c->batch_pages, c->batches, out);
    fprintf(out, ", \"iotlb\": {\"performed\": %" PRId64 ", \"avoided\": %" PRId64
            ", \"other\": %" PRId64 "}", c->iotlb_performed, c->iotlb_avoided,
            c->iotlb_all - c->iotlb_performed);
    fprintf(out, ", \"tlb\": {\"performed\": %" PRId64 ", \"avoided\": %" PRId64
            ", \"other\": %" PRId64 "}", c->tlb_performed, c->tlb_avoided,
            c->tlb_all - c->tlb_performed);
    fprintf(out, ", \"ipi\": {\"rounds\": %" PRId64 ", \"targets\": %" PRId64 "}, ",
            c->ipi_rounds, c->ipi_targets);
    json_ratio("overflush", c->asked_pages, c->asked_batch_pages, out);
    fputs(", ", out);
    json_ratio("hw_overflush", c->hw_pages, c->hw_batch_pages, out);
}

void headline_json(const struct headline *headline, FILE *out)
{
    size_t i;

    fputs("{", out);
    json_counts(&headline->all, out);
    fprintf(out, ", \"lost\": %" PRId64 ", \"batching\": null, \"safety\": null,\n \"notes\": [",
            headline->lost);
    for (i = 0; i < headline->notes.count; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        json_text(out, headline->notes.text[i]);
    }
    fputs("],\n \"domains\": [", out);
    for (i = 0; i < headline->domains; i++) {
        fprintf(out, "%s{\"dom\": %" PRId64 ", ", i ? ",\n  " : "\n  ", headline->domain[i].dom);
        json_counts(&headline->domain[i], out);
        fputs("}", out);
    }
    fputs("]}\n", out);
}

static void text_source(struct db *db, FILE *out)
{
    sqlite3_stmt *st = db_query(db, "SELECT file, label, host, start_time, cpus FROM run");
    double time = db_time(db, db_span(db));

    if (db_step(db, st)) {
        const char *file = (const char *)sqlite3_column_text(st, 0);
        const char *label = (const char *)sqlite3_column_text(st, 1);
        const char *host = (const char *)sqlite3_column_text(st, 2);
        const char *start = (const char *)sqlite3_column_text(st, 3);

        fprintf(out, "%s%s%s%s", label ? label : "", label ? " (" : "", file ? file : "-",
                label ? ")" : "");
        if (host)
            fprintf(out, ", host %s", host);
        if (start)
            fprintf(out, ", from %s", start);
        if (db->tsc_hz)
            fprintf(out, ", %s s", REAL(time / 1e9));
        else
            fprintf(out, ", %s TSC cycles", INT((int64_t)time));
        fprintf(out, ", records of %s CPUs%s\n\n", INT(sqlite3_column_int64(st, 4)),
                db->skip ? ", the start left out" : "");
    }
    db_end(st);
}

static void text_summary(const struct headline *h, FILE *out)
{
    const struct counts *c = &h->all;
    int64_t performed = c->iotlb_performed + c->tlb_performed;
    int64_t avoided = (h->no_iotlb ? 0 : c->iotlb_avoided) + c->tlb_avoided;

    if (!c->calls && !c->pages) {
        fputs("No grant was unmapped in this trace; its flushes have other causes.\n", out);
        return;
    }
    fprintf(out, "operations  %s\nperformed   %s flushes%s\navoided     %s flushes\n\n",
            INT(c->operations), INT(performed),
            c->pages ? "" : " in unmap calls", INT(avoided));
    fprintf(out, "%s pages unmapped in %s calls; ", INT(c->pages), INT(c->calls));
    if (c->batches)
        fprintf(out, "%s batches, %s pages each", INT(c->batches),
                REAL(counts_ratio(c->batch_pages, c->batches)));
    else
        fputs("no batches: each page is flushed on its own", out);
    if (!isnan(counts_ratio(c->asked_pages, c->asked_batch_pages)))
        fprintf(out, "; ranges asked for: %s pages for each page unmapped",
                REAL(counts_ratio(c->asked_pages, c->asked_batch_pages)));
    if (!isnan(counts_ratio(c->hw_pages, c->hw_batch_pages)))
        fprintf(out, ", covered by the IOMMU commands: %s", REAL(counts_ratio(c->hw_pages, c->hw_batch_pages)));
    fputs("\n", out);
}

static void text_kinds(const struct headline *h, FILE *out)
{
    static const struct column columns[] = {
        { "flush", NULL, COL_TEXT }, { "performed", NULL, COL_COUNT },
        { "avoided", NULL, COL_COUNT }, { "other", NULL, COL_COUNT },
        { "per_page", "performed", COL_REAL },
    };
    const struct counts *c = &h->all;
    struct table t;

    table_init(&t, columns, 5, "");
    table_text(&t, "IOTLB");
    table_int(&t, c->iotlb_performed);
    if (h->no_iotlb)
        table_text(&t, "none wanted");
    else
        table_int(&t, c->iotlb_avoided);
    table_int(&t, c->iotlb_all - c->iotlb_performed);
    table_real(&t, counts_ratio(c->iotlb_performed, c->pages));
    table_text(&t, "guest TLB");
    table_int(&t, c->tlb_performed);
    table_int(&t, c->tlb_avoided);
    table_int(&t, c->tlb_all - c->tlb_performed);
    table_real(&t, counts_ratio(c->tlb_performed, c->pages));
    fputs("\n", out);
    table_print(&t, FORMAT_TEXT, out);
    table_release(&t);
    fprintf(out, "\nIPIs: %s rounds to %s targets\n", INT(c->ipi_rounds), INT(c->ipi_targets));
}

static void text_domains(const struct headline *h, FILE *out)
{
    size_t i;

    fputs("\n", out);
    for (i = 0; i < h->domains; i++) {
        const struct counts *c = &h->domain[i];

        fprintf(out, "domain %" PRId64 "%s: ", c->dom,
                c->dom == 0x7fff ? " (idle)" : c->dom >= 0x7ff0 ? " (Xen's own)" : "");
        if (c->pages)
            fprintf(out, "%s pages, %s batches, ", INT(c->pages), INT(c->batches));
        fprintf(out, "%s IOTLB and %s TLB flushes, %s IPI rounds\n",
                INT(c->iotlb_all), INT(c->tlb_all), INT(c->ipi_rounds));
    }
}

void headline_text(struct db *db, const struct headline *headline, FILE *out)
{
    size_t i;

    text_source(db, out);
    text_summary(headline, out);
    text_kinds(headline, out);
    text_domains(headline, out);
    for (i = 0; i < headline->notes.count; i++)
        fprintf(out, "%snote: %s\n", i ? "" : "\n", headline->notes.text[i]);
}
