/* SPDX-License-Identifier: GPL-2.0-only */
/* scan.c - see scan.h. */
#define _GNU_SOURCE
#include "scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "log.h"
#include "wire.h"

#define BUFFER_BYTES (1024 * 1024)
#define CHAIN_RECORDS 8

/* The window being walked. */
struct window {
    struct scan_cpu *cpu;
    uint64_t header;            /* pos of its header */
    uint64_t end;               /* by its size; UINT64_MAX once the size is known to be wrong */
    uint32_t size;
    uint64_t segment;           /* pos where the current run of good records began */
    bool told;                  /* damage in it has been noted */
};

struct walk {
    struct scan *scan;
    struct reader reader;
    uint64_t size;              /* of the trace */
    uint64_t piece_end;         /* of the piece being walked */
    int failed;
};

static const unsigned char *bytes_at(struct walk *walk, uint64_t pos, size_t want, size_t *got)
{
    return reader_at(&walk->reader, pos, want, got);
}

/* The word at pos; false: the trace ends before. */
static bool word_at(struct walk *walk, uint64_t pos, uint32_t *word)
{
    size_t got;
    const unsigned char *p;

    if (pos + 4 > walk->size)
        return false;
    p = bytes_at(walk, pos, 4, &got);
    if (got < 4)
        return false;
    *word = wire_word(p);
    return true;
}

/* Is there a header of a window that can be used? */
static bool window_at(struct walk *walk, uint64_t pos, uint32_t *cpu, uint32_t *size)
{
    size_t got;
    const unsigned char *p;

    if (pos + WIRE_WINDOW_BYTES > walk->size)
        return false;
    p = bytes_at(walk, pos, WIRE_WINDOW_BYTES, &got);
    if (got < WIRE_WINDOW_BYTES || wire_word(p) != WIRE_WINDOW_HEADER ||
        wire_word(p + 4) > WIRE_MAX_CPU || wire_word(p + 8) == WIRE_WINDOW_HEADER)
        return false;
    *cpu = wire_word(p + 4);
    *size = wire_word(p + 8);
    return true;
}

static bool is_window_at(struct walk *walk, uint64_t pos)
{
    uint32_t cpu, size;

    return window_at(walk, pos, &cpu, &size);
}

/*
 * Do plausible records follow each other from pos on, eight of them, or up to
 * `end`, the end of the trace or the next window?  The last one may be cut by the
 * end of the trace.
 */
static bool chain_to(struct walk *walk, uint64_t pos, uint64_t end)
{
    uint32_t header, records;

    for (records = 0; records < CHAIN_RECORDS; records++) {
        if (records && (pos == end || pos == walk->size || is_window_at(walk, pos)))
            return true;
        if (!word_at(walk, pos, &header) || !wire_plausible(header))
            return false;
        if (pos + wire_size(header) > walk->size)
            return records > 0;
        pos += wire_size(header);
    }
    return true;
}

static bool chain_at(struct walk *walk, uint64_t pos)
{
    return chain_to(walk, pos, walk->size);
}

/* A header found by searching must be followed by what a window holds. */
static bool window_found(struct walk *walk, uint64_t pos)
{
    uint32_t cpu, size;

    if (!window_at(walk, pos, &cpu, &size))
        return false;
    pos += WIRE_WINDOW_BYTES;
    return pos == walk->size || is_window_at(walk, pos) || chain_to(walk, pos, pos + size);
}

/*
 * The next usable place from pos on: a window header, or, before `records_end`,
 * a chain of records.  The end of the trace if there is none.
 */
