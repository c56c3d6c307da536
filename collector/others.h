/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * others.h - counts of the records that are not ours, by event, CPU and domain.
 *
 * At most OTHERS_MAX combinations are told apart; a trace with more (garbage,
 * as a rule) has the rest in one row without event.
 */
#ifndef XENFLUSH_OTHERS_H
#define XENFLUSH_OTHERS_H

#include <sqlite3.h>

#include "merge.h"

#define OTHERS_MAX 8192

struct other_count {
    uint32_t event, cpu;
    int32_t dom;                /* -1: the record does not tell */
    uint64_t count;             /* 0: the slot is free */
};

struct others {
    struct other_count *slot;   /* hash table, allocated when first needed */
    struct other_count *last;   /* the one counted last: often the next, too */
    uint32_t used;
    uint64_t beyond;            /* not told apart */
};

void others_count(struct others *others, const struct merge_record *record);

/* Writes other_events, in order of event, CPU, domain.  Returns an SQLite code. */
int others_store(struct others *others, sqlite3 *db);

void others_release(struct others *others);

/* Name of an event of Xen's other classes, or NULL. */
const char *xen_event_name(uint32_t number);

#endif
