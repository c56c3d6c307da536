/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * derived.c - see derived.h.
 *
 * Links, one a flush, go in bulk; batches, calls and parts are rarer and take a
 * prepared statement each.  The first SQLite error sticks and is returned by
 * the call that comes next.
 */
#include "derived.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bulk.h"
#include "log.h"
#include "schema.h"

/*
 * A link table on the way.  Its key is the rowid of the flush, so rows in that
 * order need not say it, which is faster.  Links that come too early wait in a
 * ring; should one flush stay open so long that the ring is full, the rest is
 * inserted as it comes, with keys.
 */
#define RING_LINKS 16384

struct link_table {
    struct bulk *in_order;      /* rows without their key */
    struct bulk *keyed;
    struct link_row *ring;      /* ring[flush % RING_LINKS], flush 0: free */
    int64_t next;               /* flush that comes next in order */
    int64_t waiting;            /* in the ring */
    bool disordered;            /* the ring was full: keys from now on */
};

struct derived {
    sqlite3 *db;
    struct correlator *corr;
    struct link_table tlb_link, iotlb_link;
    sqlite3_stmt *batch, *call, *part;
    int rc;
};

/* A row of tlb_flush_link or iotlb_flush_link; 0 stands for NULL. */
struct link_row {
    int64_t flush, batch, call, part;
    uint32_t closing;
};

static int put_link(struct bulk *bulk, const struct link_row *link)
{
    int rc;
    struct link_row *row = bulk_next(bulk, &rc);

    if (row)
        *row = *link;
    return rc;
}

/* Gives out what waits in the ring, from `next` on; all of it, or up to a gap. */
static int drain_ring(struct link_table *table, bool all)
{
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && table->waiting) {
        struct link_row *row = &table->ring[table->next % RING_LINKS];

        if (!row->flush && !all)
            break;
        if (row->flush) {
            rc = put_link(all ? table->keyed : table->in_order, row);
            row->flush = 0;
            table->waiting--;
        }
        table->next++;
    }
    return rc;
}

static int add_link(struct link_table *table, const struct link_row *link)
{
    int rc = SQLITE_OK;

    if (!table->disordered && link->flush == table->next) {
        table->next++;
        rc = put_link(table->in_order, link);
        return rc == SQLITE_OK && table->waiting ? drain_ring(table, false) : rc;
    }
    if (!table->disordered && link->flush - table->next < RING_LINKS) {
        if (!table->ring)
            table->ring = calloc(RING_LINKS, sizeof(*table->ring));
        if (!table->ring)
            return SQLITE_NOMEM;
        table->ring[link->flush % RING_LINKS] = *link;
        table->waiting++;
        return SQLITE_OK;
    }
    if (!table->disordered) {
        table->disordered = true;
        rc = bulk_flush(table->in_order);
        if (rc == SQLITE_OK)
            rc = drain_ring(table, true);
    }
    return rc == SQLITE_OK ? put_link(table->keyed, link) : rc;
}

static int flush_links(struct link_table *table)
{
    int rc = bulk_flush(table->in_order);

    if (rc == SQLITE_OK)
        rc = drain_ring(table, true);
    return rc == SQLITE_OK ? bulk_flush(table->keyed) : rc;
}

static void store_link(void *context, const struct corr_link *link)
{
    struct derived *derived = context;
    struct link_row row = { link->row, (int64_t)link->batch, (int64_t)link->call, link->part,
                            link->closing };
    int rc = add_link(link->flush == XF_TLB_FLUSH ? &derived->tlb_link : &derived->iotlb_link,
                      &row);

    if (rc != SQLITE_OK)
        derived->rc = rc;
}

static void step(struct derived *derived, sqlite3_stmt *statement)
{
    int rc;

    sqlite3_step(statement);
    rc = sqlite3_reset(statement);
    if (rc != SQLITE_OK)
        derived->rc = rc;
}

static void bind(sqlite3_stmt *statement, int *index, bool known, int64_t value)
{
    ++*index;
    if (known)
        sqlite3_bind_int64(statement, *index, value);
    else
        sqlite3_bind_null(statement, *index);
}

/* The column of BATCH_END with this name. */
static void bind_end(sqlite3_stmt *statement, int *index, const struct corr_batch *batch,
                     unsigned int column)
{
    int64_t value = 0;
    bool known = batch->has_end &&
                 xf_column_value(&xf_events[XF_BATCH_END].column[column], batch->end_word, &value);

    bind(statement, index, known, value);
}

enum { END_FLAGS, END_TLB_DEFERRED, END_PAGES, END_RC, END_GFN_LOW, END_GFN_HIGH };

