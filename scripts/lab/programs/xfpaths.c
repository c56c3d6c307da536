/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xfpaths - drives the paths of Xen that no network load reaches.
 *
 *     xfpaths [-c VCPU] [-t SECONDS] COMMAND[=NUMBER]...
 *
 * To be run as root in a PVH dom0; binds itself to one vCPU of it.  README.md has
 * the commands.  Exit status: 0 all came back as expected, 1 something did not,
 * 2 usage, 77 it cannot run here.
 */
#define _GNU_SOURCE
#include "paths.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name;
    void (*run)(unsigned long argument);
    const char *help;
} commands[] = {
    { "unmap", path_unmap, "unmap calls of 1 to 256 operations, and faulty ones" },
    { "assisted", path_assisted, "HVMOP_flush_tlbs, NUMBER times (10)" },
    { "cache", path_cache, "changes of a domain's memory types" },
    { "mtrr", path_mtrr, "dom0 sets an MTRR" },
    { "physmap", path_physmap, "frames moved and removed: the skip windows" },
    { "copy", path_copy, "grant copies" },
    { "fault", path_fault, "NUMBER unmap calls of 32 (4): which of them leak?" },
    { "cost", path_cost, "instructions of map and unmap calls, NUMBER runs (50)" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(void)
{
    size_t i;

    fputs("usage: xfpaths [-c VCPU] [-t SECONDS] COMMAND[=NUMBER]...\n", stderr);
    for (i = 0; i < COMMANDS; i++)
        fprintf(stderr, "  %-10s %s\n", commands[i].name, commands[i].help);
    exit(EXIT_USAGE);
}

static const struct command *find(const char *word, unsigned long *argument)
{
    size_t length = strcspn(word, "="), i;
    char *end;

    *argument = 0;
    if (word[length] == '=') {
        *argument = strtoul(word + length + 1, &end, 10);
        if (*end || !*argument)
            return NULL;
    }
    for (i = 0; i < COMMANDS; i++)
        if (strlen(commands[i].name) == length && !memcmp(commands[i].name, word, length))
            return &commands[i];
    return NULL;
}

static unsigned int number(const char *word)
{
    char *end;
    unsigned long value = strtoul(word, &end, 10);

    if (*end || end == word || value > 1000000)
        usage();
    return (unsigned int)value;
}

/* A call that never returns must not stop the lab. */
static void out_of_time(int signal)
{
    static const char message[] = "xfpaths: out of time\n";

    (void)signal;
    if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
        _exit(EXIT_DIFFERS);
    _exit(EXIT_DIFFERS);
}

int main(int argc, char **argv)
{
    unsigned int seconds = 120, vcpu = 0;
    unsigned long argument;
    int option, i;

    while ((option = getopt(argc, argv, "c:t:")) != -1) {
        if (option == 'c')
            vcpu = number(optarg);
        else if (option == 't')
            seconds = number(optarg);
        else
            usage();
    }
    if (optind == argc)
        usage();
    for (i = optind; i < argc; i++)
        if (!find(argv[i], &argument))
            usage();

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, out_of_time);
    xen_open((int)vcpu);
    for (i = optind; i < argc; i++) {
        const struct command *command = find(argv[i], &argument);

        alarm(seconds);
        command->run(argument);
    }
    printf("XF end differences=%u\n", differences());
    return differences() ? EXIT_DIFFERS : EXIT_OK;
}
