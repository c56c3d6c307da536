/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * options.h - reading command lines: what the commands share.
 */
#ifndef XENFLUSH_OPTIONS_H
#define XENFLUSH_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "table.h"

/* getopt_long with messages of our own; -1 at the end, '?' after an error. */
int option_next(int argc, char **argv, const char *letters, const struct option *options);

/* False: not a format; it has been said. */
bool option_format(const char *text, enum format *format);

/* Says what is wrong and where help is; returns STATUS_USAGE. */
int option_usage(const char *command, const char *what);

#endif
