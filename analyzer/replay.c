/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * replay.c - see replay.h.
 *
 * How it works: one statement a record table, and one for `lost`, each stands at
 * its next row; the smallest key is taken.  The key of a row needs the state of
 * its CPU's clock at its place in the trace: faults are loaded a CPU at a time,
 * few as a rule, and looked up by pos.  Unusable bytes of a CPU are a gap that
 * is told before the first row behind them.
 */
#include "replay.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "map.h"

#define SOURCES (XF_EVENTS + 1)     /* the last one is table lost */

struct fault {
    uint64_t pos;
    int64_t tsc, before;
    bool fall, spike, gap;
    uint32_t falls;                 /* up to and with this fault */
    uint64_t floor;                 /* no record of the epoch from here on is earlier */
};

/* The clock of one CPU. */
struct cpu {
    uint32_t epoch;
    struct fault *fault;            /* in order of pos */
    size_t faults;
    size_t gaps_told;               /* faults before this one need no telling */
    size_t shared_told;             /* the same of replay.shared */
};

struct key {
    uint64_t epoch, order;
    uint32_t cpu;
    uint64_t pos;
};

struct source {
    sqlite3_stmt *rows;
    bool ended;
    int64_t row;
    struct xf_record record;
    struct key key;
};

struct replay {
    sqlite3 *db;
    struct derived *derived;
    struct map cpus;
    uint64_t *shared;               /* pos of unusable bytes that may be of any CPU */
    size_t shareds;
    struct source source[SOURCES];
};

static struct cpu *cpu_of(struct replay *replay, uint32_t id)
{
    struct cpu *cpu = map_get(&replay->cpus, id);

    if (cpu)
        return cpu;
    cpu = calloc(1, sizeof(*cpu));
    if (cpu && map_put(&replay->cpus, id, cpu)) {
        free(cpu);
        cpu = NULL;
    }
    return cpu;
}

static void sum_up(struct fault *fault, size_t i)
{
    struct fault *this = &fault[i];

    if (i) {
        this->falls = this[-1].falls;
        this->floor = this[-1].floor;
    }
    if (this->fall) {
        this->falls++;
        this->floor = 0;
    } else if (!this->gap && !this->spike) {
        this->floor = (uint64_t)this->before;
    }
}

static int add_fault(struct cpu *cpu, sqlite3_stmt *s)
{
    const char *fault = (const char *)sqlite3_column_text(s, 1);
    struct fault *grown;

    if ((cpu->faults & (cpu->faults - 1)) == 0) {
        grown = realloc(cpu->fault, (cpu->faults ? cpu->faults * 2 : 1) * sizeof(*grown));
        if (!grown)
            return SQLITE_NOMEM;
        cpu->fault = grown;
    }
    cpu->fault[cpu->faults] = (struct fault){
        .pos = (uint64_t)sqlite3_column_int64(s, 2),
        .tsc = sqlite3_column_int64(s, 3),
        .before = sqlite3_column_int64(s, 4),
        .fall = fault && strcmp(fault, "fall") == 0,
        .spike = fault && strcmp(fault, "spike") == 0,
        .gap = !fault,
    };
    sum_up(cpu->fault, cpu->faults++);
    return SQLITE_OK;
}

static int load_cpus(struct replay *replay)
{
    sqlite3_stmt *s;
    struct cpu *cpu;
    int rc = sqlite3_prepare_v2(replay->db, "SELECT cpu, epoch FROM trace_cpu", -1, &s, NULL);

    while (rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        cpu = cpu_of(replay, (uint32_t)sqlite3_column_int64(s, 0));
        if (!cpu)
            rc = SQLITE_NOMEM;
        else
            cpu->epoch = (uint32_t)sqlite3_column_int64(s, 1);
    }
    sqlite3_finalize(s);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_prepare_v2(replay->db,
        "SELECT cpu, fault, offset, tsc, before_tsc FROM damage"
        " WHERE cpu IS NOT NULL AND (fault IS NOT NULL OR bytes > 0) ORDER BY cpu, offset",
        -1, &s, NULL);
    while (rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        cpu = cpu_of(replay, (uint32_t)sqlite3_column_int64(s, 0));
        rc = cpu ? add_fault(cpu, s) : SQLITE_NOMEM;
    }
    sqlite3_finalize(s);
    return rc;
}

static int load_shared_gaps(struct replay *replay)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(replay->db, "SELECT offset FROM damage WHERE cpu IS NULL"
                                " AND bytes > 0 ORDER BY offset", -1, &s, NULL);

    while (rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        if ((replay->shareds & (replay->shareds - 1)) == 0) {
            size_t size = replay->shareds ? replay->shareds * 2 : 1;
            uint64_t *grown = realloc(replay->shared, size * sizeof(*grown));

            if (!grown) {
                rc = SQLITE_NOMEM;
                break;
            }
            replay->shared = grown;
        }
        replay->shared[replay->shareds++] = (uint64_t)sqlite3_column_int64(s, 0);
    }
    sqlite3_finalize(s);
    return rc;
}

/* Where a record stands in the order of all; see collector/clock.h. */
static void set_key(struct replay *replay, struct source *source)
{
    const struct xf_record *record = &source->record;
    const struct cpu *cpu = map_get(&replay->cpus, record->cpu);
    struct key *key = &source->key;
    size_t low = 0, high = cpu ? cpu->faults : 0;
    const struct fault *last;

    *key = (struct key){ cpu ? cpu->epoch : 0, record->tsc, record->cpu, record->pos };
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (cpu->fault[middle].pos <= record->pos)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return;
    last = &cpu->fault[low - 1];
    key->epoch += last->falls;
    if (last->spike && last->pos == record->pos)
        key->order = (uint64_t)last->before;
    else if (key->order < last->floor)
        key->order = last->floor;
}

