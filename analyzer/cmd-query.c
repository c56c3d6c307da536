/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd-query.c - `xenflush query`: SQL on a database, read-only.
 *
 * The database is opened read-only, statements that write are refused, and an
 * authorizer forbids ATTACH, so that no other file is touched.  CSV and JSON
 * are streamed; text takes the widths of its columns from the first rows.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "commands.h"
#include "db.h"
#include "log.h"
#include "options.h"

#define ROWS_AT_ONCE 5000

static const char usage[] =
    "Usage: xenflush query DB SQL [--format=text|csv|json] [--no-headers]\n"
    "Runs one or several SQL statements, read-only; SQL `-` is read from standard input.\n"
    "The tables are described in schema.sql.\n\n"
    "  --format=FORMAT  text (default), csv or json\n"
    "  --no-headers     leave out the names of columns\n"
    "  --help           show this\n\n"
    "Exit status: 0 ok, 1 failed, 2 usage.\n";

struct query {
    struct db *db;
    enum format format;
    bool no_headers;
    unsigned int results;   /* printed so far */
};

static int authorize(void *context, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)context, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

static char *read_stdin(void)
{
    size_t size = 0, length = 0, got;
    char *text = NULL;

    do {
        if (length + 4096 > size) {
            size = size ? 2 * size : 8192;
            text = alloc_checked(realloc(text, size));
        }
        got = fread(text + length, 1, 4095, stdin);
        length += got;
    } while (got);
    text[length] = '\0';
    return text;
}

static void blob_cell(struct table *t, const unsigned char *bytes, int length)
{
    char *hex = alloc_checked(malloc((size_t)length * 2 + 1));
    int i;

    hex[0] = '\0';
    for (i = 0; i < length; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    table_text(t, hex);
    free(hex);
}

static void add_row(struct table *t, sqlite3_stmt *st)
{
    int i;

    for (i = 0; i < (int)t->columns; i++) {
        switch (sqlite3_column_type(st, i)) {
        case SQLITE_INTEGER: table_int(t, sqlite3_column_int64(st, i)); break;
        case SQLITE_FLOAT: table_real(t, sqlite3_column_double(st, i)); break;
        case SQLITE_TEXT: table_text(t, (const char *)sqlite3_column_text(st, i)); break;
        case SQLITE_BLOB:
            blob_cell(t, sqlite3_column_blob(st, i), sqlite3_column_bytes(st, i));
            break;
        default: table_null(t); break;
        }
    }
}

static void print_result(struct query *q, sqlite3_stmt *st)
{
    size_t columns = (size_t)sqlite3_column_count(st), i;
    struct column *column = alloc_checked(calloc(columns, sizeof(*column)));
    bool head = false;
    struct table t;

    for (i = 0; i < columns; i++)
        column[i].name = sqlite3_column_name(st, (int)i);
    table_init(&t, column, columns, "");
    t.no_headers = q->no_headers;
    if (q->results++ && q->format != FORMAT_JSON)
        putchar('\n');
    while (db_step(q->db, st)) {
        add_row(&t, st);
        if (table_rows(&t) < ROWS_AT_ONCE)
            continue;
        if (!head)
            table_head(&t, q->format, stdout);
        head = true;
        table_body(&t, q->format, stdout);
        if (ferror(stdout))
            break;
    }
    if (!head && (!q->db->failed || table_rows(&t)))
        table_head(&t, q->format, stdout), head = true;
    table_body(&t, q->format, stdout);
    if (head)
        table_tail(&t, q->format, stdout);
    table_release(&t);
    free(column);
}

static bool run_statement(struct query *q, sqlite3_stmt *st)
{
    if (!sqlite3_stmt_readonly(st)) {
        log_error("%s: a statement that writes: the database is read-only here (sqlite3 can "
                  "write)", q->db->path);
        return false;
    }
    if (sqlite3_column_count(st) > 0)
        print_result(q, st);
    else
        while (db_step(q->db, st))
            ;
    return !q->db->failed;
}

static int run_sql(struct query *q, const char *sql)
{
    bool ok = true;

    sqlite3_set_authorizer(q->db->sql, authorize, NULL);
    while (ok && *sql) {
        sqlite3_stmt *st = NULL;

        if (sqlite3_prepare_v2(q->db->sql, sql, -1, &st, &sql) != SQLITE_OK) {
            db_error(q->db);
            ok = false;
        } else if (st)
            ok = run_statement(q, st);
        sqlite3_finalize(st);
    }
    return ok ? STATUS_OK : STATUS_FAILED;
}

int cmd_query(int argc, char **argv)
{
    enum { OPT_FORMAT = 1, OPT_NO_HEADERS };
    static const struct option options[] = {
        { "format", required_argument, NULL, OPT_FORMAT },
        { "no-headers", no_argument, NULL, OPT_NO_HEADERS },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct query q = { NULL, FORMAT_TEXT, false, 0 };
    char *sql = NULL;
    struct db db;
    int option, status;

    while ((option = option_next(argc, argv, "", options)) != -1) {
        switch (option) {
        case OPT_FORMAT:
            if (!option_format(optarg, &q.format))
                return STATUS_USAGE;
            break;
        case OPT_NO_HEADERS:
            q.no_headers = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return STATUS_OK;
        default:
            return STATUS_USAGE;
        }
    }
    if (argc - optind != 2)
        return option_usage("query", "a database and SQL are needed");
    status = db_open(&db, argv[optind]);
    if (status != STATUS_OK)
        return status;
    q.db = &db;
    if (strcmp(argv[optind + 1], "-") == 0)
        sql = read_stdin();
    status = run_sql(&q, sql ? sql : argv[optind + 1]);
    free(sql);
    db_close(&db);
    return status;
}
