/* SPDX-License-Identifier: GPL-2.0-only */
/* xen.c - see xen.h. */
#define _GNU_SOURCE
#include "xen.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xen/memory.h>
#include <xen/sys/privcmd.h>

static int privcmd = -1;
static unsigned int deviations;

static void complain(const char *format, va_list args)
{
    fflush(stdout);
    fputs("xfpaths: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args);
    va_end(args);
    exit(EXIT_DIFFERS);
}

void skip(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args);
    va_end(args);
    exit(EXIT_SKIP);
}

void differs(const struct step *step, const char *format, ...)
{
    va_list args;

    deviations++;
    fflush(stdout);
    fprintf(stderr, "xfpaths: %s: ", step->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

unsigned int differences(void)
{
    return deviations;
}

void xen_open(int vcpu)
{
    cpu_set_t one;

    privcmd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
    if (privcmd < 0)
        skip("/dev/xen/privcmd: %s: needs a Xen control domain and the module xen_privcmd",
             strerror(errno));
    CPU_ZERO(&one);
    CPU_SET((size_t)vcpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one))
        die("vCPU %d: %s", vcpu, strerror(errno));
}

int xen_privcmd(void)
{
    return privcmd;
}

long hypercall(unsigned int op, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
    privcmd_hypercall_t call = { .op = op, .arg = { a0, a1, a2, a3, 0 } };
    int rc = ioctl(privcmd, IOCTL_PRIVCMD_HYPERCALL, &call);

    return rc == -1 ? -errno : rc;
}

void *pages_alloc(size_t pages)
{
    void *start = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, -1, 0);

    if (start == MAP_FAILED)
        die("%zu pages: %s", pages, strerror(errno));
    memset(start, 0, pages * PAGE);
    return start;
}

void pages_free(void *start, size_t pages)
{
    munmap(start, pages * PAGE);
}

uint64_t page_gfn(const void *page)
{
    uint64_t entry = 0;
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    if (file < 0 || pread(file, &entry, sizeof(entry),
                          (off_t)(address(page) / PAGE * sizeof(entry))) != sizeof(entry))
        die("/proc/self/pagemap: %s", strerror(errno));
    close(file);
    entry &= (UINT64_C(1) << 55) - 1;
    if (!entry)
        die("/proc/self/pagemap hides frame numbers: needs root");
    return entry;
}

static void mark(uint64_t gfn)
{
    static struct mark {
        struct xen_memory_reservation reservation;
        uint64_t gfn;
    } *mark;

    if (!mark)
        mark = pages_alloc(1);
    memset(mark, 0, sizeof(*mark));
    mark->gfn = gfn;
    set_xen_guest_handle(mark->reservation.extent_start, &mark->gfn);
    mark->reservation.nr_extents = 1;
    mark->reservation.domid = DOMID_SELF;
    if (hypercall(__HYPERVISOR_memory_op, XENMEM_decrease_reservation,
                  address(&mark->reservation), 0, 0))
        die("a mark was taken for a frame of memory");
}

void step_begin(struct step *step, const char *name)
{
    static uint32_t last;

    fflush(stdout);
    *step = (struct step){ .name = name, .number = ++last };
    mark(MARK_GFN + 2 * step->number);
    step->start = tsc();
}

void step_end(struct step *step)
{
    step->end = tsc();
    mark(MARK_GFN + 2 * step->number + 1);
}

void line_begin(const char *kind, const struct step *step)
{
    printf("XF %s step=%s mark=%u", kind, step->name, step->number);
}

void field(const char *format, ...)
{
    va_list args;

    putchar(' ');
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

void line_end(const struct step *step)
{
    printf(" cpu=%d tsc0=%llu tsc1=%llu\n", sched_getcpu(), (unsigned long long)step->start,
           (unsigned long long)step->end);
    fflush(stdout);
}
