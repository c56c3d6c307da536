/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.c - see clock.h. */
#include "clock.h"

#include <inttypes.h>
#include <stdlib.h>

static void note(struct clock_trace *trace, struct clock_scan *clock, uint64_t pos,
                 uint64_t tsc, uint64_t before, const char *fault, const char *what)
{
    struct damage damage = {
        .kind = "clock", .fault = fault, .pos = pos, .cpu = clock->cpu, .tsc = tsc, .before_tsc = before
    };

    damage_note(trace->damage, &damage, "TSC of CPU %" PRIu32 " %s, %" PRIu64 " to %" PRIu64,
                clock->cpu, what, before, tsc);
}

/* False: too many, or no memory; then the record counts as a step. */
static bool correct(struct clock_trace *trace, struct clock_scan *clock, uint64_t pos, bool fall)
{
    uint32_t n = clock->corrections;

    if (trace->corrections >= CLOCK_MAX_CORRECTIONS)
        return false;
    if ((n & (n - 1)) == 0) {   /* full at every power of two */
        struct clock_correction *grown =
            realloc(clock->correction, (n ? n * 2 : 1) * sizeof(*grown));

        if (!grown)
            return false;
        clock->correction = grown;
    }
    clock->correction[clock->corrections++] = (struct clock_correction){ pos, fall };
    trace->corrections++;
    return true;
}

static void start(struct clock_trace *trace, struct clock_scan *clock, uint64_t tsc, uint64_t pos)
{
    clock->started = true;
    clock->first_epoch = trace->epoch;
    clock->first = clock->last = clock->max = clock->max_before = tsc;
    clock->last_pos = clock->max_pos = pos;
    if (tsc < trace->smallest)
        trace->smallest = tsc;
}

static void step_back(struct clock_trace *trace, struct clock_scan *clock,
                      uint64_t tsc, uint64_t pos, const char *what)
{
    if (!clock->behind)
        note(trace, clock, pos, tsc, clock->max, "step", what);
    clock->behind = true;
}

/* The record before was far back; this one tells whether the clock stays there. */
static void settle_fall(struct clock_trace *trace, struct clock_scan *clock, uint64_t tsc)
{
    clock->falling = false;
    if (tsc < clock->max && correct(trace, clock, clock->last_pos, true)) {
        note(trace, clock, clock->last_pos, clock->last, clock->max, "fall",
             "falls back: a resume, or a second trace");
        if (clock->max > trace->largest)
            trace->largest = clock->max;
        clock->max = clock->max_before = clock->last;
        clock->max_pos = clock->last_pos;
        clock->behind = false;
        clock->falls++;
        if (clock->first_epoch + clock->falls > trace->epoch)
            trace->epoch = clock->first_epoch + clock->falls;
        return;
    }
    step_back(trace, clock, clock->last, clock->last_pos, "goes back for one record");
}

void clock_scan_slow(struct clock_trace *trace, struct clock_scan *clock,
                     uint64_t tsc, uint64_t pos)
{
    if (tsc < trace->smallest)
        trace->smallest = tsc;
    if (!clock->started) {
        start(trace, clock, tsc, pos);
        return;
    }
    if (clock->falling)
        settle_fall(trace, clock, tsc);
    if (tsc >= clock->max) {
        clock->max_before = clock->max;
        clock->max = tsc;
        clock->max_pos = pos;
        clock->behind = false;
    } else if (clock->max_pos == clock->last_pos && tsc >= clock->max_before &&
               clock->max - tsc > trace->far && clock->max - clock->max_before > trace->far &&
               clock->max_pos != pos && correct(trace, clock, clock->max_pos, false)) {
        note(trace, clock, clock->max_pos, clock->max, clock->max_before, "spike",
             "jumps ahead for one record");
        clock->max = tsc;
        clock->max_pos = pos;
        clock->behind = false;
    } else if (clock->max - tsc > trace->far && !clock->behind) {
        clock->falling = true;
    } else {
        step_back(trace, clock, tsc, pos, "steps back");
    }
    clock->last = tsc;
    clock->last_pos = pos;
}

void clock_scan_end(struct clock_trace *trace, struct clock_scan *clock)
{
    if (!clock->started)
        return;
    if (clock->falling)
        step_back(trace, clock, clock->last, clock->last_pos, "goes back at its end");
    if (clock->max > trace->largest)
        trace->largest = clock->max;
}
