/* SPDX-License-Identifier: GPL-2.0-only */
/* cmd-import.c - options of `xenflush import`. */
#define _GNU_SOURCE
#include "cmd-import.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "import.h"
#include "log.h"
#include "schema.h"

static const char usage[] =
"Usage: xenflush import [OPTION]... TRACE... [-o DB]\n"
"Read an xentrace file into a new SQLite database.  TRACE may be - for standard\n"
"input; several files are the consecutive pieces of one rotated trace.\n"
"\n"
"  -o, --output=DB        name of the database (default: the trace's name without\n"
"                         its directory, with .db added; xenflush.db for -)\n"
"  -f, --force            replace an existing DB\n"
"      --tsc-hz=RATE      TSC rate of the traced host: 2400000000, 2.4GHz, 2400MHz;\n"
"                         without it times are TSC cycles\n"
"      --start=TIME       wall clock at the trace's start: 2026-01-31T12:00:00Z, or\n"
"                         seconds since 1970\n"
"      --mask=MASK        the trace mask that was used (xentrace -e)\n"
"      --host=NAME  --label=TEXT  --xen-version=TEXT  --xen-cmdline=TEXT\n"
"                         kept in table run\n"
"      --keep-other       store records of other classes one by one (raw_record)\n"
"  -q, --quiet            no summary, no progress\n"
"  -h, --help             this text\n"
"\n"
"Exit status: 0 clean (lost records included), 1 imported with damage, 2 unusable\n"
"input or usage error.\n";

/* A rate with an optional unit, exact to the cycle.  False: not a rate. */
static bool parse_rate(const char *text, uint64_t *rate)
{
    static const struct { const char *unit; uint64_t factor; } units[] = {
        { "", 1 }, { "Hz", 1 }, { "kHz", 1000 }, { "MHz", 1000000 }, { "GHz", 1000000000 },
    };
    uint64_t whole = 0, fraction = 0, scale = 1;
    const char *p = text;
    size_t i;

    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        whole = whole * 10 + (uint64_t)(*p - '0');
        if (whole > XF_MAX_TSC_HZ)
            return false;
    }
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9'; p++) {
            if (scale >= 1000000000)
                return false;
            fraction = fraction * 10 + (uint64_t)(*p - '0');
            scale *= 10;
        }
    }
    while (*p == ' ')
        p++;
    for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcasecmp(p, units[i].unit))
            continue;
        if (whole > XF_MAX_TSC_HZ / units[i].factor || fraction * units[i].factor % scale)
            return false;
        *rate = whole * units[i].factor + fraction * units[i].factor / scale;
        return *rate >= 1 && *rate <= XF_MAX_TSC_HZ;
    }
    return false;
}

/* Seconds since 1970 or ISO 8601 in UTC, to ISO 8601 in UTC. */
static bool parse_start(const char *text, char *out, size_t size)
{
    struct tm tm = { 0 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    char *number_end;
    time_t seconds;

    if (end && (*end == '\0' || strcmp(end, "Z") == 0)) {
        seconds = timegm(&tm);
    } else {
        errno = 0;
        seconds = (time_t)strtoll(text, &number_end, 10);
        if (errno || number_end == text || *number_end || seconds < 0)
            return false;
    }
    return gmtime_r(&seconds, &tm) && strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static bool parse_mask(const char *text, uint64_t *mask)
{
    char *end;

    errno = 0;
    *mask = strtoull(text, &end, 0);
    return !errno && end != text && !*end && *text != '-' && *mask <= UINT32_MAX;
}

static char *default_name(const char *trace)
{
    const char *base = strrchr(trace, '/');
    char *name = NULL;

    if (strcmp(trace, "-") == 0)
        return strdup("xenflush.db");
    base = base ? base + 1 : trace;
    return asprintf(&name, "%s.db", base) < 0 ? NULL : name;
}

static int bad_value(const char *option, const char *value, const char *want)
{
    log_error("import: --%s=%s: %s", option, value, want);
    return IMPORT_FAILED;
}

enum { OPT_TSC_HZ = 256, OPT_START, OPT_MASK, OPT_HOST, OPT_LABEL, OPT_XEN_VERSION,
       OPT_XEN_CMDLINE, OPT_KEEP_OTHER };

static const struct option long_options[] = {
    { "output", required_argument, NULL, 'o' },
    { "force", no_argument, NULL, 'f' },
    { "quiet", no_argument, NULL, 'q' },
    { "help", no_argument, NULL, 'h' },
    { "tsc-hz", required_argument, NULL, OPT_TSC_HZ },
    { "start", required_argument, NULL, OPT_START },
    { "mask", required_argument, NULL, OPT_MASK },
    { "host", required_argument, NULL, OPT_HOST },
    { "label", required_argument, NULL, OPT_LABEL },
    { "xen-version", required_argument, NULL, OPT_XEN_VERSION },
    { "xen-cmdline", required_argument, NULL, OPT_XEN_CMDLINE },
    { "keep-other", no_argument, NULL, OPT_KEEP_OTHER },
    { NULL, 0, NULL, 0 }
};

/* Takes one option.  -1: go on; else the exit status. */
static int take_option(int option, struct import_options *options, char *start, size_t start_size)
{
    switch (option) {
    case 'o': options->database = optarg; return -1;
    case 'f': options->force = true; return -1;
    case 'q': options->quiet = true; log_set_quiet(); return -1;
    case 'h': fputs(usage, stdout); return 0;
    case OPT_HOST: options->host = optarg; return -1;
    case OPT_LABEL: options->label = optarg; return -1;
    case OPT_XEN_VERSION: options->xen_version = optarg; return -1;
    case OPT_XEN_CMDLINE: options->xen_cmdline = optarg; return -1;
    case OPT_KEEP_OTHER: options->keep_other = true; return -1;
    case OPT_TSC_HZ:
        if (parse_rate(optarg, &options->tsc_hz))
            return -1;
        return bad_value("tsc-hz", optarg, "want a rate from 1 Hz to 9 GHz, in whole cycles, for instance 2.4GHz");
    case OPT_START:
        options->start_time = start;
        if (parse_start(optarg, start, start_size))
            return -1;
        return bad_value("start", optarg, "want 2026-01-31T12:00:00Z or seconds since 1970");
    case OPT_MASK:
        options->has_mask = true;
        if (parse_mask(optarg, &options->mask))
            return -1;
        return bad_value("mask", optarg, "want a 32-bit number");
    default:
        log_error("import: try `xenflush import --help`");
        return IMPORT_FAILED;
    }
}

int cmd_import(int argc, char **argv)
{
    struct import_options options = { 0 };
    char start[40], *name = NULL;
    int option, status;
    unsigned int i, pipes = 0;

    while ((option = getopt_long(argc, argv, "o:fqh", long_options, NULL)) != -1) {
        status = take_option(option, &options, start, sizeof(start));
        if (status >= 0)
            return status;
    }
    options.trace = argv + optind;
    options.traces = (unsigned int)(argc - optind);
    if (options.traces == 0) {
        log_error("import: no trace given; try `xenflush import --help`");
        return IMPORT_FAILED;
    }
    for (i = 0; i < options.traces; i++)
        pipes += strcmp(options.trace[i], "-") == 0;
    if (pipes > 1) {
        log_error("import: standard input can be only one piece");
        return IMPORT_FAILED;
    }
    if (!options.database)
        options.database = name = default_name(options.trace[0]);
    if (!options.database || !*options.database) {
        log_error("import: no name for the database");
        return IMPORT_FAILED;
    }
    status = import_trace(&options);
    free(name);
    return status;
}
