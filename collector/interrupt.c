/* SPDX-License-Identifier: GPL-2.0-only */
/* interrupt.c - see interrupt.h. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t caught;

static void note(int signal_number)
{
    caught = signal_number;
}

void interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = note };
    struct sigaction before;
    size_t i;

    /* A file size limit is to fail the write, which is then cleaned up after. */
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&action.sa_mask);
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

bool interrupted(void)
{
    return caught;
}

void interrupt_die(void)
{
    if (!caught)
        return;
    signal(caught, SIG_DFL);
    raise(caught);
}
