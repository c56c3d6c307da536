/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * notes.h - sentences that go with a result: what limits it, what it means.
 */
#ifndef XENFLUSH_NOTES_H
#define XENFLUSH_NOTES_H

#include <stddef.h>

struct notes {
    char **text;
    size_t count;
    size_t size;
};

#define NOTES_INIT { NULL, 0, 0 }

void notes_add(struct notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void notes_release(struct notes *notes);

#endif