static uint64_t find_next(struct walk *walk, uint64_t pos, uint64_t records_end)
{
    while (pos < walk->size && !interrupted()) {
        size_t got, i;
        const unsigned char *p = bytes_at(walk, pos, 4096, &got);

        if (got < 4)
            return walk->size;
        if (pos >= records_end) {
            const unsigned char *hit = memmem(p, got, "\x03\xf0\x01\x20", 4);

            if (!hit) {
                pos += got - 3;
                continue;
            }
            pos += (uint64_t)(hit - p);
            if (window_found(walk, pos))
                return pos;
            pos++;
            continue;
        }
        for (i = 0; i + 4 <= got; i++) {
            uint32_t word = wire_word(p + i);

            if (word == WIRE_WINDOW_HEADER || (pos + i < records_end && wire_plausible(word)))
                break;
        }
        pos += i;
        if (i + 4 > got)
            continue;
        if (window_found(walk, pos) || (pos < records_end && chain_at(walk, pos)))
            return pos;
        pos++;
    }
    return walk->size;
}

static void note(struct walk *walk, const char *kind, uint64_t pos, uint64_t bytes,
                 struct window *window, const char *what)
{
    struct damage damage = {
        .kind = kind, .pos = pos, .bytes = bytes,
        .cpu = window ? window->cpu->cpu : DAMAGE_NO_CPU
    };

    damage_note(walk->scan->damage, &damage, "%s", what);
    if (window) {
        window->told = true;
        window->cpu->gap |= bytes > 0;
    } else {
        walk->scan->gaps_of_all++;      /* whose bytes they were is not known */
    }
}

static void note_size(struct walk *walk, const struct window *window, uint64_t really)
{
    struct damage damage = {
        .kind = "window", .pos = window->header, .cpu = window->cpu->cpu
    };

    damage_note(walk->scan->damage, &damage,
                "window says %" PRIu32 " bytes but has %" PRIu64, window->size, really);
}

static struct scan_cpu *cpu_of(struct walk *walk, uint32_t id)
{
    struct scan *scan = walk->scan;
    struct scan_cpu *cpu = map_get(&scan->by_id, id);
    struct scan_cpu **grown;

    if (cpu)
        return cpu;
    if ((scan->cpus & (scan->cpus - 1)) == 0) {
        grown = realloc(scan->cpu, (scan->cpus ? scan->cpus * 2 : 1) * sizeof(*grown));
        if (!grown)
            return NULL;
        scan->cpu = grown;
    }
    cpu = calloc(1, sizeof(*cpu));
    if (!cpu || map_put(&scan->by_id, id, cpu)) {
        free(cpu);
        return NULL;
    }
    cpu->cpu = cpu->clock.cpu = id;
    scan->cpu[scan->cpus++] = cpu;
    return cpu;
}

static void take_lost(struct walk *walk, struct window *window, uint64_t pos,
                      uint32_t header, const unsigned char *record)
{
    struct scan *scan = walk->scan;
    const unsigned char *extra = record + wire_extra(header);

    bool told = window->told;

    scan->lost_intervals++;
    if (!wire_timed(header) || wire_words(header) != 4) {
        note(walk, "lost", pos, 0, window, "lost-records record of another layout");
        window->told = told;    /* its bytes are in order */
        return;
    }
    scan->lost += wire_word(extra);
    window->cpu->lost += wire_word(extra);
    if ((wire_word(extra + 8) | (uint64_t)wire_word(extra + 12) << 32) > wire_tsc(record))
        note(walk, "lost", pos, 0, window, "first lost TSC after the lost-records record");
    window->told = told;
}

static void take_record(struct walk *walk, struct window *window, uint64_t pos,
                        uint32_t header, const unsigned char *record)
{
    struct scan *scan = walk->scan;

    scan->records++;
    window->cpu->records++;
    if (wire_event(header) == WIRE_WRAP_BUFFER) {
        scan->wraps++;
        return;
    }
    if (wire_timed(header))
        clock_scan_record(&scan->clock, &window->cpu->clock, wire_tsc(record), pos);
    else
        scan->untimed++;
    if (wire_event(header) == WIRE_LOST_RECORDS)
        take_lost(walk, window, pos, header, record);
}

