/* SPDX-License-Identifier: GPL-2.0-only */
/* others.c - see others.h. */
#include "others.h"

#include <stdlib.h>

#include "wire.h"

#define SLOTS (2 * OTHERS_MAX)

#define MEM_GRANT_MAP      0x0010f001U
#define MEM_GRANT_TRANSFER 0x0010f003U
#define MEM_SET_P2M_ENTRY  0x0010f004U
#define SCHED_MIN          0x00021000U

/* The domain a record is about, where its layout is known to tell. */
static int32_t domain_of(uint32_t event, const struct merge_record *record)
{
    uint32_t words = wire_words(record->header);

    if (event >= MEM_GRANT_MAP && event <= MEM_GRANT_TRANSFER && words == 1)
        return (int32_t)(wire_word(record->extra) & 0xffff);
    if (event == MEM_SET_P2M_ENTRY && words == 6)
        return (int32_t)(wire_word(record->extra + 20) & 0xffff);
    if ((event & ~0xfffU) == SCHED_MIN && words >= 1)
        return (int32_t)(wire_word(record->extra) >> 16);
    return -1;
}

static struct other_count *find(struct other_count *slot, uint32_t event, uint32_t cpu, int32_t dom)
{
    uint64_t hash = (event ^ (uint64_t)cpu << 32 ^ (uint64_t)(uint32_t)dom << 44) *
                    UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(hash >> 40) & (SLOTS - 1);

    while (slot[i].count &&
           (slot[i].event != event || slot[i].cpu != cpu || slot[i].dom != dom))
        i = (i + 1) & (SLOTS - 1);
    return &slot[i];
}

void others_count(struct others *others, const struct merge_record *record)
{
    uint32_t event = wire_event(record->header);
    int32_t dom = domain_of(event, record);
    struct other_count *slot = others->last;

    if (slot && slot->event == event && slot->cpu == record->cpu && slot->dom == dom) {
        slot->count++;
        return;
    }
    if (!others->slot)
        others->slot = calloc(SLOTS, sizeof(*others->slot));
    if (!others->slot) {
        others->beyond++;
        return;
    }
    slot = find(others->slot, event, record->cpu, dom);
    if (!slot->count) {
        if (others->used == OTHERS_MAX) {
            others->beyond++;
            return;
        }
        others->used++;
        *slot = (struct other_count){ event, record->cpu, dom, 0 };
    }
    slot->count++;
    others->last = slot;
}

static int by_key(const void *a, const void *b)
{
    const struct other_count *left = a, *right = b;

    if (left->count == 0 || right->count == 0)
        return (left->count == 0) - (right->count == 0);
    if (left->event != right->event)
        return left->event < right->event ? -1 : 1;
    if (left->cpu != right->cpu)
        return left->cpu < right->cpu ? -1 : 1;
    return (left->dom > right->dom) - (left->dom < right->dom);
}

int others_store(struct others *others, sqlite3 *db)
{
    sqlite3_stmt *insert;
    uint32_t i;
    int rc = sqlite3_prepare_v2(db, "INSERT INTO other_events VALUES (?,?,?,?,?)", -1, &insert, NULL);

    if (rc != SQLITE_OK)
        return rc;
    if (others->slot)
        qsort(others->slot, SLOTS, sizeof(*others->slot), by_key);
    others->last = NULL;
    for (i = 0; i < others->used && rc == SQLITE_OK; i++) {
        const struct other_count *slot = &others->slot[i];

        sqlite3_bind_int64(insert, 1, slot->event);
        sqlite3_bind_text(insert, 2, xen_event_name(slot->event), -1, SQLITE_STATIC);
        sqlite3_bind_int64(insert, 3, slot->cpu);
        if (slot->dom >= 0)
            sqlite3_bind_int64(insert, 4, slot->dom);
        else
            sqlite3_bind_null(insert, 4);
        sqlite3_bind_int64(insert, 5, (int64_t)slot->count);
        sqlite3_step(insert);
        rc = sqlite3_reset(insert);
    }
    if (rc == SQLITE_OK && others->beyond) {
        sqlite3_clear_bindings(insert);
        sqlite3_bind_int64(insert, 5, (int64_t)others->beyond);
        sqlite3_step(insert);
        rc = sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return rc;
}

void others_release(struct others *others)
{
    free(others->slot);
    *others = (struct others){ 0 };
}
