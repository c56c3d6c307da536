/* SPDX-License-Identifier: GPL-2.0-only */
/* schema.c - see schema.h. */
#define _GNU_SOURCE
#include "schema.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Made from schema.sql by the Makefile. */
extern const char xf_schema[];

static const char *const marker[] = {
    [SCHEMA_FACTS] = "-- SPDX",
    [SCHEMA_DERIVED] = "-- [derived]",
    [SCHEMA_INDICES] = "-- [indices]",
    [SCHEMA_VIEWS] = "-- [views]",
};

/* Copies text, replacing each computed time's expression by nanoseconds. */
static void convert_times(FILE *out, const char *text, const char *end, uint64_t tsc_hz)
{
    static const char open[] = " AS (", close[] = ") VIRTUAL";

    while (text < end) {
        const char *expression = memmem(text, (size_t)(end - text), open, sizeof(open) - 1);
        const char *after;

        if (!expression)
            break;
        expression += sizeof(open) - 1;
        fwrite(text, 1, (size_t)(expression - text), out);
        after = memmem(expression, (size_t)(end - expression), close, sizeof(close) - 1);
        if (!after) {
            text = expression;
            break;
        }
        fprintf(out, "%.*s / %" PRIu64 " * 1000000000 + %.*s %% %" PRIu64
                " * 1000000000 / %" PRIu64,
                (int)(after - expression), expression, tsc_hz,
                (int)(after - expression), expression, tsc_hz, tsc_hz);
        text = after;
    }
    fwrite(text, 1, (size_t)(end - text), out);
}

/* Copies text without the lines that define computed times. */
static void leave_out_times(FILE *out, const char *text, const char *end)
{
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((line_end ? line_end + 1 : end) - text);

        if (!memmem(text, length, "GENERATED ALWAYS", 16))
            fwrite(text, 1, length, out);
        text += length;
    }
}

static const char *part_end(enum schema_part part, const char *begin)
{
    return part == SCHEMA_VIEWS ? begin + strlen(begin) : strstr(xf_schema, marker[part + 1]);
}

/*
 * The text as the database gets it; NULL: no memory, else to be freed.  With
 * `times` the computed times are in it, in nanoseconds where tsc_hz is known.
 */
static char *prepare_text(const char *begin, const char *end, bool times, uint64_t tsc_hz)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (!times)
        leave_out_times(out, begin, end);
    else if (tsc_hz)
        convert_times(out, begin, end, tsc_hz);
    else
        fwrite(begin, 1, (size_t)(end - begin), out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

int schema_create(sqlite3 *db, enum schema_part part)
{
    const char *begin = strstr(xf_schema, marker[part]);
    char *sql = prepare_text(begin, part_end(part, begin), false, 0);
    int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

    free(sql);
    return rc;
}

/* Puts the full definition of the table that `begin` defines into the schema. */
static int complete_table(sqlite3_stmt *update, const char *begin, const char *end,
                          uint64_t tsc_hz)
{
    const char *name = begin + strlen("CREATE TABLE ");
    char *sql = prepare_text(begin, end, true, tsc_hz);
    int rc = SQLITE_NOMEM;

    if (sql) {
        sqlite3_bind_text(update, 1, sql, -1, SQLITE_STATIC);
        sqlite3_bind_text(update, 2, name, (int)strcspn(name, " "), SQLITE_STATIC);
        sqlite3_step(update);
        rc = sqlite3_reset(update);
    }
    free(sql);
    return rc;
}

int schema_add_times(sqlite3 *db, uint64_t tsc_hz)
{
    const char *begin = xf_schema, *end;
    sqlite3_stmt *update;
    int rc = sqlite3_exec(db, "PRAGMA writable_schema = ON", NULL, NULL, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "UPDATE sqlite_schema SET sql = ? WHERE type = 'table'"
                                " AND name = ?", -1, &update, NULL);
    if (rc != SQLITE_OK)
        return rc;
    while (rc == SQLITE_OK && (begin = strstr(begin, "CREATE TABLE "))) {
        end = strstr(begin, "\n);") + 2;
        rc = complete_table(update, begin, end, tsc_hz);
        begin = end;
    }
    sqlite3_finalize(update);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA writable_schema = RESET", NULL, NULL, NULL);
    return rc;
}

int schema_drop_derived(sqlite3 *db)
{
    return sqlite3_exec(db,
        "DROP VIEW IF EXISTS flush; DROP VIEW IF EXISTS ipi_owner;"
        "DROP VIEW IF EXISTS invalidate_owner;"
        "DROP TABLE IF EXISTS batch; DROP TABLE IF EXISTS logical_call;"
        "DROP TABLE IF EXISTS tlb_flush_link; DROP TABLE IF EXISTS iotlb_flush_link;"
        "DROP TABLE IF EXISTS flush_part;", NULL, NULL, NULL);
}
