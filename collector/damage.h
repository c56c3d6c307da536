/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * damage.h - what is wrong with a trace: a row in `damage`, and a message.
 *
 * Messages name the file and the byte in it; after the first few of a trace
 * only their number is told.
 */
#ifndef XENFLUSH_DAMAGE_H
#define XENFLUSH_DAMAGE_H

#include <sqlite3.h>
#include <stdint.h>

#include "input.h"

#define DAMAGE_NO_CPU UINT32_MAX

struct damage_log {
    const struct input *input;
    sqlite3_stmt *insert;
    uint64_t rows;
    uint64_t bytes;             /* that could not be used */
    uint64_t clock_faults;
    int rc;                     /* first SQLite error */
};

struct damage {
    const char *kind;           /* window, record, garbage, cut, lost, clock */
    uint64_t pos;
    uint64_t bytes;             /* unusable */
    uint32_t cpu;               /* or DAMAGE_NO_CPU */
    const char *fault;          /* of kind clock only: step, spike, fall */
    uint64_t tsc, before_tsc;   /* of kind clock only, as recorded */
};

int damage_open(struct damage_log *log, sqlite3 *db, const struct input *input);

void damage_note(struct damage_log *log, const struct damage *damage, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells how many messages were left out. */
void damage_close(struct damage_log *log);

#endif
