/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * assisted.c - a guest asks Xen to flush the TLBs of all its vCPUs
 * (HVMOP_flush_tlbs).  No Linux PVH guest does; this dom0 does it for itself.
 *
 * Xen interrupts only CPUs on which another vCPU of the guest is running.  So the
 * calls are made twice: beside idle vCPUs, and beside a thread that keeps the next
 * vCPU busy.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "paths.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xen/hvm/hvm_op.h>

static void flush(const char *name, unsigned long calls, unsigned int vcpus, bool busy)
{
    struct step step;
    unsigned long i, failed = 0;
    long rc = 0, last;

    step_begin(&step, name);
    for (i = 0; i < calls; i++) {
        last = hypercall(__HYPERVISOR_hvm_op, HVMOP_flush_tlbs, 0, 0, 0);
        if (last) {
            rc = last;
            failed++;
        }
    }
    step_end(&step);
    line_begin("assisted", &step);
    field("calls=%lu rc=%ld vcpus=%u busy=%d", calls, rc, vcpus, busy);
    line_end(&step);
    if (failed)
        differs(&step, "%lu calls failed, the last with %s", failed, strerror((int)-rc));
}

static void spin(int vcpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)vcpu, &one);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sched_setaffinity(0, sizeof(one), &one))
        _exit(1);
    for (;;)
        __asm__ volatile ("pause");
}

void path_assisted(unsigned long argument)
{
    unsigned long calls = argument ? argument : 10;
    unsigned int vcpus = domain_vcpus(0);
    int next = sched_getcpu() + 1;
    pid_t child;

    flush("assisted-idle", calls, vcpus, false);
    if (vcpus < 2)
        return;
    child = fork();
    if (child < 0)
        die("fork: %s", strerror(errno));
    if (child == 0)
        spin(next % (int)vcpus);
    usleep(50000);              /* until it runs */
    flush("assisted-busy", calls, vcpus, true);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
