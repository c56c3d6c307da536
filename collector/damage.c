/* SPDX-License-Identifier: GPL-2.0-only */
/* damage.c - see damage.h. */
#include "damage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

#define MAX_MESSAGES 20

int damage_open(struct damage_log *log, sqlite3 *db, const struct input *input)
{
    *log = (struct damage_log){ .input = input };
    return sqlite3_prepare_v2(db, "INSERT INTO damage VALUES (?,?,?,?,?,?,?,?)", -1,
                              &log->insert, NULL);
}

static void store(struct damage_log *log, const struct damage *damage, const char *what)
{
    sqlite3_stmt *s = log->insert;
    int rc;

    sqlite3_clear_bindings(s);
    sqlite3_bind_int64(s, 1, (int64_t)damage->pos);
    sqlite3_bind_int64(s, 2, (int64_t)damage->bytes);
    sqlite3_bind_text(s, 3, damage->kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, what, -1, SQLITE_STATIC);
    if (damage->cpu != DAMAGE_NO_CPU)
        sqlite3_bind_int64(s, 5, damage->cpu);
    if (damage->fault) {
        sqlite3_bind_text(s, 6, damage->fault, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 7, (int64_t)damage->tsc);
        sqlite3_bind_int64(s, 8, (int64_t)damage->before_tsc);
        log->clock_faults++;
    }
    sqlite3_step(s);
    rc = sqlite3_reset(s);
    if (rc != SQLITE_OK && log->rc == SQLITE_OK)
        log->rc = rc;
}

void damage_note(struct damage_log *log, const struct damage *damage, const char *format, ...)
{
    const struct piece *piece = input_piece(log->input, damage->pos);
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    store(log, damage, what);
    if (log->rows++ < MAX_MESSAGES)
        log_warn("%s: %s at byte %" PRIu64 ": %s", piece->name,
                 what, damage->pos - piece->start,
                 damage->bytes ? "left out, the rest is kept" : "kept");
    log->bytes += damage->bytes;
}

void damage_close(struct damage_log *log)
{
    if (log->rows > MAX_MESSAGES)
        log_warn("%s: %" PRIu64 " more damaged places: see table damage",
                 log->input->piece[0].name, log->rows - MAX_MESSAGES);
    sqlite3_finalize(log->insert);
    log->insert = NULL;
}