/* Ends the current run of good records at pos. */
static void close_segment(struct walk *walk, struct window *window, uint64_t pos)
{
    struct scan_cpu *cpu = window->cpu;
    struct segment segment = {
        .start = window->segment, .bytes = pos - window->segment,
        .gap = cpu->gap || cpu->gaps_seen != walk->scan->gaps_of_all
    };

    if (pos <= window->segment)
        return;
    cpu->gap = false;
    cpu->gaps_seen = walk->scan->gaps_of_all;
    if (segments_add(&walk->scan->segment_file, &window->cpu->segments, segment)) {
        log_error("cannot keep the index of the trace: %s", strerror(errno));
        walk->failed = 1;
    }
}

/* Bytes at pos are no record: leaves them out.  Where to go on. */
static uint64_t skip_garbage(struct walk *walk, struct window *window, uint64_t pos,
                             const char *what)
{
    uint64_t limit = window->end == UINT64_MAX ? pos : window->end;
    uint64_t next = find_next(walk, pos + 1, limit);

    close_segment(walk, window, pos);
    note(walk, "garbage", pos, next - pos, window, what);
    window->segment = next;
    return next;
}

/* The record's end lies behind the window's end by its size: who is right? */
static bool crosses_end(struct walk *walk, struct window *window, uint64_t pos, uint64_t end)
{
    if (is_window_at(walk, window->end)) {
        close_segment(walk, window, pos);
        note(walk, "record", pos, window->end - pos, window, "record cut by the end of its window");
        return true;
    }
    if (end == walk->size || is_window_at(walk, end) || chain_at(walk, end))
        window->end = UINT64_MAX;
    return false;
}

/*
 * Does the piece end within this record?  A rotated trace begins each piece with
 * a window; where none is, the pieces were cut anywhere and go on.
 */
static bool cut_by_piece(struct walk *walk, struct window *window, uint64_t pos, uint64_t end)
{
    if (pos >= walk->piece_end) {
        const struct piece *piece = input_piece(walk->scan->input, pos);

        walk->piece_end = piece->start + piece->bytes;
    }
    if (end <= walk->piece_end || !is_window_at(walk, walk->piece_end))
        return false;
    close_segment(walk, window, pos);
    note(walk, "cut", pos, walk->piece_end - pos, window, "record cut by the end of its piece");
    return true;
}

/* Walks one window.  Returns the pos after it. */
static uint64_t walk_window(struct walk *walk, struct window *window)
{
    uint64_t pos = window->segment;
    uint32_t header, size;
    size_t got;
    const unsigned char *p;

    while (!walk->failed) {
        if (pos == walk->size)
            break;
        if (pos == window->end) {
            if (is_window_at(walk, pos) || !chain_at(walk, pos))
                break;
            window->end = UINT64_MAX;
        }
        p = bytes_at(walk, pos, WIRE_MAX_RECORD, &got);
        if (got < 4) {
            close_segment(walk, window, pos);
            note(walk, "cut", pos, walk->size - pos, window, "stray bytes at the end");
            return walk->size;
        }
        header = wire_word(p);
        if (header == WIRE_WINDOW_HEADER)
            break;
        size = wire_size(header);
        if (!wire_plausible(header)) {
            if (pos >= window->end)
                break;
            pos = skip_garbage(walk, window, pos, "bytes that are no record");
            if (pos == walk->size || is_window_at(walk, pos))
                break;
            continue;
        }
        if (size > got) {
            close_segment(walk, window, pos);
            note(walk, "cut", pos, walk->size - pos, window, "record cut by the end of the trace");
            return walk->size;
        }
        if (pos + size > walk->piece_end && cut_by_piece(walk, window, pos, pos + size))
            return walk->piece_end;
        if (pos < window->end && pos + size > window->end &&
            crosses_end(walk, window, pos, pos + size))
            return window->end;
        /* The look ahead may have moved the buffer. */
        p = bytes_at(walk, pos, WIRE_MAX_RECORD, &got);
        take_record(walk, window, pos, header, p);
        pos += size;
    }
    close_segment(walk, window, pos);
    return pos;
}

