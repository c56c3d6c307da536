/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grants.h - maps grants of a test domain at chosen frames of dom0, and unmaps
 * them with one hypercall of exactly the operations that a test asks for.
 *
 * The frames are far above dom0's memory and MMIO: nothing may be there before,
 * since Xen destroys a domain that maps over a device or a grant.  Nobody reads
 * the pages.
 */
#ifndef LAB_GRANTS_H
#define LAB_GRANTS_H

#include "domain.h"

/* 64 GiB, aligned for every size of page table. */
#define GRANT_GFN UINT64_C(0x1000000)

/* A handle that no domain of the lab has. */
#define BAD_HANDLE 0x00fffff0U

typedef struct gnttab_map_grant_ref map_op;
typedef struct gnttab_unmap_grant_ref unmap_op;

/* What Xen leaves in `status` of an operation that it did not answer. */
#define UNANSWERED INT16_C(0x7f7f)

/* Maps `count` grants from `first` on to `gfns`; the handles go to `handles`. */
void grants_map(const struct domain *domain, grant_ref_t first, unsigned int count,
                const uint64_t *gfns, bool readonly, grant_handle_t *handles);

void unmap_op_set(unmap_op *op, uint64_t gfn, grant_handle_t handle);
/* The hypercall's result. */
long grants_unmap(unmap_op *ops, unsigned int count);

/*
 * A page of its own in each 2 MiB that a test uses, so that Xen keeps the page
 * tables there.  Without, the last page to go empties a table and the IOTLB flush
 * becomes one of the whole domain.
 */
struct anchor {
    uint64_t gfn;
    grant_handle_t handle;
};

void anchor_set(struct anchor *anchor, struct domain *domain, unsigned int n, uint64_t gfn);
void anchor_drop(const struct anchor *anchor);

#endif
