/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault.c - what becomes of the pages of an unmap call whose IOTLB flush fails.
 *
 * With the lab's fault in Xen (boot option iotlb-flush-fault=N) the N-th closing
 * flush of a group of unmaps fails.  Devices may then still reach the pages, so
 * none may be released: the grants stay in use, and the granter, destroyed, remains
 * as a dying domain that owns just these pages.  Without the fault, nothing stays.
 *
 * Each call is one group of 32 pages; the program counts what each leaves behind
 * and does not know which is to fail.
 */
#include "grants.h"
#include "paths.h"

#include <stdio.h>
#include <string.h>

enum { GROUP = 32, FIRST_GRANT = 8, MOST_CALLS = 12 };

/* Returns the pages that the call leaks. */
static unsigned int unmap_group(struct domain *granter, unsigned int call)
{
    unsigned int first = FIRST_GRANT + call * GROUP, i, refused = 0, leaked = 0;
    grant_handle_t handles[GROUP];
    uint64_t gfns[GROUP];
    unmap_op *ops = pages_alloc(1);
    struct step step;
    char name[24];
    long rc;

    for (i = 0; i < GROUP; i++) {
        gfns[i] = GRANT_GFN + GROUP + i;
        domain_grant(granter, first + i, first + i, false);
    }
    grants_map(granter, DOMAIN_FIRST_GRANT + first, GROUP, gfns, false, handles);
    for (i = 0; i < GROUP; i++)
        unmap_op_set(&ops[i], gfns[i], handles[i]);
    snprintf(name, sizeof(name), "fault-%u", call + 1);
    step_begin(&step, name);
    rc = grants_unmap(ops, GROUP);
    step_end(&step);
    for (i = 0; i < GROUP; i++) {
        refused += ops[i].status != GNTST_okay;
        leaked += domain_grant_in_use(granter, DOMAIN_FIRST_GRANT + first + i);
    }
    pages_free(ops, 1);
    line_begin("fault", &step);
    field("asked=%u rc=%ld refused=%u leaked=%u granter=%u gfn=%#llx", GROUP, rc, refused, leaked,
          granter->id, (unsigned long long)gfns[0]);
    line_end(&step);
    if (rc)
        differs(&step, "the call returned %ld", rc);
    if (leaked && leaked != GROUP)
        differs(&step, "%u of %u pages leaked", leaked, GROUP);
    return leaked;
}

void path_fault(unsigned long argument)
{
    unsigned int calls = argument ? (unsigned int)argument : 4, call, leaked = 0;
    struct domain granter;
    struct anchor anchor;
    struct step step;
    bool gone;

    if (calls > MOST_CALLS)
        die("fault: at most %u calls", MOST_CALLS);
    domain_create(&granter, FIRST_GRANT + MOST_CALLS * GROUP, false);
    /* Mapping it unmaps nothing, so the first call's flush is the first to close a group. */
    anchor_set(&anchor, &granter, 0, GRANT_GFN + 0x1ff);
    for (call = 0; call < calls; call++)
        leaked += unmap_group(&granter, call);
    anchor_drop(&anchor);
    step_begin(&step, "fault-destroy");
    gone = domain_destroy(&granter);
    step_end(&step);
    line_begin("leak", &step);
    field("leaked=%u granter=%u gone=%d owned=%llu", leaked, granter.id, gone,
          (unsigned long long)domain_owned(&granter));
    line_end(&step);
    if (domain_owned(&granter) != leaked)
        differs(&step, "the granter owns %llu pages, %u leaked",
                (unsigned long long)domain_owned(&granter), leaked);
}
