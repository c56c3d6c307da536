/* SPDX-License-Identifier: GPL-2.0-only */
/* cmd-derive.c - `xenflush derive DB`; the work is in derive.c. */
#include <getopt.h>
#include <stdio.h>

#include "commands.h"
#include "db.h"
#include "derive.h"
#include "log.h"

static const char usage[] =
"Usage: xenflush derive DB\n"
"Drop the derived tables (batch, logical_call and the links) and work them out\n"
"again from the record tables.  Reports do so by themselves when the database\n"
"was derived by another version.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 usage error or not a xenflush database.\n";

int cmd_derive(int argc, char **argv)
{
    static const struct option options[] = {
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 }
    };
    struct db db;
    int option, status;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return STATUS_OK;
        }
        return STATUS_USAGE;
    }
    if (argc - optind != 1) {
        log_error("derive: one database, please: xenflush derive DB");
        return STATUS_USAGE;
    }
    /* Only a database of ours is changed. */
    status = db_open_raw(&db, argv[optind]);
    if (status != STATUS_OK)
        return status;
    db_close(&db);
    return derive_again(argv[optind]) ? STATUS_FAILED : STATUS_OK;
}