static int key_compare(const struct key *a, const struct key *b)
{
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    if (a->cpu != b->cpu)
        return a->cpu < b->cpu ? -1 : 1;
    return (a->pos > b->pos) - (a->pos < b->pos);
}

enum { COLUMN_ROWID, COLUMN_TSC, COLUMN_POS, COLUMN_CPU, COLUMN_DOM, COLUMN_VCPU, COLUMN_FIRST };

static int prepare_source(struct replay *replay, unsigned int id)
{
    char sql[512];
    size_t used;
    unsigned int i;

    if (id == XF_EVENTS) {
        snprintf(sql, sizeof(sql), "SELECT rowid, last_tsc, pos, cpu, 0, 0 FROM lost ORDER BY rowid");
    } else {
        used = (size_t)snprintf(sql, sizeof(sql), "SELECT rowid, tsc, pos, cpu, dom, vcpu");
        for (i = 0; i < xf_events[id].columns; i++)
            used += (size_t)snprintf(sql + used, sizeof(sql) - used, ", %s",
                                     xf_events[id].column[i].name);
        snprintf(sql + used, sizeof(sql) - used, " FROM %s ORDER BY rowid", xf_events[id].table);
    }
    return sqlite3_prepare_v2(replay->db, sql, -1, &replay->source[id].rows, NULL);
}

static int next_row(struct replay *replay, unsigned int id)
{
    struct source *source = &replay->source[id];
    struct xf_record *record = &source->record;
    sqlite3_stmt *s = source->rows;
    unsigned int i;
    int rc = sqlite3_step(s);

    source->ended = rc != SQLITE_ROW;
    if (source->ended)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    source->row = sqlite3_column_int64(s, COLUMN_ROWID);
    *record = (struct xf_record){
        .tsc = (uint64_t)sqlite3_column_int64(s, COLUMN_TSC),
        .pos = (uint64_t)sqlite3_column_int64(s, COLUMN_POS),
        .cpu = (uint32_t)sqlite3_column_int64(s, COLUMN_CPU),
    };
    record->word[0] = (uint32_t)sqlite3_column_int64(s, COLUMN_DOM) << 16 |
                      (uint32_t)sqlite3_column_int64(s, COLUMN_VCPU);
    for (i = 0; id < XF_EVENTS && i < xf_events[id].columns; i++) {
        int column = COLUMN_FIRST + (int)i;

        xf_column_store(&xf_events[id].column[i],
                        sqlite3_column_type(s, column) == SQLITE_NULL,
                        sqlite3_column_int64(s, column), record->word);
    }
    set_key(replay, source);
    return SQLITE_OK;
}

/* Unusable bytes of the CPU between its record before and this one. */
static int tell_gaps(struct replay *replay, const struct xf_record *record)
{
    struct cpu *cpu = map_get(&replay->cpus, record->cpu);
    bool gap = false;

    while (cpu && cpu->gaps_told < cpu->faults &&
           cpu->fault[cpu->gaps_told].pos < record->pos)
        gap |= cpu->fault[cpu->gaps_told++].gap;
    while (cpu && cpu->shared_told < replay->shareds &&
           replay->shared[cpu->shared_told] < record->pos) {
        cpu->shared_told++;
        gap = true;
    }
    return gap ? derived_gap(replay->derived, record->cpu, record->tsc) : SQLITE_OK;
}

static int give_rows(struct replay *replay)
{
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK) {
        struct source *first = NULL;
        unsigned int id, first_id = 0;

        for (id = 0; id < SOURCES; id++) {
            struct source *source = &replay->source[id];

            if (source->ended || (first && key_compare(&first->key, &source->key) < 0))
                continue;
            first = source;
            first_id = id;
        }
        if (!first)
            break;
        rc = tell_gaps(replay, &first->record);
        if (rc == SQLITE_OK)
            rc = first_id == XF_EVENTS
                 ? derived_gap(replay->derived, first->record.cpu, first->record.tsc)
                 : derived_record(replay->derived, (enum xf_event_id)first_id, first->row,
                                  &first->record);
        if (rc == SQLITE_OK)
            rc = next_row(replay, first_id);
    }
    return rc;
}

int replay(sqlite3 *db, struct derived *derived)
{
    struct replay state = { .db = db, .derived = derived };
    unsigned int id;
    size_t i;
    int rc = load_cpus(&state);

    if (rc == SQLITE_OK)
        rc = load_shared_gaps(&state);
    for (id = 0; id < SOURCES && rc == SQLITE_OK; id++) {
        rc = prepare_source(&state, id);
        if (rc == SQLITE_OK)
            rc = next_row(&state, id);
    }
    if (rc == SQLITE_OK)
        rc = give_rows(&state);
    for (id = 0; id < SOURCES; id++)
        sqlite3_finalize(state.source[id].rows);
    for (i = 0; i < state.cpus.size; i++) {
        struct cpu *cpu = state.cpus.slot[i].value;

        if (cpu)
            free(cpu->fault);
        free(cpu);
    }
    map_release(&state.cpus);
    free(state.shared);
    return rc;
}
