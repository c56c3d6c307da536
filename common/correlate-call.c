/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * correlate-call.c - batches and unmap calls: what leaves the correlator.
 *
 * How it works: batches that have ended and flushes wait in their vCPU's state
 * until UNMAP_CALL tells which call they lie in, because only then it is known
 * whether that call is the rest of a preempted one.  Batches that are older
 * than the call's begin are left from a call whose record is missing; they get
 * a logical call of their own that says so.
 */
#include "correlate-state.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN_CYCLES UINT32_MAX
/* A call of more groups than this between two records gives batches out early. */
#define MAX_DONE_BATCHES 1024

void corr_sums_add(struct corr_sums *sum, const struct corr_sums *add)
{
    sum->iotlb_flushes += add->iotlb_flushes;
    sum->tlb_flushes += add->tlb_flushes;
    sum->ipi_rounds += add->ipi_rounds;
    sum->ipi_targets += add->ipi_targets;
    sum->iotlb_cycles += add->iotlb_cycles;
    sum->tlb_cycles += add->tlb_cycles;
    sum->lock_cycles += add->lock_cycles;
    sum->ack_cycles += add->ack_cycles;
    sum->unknown |= add->unknown;
}

bool corr_pop_pending(struct correlator *corr, struct cur_state *cs, struct pending *out)
{
    if (cs->pendings == 0)
        return false;
    *out = cs->pending[cs->pending_head];
    cs->pending_head = (cs->pending_head + 1) % cs->pending_size;
    cs->pendings--;
    corr->held--;
    return true;
}

void corr_give_link(struct correlator *corr, const struct pending *pending,
                    uint64_t call)
{
    struct corr_link link = {
        .flush = pending->flush,
        .row = pending->row,
        .batch = pending->batch,
        .call = call,
        .closing = pending->batch && pending->closing,
        .part = pending->part,
    };

    corr->sink.link(corr->sink.context, &link);
}

void corr_sum_batch(struct cur_state *cs)
{
    struct corr_batch *batch = &cs->batch;
    uint32_t i;

    for (i = cs->pendings; i-- > 0;) {
        struct pending *p = &cs->pending[(cs->pending_head + i) % cs->pending_size];

        if (p->batch != batch->id)
            break;
        corr_sums_add(&batch->sums, &p->sums);
        if (!p->closing)
            continue;
        if (p->flush == XF_TLB_FLUSH) {
            batch->tlb_closing++;
            continue;
        }
        batch->iotlb_closing++;
        if (p->whole)
            batch->closing_whole++;
        else
            batch->closing_pages += p->pages;
        batch->hw_pages += p->hw_pages;
        batch->hw_whole += p->hw_whole;
    }
}

static uint64_t presumed_call(struct correlator *corr, struct cur_state *cs)
{
    if (cs->call.id == 0)
        cs->call.id = corr->next_call++;
    return cs->call.id;
}

/* Makes room: the older half of the finished batches goes out to the call it seems to be in. */
static void give_older_batches(struct correlator *corr, struct cur_state *cs)
{
    uint32_t half = cs->dones / 2, i;

    for (i = 0; i < half; i++) {
        cs->done[i].call = presumed_call(corr, cs);
        cs->call.batches++;
        cs->call.released += cs->done[i].released;
        cs->call.lossy |= cs->done[i].lossy;
        corr->sink.batch(corr->sink.context, &cs->done[i]);
    }
    memmove(cs->done, cs->done + half, (cs->dones - half) * sizeof(*cs->done));
    cs->dones -= half;
    corr->overflow += half;
}

int corr_close_batch(struct correlator *corr, struct cur_state *cs)
{
    if (!cs->has_batch)
        return 0;
    if (cs->dones == cs->dones_size) {
        if (cs->dones == MAX_DONE_BATCHES) {
            give_older_batches(corr, cs);
        } else {
            uint32_t size = cs->dones_size ? cs->dones_size * 2 : 4;
            struct corr_batch *done = realloc(cs->done, size * sizeof(*done));

            if (!done)
                return -1;
            cs->done = done;
            cs->dones_size = size;
        }
    }
    if (cs->in_batch) {
        cs->batch.state = CORR_BATCH_NO_END;
        corr_sum_batch(cs);
    }
    cs->done[cs->dones++] = cs->batch;
    cs->has_batch = cs->in_batch = false;
    return 0;
}

static void give_call(struct correlator *corr, struct cur_state *cs, enum corr_call_state state)
{
    cs->call.state = state;
    cs->call.cur = cs->cur;
    corr->sink.call(corr->sink.context, &cs->call);
    cs->call = (struct corr_call){ 0 };
    cs->chained = false;
}

