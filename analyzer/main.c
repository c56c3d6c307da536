/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * main.c - the one front command.
 *
 * The analyzer's commands are called; those of the collector, a program of its
 * own, are handed over by exec.  It is looked for where XENFLUSH_COLLECTOR
 * says, beside this program (a build tree), and in libexec (installed).
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "log.h"
#include "place.h"
#include "version.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);      /* NULL: the collector's */
    const char *meaning;
} commands[] = {
    { "import", NULL, "read a trace of xentrace into a database" },
    { "report", cmd_report, "answer questions from a database" },
    { "plot", cmd_plot, "draw charts of a database" },
    { "query", cmd_query, "run SQL on a database" },
    { "derive", cmd_derive, "work out batches and their flushes again" },
};

static void print_help(FILE *out)
{
    size_t i;

    fputs("Usage: xenflush COMMAND [ARGUMENTS]\n"
          "Makes the TLB and IOTLB flushes of a Xen host visible.\n\n", out);
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].meaning);
    fputs("\n`xenflush COMMAND --help` tells more about a command.\n", out);
}

static int run_collector(char **argv)
{
    static const char *const places[] = {
        "collector/xenflush-collector", "../libexec/xenflush/xenflush-collector", NULL
    };
    const char *given = getenv("XENFLUSH_COLLECTOR");
    char path[PATH_MAX];

    if (given && *given)
        snprintf(path, sizeof(path), "%s", given);
    else if (!place_find(places, path, sizeof(path))) {
        log_error("%s: the collector (xenflush-collector) is not installed: install it, or set "
                  "XENFLUSH_COLLECTOR to its path", argv[0]);
        return STATUS_USAGE;
    }
    /* argv[-1] is the name of this program. */
    argv[-1] = (char *)(size_t)"xenflush-collector";
    execv(path, argv - 1);
    log_error("%s: cannot run the collector: %s: install it, or set XENFLUSH_COLLECTOR to its path",
              path, strerror(errno));
    return STATUS_USAGE;
}

/* Output that could not be written, such as to a full disk, is a failure. */
static int finish_output(int status)
{
    bool failed = ferror(stdout) != 0;

    if (fflush(stdout) != 0 || failed) {
        log_error("standard output: cannot be written: %s",
                  errno ? strerror(errno) : "write error");
        return STATUS_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    size_t i;

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return finish_output(STATUS_OK);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("xenflush " XENFLUSH_VERSION);
        return finish_output(STATUS_OK);
    }
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run ? finish_output(commands[i].run(argc - 1, argv + 1))
                                   : run_collector(argv + 1);
    if (*name)
        log_error("%s: not a command", name);
    print_help(stderr);
    return STATUS_USAGE;
}
