/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * correlate.c - records in; see correlate.h for the rules.
 *
 * How it works: two maps, one of physical CPUs and one of vCPUs (cur).  A CPU
 * holds the IPI rounds and IOMMU commands that wait for their flush; a vCPU
 * holds its open batch and the flushes that wait for the end of their batch or
 * call.  A gap in a CPU's records is counted at the CPU; a vCPU finds out at
 * its next record whether a gap lay between it and its record before, and marks
 * what it has open.  So each record costs the same, however many are open.
 */
#include "correlate-state.h"

#include <stdlib.h>
#include <string.h>

#include "trace_flush.h"

struct correlator *corr_create(const struct corr_sink *sink)
{
    struct correlator *corr = calloc(1, sizeof(*corr));

    if (corr) {
        corr->sink = *sink;
        corr->next_batch = corr->next_call = 1;
    }
    return corr;
}

static struct cpu_state *cpu_of(struct correlator *corr, uint32_t cpu)
{
    struct cpu_state *state = map_get(&corr->cpus, cpu);

    if (state)
        return state;
    state = calloc(1, sizeof(*state));
    if (!state)
        return NULL;
    state->cpu = cpu;
    if (map_put(&corr->cpus, cpu, state)) {
        free(state);
        return NULL;
    }
    return state;
}

static void free_cur(struct cur_state *cs)
{
    free(cs->done);
    free(cs->pending);
    free(cs);
}

static bool is_idle(const struct cur_state *cs)
{
    return !cs->has_batch && !cs->dones && !cs->pendings && !cs->chained && !cs->call.id;
}

/* Forgets the vCPUs that have nothing open, or all: then what is open is given out. */
static void drop_curs(struct correlator *corr, bool all)
{
    struct map kept = MAP_INIT;
    size_t i;

    for (i = 0; i < corr->curs.size; i++) {
        struct cur_state *cs = corr->curs.slot[i].value;

        if (!cs || (!all && !is_idle(cs) && map_put(&kept, cs->cur, cs) == 0))
            continue;
        corr_abandon(corr, cs);
        free_cur(cs);
    }
    map_release(&corr->curs);
    corr->curs = kept;
}

static struct cur_state *cur_of(struct correlator *corr, uint32_t cur)
{
    struct cur_state *cs = map_get(&corr->curs, cur);

    if (cs)
        return cs;
    if (corr->curs.count >= CORR_MAX_CURS) {
        drop_curs(corr, false);
        /* Half of the places must be free now, or the search would come too often. */
        if (corr->curs.count > CORR_MAX_CURS / 2) {
            corr->overflow += corr->curs.count;
            drop_curs(corr, true);
        }
    }
    cs = calloc(1, sizeof(*cs));
    if (!cs)
        return NULL;
    cs->cur = cur;
    cs->cpu = UINT32_MAX;
    if (map_put(&corr->curs, cur, cs)) {
        free(cs);
        return NULL;
    }
    return cs;
}

/* Marks what the vCPU has open when records are missing since its last one. */
static void note_gaps(struct correlator *corr, struct cur_state *cs,
                      const struct cpu_state *cpu)
{
    bool lossy;

    if (cs->cpu == cpu->cpu) {
        lossy = cs->gaps != cpu->gaps;
    } else {
        const struct cpu_state *before = map_get(&corr->cpus, cs->cpu);

        lossy = (before && before->gaps != cs->gaps) ||
                (cpu->gaps && cpu->gap_tsc > cs->tsc);
    }
    if (!lossy)
        return;
    cs->part_lossy = true;
    if (cs->has_batch)
        cs->batch.lossy = true;
}

static int hold_part(struct correlator *corr, struct cpu_state *cpu,
                     enum xf_event_id event, int64_t row, const struct xf_record *record)
{
    struct part *part;

    if (cpu->parts == CORR_MAX_PARTS || (cpu->parts && corr->parts >= CORR_MAX_PARTS_HELD)) {
        uint32_t oldest = (cpu->parts + 1) / 2;

        /* Behind CORR_MAX_PARTS newer ones they are of no flush; else one may miss them. */
        if (cpu->parts < CORR_MAX_PARTS)
            corr->overflow += oldest;
        memmove(cpu->part, cpu->part + oldest, (cpu->parts - oldest) * sizeof(*part));
        corr->parts -= oldest;
        cpu->parts -= oldest;
    }
    if (cpu->parts == cpu->parts_size) {
        uint32_t size = cpu->parts_size ? cpu->parts_size * 2 : 2;

        part = realloc(cpu->part, size * sizeof(*part));
        if (!part)
            return -1;
        cpu->part = part;
        cpu->parts_size = size;
    }
    part = &cpu->part[cpu->parts++];
    corr->parts++;
    part->row = row;
    part->cur = record->word[0];
    part->event = event;
    part->cycles = event == XF_IPI_ROUND
                   ? (uint64_t)record->word[3] + record->word[4] : record->word[6];
    memcpy(part->word, record->word, sizeof(part->word));
    return 0;
}