/*
 * Gives out the first `count` finished batches, and the flushes that lie in
 * batches up to these, as part of cs->call.
 */
static void give_batches(struct correlator *corr, struct cur_state *cs, uint32_t count,
                         bool all_flushes, int64_t begin)
{
    uint64_t last = count ? cs->done[count - 1].id : 0;
    uint64_t call = presumed_call(corr, cs);
    struct pending pending;
    uint32_t i;

    for (i = 0; i < count; i++) {
        cs->done[i].call = call;
        cs->call.batches++;
        cs->call.released += cs->done[i].released;
        cs->call.lossy |= cs->done[i].lossy;
        corr->sink.batch(corr->sink.context, &cs->done[i]);
    }
    if (count) {
        memmove(cs->done, cs->done + count, (cs->dones - count) * sizeof(*cs->done));
        cs->dones -= count;
    }

    while (cs->pendings) {
        const struct pending *first = &cs->pending[cs->pending_head];

        if (!all_flushes && (first->batch > last || (!first->batch && (int64_t)first->tsc >= begin)))
            break;
        corr_pop_pending(corr, cs, &pending);
        if ((pending.batch && !pending.assumed) || (int64_t)pending.tsc >= begin) {
            corr_sums_add(&cs->call.sums, &pending.sums);
            corr_give_link(corr, &pending, call);
        } else {
            corr_give_link(corr, &pending, 0);
        }
    }
}

/*
 * Batches from before `begin` belong to a call whose record is not in the trace.
 * Only loss and damage keep a record from it: else they are this call's, which
 * began earlier than its record can tell, as that was stamped late.
 */
static void give_orphans(struct correlator *corr, struct cur_state *cs, int64_t begin)
{
    uint32_t count = 0;

    if (!cs->part_lossy)
        return;
    while (count < cs->dones && (int64_t)cs->done[count].end_tsc < begin)
        count++;
    if (count == 0)
        return;
    if (cs->chained)
        give_call(corr, cs, CORR_CALL_NO_REST);
    cs->call.cpu = cs->done[count - 1].cpu;
    cs->call.end_tsc = cs->done[count - 1].end_tsc;
    give_batches(corr, cs, count, false, begin);
    give_call(corr, cs, CORR_CALL_NO_RECORD);
}

int corr_unmap_call(struct correlator *corr, struct cur_state *cs,
                    const struct xf_record *record)
{
    uint32_t asked = record->word[1], done = record->word[2], cycles = record->word[4];
    int32_t rc = (int32_t)record->word[3];
    bool known = cycles != UNKNOWN_CYCLES;
    int64_t begin;
    struct corr_call *call = &cs->call;

    if (!known || __builtin_sub_overflow((int64_t)record->tsc, (int64_t)cycles, &begin))
        begin = INT64_MIN;
    if (corr_close_batch(corr, cs))
        return -1;
    give_orphans(corr, cs, begin);
    if (cs->chained && cs->rest != asked)
        give_call(corr, cs, CORR_CALL_NO_REST);

    if (!cs->chained) {
        call->asked = asked;
        call->cycles_known = true;
        call->begin_tsc = begin;
    }
    call->parts++;
    call->cpu = record->cpu;
    call->pos = record->pos;
    call->end_tsc = record->tsc;
    call->done += done;
    call->rc = rc;
    call->cycles_known &= known;
    call->cycles += cycles;
    call->released += cs->released;
    call->lossy |= cs->part_lossy;
    if (!cs->seen_batch)
        call->unbatched += done;
    give_batches(corr, cs, cs->dones, true, begin);

    cs->released = 0;
    cs->part_lossy = cs->seen_batch = false;
    if (rc == 0 && done < asked) {
        cs->chained = true;
        cs->rest = asked - done;
    } else {
        give_call(corr, cs, CORR_CALL_COMPLETE);
    }
    return 0;
}

void corr_abandon(struct correlator *corr, struct cur_state *cs)
{
    struct pending pending;

    corr_close_batch(corr, cs);
    if (cs->dones) {
        /* The open part belongs to the preempted call if there is one. */
        if (!cs->chained) {
            cs->call.cpu = cs->cpu;
            cs->call.end_tsc = cs->done[cs->dones - 1].end_tsc;
        }
        give_batches(corr, cs, cs->dones, true, INT64_MAX);
    }
    while (corr_pop_pending(corr, cs, &pending))
        corr_give_link(corr, &pending, 0);
    if (cs->chained)
        give_call(corr, cs, CORR_CALL_NO_REST);
    else if (cs->call.id)
        give_call(corr, cs, CORR_CALL_NO_RECORD);
    cs->released = 0;
    cs->part_lossy = cs->seen_batch = false;
}
