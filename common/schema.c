/* SPDX-License-Identifier: GPL-2.0-only */
/* schema.c - see schema.h. */
#define _GNU_SOURCE
#include "schema.h"

#include <inttypes.h>
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

int schema_create(sqlite3 *db, enum schema_part part, uint64_t tsc_hz)
{
    const char *begin = strstr(xf_schema, marker[part]);
    const char *end = part == SCHEMA_VIEWS ? begin + strlen(begin)
                                           : strstr(xf_schema, marker[part + 1]);
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    int rc = SQLITE_NOMEM;

    if (!out)
        return SQLITE_NOMEM;
    if (tsc_hz)
        convert_times(out, begin, end, tsc_hz);
    else
        fwrite(begin, 1, (size_t)(end - begin), out);
    if (fclose(out) == 0)
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
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
