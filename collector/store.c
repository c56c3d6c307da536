/* SPDX-License-Identifier: GPL-2.0-only */
/* store.c - see store.h. */
#include "store.h"

#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "events.h"
#include "wire.h"

/* Columns that every record table begins with. */
#define COMMON_COLUMNS "tsc, pos, cpu, dom, vcpu"
enum { COLUMN_TSC, COLUMN_POS, COLUMN_CPU, COLUMN_DOM, COLUMN_VCPU, COMMON_COUNT };

static bool record_value(const void *context, const void *row, int column, int64_t *value)
{
    const struct xf_event *event = context;
    const struct xf_record *record = row;

    switch (column) {
    case COLUMN_TSC: *value = (int64_t)record->tsc; return true;
    case COLUMN_POS: *value = (int64_t)record->pos; return true;
    case COLUMN_CPU: *value = record->cpu; return true;
    case COLUMN_DOM: *value = xf_cur_dom(record->word[0]); return true;
    case COLUMN_VCPU: *value = xf_cur_vcpu(record->word[0]); return true;
    default: return xf_column_value(&event->column[column - COMMON_COUNT], record->word, value);
    }
}

/* A row of raw_record. */
struct raw_row {
    uint64_t tsc, pos;
    uint32_t cpu, header;
    bool has_tsc;
    uint32_t word[XF_MAX_WORDS];
};

#define RAW_COLUMNS "tsc, pos, cpu, event, timed, words, w0, w1, w2, w3, w4, w5, w6"

static bool raw_value(const void *context, const void *row, int column, int64_t *value)
{
    const struct raw_row *raw = row;

    (void)context;
    switch (column) {
    case 0: *value = (int64_t)raw->tsc; return raw->has_tsc;
    case 1: *value = (int64_t)raw->pos; return true;
    case 2: *value = raw->cpu; return true;
    case 3: *value = wire_event(raw->header); return true;
    case 4: *value = wire_timed(raw->header); return true;
    case 5: *value = wire_words(raw->header); return true;
    default:
        *value = raw->word[column - 6];
        return (uint32_t)(column - 6) < wire_words(raw->header);
    }
}

static int open_table(struct store *store, enum xf_event_id id)
{
    const struct xf_event *event = &xf_events[id];
    char columns[256];
    size_t used = (size_t)snprintf(columns, sizeof(columns), COMMON_COLUMNS);
    unsigned int i;

    for (i = 0; i < event->columns; i++)
        used += (size_t)snprintf(columns + used, sizeof(columns) - used, ", %s",
                                 event->column[i].name);
    return bulk_open(&store->bulk[id], store->db, event->table, columns,
                     sizeof(struct xf_record), record_value, event);
}

int store_open(struct store *store, sqlite3 *db, uint64_t base, bool keep_other)
{
    int rc = SQLITE_OK, id;

    *store = (struct store){ .db = db, .base = base, .keep_other = keep_other };
    for (id = 0; id < XF_EVENTS && rc == SQLITE_OK; id++)
        rc = open_table(store, (enum xf_event_id)id);
    if (rc == SQLITE_OK)
        rc = bulk_open(&store->raw, db, "raw_record", RAW_COLUMNS, sizeof(struct raw_row),
                       raw_value, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "INSERT INTO lost (cpu, first_tsc, last_tsc, records, dom,"
                                " vcpu, pos) VALUES (?,?,?,?,?,?,?)", -1, &store->lost, NULL);
    if (rc == SQLITE_OK)
        rc = derived_open(&store->derived, db);
    return rc;
}

static void copy_words(uint32_t *word, const struct merge_record *record)
{
    uint32_t count = wire_words(record->header), i;

    for (i = 0; i < count; i++)
        word[i] = wire_word(record->extra + 4 * i);
}