static void check_size(struct walk *walk, const struct window *window, uint64_t pos)
{
    uint64_t begin = window->header + WIRE_WINDOW_BYTES;

    if (begin + window->size == pos || window->told)
        return;
    if (begin + window->size > walk->size && pos == walk->size) {
        struct damage damage = { .kind = "cut", .pos = window->header, .cpu = window->cpu->cpu };

        damage_note(walk->scan->damage, &damage,
                    "window of %" PRIu32 " bytes goes past the end of the trace", window->size);
        return;
    }
    note_size(walk, window, pos - begin);
}

static uint64_t take_window(struct walk *walk, uint64_t pos, uint32_t cpu, uint32_t size)
{
    struct window window = {
        .cpu = cpu_of(walk, cpu), .header = pos, .size = size,
        .segment = pos + WIRE_WINDOW_BYTES, .end = pos + WIRE_WINDOW_BYTES + size
    };

    if (!window.cpu) {
        log_error("no memory for another CPU");
        walk->failed = 1;
        return walk->size;
    }
    walk->scan->windows++;
    window.cpu->windows++;
    pos = walk_window(walk, &window);
    check_size(walk, &window, pos);
    return pos;
}

/* Between windows: nothing here can be used up to the next header. */
static uint64_t skip_to_window(struct walk *walk, uint64_t pos)
{
    uint64_t next = find_next(walk, pos + 1, pos);
    uint32_t word = 0;
    const char *what = "garbage between windows";

    if (walk->size - pos < 4)
        what = "stray bytes at the end";
    else if (word_at(walk, pos, &word) && word == 0)
        what = "zeros between windows";
    else if (word == WIRE_WINDOW_HEADER && walk->size - pos < WIRE_WINDOW_BYTES)
        what = "window header cut by the end of the trace";
    else if (word == WIRE_WINDOW_HEADER)
        what = "window of an impossible CPU";
    else if (walk->scan->windows == 0)
        what = "no window header at the start";
    note(walk, "garbage", pos, next - pos, NULL, what);
    return next;
}

static int by_id(const void *a, const void *b)
{
    uint32_t left = (*(struct scan_cpu *const *)a)->cpu;
    uint32_t right = (*(struct scan_cpu *const *)b)->cpu;

    return (left > right) - (left < right);
}

int scan_run(struct scan *scan, const struct input *input, struct damage_log *damage,
             const char *spool_dir, uint64_t tsc_hz)
{
    struct walk walk = { .scan = scan, .size = input->bytes };
    uint64_t pos = 0;
    uint32_t cpu, size, i;

    *scan = (struct scan){ .input = input, .damage = damage };
    scan->segment_file = (struct segment_file){ .directory = spool_dir, .fd = -1 };
    scan->clock = (struct clock_trace){
        .far = tsc_hz ? tsc_hz : UINT64_C(1) << 31, .smallest = UINT64_MAX, .damage = damage
    };
    if (reader_init(&walk.reader, input, BUFFER_BYTES)) {
        log_error("no memory");
        return -1;
    }
    while (pos < walk.size && !walk.failed && !walk.reader.failed && !interrupted()) {
        log_progress("scanning", pos, walk.size);
        pos = window_at(&walk, pos, &cpu, &size) ? take_window(&walk, pos, cpu, size)
                                                 : skip_to_window(&walk, pos);
    }
    for (i = 0; i < scan->cpus; i++)
        clock_scan_end(&scan->clock, &scan->cpu[i]->clock);
    if (scan->cpus)
        qsort(scan->cpu, scan->cpus, sizeof(*scan->cpu), by_id);
    log_progress("scanning", walk.size, walk.size);
    reader_release(&walk.reader);
    return walk.failed || walk.reader.failed || interrupted() ? -1 : 0;
}

void scan_release(struct scan *scan)
{
    uint32_t i;

    for (i = 0; i < scan->cpus; i++) {
        segments_release(&scan->cpu[i]->segments);
        free(scan->cpu[i]->clock.correction);
        free(scan->cpu[i]);
    }
    free(scan->cpu);
    map_release(&scan->by_id);
    segments_close(&scan->segment_file);
}
