/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * skip.h - --skip-start: leaving out the beginning of a trace.
 */
#ifndef XENFLUSH_SKIP_H
#define XENFLUSH_SKIP_H

#include "db.h"

/*
 * Hides from all later queries what began before the given time after the
 * start of the trace: "50ms", "2s", "1000us", "80ns" or "5000000cycles".  An
 * exit status; what is wrong has been logged.
 */
int skip_start(struct db *db, const char *duration);

#endif
