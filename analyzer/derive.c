/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * derive.c - batches, calls and links again, from the record tables, with the
 * rules of this version; see derive.h.
 */
#include "derive.h"

#include <stdio.h>

#include "derived.h"
#include "log.h"
#include "replay.h"
#include "schema.h"

static int read_rate(sqlite3 *db, uint64_t *tsc_hz)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(db, "SELECT tsc_hz FROM run", -1, &s, NULL);

    if (rc != SQLITE_OK)
        return rc;
    *tsc_hz = sqlite3_step(s) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    return sqlite3_finalize(s);
}

static int derive(sqlite3 *db)
{
    struct derived *derived = NULL;
    uint64_t tsc_hz = 0;
    char sql[64];
    int rc = read_rate(db, &tsc_hz);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = schema_drop_derived(db);
    if (rc == SQLITE_OK)
        rc = schema_create(db, SCHEMA_DERIVED);
    if (rc == SQLITE_OK)
        rc = derived_open(&derived, db);
    if (rc == SQLITE_OK)
        rc = replay(db, derived);
    if (rc == SQLITE_OK)
        rc = derived_finish(derived, tsc_hz);
    if (rc == SQLITE_OK) {
        snprintf(sql, sizeof(sql), "UPDATE run SET derivation = %d", DERIVATION_VERSION);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    derived_close(derived);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return rc;
}

int derive_again(const char *path)
{
    sqlite3 *db;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

    if (rc == SQLITE_OK)
        rc = derive(db);
    if (rc != SQLITE_OK)
        log_error("%s: cannot make the derived tables again: %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return rc == SQLITE_OK ? 0 : -1;
}
