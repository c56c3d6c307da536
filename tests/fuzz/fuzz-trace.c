/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz-trace.c - any bytes through scan, merge and correlator.
 *
 * Checked besides crashes: the merge gives out exactly the records that the scan
 * counted, each CPU's in the order of the trace, and timed records of a trace
 * without clock faults in the order of time; the correlator gives each flush a
 * place exactly once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "correlate.h"
#include "damage.h"
#include "log.h"
#include "merge.h"
#include "scan.h"
#include "schema.h"
#include "wire.h"

struct seen {
    const struct scan *scan;
    struct correlator *corr;
    uint64_t records, flushes, links, last_tsc;
    uint64_t last_pos[16];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void no_batch(void *context, const struct corr_batch *batch) { (void)context, (void)batch; }
static void no_call(void *context, const struct corr_call *call) { (void)context, (void)call; }
static void no_part(void *context, const struct corr_part *part) { (void)context, (void)part; }
static void take_link(void *context, const struct corr_link *link)
{
    (void)link;
    ((struct seen *)context)->links++;
}

static void correlate(struct seen *seen, const struct merge_record *record)
{
    const struct xf_event *event = wire_timed(record->header)
        ? xf_event_find(wire_event(record->header), wire_words(record->header)) : NULL;
    struct xf_record row = { .tsc = record->tsc, .pos = record->pos, .cpu = record->cpu };
    enum xf_event_id id;
    uint32_t i;

    if (wire_event(record->header) == WIRE_LOST_RECORDS)
        corr_gap(seen->corr, record->cpu, record->tsc);
    if (!event)
        return;
    for (i = 0; i < event->words; i++)
        row.word[i] = wire_word(record->extra + 4 * i);
    id = (enum xf_event_id)(event - xf_events);
    seen->flushes += id == XF_TLB_FLUSH || id == XF_IOTLB_FLUSH;
    if (corr_record(seen->corr, id, (int64_t)seen->records, &row))
        abort();
}

static int take(void *context, const struct merge_record *record)
{
    struct seen *seen = context;
    uint32_t slot = record->cpu;

    seen->records++;
    if (slot < 16) {
        if (seen->last_pos[slot] && record->pos <= seen->last_pos[slot])
            abort();
        seen->last_pos[slot] = record->pos;
    }
    if (wire_timed(record->header) && seen->scan->damage->clock_faults == 0) {
        if (record->tsc < seen->last_tsc)
            abort();
        seen->last_tsc = record->tsc;
    }
    correlate(seen, record);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sqlite3 *db;
    static int file = -1;
    struct input input;
    struct damage_log damage;
    struct scan scan;
    struct seen seen = { .scan = &scan };
    struct corr_sink sink = { &seen, no_batch, no_call, take_link, no_part };
    char name[32], *names[] = { name };

    if (!db) {
        if (sqlite3_open(":memory:", &db) || schema_create(db, SCHEMA_FACTS) ||
            !freopen("/dev/null", "w", stderr))
            abort();
        file = memfd_create("trace", 0);
    }
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    sqlite3_exec(db, "DELETE FROM damage", NULL, NULL, NULL);
    if (input_open(&input, names, 1, ".") || damage_open(&damage, db, &input))
        abort();
    if (scan_run(&scan, &input, &damage, ".", 0))
        abort();
    seen.corr = corr_create(&sink);
    if (merge_run(&scan, take, &seen))
        abort();
    corr_finish(seen.corr);
    if (seen.records != scan.records || seen.links != seen.flushes)
        abort();
    corr_destroy(seen.corr);
    scan_release(&scan);
    damage_close(&damage);
    input_close(&input);
    return 0;
}