static void add_cycles(struct corr_sums *sums, uint64_t *sum, uint32_t cycles, uint8_t unknown)
{
    if (cycles == TRC_FLUSH_CYCLES_MAX)
        sums->unknown |= unknown;
    else
        *sum += cycles;
}

static void add_ipi(struct pending *pending, const struct part *part)
{
    pending->sums.ipi_rounds++;
    pending->sums.ipi_targets += part->word[2];
    add_cycles(&pending->sums, &pending->sums.lock_cycles, part->word[3], CORR_UNKNOWN_LOCK);
    add_cycles(&pending->sums, &pending->sums.ack_cycles, part->word[4], CORR_UNKNOWN_ACK);
}

/* A flush record that claims what waits on its CPU. */
struct claim {
    enum xf_event_id flush;
    int64_t row;
    uint32_t cur;
    uint32_t cycles;
    enum xf_event_id wanted;    /* XF_IPI_ROUND or XF_IOMMU_INVALIDATE */
};

static bool is_wanted(const struct claim *claim, const struct part *part)
{
    return part->cur == claim->cur && part->event == claim->wanted;
}

static bool fits(const struct claim *claim, const struct part *part)
{
    return claim->cycles == TRC_FLUSH_CYCLES_MAX || part->cycles <= claim->cycles;
}

/* Pages of a command; 0: it is wider than pages, or nothing. */
static uint64_t command_pages(const struct part *part)
{
    uint32_t order = part->word[1] >> 8 & 0xff;

    if ((part->word[1] & 0xff) != TRC_FLUSH_GRAN_PAGES)
        return 0;
    return order < 52 ? UINT64_C(1) << order : UINT64_C(1) << 52;
}

/* Several IOMMUs get the same commands, so the one with the most pages counts. */
static void add_commands(const struct claim *claim, const struct cpu_state *cpu,
                         struct pending *pending)
{
    uint32_t i, j;

    for (i = 0; i < cpu->parts; i++) {
        const struct part *part = &cpu->part[i];
        uint32_t granularity = part->word[1] & 0xff;
        uint64_t pages = 0;

        if (!is_wanted(claim, part) || !fits(claim, part))
            continue;
        pending->hw_whole += granularity == TRC_FLUSH_GRAN_GLOBAL ||
                             granularity == TRC_FLUSH_GRAN_DOMAIN;
        /* The first command of an IOMMU sums up all of them; later ones sum up less. */
        for (j = i; j < cpu->parts; j++)
            if (is_wanted(claim, &cpu->part[j]) && fits(claim, &cpu->part[j]) &&
                cpu->part[j].word[2] == part->word[2])
                pages += command_pages(&cpu->part[j]);
        if (pages > pending->hw_pages)
            pending->hw_pages = pages;
    }
}

/*
 * Gives the parts that wait on this CPU for a flush of this cur to the flush;
 * those that do not fit belong to none.
 */
static void claim_parts(struct correlator *corr, struct cpu_state *cpu,
                        const struct claim *claim, struct pending *pending)
{
    /* The link of a flush has a place for one part of the usual kind. */
    bool linked = (claim->flush == XF_TLB_FLUSH && claim->wanted == XF_IPI_ROUND) ||
                  (claim->flush == XF_IOTLB_FLUSH && claim->wanted == XF_IOMMU_INVALIDATE);
    uint32_t kept = 0, i;

    if (claim->wanted == XF_IOMMU_INVALIDATE)
        add_commands(claim, cpu, pending);
    for (i = 0; i < cpu->parts; i++) {
        const struct part *part = &cpu->part[i];
        struct corr_part out = { claim->flush, claim->row, claim->wanted, part->row };

        if (!is_wanted(claim, part)) {
            cpu->part[kept++] = *part;
            continue;
        }
        if (!fits(claim, part))
            continue;
        if (claim->wanted == XF_IPI_ROUND)
            add_ipi(pending, part);
        if (linked && pending->part == 0)
            pending->part = part->row;
        else
            corr->sink.part(corr->sink.context, &out);
    }
    corr->parts -= cpu->parts - kept;
    cpu->parts = kept;
}

