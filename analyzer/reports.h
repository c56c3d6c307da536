/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reports.h - the reports: each asks the database one question and answers
 * with one table and notes.  Charts are drawn from the same tables.
 */
#ifndef XENFLUSH_REPORTS_H
#define XENFLUSH_REPORTS_H

#include "db.h"
#include "notes.h"
#include "table.h"

/*
 * Fills the table, which it initialises.  No rows: nothing to report, the
 * notes say why.  Database errors are left in db->failed.
 */
typedef void report_fill(struct db *db, struct table *table, struct notes *notes);

struct report {
    const char *name;
    const char *meaning;    /* one line */
    report_fill *fill;
};

/* All reports but the headline's own form; a NULL name ends the list. */
extern const struct report reports[];

/* NULL: there is none of this name. */
const struct report *report_find(const char *name);

report_fill report_domains, report_timeline;
report_fill report_pages_per_flush, report_ops_per_call;
report_fill report_time_per_page, report_ipis;
report_fill report_ranges, report_guests, report_gfns;
report_fill report_other, report_run;

/*
 * The trace has no flush record: says so on stdout and on what grounds the
 * cause is judged.
 */
void report_no_flush_records(struct db *db, FILE *out);

/* Width of a bucket so that at most `buckets` of them, a round number each,
   cover the trace; in the unit of reports. */
double bucket_width(const struct db *db, int buckets);

#endif
