/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * options.c - reading command lines; see options.h.
 */
#include "options.h"

#include <string.h>

#include "commands.h"
#include "log.h"

int option_next(int argc, char **argv, const char *letters, const struct option *options)
{
    char silent[64];
    int option;

    snprintf(silent, sizeof(silent), ":h%s", letters);
    option = getopt_long(argc, argv, silent, options, NULL);
    if (option == '?') {
        char letter[3] = { '-', (char)optopt, '\0' };

        log_error("%s: unknown or malformed option %s: try xenflush %s --help", argv[0],
                  optopt > ' ' && optopt < 127 ? letter : argv[optind - 1], argv[0]);
    } else if (option == ':') {
        log_error("%s: option %s needs a value: try xenflush %s --help", argv[0],
                  argv[optind - 1], argv[0]);
        option = '?';
    }
    return option;
}

bool option_format(const char *text, enum format *format)
{
    static const char *const names[] = { "text", "csv", "json" };
    int i;

    for (i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *format = (enum format)i;
            return true;
        }
    log_error("--format=%s: not a format: text, csv or json", text);
    return false;
}

int option_usage(const char *command, const char *what)
{
    log_error("%s: %s: try xenflush %s --help", command, what, command);
    return STATUS_USAGE;
}
