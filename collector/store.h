/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * store.h - records into the record tables, in time order.
 *
 * Each event has its table and a bulk of rows on the way there; the derived
 * tables are filled alongside.  Records not in the contract are kept raw, those
 * of other classes are counted.  Life cycle: store_open on a database that has
 * just been made, store_record for every record, store_finish, store_close.
 */
#ifndef XENFLUSH_STORE_H
#define XENFLUSH_STORE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "derived.h"
#include "merge.h"
#include "others.h"

struct bulk;

struct store {
    sqlite3 *db;
    uint64_t base;              /* smallest TSC of the trace */
    bool keep_other;            /* keep records of other classes raw */
    struct bulk *bulk[XF_EVENTS];
    struct bulk *raw;
    sqlite3_stmt *lost;
    struct others others;
    struct derived *derived;
    uint64_t stored, unknown, skipped;
};

/* All return an SQLite code. */
int store_open(struct store *store, sqlite3 *db, uint64_t base, bool keep_other);
int store_record(struct store *store, const struct merge_record *record);
int store_finish(struct store *store, uint64_t tsc_hz);     /* 0: rate not known */
void store_close(struct store *store);      /* once; the counts stay readable */

#endif
