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

/*
 * Where a column's value lies in a row: a 64-bit integer, or `bits` bits of a
 * 32-bit word from `shift` on.
 */
struct bulk_column {
    const char *name;
    uint16_t offset;        /* bytes from the start of the row */
    bool wide;              /* 64 bits: shift, bits and is_signed do not count */
    bool is_signed;
    uint8_t shift, bits;
    bool has_null;          /* wide only: the value `null` stands for NULL */
    int64_t null;
};

#define BULK_WIDE(row, member) \
    { .name = #member, .offset = offsetof(row, member), .wide = true }
#define BULK_WORD(row, member) \
    { .name = #member, .offset = offsetof(row, member), .bits = 32 }

struct bulk;

/*
 * The columns are copied; their names must last as long as the bulk.  On failure
 * *bulk is NULL.  Returns an SQLite code.
 */
int bulk_open(struct bulk **bulk, sqlite3 *db, const char *table,
              const struct bulk_column *column, unsigned int columns, size_t row_size);

/* Slot for the next row, to be filled in, or NULL: *rc then says why. */
void *bulk_next(struct bulk *bulk, int *rc);

/* The rowid that the row in the last slot gets, in a table that was empty. */
int64_t bulk_rowid(const struct bulk *bulk);

int bulk_flush(struct bulk *bulk);

/* Rows not flushed are dropped.  NULL is fine. */
void bulk_close(struct bulk *bulk);

#endif
