/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * log.c - messages and progress; see log.h.
 *
 * libxentoollog takes any consumer that implements its three functions.  Ours
 * prints `xenflush: text` without a level, which is the form scripts and
 * people know from GNU tools, and hides progress from pipes and files.
 */
#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool quiet;

static void print_message(const char *format, va_list args)
{
    fputs("xenflush: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

static void print_progress(const char *doing, int percent, bool finished)
{
    fprintf(stderr, "\rxenflush: %s: %3d%%%s", doing, percent, finished ? "\n" : "");
    fflush(stderr);
}

#ifdef HAVE_XENTOOLLOG
#include <xentoollog.h>

static void consume_message(xentoollog_logger *logger, xentoollog_level level,
                            int errnoval, const char *context,
                            const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));

static void consume_message(xentoollog_logger *logger, xentoollog_level level,
                            int errnoval, const char *context,
                            const char *format, va_list args)
{
    (void)logger, (void)level, (void)errnoval, (void)context;
    print_message(format, args);
}

static void consume_progress(xentoollog_logger *logger, const char *context,
                             const char *doing, int percent,
                             unsigned long done, unsigned long total)
{
    (void)logger, (void)context;
    print_progress(doing, percent, done == total);
}

static void consume_nothing(xentoollog_logger *logger)
{
    (void)logger;
}

static xentoollog_logger consumer = {
    consume_message, consume_progress, consume_nothing
};

#define MESSAGE(level, format, args) \
    xtl_logv(&consumer, level, -1, "xenflush", format, args)
#define PROGRESS(doing, done, total) \
    xtl_progress(&consumer, "xenflush", doing, done, total)
#else
#define MESSAGE(level, format, args) print_message(format, args)
#define PROGRESS(doing, done, total) \
    print_progress(doing, (int)((done) * 100 / (total)), (done) == (total))
#endif

void log_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    MESSAGE(XTL_ERROR, format, args);
    va_end(args);
}

void log_warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    MESSAGE(XTL_WARN, format, args);
    va_end(args);
}

void log_info(const char *format, ...)
{
    va_list args;

    if (quiet)
        return;
    va_start(args, format);
    MESSAGE(XTL_INFO, format, args);
    va_end(args);
}

void log_progress(const char *doing, uint64_t done, uint64_t total)
{
    static int shown = -1;
    int percent;

    if (quiet || total == 0)
        return;
    percent = (int)((double)done * 100 / (double)total);
    if (done == 0)
        shown = -1;
    if (percent == shown || !isatty(STDERR_FILENO))
        return;
    shown = percent;
    PROGRESS(doing, done, total);
}

void log_set_quiet(void)
{
    quiet = true;
}
