/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the correlator: many vCPUs, flushes without calls, parts without flushes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correlate.h"

struct counts {
    uint64_t batches, calls, links, parts, in_call;
};

static void count_batch(void *context, const struct corr_batch *batch)
{
    (void)batch;
    ((struct counts *)context)->batches++;
}

static void count_call(void *context, const struct corr_call *call)
{
    (void)call;
    ((struct counts *)context)->calls++;
}

static void count_link(void *context, const struct corr_link *link)
{
    ((struct counts *)context)->links++;
    ((struct counts *)context)->in_call += link->call != 0;
}

static void count_part(void *context, const struct corr_part *part)
{
    (void)part;
    ((struct counts *)context)->parts++;
}

static struct correlator *start(struct counts *counts)
{
    struct corr_sink sink = { counts, count_batch, count_call, count_link, count_part };
    struct correlator *corr = corr_create(&sink);

    *counts = (struct counts){ 0 };
    assert_non_null(corr);
    return corr;
}

/* Every cur that there can be opens a batch and never ends it. */
static void many_curs(void **state)
{
    struct counts counts;
    struct correlator *corr = start(&counts);
    const uint32_t curs = 3 * CORR_MAX_CURS;
    uint32_t i;

    (void)state;
    for (i = 0; i < curs; i++) {
        struct xf_record record = { .tsc = i, .pos = i * 20, .cpu = i & 7, .word = { i, 32 } };

        assert_int_equal(corr_record(corr, XF_BATCH_BEGIN, i + 1, &record), 0);
    }
    assert_int_equal(counts.batches, 2 * CORR_MAX_CURS);
    corr_finish(corr);
    assert_int_equal(counts.batches, curs);
    assert_int_equal(counts.calls, curs);
    assert_true(corr_overflow(corr) > 0);
    corr_destroy(corr);
}

/* More flushes outside calls than are kept: each comes out once, the newest claimed. */
static void many_flushes(void **state)
{
    struct counts counts;
    struct correlator *corr = start(&counts);
    const uint32_t flushes = CORR_MAX_PENDING + 1000;
    struct xf_record call = { .tsc = flushes, .word = { 0, 1, 1, 0, 10 } };
    uint32_t i;

    (void)state;
    for (i = 0; i < flushes; i++) {
        struct xf_record record = { .tsc = i, .word = { 0, 0, 1, 5 } };

        assert_int_equal(corr_record(corr, XF_TLB_FLUSH, i + 1, &record), 0);
    }
    assert_int_equal(counts.links, 1000);
    assert_int_equal(corr_overflow(corr), 1000);
    assert_int_equal(corr_record(corr, XF_UNMAP_CALL, 1, &call), 0);
    assert_int_equal(counts.links, flushes);
    assert_int_equal(counts.in_call, 10);
    corr_finish(corr);
    assert_int_equal(counts.calls, 1);
    corr_destroy(corr);
}

/* IPI rounds that no flush follows are dropped, and memory stays bounded. */
static void many_parts(void **state)
{
    struct counts counts;
    struct correlator *corr = start(&counts);
    struct xf_record flush = { .tsc = 0, .word = { 1, 0, 1, 100 } };
    uint32_t i;

    (void)state;
    for (i = 0; i < 2 * CORR_MAX_PENDING; i++) {
        struct xf_record record = { .tsc = i, .word = { 0, 0, 1, 2, 3 } };

        assert_int_equal(corr_record(corr, XF_IPI_ROUND, i + 1, &record), 0);
    }
    assert_int_equal(corr_overflow(corr), 0);
    assert_int_equal(corr_record(corr, XF_TLB_FLUSH, 1, &flush), 0);
    corr_finish(corr);
    assert_int_equal(counts.parts, 0);
    assert_int_equal(counts.links, 1);
    corr_destroy(corr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_curs),
        cmocka_unit_test(many_flushes),
        cmocka_unit_test(many_parts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
