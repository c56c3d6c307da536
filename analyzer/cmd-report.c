/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd-report.c - `xenflush report`: one report of a database, in text, CSV or
 * JSON.
 */
#include <getopt.h>
#include <string.h>

#include "commands.h"
#include "headline.h"
#include "log.h"
#include "options.h"
#include "reports.h"
#include "skip.h"

static const char usage[] =
    "Usage: xenflush report DB [NAME] [--format=text|csv|json] [--skip-start=DURATION]\n"
    "       xenflush report --list\n"
    "Answers from an imported trace; without NAME the headline.\n\n"
    "  --format=FORMAT        text (default), csv or json\n"
    "  --skip-start=DURATION  leave out what began before that time after the start of\n"
    "                         the trace: 50ms, 2s, 1000us, 80ns, 5000000cycles\n"
    "  --list                 list the reports\n"
    "  --help                 show this\n\n"
    "Exit status: 0 ok, 1 failed, 2 usage, 3 nothing to report.\n";

static void list_reports(const char *indent)
{
    const struct report *report;

    for (report = reports; report->name; report++)
        printf("%s%-16s %s\n", indent, report->name, report->meaning);
}

static int print_headline(struct db *db, enum format format)
{
    struct headline headline;
    int status = STATUS_OK;

    if (!headline_read(db, &headline))
        status = STATUS_FAILED;
    else if (format == FORMAT_JSON)
        headline_json(&headline, stdout);
    else {
        headline_text(db, &headline, stdout);
        fputs("\nOther reports (xenflush report DB NAME):\n", stdout);
        list_reports("  ");
    }
    headline_release(&headline);
    return db->failed ? STATUS_FAILED : status;
}

static int print_report(struct db *db, const struct report *report, enum format format)
{
    struct notes notes = NOTES_INIT;
    struct table table;
    int status = STATUS_OK;
    bool any;
    size_t i;

    report->fill(db, &table, &notes);
    any = table_rows(&table) > 0;
    if (db->failed)
        status = STATUS_FAILED;
    else if (!any)
        status = STATUS_NOTHING;
    else
        table_print(&table, format, stdout);
    for (i = 0; i < notes.count && !db->failed; i++) {
        if (format == FORMAT_TEXT)
            printf("%s%s%s\n", i || !any ? "" : "\n", any ? "note: " : "", notes.text[i]);
        else
            log_info("%s: %s: %s", db->path, report->name, notes.text[i]);
    }
    table_release(&table);
    notes_release(&notes);
    return status;
}

static int report_database(struct db *db, const struct report *report, enum format format)
{
    bool headline = strcmp(report->name, "headline") == 0 && format != FORMAT_CSV;

    if (report->fill != report_run && !db_int(db, "SELECT stored FROM run")) {
        if (!db->failed)
            report_no_flush_records(db, format == FORMAT_TEXT ? stdout : stderr);
        return db->failed ? STATUS_FAILED : STATUS_NOTHING;
    }
    return headline ? print_headline(db, format) : print_report(db, report, format);
}

int cmd_report(int argc, char **argv)
{
    enum { OPT_FORMAT = 1, OPT_SKIP, OPT_LIST };
    static const struct option options[] = {
        { "format", required_argument, NULL, OPT_FORMAT },
        { "skip-start", required_argument, NULL, OPT_SKIP },
        { "list", no_argument, NULL, OPT_LIST },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const struct report *report = reports;
    enum format format = FORMAT_TEXT;
    const char *skip = NULL;
    struct db db;
    int option, status;

    while ((option = option_next(argc, argv, "", options)) != -1) {
        switch (option) {
        case OPT_FORMAT:
            if (!option_format(optarg, &format))
                return STATUS_USAGE;
            break;
        case OPT_SKIP:
            skip = optarg;
            break;
        case OPT_LIST:
            list_reports("");
            return STATUS_OK;
        case 'h':
            fputs(usage, stdout);
            return STATUS_OK;
        default:
            return STATUS_USAGE;
        }
    }
    if (argc - optind < 1 || argc - optind > 2)
        return option_usage("report", argc - optind < 1 ? "no database given" :
                            "too many arguments");
    if (argc - optind == 2)
        report = report_find(argv[optind + 1]);
    if (!report) {
        log_error("report %s: there is none of this name: choose one of", argv[optind + 1]);
        for (report = reports; report->name; report++)
            log_error("  %-16s %s", report->name, report->meaning);
        return STATUS_USAGE;
    }
    status = db_open(&db, argv[optind]);
    if (status != STATUS_OK)
        return status;
    if (skip)
        status = skip_start(&db, skip);
    if (status == STATUS_OK)
        status = report_database(&db, report, format);
    db_close(&db);
    return status;
}
