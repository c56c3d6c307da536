/* SPDX-License-Identifier: GPL-2.0-only */
/* grants.c - see grants.h. */
#include "grants.h"

#include <string.h>

static map_op *map_buffer(unsigned int count)
{
    static map_op *ops;
    const size_t pages = (DOMAIN_GRANTS * sizeof(*ops) + PAGE - 1) / PAGE;

    if (!ops)
        ops = pages_alloc(pages);
    if (count > DOMAIN_GRANTS)
        die("%u operations: more than there are grants", count);
    memset(ops, 0, count * sizeof(*ops));
    return ops;
}

void grants_map(const struct domain *domain, grant_ref_t first, unsigned int count,
                const uint64_t *gfns, bool readonly, grant_handle_t *handles)
{
    map_op *ops = map_buffer(count);
    unsigned int i;
    long rc;

    for (i = 0; i < count; i++) {
        ops[i].host_addr = gfns[i] * PAGE;
        ops[i].flags = GNTMAP_host_map | (readonly ? GNTMAP_readonly : 0);
        ops[i].ref = first + i;
        ops[i].dom = domain->id;
        ops[i].status = UNANSWERED;
    }
    rc = hypercall(__HYPERVISOR_grant_table_op, GNTTABOP_map_grant_ref, address(ops), count, 0);
    if (rc)
        die("mapping %u grants: %s", count, strerror((int)-rc));
    for (i = 0; i < count; i++) {
        if (ops[i].status != GNTST_okay)
            die("mapping grant %u of domain %u at frame %#llx: status %d", ops[i].ref, domain->id,
                (unsigned long long)gfns[i], ops[i].status);
        handles[i] = ops[i].handle;
    }
}

void unmap_op_set(unmap_op *op, uint64_t gfn, grant_handle_t handle)
{
    *op = (unmap_op){ .host_addr = gfn * PAGE, .handle = handle, .status = UNANSWERED };
}

long grants_unmap(unmap_op *ops, unsigned int count)
{
    return hypercall(__HYPERVISOR_grant_table_op, GNTTABOP_unmap_grant_ref, address(ops), count,
                     0);
}

void anchor_set(struct anchor *anchor, struct domain *domain, unsigned int n, uint64_t gfn)
{
    grant_ref_t ref = domain_grant(domain, n, n, false);

    anchor->gfn = gfn;
    grants_map(domain, ref, 1, &gfn, false, &anchor->handle);
}

void anchor_drop(const struct anchor *anchor)
{
    unmap_op *op = pages_alloc(1);

    unmap_op_set(op, anchor->gfn, anchor->handle);
    if (grants_unmap(op, 1) || op->status != GNTST_okay)
        die("unmapping the anchor at frame %#llx: status %d", (unsigned long long)anchor->gfn,
            op->status);
    pages_free(op, 1);
}
