/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table-format.h - the machine-readable forms of a table, for table.c.
 */
#ifndef XENFLUSH_TABLE_FORMAT_H
#define XENFLUSH_TABLE_FORMAT_H

#include "table.h"

void csv_head(const struct table *table, FILE *out);
void csv_body(const struct table *table, FILE *out);
void json_body(struct table *table, FILE *out);

/* Length of the valid UTF-8 character of two bytes or more at s; 0: there is none. */
size_t utf8_length(const unsigned char *s);

/* The shortest decimal form that reads back as the same double. */
const char *real_shortest(char *out, size_t size, double value);

#endif
