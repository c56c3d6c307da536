/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * import.c - see import.h.
 *
 * How it works: the database is written under a temporary name beside its own,
 * without a journal, and gets its name when it is complete; so whatever has the
 * name is whole.  The first pass (scan.h) finds what is where and what is
 * wrong, the second (merge.h) gives the records in time order to store.h.
 */
#define _GNU_SOURCE
#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "damage.h"
#include "interrupt.h"
#include "log.h"
#include "merge.h"
#include "scan.h"
#include "schema.h"
#include "store.h"
#include "version.h"

struct import {
    const struct import_options *options;
    char *temporary;            /* name while it is incomplete */
    char *directory;
    sqlite3 *db;
    struct input input;
    struct damage_log damage;
    struct scan scan;
    struct store store;
    int rc;                     /* SQLite code that stopped the merge */
};

static int sql_failed(struct import *import, int rc)
{
    log_error("%s: %s", import->options->database,
              rc == SQLITE_NOMEM ? "no memory" : sqlite3_errmsg(import->db));
    return -1;
}

static int open_database(struct import *import)
{
    int rc = sqlite3_open_v2(import->temporary, &import->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(import->db,
            "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA secure_delete = OFF;"
            "PRAGMA cache_size = -4096;", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = schema_create(import->db, SCHEMA_FACTS);
    if (rc == SQLITE_OK)
        rc = schema_create(import->db, SCHEMA_DERIVED);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(import->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = damage_open(&import->damage, import->db, &import->input);
    return rc == SQLITE_OK ? 0 : sql_failed(import, rc);
}

static int take_record(void *context, const struct merge_record *record)
{
    struct import *import = context;

    import->rc = store_record(&import->store, record);
    return import->rc;
}

static int bind_text(sqlite3_stmt *s, const char *name, const char *value)
{
    return sqlite3_bind_text(s, sqlite3_bind_parameter_index(s, name), value, -1, SQLITE_STATIC);
}

static int bind_number(sqlite3_stmt *s, const char *name, bool known, uint64_t value)
{
    int index = sqlite3_bind_parameter_index(s, name);

    return known ? sqlite3_bind_int64(s, index, (int64_t)value) : sqlite3_bind_null(s, index);
}

static int step_once(sqlite3_stmt *s)
{
    sqlite3_step(s);
    return sqlite3_reset(s);
}

#define RUN_INSERT \
    "INSERT INTO run (file, label, host, xen_version, xen_cmdline, mask, tsc_hz, start_time," \
    " first_tsc, last_tsc, bytes, cpus, windows, records, stored, unknown, skipped, wraps," \
    " lost_intervals, lost, untimed, damaged, damaged_bytes, clock_faults, derivation," \
    " tool_version) VALUES (:file, :label, :host, :xen_version, :xen_cmdline, :mask, :tsc_hz," \
    " :start_time, :first_tsc, :last_tsc, :bytes, :cpus, :windows, :records, :stored, :unknown," \
    " :skipped, :wraps, :lost_intervals, :lost, :untimed, :damaged, :damaged_bytes," \
    " :clock_faults, :derivation, :tool_version)"

static int store_run(struct import *import)
{
    const struct import_options *options = import->options;
    const struct scan *scan = &import->scan;
    bool timed = scan->clock.smallest != UINT64_MAX;
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(import->db, RUN_INSERT, -1, &s, NULL);

    if (rc != SQLITE_OK)
        return rc;
    bind_text(s, ":file", options->trace[0]);
    bind_text(s, ":label", options->label);
    bind_text(s, ":host", options->host);
    bind_text(s, ":xen_version", options->xen_version);
    bind_text(s, ":xen_cmdline", options->xen_cmdline);
    bind_number(s, ":mask", options->has_mask, options->mask);
    bind_number(s, ":tsc_hz", options->tsc_hz, options->tsc_hz);
    bind_text(s, ":start_time", options->start_time);
    bind_number(s, ":first_tsc", timed, scan->clock.smallest);
    bind_number(s, ":last_tsc", timed, scan->clock.largest - scan->clock.smallest);
    bind_number(s, ":bytes", true, import->input.bytes);
    bind_number(s, ":cpus", true, scan->cpus);
    bind_number(s, ":windows", true, scan->windows);
    bind_number(s, ":records", true, scan->records);
    bind_number(s, ":stored", true, import->store.stored);
    bind_number(s, ":unknown", true, import->store.unknown);
    bind_number(s, ":skipped", true, import->store.skipped);
    bind_number(s, ":wraps", true, scan->wraps);
    bind_number(s, ":lost_intervals", true, scan->lost_intervals);
    bind_number(s, ":lost", true, scan->lost);
    bind_number(s, ":untimed", true, scan->untimed);
    bind_number(s, ":damaged", true, import->damage.rows);
    bind_number(s, ":damaged_bytes", true, import->damage.bytes);
    bind_number(s, ":clock_faults", true, import->damage.clock_faults);
    bind_number(s, ":derivation", true, DERIVATION_VERSION);
    bind_text(s, ":tool_version", XENFLUSH_VERSION);
    rc = step_once(s);
    sqlite3_finalize(s);
    return rc;
}

static int store_pieces(struct import *import)
{
    sqlite3_stmt *s;
    unsigned int i;
    int rc = sqlite3_prepare_v2(import->db, "INSERT INTO piece VALUES (?,?,?)", -1, &s, NULL);

    for (i = 0; rc == SQLITE_OK && i < import->input.pieces; i++) {
        const struct piece *piece = &import->input.piece[i];

        sqlite3_bind_text(s, 1, piece->name, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 2, (int64_t)piece->start);
        sqlite3_bind_int64(s, 3, (int64_t)piece->bytes);
        rc = step_once(s);
    }
    sqlite3_finalize(s);
    return rc;
}

static int store_cpus(struct import *import)
{
    const struct scan *scan = &import->scan;
    sqlite3_stmt *s;
    uint32_t i;
    int rc = sqlite3_prepare_v2(import->db, "INSERT INTO trace_cpu VALUES (?,?,?,?,?,?,?)", -1,
                                &s, NULL);

    for (i = 0; rc == SQLITE_OK && i < scan->cpus; i++) {
        const struct scan_cpu *cpu = scan->cpu[i];

        sqlite3_clear_bindings(s);
        sqlite3_bind_int64(s, 1, cpu->cpu);
        sqlite3_bind_int64(s, 2, (int64_t)cpu->windows);
        sqlite3_bind_int64(s, 3, (int64_t)cpu->records);
        sqlite3_bind_int64(s, 4, (int64_t)cpu->lost);
        if (cpu->clock.started) {
            sqlite3_bind_int64(s, 5, (int64_t)(cpu->clock.first - scan->clock.smallest));
            sqlite3_bind_int64(s, 6, (int64_t)(cpu->clock.last - scan->clock.smallest));
        }
        sqlite3_bind_int64(s, 7, cpu->clock.first_epoch);
        rc = step_once(s);
    }
    sqlite3_finalize(s);
    return rc;
}

/* Damage was noted before the smallest TSC was known. */
static int rebase_damage(struct import *import)
{
    char *sql = sqlite3_mprintf("UPDATE damage SET tsc = tsc - %lld, before_tsc = before_tsc - %lld"
                                " WHERE tsc IS NOT NULL",
                                (long long)import->scan.clock.smallest,
                                (long long)import->scan.clock.smallest);
    int rc = sql ? sqlite3_exec(import->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

    sqlite3_free(sql);
    return rc;
}

static int load(struct import *import)
{
    const struct import_options *options = import->options;
    uint64_t base;
    int rc;

    if (scan_run(&import->scan, &import->input, &import->damage, import->directory,
                 options->tsc_hz))
        return -1;
    if (import->scan.windows == 0) {
        log_error("%s: no window of an xentrace file in its %" PRIu64 " bytes, from byte 0 on: "
                  "is it a trace?", options->trace[0], import->input.bytes);
        return -1;
    }
    base = import->scan.clock.smallest == UINT64_MAX ? 0 : import->scan.clock.smallest;
    rc = store_open(&import->store, import->db, base, options->keep_other);
    if (rc != SQLITE_OK)
        return sql_failed(import, rc);
    if (merge_run(&import->scan, take_record, import))
        return import->rc != SQLITE_OK ? sql_failed(import, import->rc) : -1;
    rc = store_finish(&import->store, options->tsc_hz);
    if (rc == SQLITE_OK)
        rc = import->damage.rc;
    if (rc == SQLITE_OK)
        rc = store_run(import);
    if (rc == SQLITE_OK)
        rc = store_pieces(import);
    if (rc == SQLITE_OK)
        rc = store_cpus(import);
    if (rc == SQLITE_OK && import->damage.clock_faults)
        rc = rebase_damage(import);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(import->db, "COMMIT", NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sql_failed(import, rc);
}

/* On disk first, then under its name: what has the name is whole. */
static int publish(struct import *import)
{
    const char *name = import->options->database;
    int fd = open(import->temporary, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd)) {
        log_error("%s: cannot write to disk: %s", name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    close(fd);
    if (import->options->force ? rename(import->temporary, name)
                               : link(import->temporary, name)) {
        if (errno == EEXIST)
            log_error("%s: exists already: give another name, or --force", name);
        else
            log_error("%s: cannot create: %s", name, strerror(errno));
        return -1;
    }
    if (!import->options->force)
        unlink(import->temporary);
    return 0;
}

static int prepare_names(struct import *import)
{
    const char *name = import->options->database;
    char *copy = strdup(name);

    import->directory = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    if (!import->directory ||
        asprintf(&import->temporary, "%s.importing-%ld", name, (long)getpid()) < 0) {
        import->temporary = NULL;
        log_error("no memory");
        return -1;
    }
    if (!import->options->force && access(name, F_OK) == 0) {
        log_error("%s: exists already: give another name, or --force", name);
        return -1;
    }
    if (access(import->directory, W_OK | X_OK)) {
        log_error("%s: cannot write into this directory: %s", import->directory, strerror(errno));
        return -1;
    }
    return 0;
}

/* Is the file empty or a database of ours, so that --force may replace it? */
static bool replaceable(const char *name)
{
    static const unsigned char magic[] = "SQLite format 3";
    unsigned char head[72];
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)sizeof(head))
        return n == 0;
    /* The application id, big endian, stands at byte 68 of an SQLite file. */
    return memcmp(head, magic, sizeof(magic)) == 0 &&
           ((uint32_t)head[68] << 24 | (uint32_t)head[69] << 16 |
            (uint32_t)head[70] << 8 | head[71]) == XF_APPLICATION_ID;
}

/* What --force would replace must not be the trace, nor anything but a database of ours. */
static int check_target(const struct import *import)
{
    const char *name = import->options->database;
    struct stat target, piece;
    unsigned int i;

    if (stat(name, &target))
        return 0;
    for (i = 0; i < import->options->traces; i++) {
        if (strcmp(import->options->trace[i], "-") ? stat(import->options->trace[i], &piece)
                                                   : fstat(STDIN_FILENO, &piece))
            continue;
        if (piece.st_dev == target.st_dev && piece.st_ino == target.st_ino) {
            log_error("%s: is the trace itself: give the database another name", name);
            return -1;
        }
    }
    if (S_ISREG(target.st_mode) && replaceable(name))
        return 0;
    log_error("%s: is not a xenflush database: it is not replaced, give another name", name);
    return -1;
}

static void tell(const struct import *import)
{
    const struct import_options *options = import->options;
    const struct scan *scan = &import->scan;

    if (options->quiet)
        return;
    printf("%s: %" PRIu64 " records of %" PRIu32 " CPUs, %" PRIu64 " stored, %" PRIu64
             " of other classes counted, %" PRIu64 " unknown; %" PRIu64 " lost; %" PRIu64
             " damaged places\n", options->database, scan->records, scan->cpus,
             import->store.stored, import->store.skipped, import->store.unknown, scan->lost,
             import->damage.rows);
}

int import_trace(const struct import_options *options)
{
    struct import import = { .options = options, .scan.segment_file.fd = -1 };
    int status = IMPORT_FAILED;

    interrupt_catch();
    if (prepare_names(&import) || check_target(&import))
        goto out;
    if (input_open(&import.input, options->trace, options->traces, import.directory))
        goto out;
    if (interrupted())
        goto out;
    unlink(import.temporary);
    if (open_database(&import) || load(&import))
        goto out;
    status = import.damage.rows ? IMPORT_DAMAGED : IMPORT_CLEAN;
    damage_close(&import.damage);
out:
    store_close(&import.store);
    if (import.damage.insert)
        damage_close(&import.damage);
    if (sqlite3_close(import.db) != SQLITE_OK && status != IMPORT_FAILED) {
        log_error("%s: cannot be closed", options->database);
        status = IMPORT_FAILED;
    }
    if (status != IMPORT_FAILED && publish(&import))
        status = IMPORT_FAILED;
    if (status != IMPORT_FAILED)
        tell(&import);
    if (import.temporary && import.db)
        unlink(import.temporary);
    scan_release(&import.scan);
    input_close(&import.input);
    free(import.temporary);
    free(import.directory);
    interrupt_die();
    return status;
}
