/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * segments.h - where in the trace the records of each CPU are.
 *
 * A segment is a run of bytes that holds whole, good records of one CPU and
 * nothing else.  A long trace has millions of them, so a CPU's list keeps only
 * its newest block in memory; full blocks go to a temporary file, and four
 * bytes remain for each.
 */
#ifndef XENFLUSH_SEGMENTS_H
#define XENFLUSH_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#define SEGMENTS_BLOCK 16

struct segment {
    uint64_t start;             /* pos */
    uint64_t bytes : 63;
    uint64_t gap : 1;           /* bytes of this CPU before it were unusable */
};

struct segment_file {
    const char *directory;      /* for the temporary file */
    int fd;                     /* -1: no block written yet */
    uint32_t blocks;
};

struct segment_list {
    struct segment *tail;       /* newest segments */
    uint32_t tail_count, tail_size;
    uint32_t *block;            /* numbers of full blocks, in order */
    uint32_t blocks, blocks_size;
};

/* All return 0, or -1 with errno set. */
int segments_add(struct segment_file *file, struct segment_list *list, struct segment segment);

/* Walks a list from the front; the list must not change any more. */
struct segment_cursor {
    const struct segment_list *list;
    struct segment *loaded;     /* a block read back; NULL: none yet */
    uint32_t block;             /* next block to load */
    uint32_t index;             /* next segment in `loaded`, or in the tail */
    bool in_tail;
};

/* 1: *out is the next segment; 0: end; -1: errno set. */
int segments_next(const struct segment_file *file, struct segment_cursor *cursor,
                  struct segment *out);

void segments_release(struct segment_list *list);
void segments_close(struct segment_file *file);

#endif
