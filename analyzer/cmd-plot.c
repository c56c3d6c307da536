/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd-plot.c - `xenflush plot`: charts of a database, drawn by gnuplot.
 *
 * A chart is the table of a report and a template of the same name.  Each file
 * is written beside its place and renamed, so that a failure leaves no half
 * chart.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "commands.h"
#include "gnuplot.h"
#include "log.h"
#include "options.h"
#include "place.h"
#include "reports.h"
#include "skip.h"

static const char usage[] =
    "Usage: xenflush plot DB [NAME] [-o DIR] [--term=svg|png|text] [--skip-start=DURATION]\n"
    "Draws charts with gnuplot; without NAME all of them.\n\n"
    "  -o, --output=DIR       write the files DIR/NAME.svg (or .png); the default is .\n"
    "  --term=TERM            svg (default), png, or text: on standard output\n"
    "  --skip-start=DURATION  leave out what began before that time after the start of\n"
    "                         the trace: 50ms, 2s, 1000us, 80ns, 5000000cycles\n"
    "  --list                 list the charts\n"
    "  --help                 show this\n\n"
    "XENFLUSH_GNUPLOT_DIR names another directory of templates.\n"
    "Exit status: 0 ok, 1 failed, 2 usage, 3 nothing to draw.\n";

static const struct chart_kind {
    const char *name;
    report_fill *fill;
    const char *title;
} kinds[] = {
    { "pages-per-flush", report_pages_per_flush, "Pages served by each flush" },
    { "ops-per-call", report_ops_per_call, "Operations of an unmap call" },
    { "time-per-page", report_time_per_page, "Where the time of an unmapped page goes" },
    { "ipis", report_ipis, "Rounds of flush IPIs by number of targets" },
    { "ranges", report_ranges, "Pages flushed for each page unmapped" },
    { "timeline", report_timeline, "Pages and flushes over time" },
    { "gfn-heat", report_gfns, "Guest frames unmapped over time" },
};

struct plot {
    struct db db;
    const char *directory;
    char templates[PATH_MAX];
    char *source;
    enum terminal terminal;
    unsigned int drawn;
};

static bool find_templates(struct plot *plot)
{
    static const char *const places[] = {
        "scripts/gnuplot", "../share/xenflush/gnuplot", "../../scripts/gnuplot", NULL
    };
    const char *given = getenv("XENFLUSH_GNUPLOT_DIR");

    if (given && *given) {
        snprintf(plot->templates, sizeof(plot->templates), "%s", given);
        return true;
    }
    if (place_find(places, plot->templates, sizeof(plot->templates)))
        return true;
    log_error("plot: the chart templates are not installed: install xenflush whole, or set "
              "XENFLUSH_GNUPLOT_DIR");
    return false;
}

/* The label, else the last part of the trace's file name. */
static char *read_source(struct db *db)
{
    sqlite3_stmt *st = db_query(db, "SELECT label, file FROM run");
    const char *text = NULL, *slash;
    char *source;

    if (db_step(db, st)) {
        text = (const char *)sqlite3_column_text(st, 0);
        if (!text && (text = (const char *)sqlite3_column_text(st, 1)) &&
            (slash = strrchr(text, '/')))
            text = slash + 1;
    }
    source = alloc_text(text ? text : "");
    db_end(st);
    return source;
}

/* Creates a directory and those above it. */
static bool make_directory(const char *directory)
{
    char *path = alloc_text(directory), *at;
    bool made;

    for (at = path + 1; *path && (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    made = mkdir(path, 0777) == 0 || errno == EEXIST;
    if (!made)
        log_error("%s: cannot be created: %s", directory, strerror(errno));
    free(path);
    return made;
}

static bool copy(int from, int to)
{
    char buffer[8192];
    ssize_t got, put, n;

    if (lseek(from, 0, SEEK_SET) < 0)
        return false;
    while ((got = read(from, buffer, sizeof(buffer))) > 0)
        for (put = 0; put < got; put += n) {
            n = write(to, buffer + put, (size_t)(got - put));
            if (n < 0 && errno == EINTR)
                n = 0;
            else if (n < 0)
                return false;
        }
    return got == 0;
}

/* Writes what gnuplot drew into a file of this name, all or nothing. */
static int write_file(const char *path, int drawn)
{
    char part[PATH_MAX + 8];
    int out, status = STATUS_OK;

    snprintf(part, sizeof(part), "%s.part", path);
    out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out < 0) {
        log_error("%s: cannot be created: %s", part, strerror(errno));
        return STATUS_FAILED;
    }
    if (!copy(drawn, out))
        status = STATUS_FAILED;
    if (close(out) != 0)
        status = STATUS_FAILED;
    if (status == STATUS_OK && rename(part, path) != 0)
        status = STATUS_FAILED;
    if (status != STATUS_OK) {
        log_error("%s: cannot be written: %s", path, strerror(errno));
        unlink(part);
    } else
        printf("%s\n", path);
    return status;
}

static int write_chart(const struct plot *plot, const struct chart *chart, int drawn)
{
    char path[PATH_MAX];

    if (chart->terminal == TERM_TEXT) {
        fflush(stdout);
        if (copy(drawn, STDOUT_FILENO))
            return STATUS_OK;
        log_error("standard output: cannot be written: %s", strerror(errno));
        return STATUS_FAILED;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/%s.%s", plot->directory, chart->name,
                         chart->terminal == TERM_PNG ? "png" : "svg") >= sizeof(path)) {
        log_error("%s: the name is too long", plot->directory);
        return STATUS_FAILED;
    }
    return write_file(path, drawn);
}

