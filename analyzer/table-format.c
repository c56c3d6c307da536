/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table-format.c - CSV and JSON; see table.h.
 *
 * Numbers carry full precision.  CSV quotes a field with a comma, a quote or
 * a line break and ends lines with CR LF, as RFC 4180 has it; a NULL is an
 * empty field.  JSON escapes control characters and replaces bytes that are
 * not UTF-8 by U+FFFD, so that any name of a file gives a valid document.
 */
#include "table-format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *real_shortest(char *out, size_t size, double value)
{
    int digits;

    for (digits = 15; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

/* Where a valid UTF-8 character of more than one byte is, its length; else 0. */
size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2, i;

    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

void json_text(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length;

    putc('"', out);
    while (*s) {
        if (*s == '"' || *s == '\\') {
            putc('\\', out);
            putc(*s++, out);
        } else if (*s < ' ' || *s == 0x7f) {
            fprintf(out, "\\u%04x", *s++);
        } else if (*s < 0x80) {
            putc(*s++, out);
        } else if ((length = utf8_length(s))) {
            fwrite(s, 1, length, out);
            s += length;
        } else {
            fputs("\\ufffd", out);
            s++;
        }
    }
    putc('"', out);
}

void json_real(FILE *out, double value)
{
    char buffer[NUMBER_SIZE];

    if (isnan(value))
        fputs("null", out);
    else if (isinf(value))
        fputs(value < 0 ? "-1e999" : "1e999", out);
    else
        fputs(real_shortest(buffer, sizeof(buffer), value), out);
}

void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

/* The name of a column for machines; time columns carry their unit. */
static void column_key(const struct table *table, size_t column, char *key, size_t size)
{
    const struct column *c = &table->column[column];

    if (c->type == COL_TIME)
        snprintf(key, size, "%s_%s", c->name, table->time_unit);
    else
        snprintf(key, size, "%s", c->name);
}

void csv_head(const struct table *table, FILE *out)
{
    char key[256];
    size_t i;

    for (i = 0; i < table->columns && !table->no_headers; i++) {
        column_key(table, i, key, sizeof(key));
        csv_text(out, key);
        fputs(i + 1 == table->columns ? "\r\n" : ",", out);
    }
}

void csv_body(const struct table *table, FILE *out)
{
    char buffer[NUMBER_SIZE];
    size_t i;

    for (i = 0; i < table->cells; i++) {
        const struct cell *cell = &table->cell[i];

        switch (cell->type) {
        case CELL_NULL: break;
        case CELL_INT: fprintf(out, "%" PRId64, cell->integer); break;
        case CELL_REAL: fputs(real_shortest(buffer, sizeof(buffer), cell->real), out); break;
        case CELL_TEXT: csv_text(out, cell->text); break;
        }
        fputs((i + 1) % table->columns == 0 ? "\r\n" : ",", out);
    }
}

static void json_cell(FILE *out, const struct cell *cell)
{
    switch (cell->type) {
    case CELL_NULL: fputs("null", out); break;
    case CELL_INT: fprintf(out, "%" PRId64, cell->integer); break;
    case CELL_REAL: json_real(out, cell->real); break;
    case CELL_TEXT: json_text(out, cell->text); break;
    }
}

void json_body(struct table *table, FILE *out)
{
    char key[256];
    size_t row, column;

    for (row = 0; row < table_rows(table); row++) {
        fputs(table->any_printed ? ",\n {" : "\n {", out);
        table->any_printed = true;
        for (column = 0; column < table->columns; column++) {
            column_key(table, column, key, sizeof(key));
            fputs(column ? ", " : "", out);
            json_text(out, key);
            fputs(": ", out);
            json_cell(out, table_cell(table, row, column));
        }
        putc('}', out);
    }
}
