/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * alloc.h - memory for results.
 *
 * Results are small (whatever grows with the trace is streamed), so running
 * out of memory ends the program with a message.
 */
#ifndef XENFLUSH_ALLOC_H
#define XENFLUSH_ALLOC_H

#include <stdlib.h>
#include <string.h>

#include "log.h"

static inline void *alloc_checked(void *memory)
{
    if (!memory) {
        log_error("out of memory");
        exit(1);
    }
    return memory;
}

/* Room for one more element: doubles *size when count has reached it. */
static inline void *alloc_grow(void *array, size_t *size, size_t count, size_t element)
{
    if (count < *size)
        return array;
    *size = *size ? *size * 2 : 16;
    return alloc_checked(realloc(array, *size * element));
}

static inline char *alloc_text(const char *text)
{
    return alloc_checked(strdup(text));
}

#endif
