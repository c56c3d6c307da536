/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unmap.c - calls of GNTTABOP_unmap_grant_ref of chosen sizes, and calls that go
 * wrong on the way: an operation that Xen refuses, operations that Xen cannot
 * read, a status that Xen cannot write.
 *
 * Each case maps what it needs, makes the one call between marks, compares what
 * came back, and unmaps the rest outside the marks.
 */
#define _GNU_SOURCE
#include "grants.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { NOTHING_BAD = -1, FIRST_GRANT = 8, MOST = 256 };

/* What becomes of the page of memory that the call's last operations lie in. */
enum tail { TAIL_NORMAL, TAIL_MISSING, TAIL_READ_ONLY };

struct unmap_case {
    const char *name;
    unsigned int asked;
    int bad;                /* this operation has no valid handle */
    enum tail tail;
    unsigned int tail_ops;  /* operations that lie in the tail */
    bool one_page;          /* all grants are of one page */
    bool readonly;
    uint64_t gfn;           /* of the first operation */
    uint64_t stride;        /* frames from one operation to the next */
};

/* Beside the anchors, and a place that has none. */
#define NEAR (GRANT_GFN + 0x20)
#define FAR (GRANT_GFN + 0x10000)

static const struct unmap_case cases[] = {
    { "unmap-1", 1, NOTHING_BAD, 0, 0, false, false, NEAR, 1 },
    { "unmap-31", 31, NOTHING_BAD, 0, 0, false, false, NEAR, 1 },
    { "unmap-32", 32, NOTHING_BAD, 0, 0, false, false, NEAR, 1 },
    { "unmap-33", 33, NOTHING_BAD, 0, 0, false, false, NEAR, 1 },
    { "unmap-256", MOST, NOTHING_BAD, 0, 0, false, false, NEAR, 1 },
    { "unmap-readonly", 8, NOTHING_BAD, 0, 0, false, true, NEAR, 1 },
    { "unmap-sparse", 2, NOTHING_BAD, 0, 0, false, false, NEAR, 0x200 },
    { "unmap-same-page", 2, NOTHING_BAD, 0, 0, true, false, NEAR, 1 },
    { "unmap-last", 4, NOTHING_BAD, 0, 0, false, false, FAR, 1 },
    { "unmap-bad", 40, 20, 0, 0, false, false, NEAR, 1 },
    { "unmap-only-bad", 1, 0, 0, 0, false, false, NEAR, 1 },
    { "unmap-unreadable", 48, NOTHING_BAD, TAIL_MISSING, 8, false, false, NEAR, 1 },
    { "unmap-unreadable-0", 8, NOTHING_BAD, TAIL_MISSING, 8, false, false, NEAR, 1 },
    { "unmap-unwritable", 48, NOTHING_BAD, TAIL_READ_ONLY, 8, false, false, NEAR, 1 },
};

/* The operations of a call: two stretches of memory, the second a page of its own. */
struct ops {
    unsigned char *memory;
    size_t pages;
    unmap_op *op;           /* the first operation */
};

static struct ops ops_alloc(const struct unmap_case *c)
{
    unsigned int before = c->asked - c->tail_ops;
    struct ops ops;

    ops.pages = (before * sizeof(unmap_op) + PAGE - 1) / PAGE + 1;
    ops.memory = pages_alloc(ops.pages);
    ops.op = (unmap_op *)(ops.memory + (ops.pages - 1) * PAGE) - before;
    return ops;
}

static void tail_change(const struct ops *ops, enum tail tail)
{
    void *last = ops->memory + (ops->pages - 1) * PAGE;

    if (tail == TAIL_MISSING)
        munmap(last, PAGE);
    else if (tail == TAIL_READ_ONLY && mprotect(last, PAGE, PROT_READ))
        die("mprotect: %s", strerror(errno));
}

static uint64_t gfn_of(const struct unmap_case *c, unsigned int i)
{
    return c->gfn + i * c->stride;
}

static bool is_bad(const struct unmap_case *c, unsigned int i)
{
    return (int)i == c->bad;
}

/* The operations that Xen must get to: all that it can read. */
static unsigned int expected_done(const struct unmap_case *c)
{
    unsigned int before = c->asked - c->tail_ops;

    switch (c->tail) {
    case TAIL_MISSING:
        return before;
    case TAIL_READ_ONLY:
        return before + 1;      /* done, though Xen cannot say so */
    case TAIL_NORMAL:
        break;
    }
    return c->asked;
}