/* A flush whose call cannot be waited for. */
static void give_early(struct correlator *corr, const struct pending *pending,
                       const struct cur_state *cs)
{
    corr_give_link(corr, pending, pending->batch ? cs->call.id : 0);
    corr->overflow++;
}

static int hold_flush(struct correlator *corr, struct cur_state *cs,
                      const struct pending *pending)
{
    struct pending oldest;

    if (corr->held >= CORR_MAX_PENDING) {
        if (corr_pop_pending(corr, cs, &oldest)) {
            give_early(corr, &oldest, cs);
        } else {
            give_early(corr, pending, cs);
            return 0;
        }
    }
    if (cs->pendings == cs->pending_size) {
        uint32_t size = cs->pending_size ? cs->pending_size * 2 : 4, i;
        struct pending *ring = malloc(size * sizeof(*ring));

        if (!ring)
            return -1;
        for (i = 0; i < cs->pendings; i++)
            ring[i] = cs->pending[(cs->pending_head + i) % cs->pending_size];
        free(cs->pending);
        cs->pending = ring;
        cs->pending_head = 0;
        cs->pending_size = size;
    }
    cs->pending[(cs->pending_head + cs->pendings++) % cs->pending_size] = *pending;
    corr->held++;
    return 0;
}

static int take_flush(struct correlator *corr, struct cur_state *cs, struct cpu_state *cpu,
                      enum xf_event_id event, int64_t row, const struct xf_record *record)
{
    struct pending pending = {
        .row = row, .tsc = record->tsc, .flush = event, .closing = true,
        .batch = cs->in_batch ? cs->batch.id : 0,
    };
    uint32_t cycles = event == XF_TLB_FLUSH ? record->word[3] : record->word[6];
    struct claim claim = { event, row, cs->cur, cycles, XF_IPI_ROUND };

    claim_parts(corr, cpu, &claim, &pending);
    if (event == XF_IOTLB_FLUSH) {
        claim.wanted = XF_IOMMU_INVALIDATE;
        claim_parts(corr, cpu, &claim, &pending);
        pending.pages = record->word[4];
        pending.whole = record->word[1] & TRC_FLUSH_WHOLE;
        pending.sums.iotlb_flushes = 1;
        add_cycles(&pending.sums, &pending.sums.iotlb_cycles, cycles, CORR_UNKNOWN_IOTLB);
    } else {
        pending.sums.tlb_flushes = 1;
        add_cycles(&pending.sums, &pending.sums.tlb_cycles, cycles, CORR_UNKNOWN_TLB);
    }
    cs->closing[event == XF_IOTLB_FLUSH] += cs->in_batch;
    return hold_flush(corr, cs, &pending);
}

static void open_batch(struct correlator *corr, struct cur_state *cs,
                       const struct xf_record *record)
{
    cs->batch = (struct corr_batch){
        .id = corr->next_batch++, .cur = cs->cur, .cpu = record->cpu,
        .begin_tsc = record->tsc, .end_tsc = record->tsc,
    };
    cs->closing[0] = cs->closing[1] = 0;
    cs->has_batch = true;
    cs->seen_batch = true;
}

static int begin_batch(struct correlator *corr, struct cur_state *cs,
                       const struct xf_record *record)
{
    if (corr_close_batch(corr, cs))
        return -1;
    open_batch(corr, cs, record);
    cs->in_batch = true;
    cs->batch.has_begin = true;
    cs->batch.begin_pos = record->pos;
    cs->batch.ops = record->word[1];
    return 0;
}

/* The newest flushes of no batch led to the BATCH_END whose begin was not seen. */
static void assume_flushes(struct cur_state *cs)
{
    uint32_t i;

    for (i = cs->pendings; i-- > 0;) {
        struct pending *p = &cs->pending[(cs->pending_head + i) % cs->pending_size];

        if (p->batch)
            break;
        p->batch = cs->batch.id;
        p->assumed = true;
    }
}

static int end_batch(struct correlator *corr, struct cur_state *cs,
                     const struct xf_record *record)
{
    if (!cs->in_batch) {
        if (corr_close_batch(corr, cs))
            return -1;
        open_batch(corr, cs, record);
        cs->batch.state = CORR_BATCH_NO_BEGIN;
        assume_flushes(cs);
    }
    corr_sum_batch(cs);
    cs->in_batch = false;
    cs->batch.has_end = true;
    cs->batch.end_pos = record->pos;
    cs->batch.end_tsc = record->tsc;
    for (int i = 0; i < XF_MAX_WORDS; i++)
        cs->batch.end_word[i] = record->word[i];
    return 0;
}

