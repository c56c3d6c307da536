/* SPDX-License-Identifier: GPL-2.0-only */
/* main.c - xenflush-collector: the commands that read traces. */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "cmd-import.h"
#include "log.h"
#include "version.h"

int main(int argc, char **argv)
{
    /* One thread uses SQLite: no locks, no accounting of its memory. */
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (argc >= 2 && strcmp(argv[1], "import") == 0) {
        int status = cmd_import(argc - 1, argv + 1);

        if (fflush(stdout) || ferror(stdout)) {
            log_error("standard output: cannot be written");
            return 2;
        }
        return status;
    }
    if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        printf("xenflush-collector %s\n", XENFLUSH_VERSION);
        return 0;
    }
    log_error("xenflush-collector is called by `xenflush import`; try `xenflush --help`");
    return 2;
}
