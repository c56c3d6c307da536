/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost.c - how many ticks of the TSC map and unmap calls take.
 *
 * On an emulated machine that counts instructions, and with one CPU, a tick is one
 * instruction of that CPU.  The call is timed around the ioctl, so the way through
 * the kernel is in it; the same way to the cheapest hypercall (XENVER_version) is
 * timed too, and what remains per page is (call - cheapest call) / pages.
 *
 * A call of 256 pages takes about as long as the time from one timer interrupt to
 * the next.  So each call begins just after an interrupt, and the median has none in
 * it; the maximum shows those of other devices.
 */
#include "grants.h"
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xen/version.h>

enum { FIRST_GRANT = 8, MOST_PAGES = 256, MOST_RUNS = 1000, WARM_UP = 5 };

/* Ticks; a timer that interrupts 100 times a second comes sooner at 2 GHz and below. */
#define LONGEST_WAIT UINT64_C(20000000)

struct sample {
    uint64_t ticks[MOST_RUNS];
    unsigned int count;
};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts the sample; of an even count, the lower of the two in the middle. */
static uint64_t median(struct sample *sample)
{
    qsort(sample->ticks, sample->count, sizeof(sample->ticks[0]), compare);
    return sample->ticks[(sample->count - 1) / 2];
}

static void print(const char *call, unsigned int pages, struct sample *sample, uint64_t reference)
{
    uint64_t middle = median(sample);

    printf("XF cost call=%s pages=%u runs=%u min=%llu median=%llu max=%llu", call, pages,
           sample->count, (unsigned long long)sample->ticks[0], (unsigned long long)middle,
           (unsigned long long)sample->ticks[sample->count - 1]);
    if (pages)
        printf(" per_page=%.1f", ((double)middle - (double)reference) / pages);
    putchar('\n');
}

static void time_nothing(struct sample *sample, unsigned int runs)
{
    uint64_t start;

    for (sample->count = 0; sample->count < runs; sample->count++) {
        start = tsc();
        sample->ticks[sample->count] = tsc() - start;
    }
}

static void time_hypercall(struct sample *sample, unsigned int runs, unsigned int op, uint64_t a0)
{
    uint64_t start;
    int i;

    sample->count = 0;
    for (i = -WARM_UP; i < (int)runs; i++) {
        start = tsc();
        hypercall(op, a0, 0, 0, 0);
        if (i >= 0)
            sample->ticks[sample->count++] = tsc() - start;
    }
}

/*
 * Waits until an interrupt has just been served: the time between two readings of
 * the clock is then much longer than `reading`.  Without a periodic tick there is
 * nothing to wait for.
 */
static void wait_for_tick(uint64_t reading)
{
    uint64_t begin = tsc(), last = begin, now;

    for (;;) {
        now = tsc();
        if (now - last > 4 * reading || now - begin > LONGEST_WAIT)
            return;
        last = now;
    }
}

struct bench {
    uint64_t reading;           /* ticks that reading the clock takes */
    struct domain granter;
    map_op *map;
    unmap_op *unmap;
    struct sample map_sample;
    struct sample unmap_sample;
};

/* One pair of calls; all operations must have succeeded. */
static void time_pair(struct bench *bench, unsigned int pages, bool keep)
{
    uint64_t t[4];
    unsigned int i;
    long rc[2];

    for (i = 0; i < pages; i++)
        bench->map[i] = (map_op){ .host_addr = (GRANT_GFN + i) * PAGE, .flags = GNTMAP_host_map,
                                  .ref = DOMAIN_FIRST_GRANT + FIRST_GRANT + i,
                                  .dom = bench->granter.id, .status = UNANSWERED };
    wait_for_tick(bench->reading);
    t[0] = tsc();
    rc[0] = hypercall(__HYPERVISOR_grant_table_op, GNTTABOP_map_grant_ref, address(bench->map),
                      pages, 0);
    t[1] = tsc();
    for (i = 0; i < pages; i++) {
        if (bench->map[i].status != GNTST_okay)
            die("cost: mapping page %u: status %d", i, bench->map[i].status);
        unmap_op_set(&bench->unmap[i], GRANT_GFN + i, bench->map[i].handle);
    }
    wait_for_tick(bench->reading);
    t[2] = tsc();
    rc[1] = grants_unmap(bench->unmap, pages);
    t[3] = tsc();
    for (i = 0; i < pages; i++)
        if (bench->unmap[i].status != GNTST_okay)
            die("cost: unmapping page %u: status %d", i, bench->unmap[i].status);
    if (rc[0] || rc[1])
        die("cost: the calls returned %ld and %ld", rc[0], rc[1]);
    if (keep) {
        bench->map_sample.ticks[bench->map_sample.count++] = t[1] - t[0];
        bench->unmap_sample.ticks[bench->unmap_sample.count++] = t[3] - t[2];
    }
}

static void run_size(struct bench *bench, unsigned int pages, unsigned int runs,
                     uint64_t reference)
{
    int i;

    bench->map_sample.count = bench->unmap_sample.count = 0;
    for (i = -WARM_UP; i < (int)runs; i++)
        time_pair(bench, pages, i >= 0);
    print("map", pages, &bench->map_sample, reference);
    print("unmap", pages, &bench->unmap_sample, reference);
}

void path_cost(unsigned long argument)
{
    static const unsigned int sizes[] = { 1, 32, MOST_PAGES };
    static struct bench bench;
    static struct sample clock, cheapest;
    unsigned int runs = argument ? (unsigned int)argument : 50, i;
    struct anchor anchor;

    if (runs > MOST_RUNS)
        die("cost: at most %u runs", MOST_RUNS);
    domain_create(&bench.granter, FIRST_GRANT + MOST_PAGES, false);
    for (i = 0; i < MOST_PAGES; i++)
        domain_grant(&bench.granter, FIRST_GRANT + i, FIRST_GRANT + i, false);
    anchor_set(&anchor, &bench.granter, 0, GRANT_GFN + 0x1ff);
    bench.map = pages_alloc((MOST_PAGES * sizeof(map_op) + PAGE - 1) / PAGE);
    bench.unmap = pages_alloc((MOST_PAGES * sizeof(unmap_op) + PAGE - 1) / PAGE);

    time_nothing(&clock, runs);
    print("clock", 0, &clock, 0);
    bench.reading = median(&clock);
    time_hypercall(&cheapest, runs, __HYPERVISOR_xen_version, XENVER_version);
    print("hypercall", 0, &cheapest, 0);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        run_size(&bench, sizes[i], runs, median(&cheapest));

    anchor_drop(&anchor);
    if (!domain_destroy(&bench.granter))
        die("pages of domain %u are still in use", bench.granter.id);
}
