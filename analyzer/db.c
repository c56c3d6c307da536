/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * db.c - opening and asking a database; see db.h.
 *
 * application_id tells a xenflush database from any other file, user_version
 * its schema.  The derived tables have a version of their own, in the run
 * row: older ones are made again before anything is read from them.
 */
#include "db.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "commands.h"
#include "derive.h"
#include "derived.h"
#include "log.h"
#include "schema.h"

void db_error(struct db *db)
{
    if (!db->failed)
        log_error("%s: %s", db->path, sqlite3_errmsg(db->sql));
    db->failed = true;
}

static sqlite3_stmt *prepare(struct db *db, const char *format, va_list args)
{
    char *text = sqlite3_vmprintf(format, args);
    sqlite3_stmt *statement = NULL;

    if (!text || sqlite3_prepare_v2(db->sql, text, -1, &statement, NULL) != SQLITE_OK)
        db_error(db);
    sqlite3_free(text);
    return statement;
}

sqlite3_stmt *db_query(struct db *db, const char *format, ...)
{
    sqlite3_stmt *statement;
    va_list args;

    va_start(args, format);
    statement = prepare(db, format, args);
    va_end(args);
    return statement;
}

bool db_step(struct db *db, sqlite3_stmt *statement)
{
    int rc;

    if (!statement)
        return false;
    rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        db_error(db);
    return rc == SQLITE_ROW;
}

void db_end(sqlite3_stmt *statement)
{
    sqlite3_finalize(statement);
}

bool db_exec(struct db *db, const char *format, ...)
{
    sqlite3_stmt *statement;
    va_list args;

    va_start(args, format);
    statement = prepare(db, format, args);
    va_end(args);
    while (db_step(db, statement))
        ;
    db_end(statement);
    return !db->failed;
}

int64_t db_int(struct db *db, const char *format, ...)
{
    sqlite3_stmt *statement;
    int64_t value = 0;
    va_list args;

    va_start(args, format);
    statement = prepare(db, format, args);
    va_end(args);
    if (db_step(db, statement))
        value = sqlite3_column_int64(statement, 0);
    db_end(statement);
    return value;
}

double db_real(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NAN;
    return sqlite3_column_double(statement, column);
}

double db_span(const struct db *db)
{
    return (double)(uint64_t)db->last_tsc - (double)db->skip;
}

double db_time(const struct db *db, double cycles)
{
    return db->tsc_hz ? cycles * 1e9 / (double)db->tsc_hz : cycles;
}

const char *db_time_unit(const struct db *db)
{
    return db->tsc_hz ? "ns" : "cycles";
}

/* Is it a database of ours, and of a version we know?  An exit status. */
static int check_kind(struct db *db)
{
    sqlite3_stmt *statement;
    int64_t version;

    if (sqlite3_prepare_v2(db->sql, "PRAGMA application_id", -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        int rc = sqlite3_errcode(db->sql);

        sqlite3_finalize(statement);
        if (rc != SQLITE_NOTADB) {
            db_error(db);
            return STATUS_FAILED;
        }
        log_error("%s: not a xenflush database: if it is a trace, import it first "
                  "(xenflush import)", db->path);
        return STATUS_USAGE;
    }
    version = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    if (version != XF_APPLICATION_ID) {
        log_error("%s: not a xenflush database: make one with xenflush import", db->path);
        return STATUS_USAGE;
    }
    version = db_int(db, "PRAGMA user_version");
    if (version < XF_SCHEMA_VERSION) {
        log_error("%s: made by an older xenflush (schema %d, this version needs %d): "
                  "import the trace again with this version", db->path, (int)version,
                  XF_SCHEMA_VERSION);
        return STATUS_USAGE;
    }
    if (version > XF_SCHEMA_VERSION) {
        log_error("%s: made by a newer xenflush (schema %d, this version knows %d): "
                  "needs a newer xenflush", db->path, (int)version, XF_SCHEMA_VERSION);
        return STATUS_USAGE;
    }
    return db->failed ? STATUS_FAILED : STATUS_OK;
}

static int read_run(struct db *db, bool *derived)
{
    sqlite3_stmt *statement = db_query(db, "SELECT tsc_hz, last_tsc, derivation FROM run");
    int status = STATUS_OK;

    if (db_step(db, statement)) {
        db->tsc_hz = sqlite3_column_int64(statement, 0);
        db->last_tsc = sqlite3_column_int64(statement, 1);
        *derived = sqlite3_column_int64(statement, 2) == DERIVATION_VERSION;
    } else {
        if (!db->failed)
            log_error("%s: the import was not finished: import the trace again", db->path);
        status = STATUS_FAILED;
    }
    db_end(statement);
    return status;
}

static int open_once(struct db *db, const char *path, bool *derived)
{
    int status;

    memset(db, 0, sizeof(*db));
    db->path = path;
    if (sqlite3_open_v2(path, &db->sql, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        db_error(db);
        status = STATUS_FAILED;
    } else {
        sqlite3_busy_timeout(db->sql, 10000);
        status = check_kind(db);
        if (status == STATUS_OK)
            status = read_run(db, derived);
    }
    if (status != STATUS_OK)
        db_close(db);
    return status;
}

int db_open_raw(struct db *db, const char *path)
{
    bool derived;

    return open_once(db, path, &derived);
}

int db_open(struct db *db, const char *path)
{
    bool derived = false;
    int status = open_once(db, path, &derived);

    if (status != STATUS_OK || derived)
        return status;
    db_close(db);
    if (derive_again(path) != 0)
        return STATUS_FAILED;
    status = open_once(db, path, &derived);
    if (status == STATUS_OK && !derived) {
        log_error("%s: the derived tables are still not up to date: run xenflush derive", path);
        db_close(db);
        return STATUS_FAILED;
    }
    return status;
}

void db_close(struct db *db)
{
    sqlite3_close(db->sql);
    db->sql = NULL;
}
