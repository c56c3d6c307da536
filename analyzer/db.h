/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * db.h - a xenflush database, open for reading.
 *
 * Errors of SQLite are logged where they happen and remembered in `failed`,
 * so a caller may run its queries to the end and look once.  A statement that
 * could not be prepared is NULL; db_step of it gives no row.
 *
 * Life cycle: db_open; db_query, db_step until false, db_end; db_close.
 */
#ifndef XENFLUSH_DB_H
#define XENFLUSH_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct db {
    sqlite3 *sql;
    const char *path;
    bool failed;            /* an error has been logged */
    int64_t tsc_hz;         /* 0: not known */
    int64_t last_tsc;
    int64_t skip;           /* what began before this tsc is left out; 0: nothing is */
};

/*
 * Opens a database whose derived tables are up to date (they are made again
 * when they are not).  Returns an exit status, having logged what is wrong.
 */
int db_open(struct db *db, const char *path);
/* The same, leaving the derived tables as they are. */
int db_open_raw(struct db *db, const char *path);
void db_close(struct db *db);

/* Prepares SQL; format as sqlite3_mprintf's. */
sqlite3_stmt *db_query(struct db *db, const char *format, ...);
bool db_step(struct db *db, sqlite3_stmt *statement);
void db_end(sqlite3_stmt *statement);
bool db_exec(struct db *db, const char *format, ...);
/* The first column of the first row; no row or NULL: 0. */
int64_t db_int(struct db *db, const char *format, ...);
void db_error(struct db *db);   /* logs SQLite's message */

/* A column as double; NULL is NaN. */
double db_real(sqlite3_stmt *statement, int column);

/* TSC cycles from what is skipped to the end; the end may be beyond 2^63. */
double db_span(const struct db *db);

/* TSC cycles in the unit of reports. */
double db_time(const struct db *db, double cycles);
const char *db_time_unit(const struct db *db);

#endif
