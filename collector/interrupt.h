/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * interrupt.h - SIGINT, SIGTERM and SIGHUP ask long work to stop.
 *
 * The handler only sets a flag; loops ask interrupted(), clean up, and the
 * program ends with interrupt_die(), so that its parent sees the signal.
 */
#ifndef XENFLUSH_INTERRUPT_H
#define XENFLUSH_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool interrupted(void);
void interrupt_die(void);   /* returns if no signal came */

#endif
