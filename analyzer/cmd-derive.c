/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd-derive.c - `xenflush derive DB`: batches, calls and links again, from the
 * record tables, with the rules of this version.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "db.h"
#include "derive.h"
#include "derived.h"
#include "log.h"
#include "replay.h"
#include "schema.h"

static const char usage[] =
"Usage: xenflush derive DB\n"
"Drop the derived tables (batch, logical_call and the links) and work them out\n"
"again from the record tables.  Reports do so by themselves when the database\n"
"was derived by another version.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 usage error or not a xenflush database.\n";

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

int cmd_derive(int argc, char **argv)
{
    static const struct option options[] = {
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 }
    };
    struct db db;
    int option, status;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return STATUS_OK;
        }
        return STATUS_USAGE;
    }
    if (argc - optind != 1) {
        log_error("derive: one database, please: xenflush derive DB");
        return STATUS_USAGE;
    }
    /* Only a database of ours is changed. */
    status = db_open_raw(&db, argv[optind]);
    if (status != STATUS_OK)
        return status;
    db_close(&db);
    return derive_again(argv[optind]) ? STATUS_FAILED : STATUS_OK;
}