/* A flush of this kind before a skip or deferral does not close the batch. */
static void reopen(struct cur_state *cs, enum xf_event_id flush)
{
    uint32_t i;

    /* Without this a batch of many flushes would be walked for each skip. */
    if (cs->closing[flush == XF_IOTLB_FLUSH] == 0)
        return;
    cs->closing[flush == XF_IOTLB_FLUSH] = 0;
    for (i = cs->pendings; i-- > 0;) {
        struct pending *p = &cs->pending[(cs->pending_head + i) % cs->pending_size];

        if (p->batch != cs->batch.id)
            break;
        if (p->flush == flush) {
            if (!p->closing)
                break;
            p->closing = false;
        }
    }
}

static void take_release(struct cur_state *cs, const struct xf_record *record)
{
    if ((record->word[6] & TRC_FLUSH_SITE_MASK) != TRC_FLUSH_SITE_GRANT_UNMAP)
        return;
    if (cs->has_batch)
        cs->batch.released++;
    else
        cs->released++;
}

int corr_record(struct correlator *corr, enum xf_event_id event, int64_t row,
                const struct xf_record *record)
{
    struct cpu_state *cpu = cpu_of(corr, record->cpu);
    struct cur_state *cs;
    struct pending other = { 0 };   /* flushes that are not followed to a call */
    struct claim claim;
    int rc = 0;

    if (!cpu)
        return -1;
    if (event == XF_IPI_ROUND || event == XF_IOMMU_INVALIDATE)
        return hold_part(corr, cpu, event, row, record);
    if (event == XF_GRANT_COPY || event == XF_L0_FLUSH || event == XF_P2M_TABLE_FREE ||
        event == XF_SKIP_WINDOW || event == XF_IOMMU_WRITEBACK)
        return 0;
    cs = cur_of(corr, record->word[0]);
    if (!cs)
        return -1;
    if (cs->cpu != UINT32_MAX)
        note_gaps(corr, cs, cpu);
    if (cs->in_batch && cs->batch.cpu != record->cpu)
        cs->batch.moved = true;

    switch (event) {
    case XF_BATCH_BEGIN:
        rc = begin_batch(corr, cs, record);
        break;
    case XF_BATCH_END:
        rc = end_batch(corr, cs, record);
        break;
    case XF_TLB_FLUSH:
    case XF_IOTLB_FLUSH:
        rc = take_flush(corr, cs, cpu, event, row, record);
        break;
    case XF_IOTLB_ADDED:
        claim = (struct claim){ event, row, cs->cur, record->word[6], XF_IOMMU_INVALIDATE };
        claim_parts(corr, cpu, &claim, &other);
        break;
    case XF_CACHE_FLUSH:
        claim = (struct claim){ event, row, cs->cur, record->word[4], XF_IPI_ROUND };
        claim_parts(corr, cpu, &claim, &other);
        break;
    case XF_ASSISTED_FLUSH:
        claim = (struct claim){ event, row, cs->cur, record->word[2], XF_IPI_ROUND };
        claim_parts(corr, cpu, &claim, &other);
        break;
    case XF_UNMAP_CALL:
        rc = corr_unmap_call(corr, cs, record);
        break;
    case XF_IOTLB_SKIPPED:
        if (cs->in_batch) {
            cs->batch.skipped++;
            reopen(cs, XF_IOTLB_FLUSH);
        }
        break;
    case XF_TLB_DEFERRED:
        if (cs->in_batch) {
            cs->batch.deferred++;
            reopen(cs, XF_TLB_FLUSH);
        }
        break;
    case XF_PAGE_RELEASED:
        take_release(cs, record);
        break;
    default:
        break;
    }
    cs->cpu = record->cpu;
    cs->tsc = record->tsc;
    cs->gaps = cpu->gaps;
    return rc;
}

int corr_gap(struct correlator *corr, uint32_t cpu, uint64_t tsc)
{
    struct cpu_state *state = cpu_of(corr, cpu);

    if (!state)
        return -1;
    state->gaps++;
    state->gap_tsc = tsc;
    return 0;
}

void corr_finish(struct correlator *corr)
{
    drop_curs(corr, true);
}

uint64_t corr_overflow(const struct correlator *corr)
{
    return corr->overflow;
}

void corr_destroy(struct correlator *corr)
{
    size_t i;

    if (!corr)
        return;
    for (i = 0; i < corr->cpus.size; i++) {
        struct cpu_state *cpu = corr->cpus.slot[i].value;

        if (cpu)
            free(cpu->part);
        free(cpu);
    }
    map_release(&corr->cpus);
    for (i = 0; i < corr->curs.size; i++)
        if (corr->curs.slot[i].value)
            free_cur(corr->curs.slot[i].value);
    map_release(&corr->curs);
    free(corr);
}
