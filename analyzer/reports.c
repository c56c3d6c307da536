/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reports.c - the list of reports; see reports.h.
 */
#include "reports.h"

#include <math.h>
#include <string.h>

const struct report reports[] = {
    { "headline", "operations, flushes performed and avoided (shown by default)", report_domains },
    { "domains", "the headline's counts for each domain", report_domains },
    { "timeline", "pages, flushes performed and avoided over time", report_timeline },
    { "pages-per-flush", "how many pages each flush served: 1 is no batching", report_pages_per_flush },
    { "ops-per-call", "operations per unmap hypercall: can batching help at all?", report_ops_per_call },
    { "time-per-page", "where the time of an unmapped page goes", report_time_per_page },
    { "ipis", "rounds of flush IPIs: how many, to how many CPUs, what they cost", report_ipis },
    { "ranges", "pages flushed against pages unmapped", report_ranges },
    { "guests", "pages released, by the guest that granted them", report_guests },
    { "other", "flushes of other kinds, copies, page tables, skip windows", report_other },
    { "run", "the trace: where it came from, what was read, lost and damaged", report_run },
    { NULL, NULL, NULL },
};

const struct report *report_find(const char *name)
{
    const struct report *report;

    for (report = reports; report->name; report++)
        if (strcmp(report->name, name) == 0)
            return report;
    return NULL;
}

double bucket_width(const struct db *db, int buckets)
{
    double span = db_time(db, db_span(db) + 1);
    double least = span / buckets, power;

    if (!(least > 1))
        return 1;
    power = pow(10, floor(log10(least)));
    return least <= power ? power : least <= 2 * power ? 2 * power :
           least <= 5 * power ? 5 * power : 10 * power;
}
