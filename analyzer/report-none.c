/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report-none.c - what to say of a trace without any flush record.
 *
 * Either the trace mask left the flush records out, or this Xen does not
 * write them.  The mask is known for live traces; otherwise the classes of the
 * records that are there tell what was traced.
 */
#include <inttypes.h>

#include "reports.h"

#define CLASS_HW 0x80
#define FLUSH_MASK 0x0080c000

/* Xen's trace classes, bits 16 to 27 of an event. */
static const struct {
    unsigned int class;
    const char *name;
} classes[] = {
    { 0x001, "general" }, { 0x002, "scheduler" }, { 0x004, "domain control" },
    { 0x008, "HVM" }, { 0x010, "memory" }, { 0x020, "PV" }, { 0x040, "shadow" },
    { CLASS_HW, "hardware" }, { 0x800, "guest" },
};

static const char *class_name(unsigned int class)
{
    size_t i;

    for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (classes[i].class == class)
            return classes[i].name;
    return "unknown";
}

/* Lists the classes seen; returns whether the hardware class is among them. */
static bool list_classes(struct db *db, int64_t *records, FILE *out)
{
    sqlite3_stmt *st = db_query(db, "SELECT (event >> 16) & 4095, sum(count) FROM other_events"
                                " WHERE event IS NOT NULL GROUP BY 1 ORDER BY 2 DESC");
    bool hardware = false;

    *records = 0;
    while (db_step(db, st)) {
        unsigned int class = (unsigned int)sqlite3_column_int64(st, 0);

        fprintf(out, "%s%s %" PRId64, *records ? ", " : "It has records of the classes: ",
                class_name(class), (int64_t)sqlite3_column_int64(st, 1));
        *records += sqlite3_column_int64(st, 1);
        hardware |= class == CLASS_HW;
    }
    db_end(st);
    if (*records)
        fputs(".\n", out);
    return hardware;
}

static void judge(bool known, int64_t mask, bool hardware, int64_t records, FILE *out)
{
    if (known && !(mask & FLUSH_MASK & ~0x00800000))
        fprintf(out, "Likely cause: the trace mask 0x%08" PRIx64 " leaves the flush records out.\n",
                mask);
    else if (known)
        fputs("Likely cause: this Xen does not have the flush tracepoints (the mask includes "
              "them).\n", out);
    else if (!records)
        fputs("Likely cause: tracing was not on, or the trace ended before anything happened.\n",
              out);
    else if (hardware)
        fputs("Likely cause: this Xen does not have the flush tracepoints (other records of the "
              "hardware\nclass were traced), or the mask selected other subclasses only.\n", out);
    else
        fputs("Likely cause: the trace mask left the hardware class out (no record of it is in the "
              "trace),\nor this Xen does not have the flush tracepoints.\n", out);
}

void report_no_flush_records(struct db *db, FILE *out)
{
    sqlite3_stmt *st = db_query(db, "SELECT mask, records, unknown FROM run");
    bool known = false, hardware;
    int64_t mask = 0, all = 0, unknown = 0, records;

    if (db_step(db, st)) {
        known = sqlite3_column_type(st, 0) != SQLITE_NULL;
        mask = sqlite3_column_int64(st, 0);
        all = sqlite3_column_int64(st, 1);
        unknown = sqlite3_column_int64(st, 2);
    }
    db_end(st);
    fprintf(out, "%s: no flush record among %" PRId64 " records: nothing can be said about flushes.\n",
            db->path, all);
    hardware = list_classes(db, &records, out);
    if (unknown)
        fprintf(out, "%" PRId64 " flush records are of an unknown kind or layout (table raw_record): "
                "written for another\nversion of xenflush; use the xenflush that belongs to this "
                "Xen.\n", unknown);
    else
        judge(known, mask, hardware, records, out);
    fputs("What to do: trace with `xentrace -e 0x0080c000` (or 0x00804000, the cheap mask) on a Xen "
          "with the\npatches of tracepoints/, while a backend domain unmaps grants.\n", out);
}
