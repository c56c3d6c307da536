/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * derived.h - the correlator's facts into the derived tables.
 *
 * Used while importing and when the derived tables are made again.  Life cycle:
 * derived_open (tables exist and are empty), derived_record and derived_gap in
 * time order, derived_finish, derived_close.
 */
#ifndef XENFLUSH_DERIVED_H
#define XENFLUSH_DERIVED_H

#include <sqlite3.h>

#include "correlate.h"

/* To be raised whenever the rules of correlation or the derived tables change. */
#define DERIVATION_VERSION 2

struct derived;

/* All return an SQLite code. */
int derived_open(struct derived **derived, sqlite3 *db);
int derived_record(struct derived *derived, enum xf_event_id event, int64_t row,
                   const struct xf_record *record);
int derived_gap(struct derived *derived, uint32_t cpu, uint64_t tsc);
/* Gives out what is open, adds computed times, indices and views; tsc_hz 0: not known. */
int derived_finish(struct derived *derived, uint64_t tsc_hz);

void derived_close(struct derived *derived);

#endif
