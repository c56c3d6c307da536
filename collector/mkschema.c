/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mkschema.c - prints the record tables of schema.sql from the event table.
 *
 * `make schema` puts what this prints between the two marker lines of
 * schema.sql; a test checks that the two agree.
 */
#include <stdio.h>

#include "events.h"

static void print_table(const struct xf_event *event)
{
    unsigned int i;

    printf("-- %s 0x%08x: %s.\n", event->name, event->number, event->meaning);
    printf("CREATE TABLE %s (\n"
           "    tsc INTEGER,\n"
           "    ts INTEGER GENERATED ALWAYS AS (tsc) VIRTUAL,\n"
           "    pos INTEGER,\n"
           "    cpu INTEGER,\n"
           "    dom INTEGER,\n"
           "    vcpu INTEGER", event->table);
    for (i = 0; i < event->columns; i++) {
        const struct xf_column *column = &event->column[i];
        const char *comma = i + 1 < event->columns ? "," : "";

        printf("%s\n    %s INTEGER%s%*s-- %s", i ? "" : ",", column->name, comma,
               (int)(16 - snprintf(NULL, 0, "%s%s", column->name, comma)), "",
               column->meaning);
    }
    printf("\n);\n\n");
}

int main(void)
{
    unsigned int i;

    for (i = 0; i < XF_EVENTS; i++)
        print_table(&xf_events[i]);
    return 0;
}
