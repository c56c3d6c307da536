/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * notes.c - sentences that go with a result; see notes.h.
 */
#define _GNU_SOURCE
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "alloc.h"

void notes_add(struct notes *notes, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    alloc_checked(text);
    notes->text = alloc_grow(notes->text, &notes->size, notes->count, sizeof(*notes->text));
    notes->text[notes->count++] = text;
}

void notes_release(struct notes *notes)
{
    size_t i;

    for (i = 0; i < notes->count; i++)
        free(notes->text[i]);
    free(notes->text);
    *notes = (struct notes)NOTES_INIT;
}
