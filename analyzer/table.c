/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.c - rows of cells, and their aligned text form; see table.h.
 *
 * Text needs the width of each column before the first row is printed: the
 * widths are those of the rows present at table_head, and a wider cell later
 * moves its own line only.  CSV and JSON are in table-format.c.
 */
#include "table.h"

#include <inttypes.h>
#include <math.h>

#include "alloc.h"
#include "table-format.h"

void table_init(struct table *table, const struct column *column, size_t columns,
                const char *time_unit)
{
    memset(table, 0, sizeof(*table));
    table->column = column;
    table->columns = columns;
    table->time_unit = time_unit;
}

static struct cell *new_cell(struct table *table, enum cell_type type)
{
    struct cell *cell;

    table->cell = alloc_grow(table->cell, &table->size, table->cells, sizeof(*table->cell));
    cell = &table->cell[table->cells++];
    cell->type = type;
    return cell;
}

void table_int(struct table *table, int64_t value)
{
    new_cell(table, CELL_INT)->integer = value;
}

void table_real(struct table *table, double value)
{
    if (isnan(value))
        table_null(table);
    else
        new_cell(table, CELL_REAL)->real = value;
}

void table_text(struct table *table, const char *value)
{
    if (!value)
        table_null(table);
    else
        new_cell(table, CELL_TEXT)->text = alloc_text(value);
}

void table_null(struct table *table)
{
    new_cell(table, CELL_NULL)->integer = 0;
}

size_t table_rows(const struct table *table)
{
    return table->columns ? table->cells / table->columns : 0;
}

const struct cell *table_cell(const struct table *table, size_t row, size_t column)
{
    return &table->cell[row * table->columns + column];
}

double table_number(const struct table *table, size_t row, size_t column)
{
    const struct cell *cell = table_cell(table, row, column);

    switch (cell->type) {
    case CELL_INT: return (double)cell->integer;
    case CELL_REAL: return cell->real;
    default: return NAN;
    }
}

const char *number_int(char *out, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, value);
    int first = value < 0, i, n = 0;

    for (i = 0; i < length; i++) {
        if (i > first && (length - i) % 3 == 0)
            out[n++] = ',';
        out[n++] = digits[i];
    }
    out[n] = '\0';
    return out;
}

const char *number_real(char *out, double value)
{
    double size = fabs(value);

    if (value == 0 || (isfinite(value) && size >= 99.95 && size < 9e15))
        return number_int(out, llround(value));
    snprintf(out, NUMBER_SIZE, size >= 1e15 ? "%.6g" : size >= 9.995 ? "%.1f" : "%.2f", value);
    return out;
}

/* The text of a cell for people.  `buffer` has NUMBER_SIZE bytes. */
static const char *cell_show(const struct cell *cell, enum column_type type, char *buffer)
{
    switch (cell->type) {
    case CELL_NULL:
        return type == COL_ANY ? "" : "-";
    case CELL_TEXT:
        return cell->text;
    case CELL_INT:
        if (type == COL_COUNT || type == COL_TIME)
            return number_int(buffer, cell->integer);
        snprintf(buffer, NUMBER_SIZE, "%" PRId64, cell->integer);
        return buffer;
    case CELL_REAL:
        break;
    }
    if (type == COL_ANY)
        return real_shortest(buffer, NUMBER_SIZE, cell->real);
    if (type == COL_SHARE) {
        snprintf(buffer, NUMBER_SIZE, "%.1f%%", cell->real * 100);
        return buffer;
    }
    return number_real(buffer, cell->real);
}

/* Columns that text takes: bytes less those that continue a UTF-8 character. */
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static const char *column_unit(const struct table *table, size_t column)
{
    const struct column *c = &table->column[column];

    return c->type == COL_TIME ? table->time_unit : c->unit ? c->unit : "";
}

static void measure(struct table *table)
{
    char buffer[NUMBER_SIZE];
    size_t i, width;

    table->width = alloc_checked(calloc(table->columns + 1, sizeof(*table->width)));
    for (i = 0; i < table->columns && !table->no_headers; i++) {
        table->width[i] = text_width(table->column[i].name);
        width = text_width(column_unit(table, i));
        if (width > table->width[i])
            table->width[i] = width;
    }
    for (i = 0; i < table->cells; i++) {
        width = text_width(cell_show(&table->cell[i], table->column[i % table->columns].type,
                                     buffer));
        if (width > table->width[i % table->columns])
            table->width[i % table->columns] = width;
    }
}

/* One cell of a line; control characters would break the line. */
static void show(const struct table *table, size_t column, const char *text, bool right,
                 FILE *out)
{
    size_t width = text_width(text);
    size_t pad = width < table->width[column] ? table->width[column] - width : 0;
    bool last = column + 1 == table->columns;

    if (right)
        fprintf(out, "%*s", (int)pad, "");
    for (; *text; text++)
        putc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, out);
    if (!right && !last)
        fprintf(out, "%*s", (int)pad, "");
    fputs(last ? "\n" : "  ", out);
}

static void text_head(struct table *table, FILE *out)
{
    bool units = false;
    size_t i;

    measure(table);
    if (table->no_headers)
        return;
    for (i = 0; i < table->columns; i++)
        units |= *column_unit(table, i) != '\0';
    for (i = 0; i < table->columns; i++)
        show(table, i, table->column[i].name, table->column[i].type > COL_TEXT, out);
    for (i = 0; i < table->columns && units; i++)
        show(table, i, column_unit(table, i), table->column[i].type > COL_TEXT, out);
    for (i = 0; i < table->columns; i++) {
        size_t n;

        for (n = 0; n < table->width[i]; n++)
            putc('-', out);
        fputs(i + 1 == table->columns ? "\n" : "  ", out);
    }
}

static void text_body(const struct table *table, FILE *out)
{
    char buffer[NUMBER_SIZE];
    size_t i;

    for (i = 0; i < table->cells; i++) {
        enum column_type type = table->column[i % table->columns].type;
        const struct cell *cell = &table->cell[i];
        bool right = type > COL_TEXT || (type == COL_ANY && cell->type != CELL_TEXT);

        show(table, i % table->columns, cell_show(cell, type, buffer), right, out);
    }
}

static void forget_rows(struct table *table)
{
    size_t i;

    for (i = 0; i < table->cells; i++)
        if (table->cell[i].type == CELL_TEXT)
            free(table->cell[i].text);
    table->cells = 0;
}

void table_head(struct table *table, enum format format, FILE *out)
{
    switch (format) {
    case FORMAT_TEXT: text_head(table, out); break;
    case FORMAT_CSV: csv_head(table, out); break;
    case FORMAT_JSON: fputs("[", out); break;
    }
}

void table_body(struct table *table, enum format format, FILE *out)
{
    switch (format) {
    case FORMAT_TEXT: text_body(table, out); break;
    case FORMAT_CSV: csv_body(table, out); break;
    case FORMAT_JSON: json_body(table, out); break;
    }
    forget_rows(table);
}

void table_tail(struct table *table, enum format format, FILE *out)
{
    (void)table;
    if (format == FORMAT_JSON)
        fputs("\n]\n", out);
}

void table_print(struct table *table, enum format format, FILE *out)
{
    table_head(table, format, out);
    table_body(table, format, out);
    table_tail(table, format, out);
}

void table_release(struct table *table)
{
    forget_rows(table);
    free(table->cell);
    free(table->width);
    memset(table, 0, sizeof(*table));
}
