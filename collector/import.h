/* SPDX-License-Identifier: GPL-2.0-only */
/* import.h - a trace into a new database; the work behind `xenflush import`. */
#ifndef XENFLUSH_IMPORT_H
#define XENFLUSH_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses of import. */
enum { IMPORT_CLEAN = 0, IMPORT_DAMAGED = 1, IMPORT_FAILED = 2 };

struct import_options {
    char *const *trace;         /* names of the pieces */
    unsigned int traces;
    const char *database;
    bool force;                 /* replace an existing database */
    bool keep_other;
    bool quiet;                 /* no summary on standard output */
    uint64_t tsc_hz;            /* 0: not known */
    bool has_mask;
    uint64_t mask;
    const char *label, *host, *xen_version, *xen_cmdline, *start_time;  /* or NULL */
};

/* Returns an exit status, after messages. */
int import_trace(const struct import_options *options);

#endif
