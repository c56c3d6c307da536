/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * paths.h - the subcommands of xfpaths; see README.md for what each does and
 * prints.  Each returns nothing: what differs from the expectation is counted
 * (differs), what makes going on senseless ends the program (die, skip).
 */
#ifndef LAB_PATHS_H
#define LAB_PATHS_H

#include "xen.h"

/* `argument` is the number given on the command line, or 0. */
void path_unmap(unsigned long argument);
void path_fault(unsigned long argument);
void path_assisted(unsigned long argument);
void path_cache(unsigned long argument);
void path_mtrr(unsigned long argument);
void path_physmap(unsigned long argument);
void path_copy(unsigned long argument);
void path_cost(unsigned long argument);

#endif
