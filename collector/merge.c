/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * merge.c - see merge.h.
 *
 * How it works: a binary heap holds one cursor a CPU, each at its next timed
 * record.  The cursor at the top gives out records until its time passes that
 * of the runner-up; only then is the heap mended.  The segments were found good
 * by the scan; a record that is not any more means that the file has changed.
 */
#include "merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "log.h"
#include "wire.h"

/* All buffers together, and bounds of one. */
#define BUFFERS_BYTES (8 * 1024 * 1024)
#define BUFFER_MIN    256
#define BUFFER_MAX    (256 * 1024)

struct cursor {
    const struct scan_cpu *cpu;
    struct segment_cursor segments;
    struct segment segment;     /* current one: start and bytes move on */
    unsigned char *buffer;
    size_t buffer_size, filled, used;
    struct clock_merge clock;
    uint64_t order;             /* time of the timed record in `next` */
    bool has_tsc;
    uint64_t tsc;               /* last timed record given out */
    bool gap;                   /* to be told with the next record */
    struct merge_record next;
};

struct merge {
    struct scan *scan;
    struct cursor *cursor;
    struct cursor **heap;
    uint32_t heap_size;
    merge_function *function;
    void *context;
    uint64_t done;              /* bytes given out */
};

static int changed(const struct merge *merge, uint64_t pos)
{
    const struct piece *piece = input_piece(merge->scan->input, pos);

    log_error("%s: changed while it was read, at byte %llu", piece->name,
              (unsigned long long)(pos - piece->start));
    return -1;
}

/* Makes the rest of the segment readable, at least one record.  0: none left. */
static int refill(struct merge *merge, struct cursor *cursor)
{
    size_t left = cursor->filled - cursor->used, want;
    int64_t n;
    int rc;

    while (cursor->segment.bytes == 0 && left == 0) {
        rc = segments_next(&merge->scan->segment_file, &cursor->segments, &cursor->segment);
        if (rc < 0)
            log_error("cannot read the index of the trace: %s", strerror(errno));
        if (rc <= 0)
            return rc;
        cursor->gap |= cursor->segment.gap;
    }
    memmove(cursor->buffer, cursor->buffer + cursor->used, left);
    want = cursor->buffer_size - left;
    if (want > cursor->segment.bytes)
        want = (size_t)cursor->segment.bytes;
    n = input_read(merge->scan->input, cursor->segment.start, cursor->buffer + left, want);
    if (n < 0)
        return -1;
    if ((size_t)n < want)
        return changed(merge, cursor->segment.start);
    cursor->segment.start += want;
    cursor->segment.bytes -= want;
    cursor->used = 0;
    cursor->filled = left + want;
    return 1;
}

/* Reads the next record into cursor->next.  1, 0 at the end, or -1. */
static int read_record(struct merge *merge, struct cursor *cursor)
{
    struct merge_record *next = &cursor->next;
    size_t left = cursor->filled - cursor->used;
    const unsigned char *p;
    uint32_t size;
    int rc;

    if (left < WIRE_MAX_RECORD && (left == 0 || cursor->segment.bytes)) {
        rc = refill(merge, cursor);
        if (rc <= 0)
            return rc;
        left = cursor->filled - cursor->used;
    }
    p = cursor->buffer + cursor->used;
    next->pos = cursor->segment.start - left;
    if (left < 4)
        return changed(merge, next->pos);
    next->header = wire_word(p);
    size = wire_size(next->header);
    if (size > left || !wire_plausible(next->header))
        return changed(merge, next->pos);
    next->extra = p + wire_extra(next->header);
    next->before_tsc = cursor->has_tsc ? cursor->tsc : 0;
    if (wire_timed(next->header))
        next->tsc = wire_tsc(p);
    else
        next->tsc = cursor->tsc;
    cursor->used += size;
    return 1;
}

static int give(struct merge *merge, struct cursor *cursor)
{
    struct merge_record *next = &cursor->next;

    if (wire_timed(next->header)) {
        if (!cursor->has_tsc)
            next->before_tsc = next->tsc;
        cursor->has_tsc = true;
        cursor->tsc = next->tsc;
    }
    next->has_tsc = cursor->has_tsc;
    next->gap = cursor->gap;
    cursor->gap = false;
    merge->done += wire_size(next->header);
    return merge->function(merge->context, next);
}

/*
 * Moves to the cursor's next timed record; untimed ones on the way are given
 * out.  A wrap record's stamp, where it has one, is no time.  1, 0 at the end,
 * or what stops the merge.
 */
