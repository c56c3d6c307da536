/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache.c - changes of memory types, for which Xen writes back and invalidates the
 * caches of all CPUs.
 *
 * path_cache acts on a test domain: ranges are pinned to a memory type (as a
 * device model does for a graphics card's memory), and the domain gets its first
 * MMIO range.  path_mtrr acts on dom0 itself: the kernel is asked to set an MTRR, for
 * which it executes WBINVD and switches the MTRRs off and on, on each vCPU; Xen
 * intercepts both.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xen/hvm/dm_op.h>

enum { POPULATED = 16 };

/* One page of the PC's video memory: MMIO that dom0 may hand out. */
#define VIDEO_FRAME 0xb8

static long pin(const struct domain *domain, uint64_t first, uint64_t last, uint32_t type)
{
    static struct buffers {
        struct xen_dm_op op;
        xen_dm_op_buf_t list;
    } *buffers;

    if (!buffers)
        buffers = pages_alloc(1);
    memset(buffers, 0, sizeof(*buffers));
    buffers->op.op = XEN_DMOP_pin_memory_cacheattr;
    buffers->op.u.pin_memory_cacheattr.start = first;
    buffers->op.u.pin_memory_cacheattr.end = last;
    buffers->op.u.pin_memory_cacheattr.type = type;
    set_xen_guest_handle(buffers->list.h, &buffers->op);
    buffers->list.size = sizeof(buffers->op);
    return hypercall(__HYPERVISOR_dm_op, domain->id, 1, address(&buffers->list), 0);
}

/* `flushes` is what Xen does for a domain with nested paging on an AMD CPU. */
static void report(const struct step *step, const char *how, domid_t domain, int flushes, long rc)
{
    line_begin("cache", step);
    field("how=%s domain=%u flushes=%d rc=%ld", how, domain, flushes, rc);
    line_end(step);
    if (rc)
        differs(step, "%s", strerror((int)-rc));
}

static void pin_step(const char *name, const struct domain *domain, uint64_t first,
                     uint64_t last, uint32_t type, int flushes)
{
    struct step step;
    long rc;

    step_begin(&step, name);
    rc = pin(domain, first, last, type);
    step_end(&step);
    report(&step, "pin", domain->id, flushes, rc);
}

static void mmio_step(const char *name, const struct domain *domain, bool allow, int flushes)
{
    struct xen_domctl control = { 0 };
    struct step step;
    long rc;

    control.u.iomem_permission.first_mfn = VIDEO_FRAME;
    control.u.iomem_permission.nr_mfns = 1;
    control.u.iomem_permission.allow_access = allow;
    step_begin(&step, name);
    rc = domain_control(domain->id, XEN_DOMCTL_iomem_permission, &control);
    step_end(&step);
    report(&step, "mmio", domain->id, flushes, rc);
}

void path_cache(unsigned long argument)
{
    struct domain domain;

    (void)argument;
    domain_create(&domain, POPULATED, false);
    pin_step("pin-uc", &domain, 0, 3, XEN_DMOP_MEM_CACHEATTR_UC, 1);
    pin_step("pin-wc", &domain, 4, 7, XEN_DMOP_MEM_CACHEATTR_WC, 1);
    pin_step("pin-wb", &domain, 8, 11, XEN_DMOP_MEM_CACHEATTR_WB, 0);
    pin_step("unpin-wc", &domain, 4, 7, XEN_DMOP_DELETE_MEM_CACHEATTR, 1);
    pin_step("unpin-uc", &domain, 0, 3, XEN_DMOP_DELETE_MEM_CACHEATTR, 0);
    mmio_step("mmio-first", &domain, true, 1);
    mmio_step("mmio-last", &domain, false, 0);
    if (!domain_destroy(&domain))
        die("pages of domain %u are still in use", domain.id);
}

/* The index of the range in /proc/mtrr that begins as `line` says, or -1. */
static int mtrr_index(const char *base)
{
    char line[200];
    int index = -1;
    FILE *file = fopen("/proc/mtrr", "re");

    while (file && fgets(line, sizeof(line), file))
        if (strstr(line, base))
            sscanf(line, "reg%d", &index);
    if (file)
        fclose(file);
    return index;
}

static int mtrr_write(const char *command)
{
    FILE *file = fopen("/proc/mtrr", "we");
    int rc = 0;

    if (!file)
        return -errno;
    if (fputs(command, file) < 0 || fflush(file))
        rc = -errno;
    fclose(file);
    return rc;
}

static void mtrr_step(const char *name, const char *command)
{
    struct step step;
    int rc;

    step_begin(&step, name);
    rc = mtrr_write(command);
    step_end(&step);
    report(&step, "mtrr", 0, -1, rc);
}

void path_mtrr(unsigned long argument)
{
    /* 64 KiB at 1 TiB - 64 KiB: nothing is there. */
    static const char base[] = "base=0xffffff0000";
    char command[100];
    int index;

    (void)argument;
    if (mtrr_index("reg") == -1 && access("/proc/mtrr", F_OK))
        skip("/proc/mtrr is missing: this kernel sees no MTRRs");
    snprintf(command, sizeof(command), "%s size=0x10000 type=write-combining\n", base);
    mtrr_step("mtrr-set", command);
    index = mtrr_index(base);
    if (index < 0)
        die("/proc/mtrr has not taken the range");
    snprintf(command, sizeof(command), "disable=%d\n", index);
    mtrr_step("mtrr-clear", command);
}
