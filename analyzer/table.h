/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - a result: typed columns, rows of cells, printed in three formats.
 *
 * One description of the columns drives all formats: text aligns and groups
 * numbers for people; CSV (RFC 4180) and JSON (an array of objects) carry full
 * precision and nothing else.  The name of a time column is followed by its
 * unit there (`total_p50_ns`).
 *
 * Life cycle: table_init; for each row its cells from left to right with
 * table_int and so on; table_print, or for results of any length table_head,
 * table_body as often as wanted (it prints and forgets the rows so far) and
 * table_tail; table_release.
 */
#ifndef XENFLUSH_TABLE_H
#define XENFLUSH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

enum column_type {
    COL_ANY,        /* whatever the cell is, as it stands */
    COL_TEXT,
    COL_ID,         /* a number that names something: not grouped */
    COL_COUNT,      /* an integer; grouped by thousands in text */
    COL_REAL,
    COL_SHARE,      /* 0 to 1; per cent in text */
    COL_TIME,       /* in the table's time unit */
};

struct column {
    const char *name;
    const char *unit;       /* shown under the name in text; NULL: none */
    enum column_type type;
};

enum cell_type { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT };

struct cell {
    enum cell_type type;
    union {
        int64_t integer;
        double real;
        char *text;
    };
};

struct table {
    const struct column *column;
    size_t columns;
    const char *time_unit;  /* of COL_TIME: "ns" or "cycles" */
    bool no_headers;        /* text and CSV: leave out the names */
    struct cell *cell;      /* row by row */
    size_t cells;
    size_t size;
    size_t *width;          /* text; fixed when the head is printed */
    bool any_printed;       /* JSON: a row came before */
};

void table_init(struct table *table, const struct column *column, size_t columns,
                const char *time_unit);
void table_int(struct table *table, int64_t value);
void table_real(struct table *table, double value);     /* NaN becomes NULL */
void table_text(struct table *table, const char *value);/* copied; NULL is NULL */
void table_null(struct table *table);
size_t table_rows(const struct table *table);
const struct cell *table_cell(const struct table *table, size_t row, size_t column);
double table_number(const struct table *table, size_t row, size_t column);  /* NULL: NaN */

void table_print(struct table *table, enum format format, FILE *out);
void table_head(struct table *table, enum format format, FILE *out);
void table_body(struct table *table, enum format format, FILE *out);
void table_tail(struct table *table, enum format format, FILE *out);
void table_release(struct table *table);

/* One number or string as JSON; a real in the shortest form that reads back equal. */
void json_real(FILE *out, double value);        /* NaN: null */
void json_text(FILE *out, const char *text);    /* invalid UTF-8: U+FFFD */
void csv_text(FILE *out, const char *text);

/* A number for people: grouped by thousands.  `out` has NUMBER_SIZE bytes. */
#define NUMBER_SIZE 48
const char *number_int(char *out, int64_t value);
const char *number_real(char *out, double value);

#endif
