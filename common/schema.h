/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schema.h - schema.sql as the programs use it.
 *
 * schema.sql is compiled in.  In the file `ts` and its like are TSC cycles; when
 * the clock rate is known their expressions are replaced by an exact conversion
 * to nanoseconds, floor(tsc * 10^9 / rate), that cannot overflow below 292 years.
 */
#ifndef XENFLUSH_SCHEMA_H
#define XENFLUSH_SCHEMA_H

#include <sqlite3.h>
#include <stdint.h>

#define XF_APPLICATION_ID 0x78666c73
#define XF_SCHEMA_VERSION 1
/* Above this rate the conversion could overflow. */
#define XF_MAX_TSC_HZ UINT64_C(9000000000)

enum schema_part {
    SCHEMA_FACTS,       /* run to raw_record, and the record tables */
    SCHEMA_DERIVED,
    SCHEMA_INDICES,     /* of derived tables, to be made after loading */
    SCHEMA_VIEWS,
};

/*
 * Runs one part of schema.sql, without the computed times: SQLite would compute
 * them for each row that is inserted, and throw them away.  Returns an SQLite
 * code.
 */
int schema_create(sqlite3 *db, enum schema_part part);

/*
 * Adds the computed times when all tables are filled; tsc_hz 0: rate not known.
 * They take no room, so only the definitions change.  Before SCHEMA_VIEWS.
 * Returns an SQLite code.
 */
int schema_add_times(sqlite3 *db, uint64_t tsc_hz);

/* Drops the derived tables and the views.  Returns an SQLite code. */
int schema_drop_derived(sqlite3 *db);

#endif
