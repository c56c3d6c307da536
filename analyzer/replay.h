/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * replay.h - the flush records of a database again, in the order of the import.
 *
 * Each record table is in order; the tables are merged by clock epoch, time, CPU
 * and pos, with the clock's faults taken from `damage` (see there), so that the
 * order is the same as when the trace was read.
 */
#ifndef XENFLUSH_REPLAY_H
#define XENFLUSH_REPLAY_H

#include <sqlite3.h>

#include "derived.h"

/*
 * Gives all records and gaps to `derived`, in time order.  Returns an SQLite
 * code.
 */
int replay(sqlite3 *db, struct derived *derived);

#endif
