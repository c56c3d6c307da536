/* SPDX-License-Identifier: GPL-2.0-only */
/* store.c - see store.h. */
#include "store.h"

#include <stddef.h>
#include <string.h>

#include "bulk.h"
#include "events.h"
#include "wire.h"

#define MAX_COLUMNS 16

/* Columns that every record table begins with. */
static const struct bulk_column common_columns[] = {
    BULK_WIDE(struct xf_record, tsc),
    BULK_WIDE(struct xf_record, pos),
    BULK_WORD(struct xf_record, cpu),
    { .name = "dom", .offset = offsetof(struct xf_record, word), .shift = 16, .bits = 16 },
    { .name = "vcpu", .offset = offsetof(struct xf_record, word), .bits = 16 },
};
#define COMMON_COLUMNS (sizeof(common_columns) / sizeof(common_columns[0]))

/* A row of raw_record; RAW_NULL stands for NULL. */
struct raw_row {
    int64_t tsc, pos;
    uint32_t cpu, event, timed, words;
    int64_t w0, w1, w2, w3, w4, w5, w6;
};
#define RAW_NULL INT64_MIN
#define RAW_NULLABLE(member) \
    { .name = #member, .offset = offsetof(struct raw_row, member), .wide = true, \
      .has_null = true, .null = RAW_NULL }

static const struct bulk_column raw_columns[] = {
    RAW_NULLABLE(tsc),
    BULK_WIDE(struct raw_row, pos),
    BULK_WORD(struct raw_row, cpu),
    BULK_WORD(struct raw_row, event),
    BULK_WORD(struct raw_row, timed),
    BULK_WORD(struct raw_row, words),
    RAW_NULLABLE(w0), RAW_NULLABLE(w1), RAW_NULLABLE(w2), RAW_NULLABLE(w3),
    RAW_NULLABLE(w4), RAW_NULLABLE(w5), RAW_NULLABLE(w6),
};
#define RAW_COLUMNS (sizeof(raw_columns) / sizeof(raw_columns[0]))

static struct bulk_column bulk_column_of(const struct xf_column *column)
{
    return (struct bulk_column){
        .name = column->name,
        .offset = (uint16_t)(offsetof(struct xf_record, word) + 4U * column->word),
        .wide = column->kind == XF_U64 || column->kind == XF_FRAME,
        .is_signed = column->kind == XF_SIGNED,
        .shift = column->shift,
        .bits = column->bits,
        .has_null = column->kind == XF_FRAME,
        .null = -1,
    };
}

static int open_table(struct store *store, enum xf_event_id id)
{
    const struct xf_event *event = &xf_events[id];
    struct bulk_column columns[MAX_COLUMNS];
    unsigned int i;

    memcpy(columns, common_columns, sizeof(common_columns));
    for (i = 0; i < event->columns; i++)
        columns[COMMON_COLUMNS + i] = bulk_column_of(&event->column[i]);
    return bulk_open(&store->bulk[id], store->db, event->table, columns,
                     COMMON_COLUMNS + event->columns, sizeof(struct xf_record));
}

int store_open(struct store *store, sqlite3 *db, uint64_t base, bool keep_other)
{
    int rc = SQLITE_OK, id;

    *store = (struct store){ .db = db, .base = base, .keep_other = keep_other };
    for (id = 0; id < XF_EVENTS && rc == SQLITE_OK; id++)
        rc = open_table(store, (enum xf_event_id)id);
    if (rc == SQLITE_OK)
        rc = bulk_open(&store->raw, db, "raw_record", raw_columns, RAW_COLUMNS,
                       sizeof(struct raw_row));
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
    int64_t *word[XF_MAX_WORDS];
    uint32_t i;

    if (!row)
        return rc;
    word[0] = &row->w0, word[1] = &row->w1, word[2] = &row->w2, word[3] = &row->w3;
    word[4] = &row->w4, word[5] = &row->w5, word[6] = &row->w6;
    row->tsc = record->has_tsc ? (int64_t)(record->tsc - store->base) : RAW_NULL;
    row->pos = (int64_t)record->pos;
    row->cpu = record->cpu;
    row->event = wire_event(record->header);
    row->timed = wire_timed(record->header);
    row->words = wire_words(record->header);
    for (i = 0; i < XF_MAX_WORDS; i++)
        *word[i] = i < row->words ? (int64_t)wire_word(record->extra + 4 * i) : RAW_NULL;
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

        if (told <= last && (told >= first || first == last))
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

int store_finish(struct store *store, uint64_t tsc_hz)
{
    int rc = SQLITE_OK, id;

    for (id = 0; id < XF_EVENTS && rc == SQLITE_OK; id++)
        rc = bulk_flush(store->bulk[id]);
    if (rc == SQLITE_OK)
        rc = bulk_flush(store->raw);
    if (rc == SQLITE_OK)
        rc = others_store(&store->others, store->db);
    if (rc == SQLITE_OK)
        rc = derived_finish(store->derived, tsc_hz);
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
}