#define BATCH_INSERT \
    "INSERT INTO batch (batch, dom, vcpu, cpu, cpus, state, lossy, call, begin_pos, end_pos," \
    " begin_tsc, end_tsc, ops, pages, flags, rc, gfn_low, gfn_high, skipped, deferred," \
    " released, iotlb_flushes, tlb_flushes, iotlb_closing, tlb_closing, closing_pages," \
    " closing_whole, hw_pages, hw_whole, ipi_rounds, ipi_targets, iotlb_cycles, tlb_cycles," \
    " lock_cycles, ack_cycles) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?," \
    "?,?,?,?,?,?,?)"

static void store_batch(void *context, const struct corr_batch *batch)
{
    struct derived *derived = context;
    sqlite3_stmt *s = derived->batch;
    int i = 0;

    bind(s, &i, true, (int64_t)batch->id);
    bind(s, &i, true, xf_cur_dom(batch->cur));
    bind(s, &i, true, xf_cur_vcpu(batch->cur));
    bind(s, &i, true, batch->cpu);
    bind(s, &i, true, batch->moved ? 2 : 1);
    bind(s, &i, true, batch->state);
    bind(s, &i, true, batch->lossy);
    bind(s, &i, batch->call, (int64_t)batch->call);
    bind(s, &i, batch->has_begin, (int64_t)batch->begin_pos);
    bind(s, &i, batch->has_end, (int64_t)batch->end_pos);
    bind(s, &i, batch->has_begin, (int64_t)batch->begin_tsc);
    bind(s, &i, batch->has_end, (int64_t)batch->end_tsc);
    bind(s, &i, batch->has_begin, batch->ops);
    bind_end(s, &i, batch, END_PAGES);
    bind_end(s, &i, batch, END_FLAGS);
    bind_end(s, &i, batch, END_RC);
    bind_end(s, &i, batch, END_GFN_LOW);
    bind_end(s, &i, batch, END_GFN_HIGH);
    bind(s, &i, true, batch->skipped);
    bind(s, &i, true, batch->deferred);
    bind(s, &i, true, batch->released);
    bind(s, &i, true, batch->sums.iotlb_flushes);
    bind(s, &i, true, batch->sums.tlb_flushes);
    bind(s, &i, true, batch->iotlb_closing);
    bind(s, &i, true, batch->tlb_closing);
    bind(s, &i, true, (int64_t)batch->closing_pages);
    bind(s, &i, true, batch->closing_whole);
    bind(s, &i, true, (int64_t)batch->hw_pages);
    bind(s, &i, true, batch->hw_whole);
    bind(s, &i, true, batch->sums.ipi_rounds);
    bind(s, &i, true, (int64_t)batch->sums.ipi_targets);
    bind(s, &i, true, (int64_t)batch->sums.iotlb_cycles);
    bind(s, &i, true, (int64_t)batch->sums.tlb_cycles);
    bind(s, &i, true, (int64_t)batch->sums.lock_cycles);
    bind(s, &i, true, (int64_t)batch->sums.ack_cycles);
    step(derived, s);
}

#define CALL_INSERT \
    "INSERT INTO logical_call (call, dom, vcpu, cpu, state, lossy, parts, pos, begin_tsc," \
    " end_tsc, asked, done, unbatched, rc, batches, released, iotlb_flushes, tlb_flushes," \
    " ipi_rounds, ipi_targets, cycles, iotlb_cycles, tlb_cycles, lock_cycles, ack_cycles)" \
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

static void store_call(void *context, const struct corr_call *call)
{
    struct derived *derived = context;
    sqlite3_stmt *s = derived->call;
    bool seen = call->parts;
    uint8_t unknown = call->sums.unknown;
    int i = 0;

    bind(s, &i, true, (int64_t)call->id);
    bind(s, &i, true, xf_cur_dom(call->cur));
    bind(s, &i, true, xf_cur_vcpu(call->cur));
    bind(s, &i, true, call->cpu);
    bind(s, &i, true, call->state);
    bind(s, &i, true, call->lossy);
    bind(s, &i, true, call->parts);
    bind(s, &i, seen, (int64_t)call->pos);
    bind(s, &i, seen && call->cycles_known, call->begin_tsc);
    bind(s, &i, true, (int64_t)call->end_tsc);
    bind(s, &i, seen, (int64_t)call->asked);
    bind(s, &i, seen, (int64_t)call->done);
    bind(s, &i, seen, (int64_t)call->unbatched);
    bind(s, &i, seen, call->rc);
    bind(s, &i, true, (int64_t)call->batches);
    bind(s, &i, true, (int64_t)call->released);
    bind(s, &i, true, call->sums.iotlb_flushes);
    bind(s, &i, true, call->sums.tlb_flushes);
    bind(s, &i, true, call->sums.ipi_rounds);
    bind(s, &i, true, (int64_t)call->sums.ipi_targets);
    bind(s, &i, seen && call->cycles_known, (int64_t)call->cycles);
    bind(s, &i, !(unknown & CORR_UNKNOWN_IOTLB), (int64_t)call->sums.iotlb_cycles);
    bind(s, &i, !(unknown & CORR_UNKNOWN_TLB), (int64_t)call->sums.tlb_cycles);
    bind(s, &i, !(unknown & CORR_UNKNOWN_LOCK), (int64_t)call->sums.lock_cycles);
    bind(s, &i, !(unknown & CORR_UNKNOWN_ACK), (int64_t)call->sums.ack_cycles);
    step(derived, s);
}

