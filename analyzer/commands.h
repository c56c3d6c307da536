/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * commands.h - the commands of xenflush.
 *
 * Each takes its own arguments, argv[0] being the command's name, knows
 * --help, writes results to stdout and returns an exit status.
 */
#ifndef XENFLUSH_COMMANDS_H
#define XENFLUSH_COMMANDS_H

enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,       /* usage, or not a database of ours */
    STATUS_NOTHING = 3,     /* nothing to report */
};

int cmd_report(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_derive(int argc, char **argv);

#endif
