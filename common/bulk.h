/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bulk.h - many rows into one table, fast.
 *
 * Rows are gathered in an array; when it is full, one INSERT ... SELECT reads
 * it through an eponymous virtual table.  That is more than twice as fast as a
 * prepared INSERT a row.  Life cycle: bulk_open, then bulk_next to get the slot
 * of each row, bulk_flush at the end, bulk_close.
 */
#ifndef XENFLUSH_BULK_H
#define XENFLUSH_BULK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value of a column of a row.  False: NULL. */
typedef bool bulk_value(const void *context, const void *row, int column, int64_t *value);

struct bulk;

/*
 * columns: the names, separated by commas.  On failure *bulk is NULL.
 * Returns an SQLite code.
 */
int bulk_open(struct bulk **bulk, sqlite3 *db, const char *table, const char *columns,
              size_t row_size, bulk_value *value, const void *context);

/* Slot for the next row, to be filled in, or NULL: *rc then says why. */
void *bulk_next(struct bulk *bulk, int *rc);

/* The rowid that the row in the last slot gets, in a table that was empty. */
int64_t bulk_rowid(const struct bulk *bulk);

int bulk_flush(struct bulk *bulk);

/* Rows not flushed are dropped.  NULL is fine. */
void bulk_close(struct bulk *bulk);

#endif
