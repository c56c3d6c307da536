/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * physmap.c - frames of a test domain are moved, overwritten and removed, so that
 * Xen's own skip windows open and close.
 *
 * Moving a range (XENMAPSPACE_gmfn_range) of a domain that has IOMMU mappings is
 * the one place in stock Xen that puts off IOTLB flushes: up to 16 frames, or until
 * the call is preempted, then two flushes, of the old and of the new range.  A
 * frame that something else lies on is removed first, with the window suspended.
 * Moving frames one by one, by a list, or removing them opens no window.
 */
#include "domain.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <xen/memory.h>

enum { POPULATED = 64, MOST = 64, SUPERPAGE_ORDER = 9 };

/* Frames that nothing lies on. */
#define RANGE_A UINT64_C(0x1000)
#define RANGE_B UINT64_C(0x2000)
#define RANGE_C UINT64_C(0x3000)
#define SPECIAL UINT64_C(0x4000)
#define SUPERPAGE UINT64_C(0x8000)

static void *buffer(void)
{
    static void *page;

    if (!page)
        page = pages_alloc(1);
    memset(page, 0, PAGE);
    return page;
}

static void print(const struct step *step, const struct domain *domain, const char *how,
                  unsigned int frames, unsigned int removed, uint64_t from, uint64_t to, long rc)
{
    line_begin("physmap", step);
    field("how=%s domain=%u frames=%u removed=%u from=%#llx to=%#llx rc=%ld", how, domain->id,
          frames, removed, (unsigned long long)from, (unsigned long long)to, rc);
    line_end(step);
    if (rc < 0)
        differs(step, "%s", strerror((int)-rc));
}

/* `overwritten`: each frame at `to` has a page of the domain already. */
static void move_range(const char *name, const struct domain *domain, uint64_t from, uint64_t to,
                       unsigned int frames, bool overwritten)
{
    struct xen_add_to_physmap *add = buffer();
    struct step step;
    long rc;

    add->domid = domain->id;
    add->size = (uint16_t)frames;
    add->space = XENMAPSPACE_gmfn_range;
    add->idx = from;
    add->gpfn = to;
    step_begin(&step, name);
    rc = hypercall(__HYPERVISOR_memory_op, XENMEM_add_to_physmap, address(add), 0, 0);
    step_end(&step);
    print(&step, domain, "range", frames, overwritten ? frames : 0, from, to, rc);
}

static void move_list(const char *name, const struct domain *domain, uint64_t from, uint64_t to,
                      unsigned int frames)
{
    struct {
        struct xen_add_to_physmap_batch add;
        xen_ulong_t from[MOST];
        xen_pfn_t to[MOST];
        int error[MOST];
    } *list = buffer();
    struct step step;
    unsigned int i;
    long rc;

    for (i = 0; i < frames; i++) {
        list->from[i] = from + i;
        list->to[i] = to + i;
        list->error[i] = 1;
    }
    list->add.domid = domain->id;
    list->add.space = XENMAPSPACE_gmfn;
    list->add.size = (uint16_t)frames;
    set_xen_guest_handle(list->add.idxs, list->from);
    set_xen_guest_handle(list->add.gpfns, list->to);
    set_xen_guest_handle(list->add.errs, list->error);
    step_begin(&step, name);
    rc = hypercall(__HYPERVISOR_memory_op, XENMEM_add_to_physmap_batch, address(list), 0, 0);
    step_end(&step);
    print(&step, domain, "list", frames, 0, from, to, rc);
    for (i = 0; i < frames; i++)
        if (list->error[i])
            differs(&step, "frame %u: %s", i, strerror(-list->error[i]));
}

/* The domain's grant table or shared info: pages that were mapped nowhere. */
static void add_special(const char *name, const struct domain *domain, unsigned int space,
                        uint64_t to)
{
    struct xen_add_to_physmap *add = buffer();
    struct step step;
    long rc;

    add->domid = domain->id;
    add->space = space;
    add->gpfn = to;
    step_begin(&step, name);
    rc = hypercall(__HYPERVISOR_memory_op, XENMEM_add_to_physmap, address(add), 0, 0);
    step_end(&step);
    print(&step, domain, "special", 1, 0, 0, to, rc);
}

static void remove_frame(const char *name, const struct domain *domain, uint64_t gfn)
{
    struct xen_remove_from_physmap *remove = buffer();
    struct step step;
    long rc;

    remove->domid = domain->id;
    remove->gpfn = gfn;
    step_begin(&step, name);
    rc = hypercall(__HYPERVISOR_memory_op, XENMEM_remove_from_physmap, address(remove), 0, 0);
    step_end(&step);
    print(&step, domain, "unhook", 0, 1, gfn, 0, rc);
}

static void release(const char *name, const struct domain *domain, uint64_t gfn,
                    unsigned int frames)
{
    uint64_t gfns[MOST];
    uint64_t owned = domain_owned(domain);
    struct step step;
    unsigned int i;
    long rc;

    for (i = 0; i < frames; i++)
        gfns[i] = gfn + i;
    step_begin(&step, name);
    rc = domain_reservation(domain, XENMEM_decrease_reservation, gfns, frames, 0);
    step_end(&step);
    print(&step, domain, "release", 0, frames, gfn, 0, rc);
    if (rc != (long)frames)
        differs(&step, "%ld frames were removed", rc);
    if (domain_owned(domain) != owned - frames)
        differs(&step, "the domain owns %llu pages", (unsigned long long)domain_owned(domain));
}

/*
 * A superpage where small ones were: the page of their table is freed, although
 * the small ones are long gone.
 */
static void superpage(const char *name, const struct domain *domain)
{
    const uint64_t small[] = { SUPERPAGE, SUPERPAGE + 1, SUPERPAGE + 2, SUPERPAGE + 3 };
    const uint64_t big = SUPERPAGE;
    struct step step;
    long rc;

    if (domain_reservation(domain, XENMEM_populate_physmap, small, 4, 0) != 4 ||
        domain_reservation(domain, XENMEM_decrease_reservation, small, 4, 0) != 4)
        die("%s: cannot populate and empty four frames", name);
    step_begin(&step, name);
    rc = domain_reservation(domain, XENMEM_populate_physmap, &big, 1, SUPERPAGE_ORDER);
    step_end(&step);
    print(&step, domain, "superpage", 1u << SUPERPAGE_ORDER, 0, 0, big, rc);
    if (rc != 1)
        differs(&step, "%ld superpages were populated", rc);
}

void path_physmap(unsigned long argument)
{
    struct domain domain;

    (void)argument;
    domain_create(&domain, POPULATED, true);
    move_range("move-40", &domain, 0, RANGE_A, 40, false);
    move_range("move-16", &domain, RANGE_A, RANGE_B, 16, false);
    move_range("move-17", &domain, RANGE_A + 16, RANGE_C, 17, false);
    move_range("move-over-17", &domain, RANGE_C, 40, 17, true);
    move_list("move-list-16", &domain, RANGE_B, RANGE_A, 16);
    add_special("add-grant-table", &domain, XENMAPSPACE_grant_table, SPECIAL);
    add_special("add-shared-info", &domain, XENMAPSPACE_shared_info, SPECIAL + 1);
    remove_frame("unhook-shared-info", &domain, SPECIAL + 1);
    release("release-16", &domain, RANGE_A, 16);
    superpage("superpage", &domain);
    if (!domain_destroy(&domain))
        die("pages of domain %u are still in use", domain.id);
}