static int keep_raw(struct store *store, const struct merge_record *record)
{
    int rc;
    struct raw_row *row = bulk_next(store->raw, &rc);

    if (!row)
        return rc;
    row->tsc = record->tsc - store->base;
    row->has_tsc = record->has_tsc;
    row->pos = record->pos;
    row->cpu = record->cpu;
    row->header = record->header;
    copy_words(row->word, record);
    return SQLITE_OK;
}

static int keep_event(struct store *store, const struct xf_event *event,
                      const struct merge_record *record)
{
    enum xf_event_id id = (enum xf_event_id)(event - xf_events);
    struct xf_record *row;
    int rc;

    row = bulk_next(store->bulk[id], &rc);
    if (!row)
        return rc;
    row->tsc = record->tsc - store->base;
    row->pos = record->pos;
    row->cpu = record->cpu;
    copy_words(row->word, record);
    store->stored++;
    return derived_record(store->derived, id, bulk_rowid(store->bulk[id]), row);
}

/*
 * Records of this CPU were lost between the one before and this one.  What the
 * record says of the first lost one is taken only if it lies in between.
 */
static int keep_lost(struct store *store, const struct merge_record *record)
{
    sqlite3_stmt *s = store->lost;
    uint64_t last = record->tsc, first = record->before_tsc;
    int rc;

    sqlite3_clear_bindings(s);
    if (first > last)
        first = last;
    if (wire_timed(record->header) && wire_words(record->header) == 4) {
        uint32_t who = wire_word(record->extra + 4);
        uint64_t told = wire_word(record->extra + 8) |
                        (uint64_t)wire_word(record->extra + 12) << 32;

        if (told >= store->base && told <= last)
            first = told;
        sqlite3_bind_int64(s, 4, wire_word(record->extra));
        sqlite3_bind_int64(s, 5, who & 0xffff);
        sqlite3_bind_int64(s, 6, who >> 16);
    }
    sqlite3_bind_int64(s, 1, record->cpu);
    if (record->has_tsc) {
        sqlite3_bind_int64(s, 2, (int64_t)(first - store->base));
        sqlite3_bind_int64(s, 3, (int64_t)(last - store->base));
    }
    sqlite3_bind_int64(s, 7, (int64_t)record->pos);
    sqlite3_step(s);
    rc = sqlite3_reset(s);
    if (rc == SQLITE_OK)
        rc = derived_gap(store->derived, record->cpu, last - store->base);
    return rc;
}

int store_record(struct store *store, const struct merge_record *record)
{
    uint32_t number = wire_event(record->header);
    const struct xf_event *event;
    int rc = SQLITE_OK;

    if (record->gap)
        rc = derived_gap(store->derived, record->cpu, record->tsc - store->base);
    if (rc != SQLITE_OK)
        return rc;
    if (xf_event_is_ours(number)) {
        event = wire_timed(record->header)
                ? xf_event_find(number, wire_words(record->header)) : NULL;
        if (event)
            return keep_event(store, event, record);
        store->unknown++;
        return keep_raw(store, record);
    }
    if (number == WIRE_LOST_RECORDS)
        return keep_lost(store, record);
    if (number == WIRE_WRAP_BUFFER)
        return SQLITE_OK;
    store->skipped++;
    others_count(&store->others, record);
    return store->keep_other ? keep_raw(store, record) : SQLITE_OK;
}

int store_finish(struct store *store)
{
    int rc = SQLITE_OK, id;

    for (id = 0; id < XF_EVENTS && rc == SQLITE_OK; id++)
        rc = bulk_flush(store->bulk[id]);
    if (rc == SQLITE_OK)
        rc = bulk_flush(store->raw);
    if (rc == SQLITE_OK)
        rc = others_store(&store->others, store->db);
    if (rc == SQLITE_OK)
        rc = derived_finish(store->derived);
    return rc;
}

void store_close(struct store *store)
{
    int id;

    for (id = 0; id < XF_EVENTS; id++)
        bulk_close(store->bulk[id]);
    bulk_close(store->raw);
    sqlite3_finalize(store->lost);
    derived_close(store->derived);
    others_release(&store->others);
    *store = (struct store){ 0 };
}