/* gnuplot does not tell of write errors, so it draws into memory first. */
static int draw_chart(const struct plot *plot, const struct chart *chart)
{
    int drawn = memfd_create("chart", MFD_CLOEXEC), status;

    if (drawn < 0) {
        log_error("memory for a chart: %s", strerror(errno));
        return STATUS_FAILED;
    }
    status = gnuplot_draw(chart, plot->templates, drawn);
    if (status == STATUS_OK)
        status = write_chart(plot, chart, drawn);
    close(drawn);
    return status;
}

static int draw(struct plot *plot, const struct chart_kind *kind)
{
    struct notes notes = NOTES_INIT;
    struct table table;
    struct chart chart = { kind->name, kind->title, plot->source, plot->terminal, &table };
    int status = STATUS_OK;

    kind->fill(&plot->db, &table, &notes);
    if (plot->db.failed)
        status = STATUS_FAILED;
    else if (!table_rows(&table))
        log_info("%s: no chart %s: %s", plot->db.path, kind->name,
                 notes.count ? notes.text[0] : "no data");
    else
        status = draw_chart(plot, &chart);
    if (status == STATUS_OK && table_rows(&table))
        plot->drawn++;
    table_release(&table);
    notes_release(&notes);
    return status;
}

static int draw_all(struct plot *plot, const char *name)
{
    int status = STATUS_OK;
    size_t i;

    if (!db_int(&plot->db, "SELECT stored FROM run")) {
        if (!plot->db.failed)
            report_no_flush_records(&plot->db, stderr);
        return plot->db.failed ? STATUS_FAILED : STATUS_NOTHING;
    }
    if (plot->terminal != TERM_TEXT && !make_directory(plot->directory))
        return STATUS_FAILED;
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && status == STATUS_OK; i++)
        if (!name || strcmp(kinds[i].name, name) == 0)
            status = draw(plot, &kinds[i]);
    if (status == STATUS_OK && !plot->drawn)
        status = STATUS_NOTHING;
    return status;
}

static bool known_chart(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!name || strcmp(kinds[i].name, name) == 0)
            return true;
    log_error("plot %s: there is no chart of this name: choose one of", name);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        log_error("  %-16s %s", kinds[i].name, kinds[i].title);
    return false;
}

static int plot_database(struct plot *plot, const char *path, const char *name, const char *skip)
{
    int status;

    if (!known_chart(name))
        return STATUS_USAGE;
    if (!find_templates(plot))
        return STATUS_FAILED;
    status = db_open(&plot->db, path);
    if (status != STATUS_OK)
        return status;
    plot->source = read_source(&plot->db);
    if (skip)
        status = skip_start(&plot->db, skip);
    if (status == STATUS_OK)
        status = draw_all(plot, name);
    free(plot->source);
    db_close(&plot->db);
    return status;
}

static bool read_terminal(const char *text, enum terminal *terminal)
{
    static const char *const names[] = { "svg", "png", "text" };
    int i;

    for (i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *terminal = (enum terminal)i;
            return true;
        }
    log_error("--term=%s: not a terminal: svg, png or text", text);
    return false;
}

int cmd_plot(int argc, char **argv)
{
    enum { OPT_TERM = 1, OPT_SKIP, OPT_LIST };
    static const struct option options[] = {
        { "output", required_argument, NULL, 'o' },
        { "term", required_argument, NULL, OPT_TERM },
        { "skip-start", required_argument, NULL, OPT_SKIP },
        { "list", no_argument, NULL, OPT_LIST },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct plot plot = { .directory = ".", .terminal = TERM_SVG };
    const char *skip = NULL;
    int option;
    size_t i;

    while ((option = option_next(argc, argv, "o:", options)) != -1) {
        switch (option) {
        case 'o': plot.directory = optarg; break;
        case OPT_SKIP: skip = optarg; break;
        case OPT_TERM:
            if (!read_terminal(optarg, &plot.terminal))
                return STATUS_USAGE;
            break;
        case OPT_LIST:
            for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                printf("%-16s %s\n", kinds[i].name, kinds[i].title);
            return STATUS_OK;
        case 'h':
            fputs(usage, stdout);
            return STATUS_OK;
        default:
            return STATUS_USAGE;
        }
    }
    if (argc - optind < 1 || argc - optind > 2)
        return option_usage("plot", argc - optind < 1 ? "no database given" : "too many arguments");
    return plot_database(&plot, argv[optind], argv[optind + 1], skip);
}