static int advance(struct merge *merge, struct cursor *cursor)
{
    int rc;

    for (;;) {
        rc = read_record(merge, cursor);
        if (rc <= 0)
            return rc;
        if (wire_event(cursor->next.header) == WIRE_WRAP_BUFFER)
            cursor->next.header &= 0x7fffffff;
        if (wire_timed(cursor->next.header))
            break;
        cursor->next.tsc = cursor->tsc;
        rc = give(merge, cursor);
        if (rc)
            return rc > 0 ? -rc : rc;
    }
    cursor->order = clock_order(&cursor->clock, cursor->next.tsc, cursor->next.pos);
    return 1;
}

static bool before(const struct cursor *a, const struct cursor *b)
{
    if (a->clock.epoch != b->clock.epoch)
        return a->clock.epoch < b->clock.epoch;
    if (a->order != b->order)
        return a->order < b->order;
    return a->cpu->cpu < b->cpu->cpu;
}

static void sift_down(struct merge *merge, uint32_t i)
{
    struct cursor *moving = merge->heap[i];
    uint32_t child;

    while ((child = 2 * i + 1) < merge->heap_size) {
        if (child + 1 < merge->heap_size && before(merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!before(merge->heap[child], moving))
            break;
        merge->heap[i] = merge->heap[child];
        i = child;
    }
    merge->heap[i] = moving;
}

/* The cursor that follows the top, or NULL. */
static const struct cursor *runner_up(const struct merge *merge)
{
    if (merge->heap_size < 2)
        return NULL;
    if (merge->heap_size > 2 && before(merge->heap[2], merge->heap[1]))
        return merge->heap[2];
    return merge->heap[1];
}

/* Gives out records of the top cursor while they come first. */
static int run_top(struct merge *merge)
{
    struct cursor *top = merge->heap[0];
    const struct cursor *second = runner_up(merge);
    int rc;

    do {
        rc = give(merge, top);
        if (rc)
            return rc;
        rc = advance(merge, top);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            merge->heap[0] = merge->heap[--merge->heap_size];
            break;
        }
    } while (!second || before(top, second));
    if (merge->heap_size)
        sift_down(merge, 0);
    return 0;
}

static int open_cursors(struct merge *merge)
{
    struct scan *scan = merge->scan;
    size_t size = BUFFERS_BYTES / (scan->cpus ? scan->cpus : 1);
    uint32_t i;

    size = size < BUFFER_MIN ? BUFFER_MIN : size > BUFFER_MAX ? BUFFER_MAX : size;
    merge->cursor = calloc(scan->cpus, sizeof(*merge->cursor));
    merge->heap = calloc(scan->cpus, sizeof(*merge->heap));
    for (i = 0; merge->cursor && merge->heap && i < scan->cpus; i++) {
        struct cursor *cursor = &merge->cursor[i];
        const struct scan_cpu *cpu = scan->cpu[i];
        int rc;

        cursor->cpu = cpu;
        cursor->segments.list = &cpu->segments;
        cursor->clock.next = cpu->clock.correction;
        cursor->clock.end = cpu->clock.corrections ? cpu->clock.correction + cpu->clock.corrections
                                                   : cpu->clock.correction;
        cursor->clock.epoch = cpu->clock.first_epoch;
        cursor->next.cpu = cpu->cpu;
        cursor->buffer = malloc(size);
        cursor->buffer_size = size;
        if (!cursor->buffer)
            break;
        rc = advance(merge, cursor);
        if (rc < 0)
            return rc;
        if (rc)
            merge->heap[merge->heap_size++] = cursor;
    }
    if (i < scan->cpus) {
        log_error("no memory");
        return -1;
    }
    for (i = merge->heap_size; i-- > 0;)
        sift_down(merge, i);
    return 0;
}

int merge_run(struct scan *scan, merge_function *function, void *context)
{
    struct merge merge = { .scan = scan, .function = function, .context = context };
    uint32_t i;
    int rc = open_cursors(&merge);

    while (rc == 0 && merge.heap_size) {
        log_progress("importing", merge.done, scan->input->bytes);
        rc = interrupted() ? -1 : run_top(&merge);
    }
    log_progress("importing", scan->input->bytes, scan->input->bytes);
    for (i = 0; merge.cursor && i < scan->cpus; i++) {
        free(merge.cursor[i].buffer);
        free(merge.cursor[i].segments.loaded);
    }
    free(merge.cursor);
    free(merge.heap);
    return rc;
}