static void store_part(void *context, const struct corr_part *part)
{
    struct derived *derived = context;

    sqlite3_bind_text(derived->part, 1, xf_events[part->flush].table, -1, SQLITE_STATIC);
    sqlite3_bind_int64(derived->part, 2, part->flush_row);
    sqlite3_bind_text(derived->part, 3, xf_events[part->part].table, -1, SQLITE_STATIC);
    sqlite3_bind_int64(derived->part, 4, part->part_row);
    step(derived, derived->part);
}

static int open_links(struct link_table *table, sqlite3 *db, const char *name,
                      const char *flush, const char *part)
{
#define NULLABLE(column, member) \
    { .name = column, .offset = offsetof(struct link_row, member), .wide = true, .has_null = true }
    const struct bulk_column columns[] = {
        NULLABLE(flush, flush),
        NULLABLE("batch", batch),
        NULLABLE("call", call),
        BULK_WORD(struct link_row, closing),
        NULLABLE(part, part),
    };
#undef NULLABLE
    int rc;

    table->next = 1;
    rc = bulk_open(&table->keyed, db, name, columns, 5, sizeof(struct link_row));
    if (rc == SQLITE_OK)
        rc = bulk_open(&table->in_order, db, name, columns + 1, 4, sizeof(struct link_row));
    return rc;
}

static void close_links(struct link_table *table)
{
    bulk_close(table->in_order);
    bulk_close(table->keyed);
    free(table->ring);
}

static int prepare(struct derived *derived)
{
    sqlite3 *db = derived->db;
    int rc = open_links(&derived->tlb_link, db, "tlb_flush_link", "tlb_flush", "ipi_round");

    if (rc == SQLITE_OK)
        rc = open_links(&derived->iotlb_link, db, "iotlb_flush_link", "iotlb_flush",
                        "iommu_invalidate");
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, BATCH_INSERT, -1, &derived->batch, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, CALL_INSERT, -1, &derived->call, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "INSERT INTO flush_part VALUES (?,?,?,?)", -1,
                                &derived->part, NULL);
    return rc;
}

int derived_open(struct derived **out, sqlite3 *db)
{
    struct derived *derived = calloc(1, sizeof(*derived));
    struct corr_sink sink = {
        derived, store_batch, store_call, store_link, store_part
    };
    int rc;

    *out = NULL;
    if (!derived)
        return SQLITE_NOMEM;
    derived->db = db;
    derived->corr = corr_create(&sink);
    rc = derived->corr ? prepare(derived) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        *out = derived;
    else
        derived_close(derived);
    return rc;
}

int derived_record(struct derived *derived, enum xf_event_id event, int64_t row,
                   const struct xf_record *record)
{
    if (corr_record(derived->corr, event, row, record))
        derived->rc = SQLITE_NOMEM;
    return derived->rc;
}

int derived_gap(struct derived *derived, uint32_t cpu, uint64_t tsc)
{
    if (corr_gap(derived->corr, cpu, tsc))
        derived->rc = SQLITE_NOMEM;
    return derived->rc;
}

int derived_finish(struct derived *derived, uint64_t tsc_hz)
{
    int rc;

    corr_finish(derived->corr);
    if (corr_overflow(derived->corr))
        log_warn("%" PRIu64 " records were not followed to the flush or call they belong to:"
                 " too many at once",
                 corr_overflow(derived->corr));
    rc = derived->rc;
    if (rc == SQLITE_OK)
        rc = flush_links(&derived->tlb_link);
    if (rc == SQLITE_OK)
        rc = flush_links(&derived->iotlb_link);
    if (rc == SQLITE_OK)
        rc = schema_create(derived->db, SCHEMA_INDICES);
    if (rc == SQLITE_OK)
        rc = schema_add_times(derived->db, tsc_hz);
    if (rc == SQLITE_OK)
        rc = schema_create(derived->db, SCHEMA_VIEWS);
    return rc;
}

void derived_close(struct derived *derived)
{
    if (!derived)
        return;
    close_links(&derived->tlb_link);
    close_links(&derived->iotlb_link);
    sqlite3_finalize(derived->batch);
    sqlite3_finalize(derived->call);
    sqlite3_finalize(derived->part);
    corr_destroy(derived->corr);
    free(derived);
}