static void map_all(const struct unmap_case *c, struct domain *granter, grant_handle_t *handles)
{
    uint64_t gfns[MOST];
    unsigned int i;

    for (i = 0; i < c->asked; i++) {
        gfns[i] = gfn_of(c, i);
        domain_grant(granter, FIRST_GRANT + i, FIRST_GRANT + (c->one_page ? 0 : i), c->readonly);
    }
    grants_map(granter, DOMAIN_FIRST_GRANT + FIRST_GRANT, c->asked, gfns, c->readonly, handles);
}

static unsigned int count_in_use(const struct unmap_case *c, const struct domain *granter)
{
    unsigned int i, count = 0;

    for (i = 0; i < c->asked; i++)
        count += domain_grant_in_use(granter, DOMAIN_FIRST_GRANT + FIRST_GRANT + i);
    return count;
}

/* `ops=` lists all operations asked for, in their order: FRAME*COUNT or bad*1. */
static void print_ops(const struct unmap_case *c)
{
    unsigned int i, count;
    const char *comma = "";

    fputs(" ops=", stdout);
    for (i = 0; i < c->asked; i += count, comma = ",") {
        count = 1;
        if (is_bad(c, i)) {
            printf("%sbad*1", comma);
            continue;
        }
        while (c->stride == 1 && i + count < c->asked && !is_bad(c, i + count))
            count++;
        printf("%s%#llx*%u", comma, (unsigned long long)gfn_of(c, i), count);
    }
}

static void report(const struct unmap_case *c, const struct step *step,
                   const struct domain *granter, const struct ops *ops, long rc)
{
    unsigned int readable = c->asked - (c->tail == TAIL_MISSING ? c->tail_ops : 0);
    unsigned int answered = 0, refused = 0, done = expected_done(c), i;
    unsigned int in_use = count_in_use(c, granter);
    unsigned int writable = c->asked - c->tail_ops;

    for (i = 0; i < readable; i++) {
        answered += ops->op[i].status != UNANSWERED;
        refused += ops->op[i].status != UNANSWERED && ops->op[i].status != GNTST_okay;
    }
    line_begin("unmap", step);
    field("asked=%u done=%u rc=%ld refused=%u in_use=%u granter=%u one_page=%d", c->asked, done,
          rc, refused, in_use, granter->id, c->one_page);
    print_ops(c);
    line_end(step);

    if (rc != (c->tail == TAIL_NORMAL ? 0 : -EFAULT))
        differs(step, "the call returned %ld", rc);
    if (answered != writable)
        differs(step, "%u operations were answered, not %u", answered, writable);
    if (refused != (c->bad != NOTHING_BAD))
        differs(step, "%u operations were refused", refused);
    if (in_use != c->asked - done + (c->bad != NOTHING_BAD))
        differs(step, "%u grants are still in use", in_use);
}

/* Unmaps what the call has left: what it did not get to, and the page of a bad one. */
static void unmap_rest(const struct unmap_case *c, const grant_handle_t *handles)
{
    unmap_op *ops = pages_alloc(2);
    unsigned int i, count = 0;

    for (i = 0; i < c->asked; i++)
        if (i >= expected_done(c) || is_bad(c, i))
            unmap_op_set(&ops[count++], gfn_of(c, i), handles[i]);
    if (count && grants_unmap(ops, count))
        die("%s: cannot unmap the rest", c->name);
    for (i = 0; i < count; i++)
        if (ops[i].status != GNTST_okay)
            die("%s: frame %#llx: status %d", c->name,
                (unsigned long long)ops[i].host_addr / PAGE, ops[i].status);
    pages_free(ops, 2);
}

static void run_case(const struct unmap_case *c, struct domain *granter)
{
    static grant_handle_t handles[MOST];
    struct ops ops = ops_alloc(c);
    struct step step;
    unsigned int i;
    long rc;

    map_all(c, granter, handles);
    for (i = 0; i < c->asked; i++)
        unmap_op_set(&ops.op[i], gfn_of(c, i), is_bad(c, i) ? BAD_HANDLE : handles[i]);
    tail_change(&ops, c->tail);

    step_begin(&step, c->name);
    rc = grants_unmap(ops.op, c->asked);
    step_end(&step);

    report(c, &step, granter, &ops, rc);
    unmap_rest(c, handles);
    pages_free(ops.memory, ops.pages);
}

void path_unmap(unsigned long argument)
{
    struct domain granter;
    struct anchor anchors[2];
    size_t i;

    (void)argument;
    domain_create(&granter, FIRST_GRANT + MOST, false);
    anchor_set(&anchors[0], &granter, 0, GRANT_GFN + 0x1ff);
    anchor_set(&anchors[1], &granter, 1, GRANT_GFN + 0x3ff);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_case(&cases[i], &granter);
    anchor_drop(&anchors[0]);
    anchor_drop(&anchors[1]);
    if (!domain_destroy(&granter))
        die("pages of domain %u are still in use", granter.id);
}
