/* SPDX-License-Identifier: GPL-2.0-only */
/* domain.c - see domain.h. */
#define _GNU_SOURCE
#include "domain.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xen/memory.h>
#include <xen/sys/privcmd.h>

long domain_control(domid_t id, unsigned int command, struct xen_domctl *set)
{
    static struct xen_domctl *control;
    long rc;

    if (!control)
        control = pages_alloc(1);
    if (set)
        *control = *set;
    else
        memset(control, 0, sizeof(*control));
    control->cmd = command;
    control->interface_version = XEN_DOMCTL_INTERFACE_VERSION;
    control->domain = id;
    do
        rc = hypercall(__HYPERVISOR_domctl, address(control), 0, 0, 0);
    while (rc == -EAGAIN || rc == -ERESTART);
    if (set)
        *set = *control;
    return rc;
}

static void must(long rc, const char *what)
{
    if (rc < 0)
        die("a domain for the test: %s: %s", what, strerror((int)-rc));
}

static domid_t create(bool iommu)
{
    struct xen_domctl control = { 0 };
    struct xen_domctl_createdomain *create = &control.u.createdomain;
    long rc;

    create->flags = XEN_DOMCTL_CDF_hvm | XEN_DOMCTL_CDF_hap;
    if (iommu)
        create->flags |= XEN_DOMCTL_CDF_iommu;
    create->max_vcpus = 1;
    create->max_evtchn_port = 1023;
    create->max_grant_frames = 4;
    create->max_maptrack_frames = 1;
    create->grant_opts = XEN_DOMCTL_GRANT_version(1);
    create->arch.emulation_flags = XEN_X86_EMU_LAPIC;
    rc = domain_control(0, XEN_DOMCTL_createdomain, &control);
    if (rc == -EACCES)
        skip("Xen has another domctl interface than %#x, for which this program was built",
             XEN_DOMCTL_INTERFACE_VERSION);
    must(rc, "createdomain");
    return control.domain;
}

long domain_reservation(const struct domain *domain, unsigned int op, const uint64_t *gfns,
                        unsigned long extents, unsigned int order)
{
    static struct xen_memory_reservation *reservation;
    static uint64_t *list;

    if (!reservation) {
        reservation = pages_alloc(1);
        list = pages_alloc(1);
    }
    if (extents > PAGE / sizeof(*list))
        return -E2BIG;
    memcpy(list, gfns, extents * sizeof(*list));
    memset(reservation, 0, sizeof(*reservation));
    set_xen_guest_handle(reservation->extent_start, list);
    reservation->nr_extents = extents;
    reservation->extent_order = order;
    reservation->domid = domain->id;
    return hypercall(__HYPERVISOR_memory_op, op, address(reservation), 0, 0);
}

static void populate(const struct domain *domain)
{
    uint64_t gfns[PAGE / sizeof(uint64_t)];
    unsigned long done, i, count;

    for (done = 0; done < domain->pages; done += count) {
        count = domain->pages - done;
        if (count > PAGE / sizeof(uint64_t))
            count = PAGE / sizeof(uint64_t);
        for (i = 0; i < count; i++)
            gfns[i] = done + i;
        if (domain_reservation(domain, XENMEM_populate_physmap, gfns, count, 0) != (long)count)
            die("a domain for the test: %lu pages: not enough memory", domain->pages);
    }
}

static void *map_frames(void)
{
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, xen_privcmd(), 0);
}

static void map_grant_table(struct domain *domain)
{
    privcmd_mmap_resource_t map = {
        .dom = domain->id, .type = XENMEM_resource_grant_table,
        .id = XENMEM_resource_grant_table_id_shared, .idx = 0, .num = 1,
    };

    domain->grants = map_frames();
    map.addr = address(domain->grants);
    if (domain->grants == MAP_FAILED ||
        ioctl(xen_privcmd(), IOCTL_PRIVCMD_MMAP_RESOURCE, &map))
        die("a domain for the test: its grant table: %s", strerror(errno));
}

void domain_create(struct domain *domain, unsigned long pages, bool iommu)
{
    struct xen_domctl control = { 0 };

    *domain = (struct domain){ .id = create(iommu), .pages = pages };
    control.u.max_vcpus.max = 1;
    must(domain_control(domain->id, XEN_DOMCTL_max_vcpus, &control), "max_vcpus");
    memset(&control, 0, sizeof(control));
    control.u.shadow_op.op = XEN_DOMCTL_SHADOW_OP_SET_ALLOCATION;
    control.u.shadow_op.mb = 4;
    must(domain_control(domain->id, XEN_DOMCTL_shadow_op, &control), "memory for its page tables");
    memset(&control, 0, sizeof(control));
    /* Room for a superpage beside what is populated now. */
    control.u.max_mem.max_memkb = (pages + 1024) * (PAGE / 1024);
    must(domain_control(domain->id, XEN_DOMCTL_max_mem, &control), "max_mem");
    populate(domain);
    map_grant_table(domain);
}

bool domain_destroy(struct domain *domain)
{
    munmap(domain->grants, PAGE);
    must(domain_control(domain->id, XEN_DOMCTL_destroydomain, NULL), "destroydomain");
    return domain_owned(domain) == 0;
}

static long info(domid_t id, struct xen_domctl *control)
{
    memset(control, 0, sizeof(*control));
    return domain_control(id, XEN_DOMCTL_getdomaininfo, control);
}

uint64_t domain_owned(const struct domain *domain)
{
    struct xen_domctl control;

    /* For a domain that is gone, Xen tells of the next one. */
    if (info(domain->id, &control) < 0 || control.domain != domain->id)
        return 0;
    return control.u.getdomaininfo.tot_pages;
}

unsigned int domain_vcpus(domid_t id)
{
    struct xen_domctl control;

    must(info(id, &control), "getdomaininfo");
    return control.u.getdomaininfo.max_vcpu_id + 1;
}

grant_ref_t domain_grant(struct domain *domain, unsigned int n, uint64_t gfn, bool readonly)
{
    grant_ref_t ref = DOMAIN_FIRST_GRANT + n;
    grant_entry_v1_t *entry = &domain->grants[ref];

    if (ref >= DOMAIN_GRANTS)
        die("only %d grants", DOMAIN_GRANTS - DOMAIN_FIRST_GRANT);
    entry->domid = 0;
    entry->frame = (uint32_t)gfn;
    __sync_synchronize();
    entry->flags = (uint16_t)(GTF_permit_access | (readonly ? GTF_readonly : 0));
    return ref;
}

bool domain_grant_in_use(const struct domain *domain, grant_ref_t ref)
{
    return *(volatile uint16_t *)&domain->grants[ref].flags & (GTF_reading | GTF_writing);
}

void *domain_map(const struct domain *domain, uint64_t gfn)
{
    xen_pfn_t frame = gfn;
    int error = 0;
    void *page = map_frames();
    privcmd_mmapbatch_v2_t map = { .num = 1, .dom = domain->id, .addr = address(page),
                                   .arr = &frame, .err = &error };

    if (page == MAP_FAILED || ioctl(xen_privcmd(), IOCTL_PRIVCMD_MMAPBATCH_V2, &map) || error)
        die("frame %#llx of domain %u: %s", (unsigned long long)gfn, domain->id,
            strerror(error ? -error : errno));
    return page;
}

void domain_unmap(void *page)
{
    munmap(page, PAGE);
}
