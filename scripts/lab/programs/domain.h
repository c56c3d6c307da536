/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * domain.h - a domain that never runs: memory, a grant table and one vCPU that
 * stays paused.
 *
 * Tests need a domain that grants pages.  Dom0 cannot be its own: Xen lets a
 * translated domain map its own grant, but takes the page away from the frame
 * where it was, so dom0 would lose memory under its feet.  A guest with a kernel
 * would add records of its own.  So a test makes a bare domain and writes its
 * grant table from outside (XENMEM_acquire_resource).
 *
 * Nobody destroys a domain that a crashed program leaves behind; it holds some
 * memory and does no harm.
 */
#ifndef LAB_DOMAIN_H
#define LAB_DOMAIN_H

#include "xen.h"

#include <xen/domctl.h>
#include <xen/grant_table.h>

struct domain {
    domid_t id;
    unsigned long pages;            /* populated, guest frames 0 to pages - 1 */
    grant_entry_v1_t *grants;       /* the shared table, DOMAIN_GRANTS entries */
};

enum {
    DOMAIN_GRANTS = 512,            /* one frame of version 1 entries */
    DOMAIN_FIRST_GRANT = 8,         /* the first few are reserved by convention */
};

/* With `iommu`, its memory is mapped for devices as well, though it has none. */
void domain_create(struct domain *domain, unsigned long pages, bool iommu);
/* Ends the domain.  Returns whether it is gone; false: pages of it are in use. */
bool domain_destroy(struct domain *domain);
/* Pages that the domain owns; 0 when it is gone. */
uint64_t domain_owned(const struct domain *domain);
/* vCPUs that domain `id` has. */
unsigned int domain_vcpus(domid_t id);

/* Grants frame `gfn` to dom0; the n-th reference handed out is FIRST_GRANT + n. */
grant_ref_t domain_grant(struct domain *domain, unsigned int n, uint64_t gfn, bool readonly);
/* Xen holds this grant for a mapper. */
bool domain_grant_in_use(const struct domain *domain, grant_ref_t ref);

/* One of the domain's pages in the program's address space. */
void *domain_map(const struct domain *domain, uint64_t gfn);
void domain_unmap(void *page);

/* XENMEM_populate_physmap or XENMEM_decrease_reservation: extents done, or -errno. */
long domain_reservation(const struct domain *domain, unsigned int op, const uint64_t *gfns,
                        unsigned long extents, unsigned int order);

/* A domctl for the domain: `set` has its `u` filled. */
long domain_control(domid_t id, unsigned int command, struct xen_domctl *set);

#endif
