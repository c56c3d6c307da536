/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xen.h - hypercalls from a user-space program of the control domain, and the
 * lines that the lab's checker reads.
 *
 * Everything goes through /dev/xen/privcmd, so that a hypercall has exactly the
 * operations that a test wants and no library stands between.  Errors that leave
 * no sense in going on end the program (die, skip); a hypercall's own result is
 * returned as Xen gave it.
 *
 * A program that is traced also puts marks into Xen's trace: one before and one
 * after the call under test.  What lies between the two in the buffer of that CPU,
 * written with the program's vCPU as current, was caused by the call.  A mark is an
 * attempt to give back a frame that does not exist: Xen writes a record with the
 * frame's number (TRC_MEM_DECREASE_RESERVATION), then finds nothing to do.  (There
 * is a hypercall for records of guests, HVMOP_xentrace, but xenalyze gives up on a
 * trace that has one.)  Where the trace's mask lacks class TRC_MEM, the marks are
 * not recorded.
 */
#ifndef LAB_XEN_H
#define LAB_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The interfaces of the toolstack, which the headers hide from guests. */
#define __XEN_TOOLS__ 1

#include <xen/xen.h>

#define PAGE 4096UL

enum { EXIT_OK = 0, EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_SKIP = 77 };

/* The frames of the marks of step n: MARK_GFN + 2n before the call, one more after. */
#define MARK_GFN UINT64_C(0x4d41524b0000)

/* Opens privcmd and binds the program to one vCPU.  Without Xen: exit 77. */
void xen_open(int vcpu);
int xen_privcmd(void);

/* The hypercall's result; an error is -errno. */
long hypercall(unsigned int op, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3);

/* Zeroed pages that stay where they are and are present, as Xen needs them. */
void *pages_alloc(size_t pages);
void pages_free(void *start, size_t pages);
/* The guest frame of a page of pages_alloc. */
uint64_t page_gfn(const void *page);

static inline uint64_t address(const void *pointer)
{
    return (uintptr_t)pointer;
}

/*
 * The time stamp counter, between fences: nothing before it is still under way,
 * and nothing after it has begun.
 */
static inline uint64_t tsc(void)
{
    uint32_t low, high;

    __asm__ volatile ("lfence; rdtsc; lfence" : "=a" (low), "=d" (high) : : "memory");
    return low | (uint64_t)high << 32;
}

/* One call under test.  step_end prints ` cpu= tsc0= tsc1=` and ends the line. */
struct step {
    const char *name;
    uint32_t number;
    uint64_t start;
    uint64_t end;
};

void step_begin(struct step *step, const char *name);
void step_end(struct step *step);

/* Begins `XF KIND step=NAME mark=N ...`; to be ended by line_end. */
void line_begin(const char *kind, const struct step *step);
void line_end(const struct step *step);
void field(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Counts a deviation from what the program expects, and says it on standard error. */
void differs(const struct step *step, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
unsigned int differences(void);

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void skip(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
