/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bulk.c - see bulk.h.
 *
 * The virtual table has no rows of its own: a cursor walks the array of the
 * bulk it belongs to.  The array is small enough to stay in the CPU's cache.
 */
#include "bulk.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY 2048
#define BULK_MAX_COLUMNS 16

struct bulk {
    sqlite3_stmt *insert;
    char *declaration;
    char *module;
    char *row;              /* CAPACITY rows of row_size bytes */
    size_t row_size;
    size_t count;
    int64_t flushed;
    struct bulk_column column[BULK_MAX_COLUMNS];
};

struct table {
    sqlite3_vtab base;
    struct bulk *bulk;
};

struct cursor {
    sqlite3_vtab_cursor base;
    const struct bulk *bulk;
    const char *row;
    const char *end;
};

static int table_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error)
{
    struct bulk *bulk = arg;
    struct table *table = sqlite3_malloc(sizeof(*table));

    (void)argc, (void)argv, (void)error;
    if (!table)
        return SQLITE_NOMEM;
    *table = (struct table){ .bulk = bulk };
    *out = &table->base;
    return sqlite3_declare_vtab(db, bulk->declaration);
}

static int table_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = CAPACITY;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));

    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct cursor){ .bulk = ((struct table *)table)->bulk };
    *out = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int index, const char *name,
                         int argc, sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;

    (void)index, (void)name, (void)argc, (void)argv;
    cursor->row = cursor->bulk->row;
    cursor->end = cursor->row + cursor->bulk->count * cursor->bulk->row_size;
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    cursor->row += cursor->bulk->row_size;
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    return cursor->row >= cursor->end;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct bulk_column *column = &cursor->bulk->column[index];
    uint32_t word;
    int64_t wide;

    if (column->wide) {
        memcpy(&wide, cursor->row + column->offset, sizeof(wide));
        if (column->has_null && wide == column->null)
            return SQLITE_OK;
        sqlite3_result_int64(context, wide);
        return SQLITE_OK;
    }
    memcpy(&word, cursor->row + column->offset, sizeof(word));
    word <<= 32 - column->bits - column->shift;
    if (column->is_signed)
        sqlite3_result_int64(context, (int32_t)word >> (32 - column->bits));
    else
        sqlite3_result_int64(context, word >> (32 - column->bits));
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    struct cursor *cursor = (struct cursor *)base;

    *rowid = (cursor->row - cursor->bulk->row) / (int64_t)cursor->bulk->row_size;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

/* The names of the columns, separated by commas.  To be freed with sqlite3_free. */
static char *join_names(const struct bulk *bulk, unsigned int columns)
{
    char *names = NULL;
    unsigned int i;

    for (i = 0; i < columns; i++) {
        char *longer = sqlite3_mprintf("%z%s%s", names, i ? ", " : "", bulk->column[i].name);

        names = longer;
        if (!names)
            break;
    }
    return names;
}

int bulk_open(struct bulk **out, sqlite3 *db, const char *table,
              const struct bulk_column *column, unsigned int columns, size_t row_size)
{
    struct bulk *bulk = calloc(1, sizeof(*bulk));
    char *names = NULL, *insert = NULL;
    int rc = SQLITE_NOMEM;

    *out = NULL;
    if (!bulk || columns > BULK_MAX_COLUMNS)
        goto out;
    bulk->row_size = row_size;
    memcpy(bulk->column, column, columns * sizeof(*column));
    names = join_names(bulk, columns);
    bulk->module = sqlite3_mprintf("bulk_%s_%u", table, columns);
    bulk->declaration = sqlite3_mprintf("CREATE TABLE x(%s)", names);
    insert = sqlite3_mprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
                             table, names, names, bulk->module);
    if (!names || !bulk->module || !bulk->declaration || !insert)
        goto out;
    rc = sqlite3_create_module(db, bulk->module, &module, bulk);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v3(db, insert, -1, SQLITE_PREPARE_PERSISTENT, &bulk->insert, NULL);
out:
    sqlite3_free(names);
    sqlite3_free(insert);
    if (rc == SQLITE_OK)
        *out = bulk;
    else
        bulk_close(bulk);
    return rc;
}

int bulk_flush(struct bulk *bulk)
{
    int rc;

    if (bulk->count == 0)
        return SQLITE_OK;
    sqlite3_step(bulk->insert);
    rc = sqlite3_reset(bulk->insert);
    bulk->flushed += (int64_t)bulk->count;
    bulk->count = 0;
    return rc;
}

void *bulk_next(struct bulk *bulk, int *rc)
{
    *rc = SQLITE_OK;
    if (!bulk->row) {
        bulk->row = malloc(CAPACITY * bulk->row_size);
        if (!bulk->row) {
            *rc = SQLITE_NOMEM;
            return NULL;
        }
    }
    if (bulk->count == CAPACITY) {
        *rc = bulk_flush(bulk);
        if (*rc != SQLITE_OK)
            return NULL;
    }
    return bulk->row + bulk->count++ * bulk->row_size;
}

int64_t bulk_rowid(const struct bulk *bulk)
{
    return bulk->flushed + (int64_t)bulk->count;
}

void bulk_close(struct bulk *bulk)
{
    if (!bulk)
        return;
    sqlite3_finalize(bulk->insert);
    sqlite3_free(bulk->declaration);
    sqlite3_free(bulk->module);
    free(bulk->row);
    free(bulk);
}
