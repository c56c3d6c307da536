/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * log.h - messages on standard error, in the form `xenflush: ...`.
 *
 * Built with libxentoollog (HAVE_XENTOOLLOG) they go through its logger, as
 * those of the other Xen tools do; without it, straight to standard error.
 * Either way the text is the same.
 */
#ifndef XENFLUSH_LOG_H
#define XENFLUSH_LOG_H

#include <stdint.h>

#define LOG_FORMAT __attribute__((format(printf, 1, 2)))

void log_error(const char *format, ...) LOG_FORMAT;
void log_warn(const char *format, ...) LOG_FORMAT;
void log_info(const char *format, ...) LOG_FORMAT;

/*
 * Progress of long work, shown only on a terminal.  Call with done == 0 first;
 * cheap enough to call often.
 */
void log_progress(const char *doing, uint64_t done, uint64_t total);

/* Silences log_info and log_progress. */
void log_set_quiet(void);

#endif
