/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gnuplot.c - drawing one table with gnuplot; see gnuplot.h.
 *
 * The whole program goes through gnuplot's standard input: terminal, titles,
 * the table as datablock $data, the number of each column as c_NAME, then the
 * text of common.gp and NAME.gp.  What it draws is its standard output.  So no
 * file name is ever inside a program or a command line.
 */
#define _GNU_SOURCE
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "log.h"
#include "table-format.h"

extern char **environ;

/*
 * A string literal of gnuplot: in single quotes nothing but the quote is special.
 * It ends up in XML, so what is not UTF-8 becomes a question mark.
 */
static void literal(FILE *to, const char *name, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length;

    fprintf(to, "%s = '", name);
    while (*s) {
        length = utf8_length(s);
        if (length) {
            fwrite(s, 1, length, to);
            s += length;
            continue;
        }
        if (*s == '\'')
            putc('\'', to);
        putc(*s < ' ' || *s == 0x7f ? ' ' : *s > 0x7f ? '?' : *s, to);
        s++;
    }
    fputs("'\n", to);
}

static void write_terminal(FILE *to, enum terminal terminal)
{
    switch (terminal) {
    case TERM_SVG:
        fputs("set terminal svg size 1000,600 noenhanced font 'sans-serif,14' "
              "background rgb 'white'\n", to);
        break;
    case TERM_PNG:
        fputs("if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
              "set terminal pngcairo size 1000,600 noenhanced font 'sans,11'\n} else {\n"
              "set terminal png size 1000,600 noenhanced\n}\n", to);
        break;
    case TERM_TEXT:
        fputs("set terminal dumb size 78,24 noenhanced mono\n", to);
        break;
    }
    fprintf(to, "is_text = %d\n", terminal == TERM_TEXT);
}

static void write_data(FILE *to, const struct table *table)
{
    size_t row, column;

    for (column = 0; column < table->columns; column++)
        fprintf(to, "c_%s = %zu\n", table->column[column].name, column + 1);
    fputs("$data << END_OF_DATA\n", to);
    for (row = 0; row < table_rows(table); row++) {
        for (column = 0; column < table->columns; column++) {
            const struct cell *cell = table_cell(table, row, column);

            switch (cell->type) {
            case CELL_NULL: fputs("NaN", to); break;
            case CELL_INT: fprintf(to, "%" PRId64, cell->integer); break;
            case CELL_REAL: fprintf(to, "%.17g", cell->real); break;
            case CELL_TEXT: fprintf(to, "\"%s\"", cell->text); break;
            }
            putc(column + 1 == table->columns ? '\n' : ' ', to);
        }
    }
    fputs("END_OF_DATA\n", to);
}

static bool copy_template(FILE *to, const char *directory, const char *name)
{
    char path[4096], buffer[4096];
    size_t got;
    FILE *from;

    snprintf(path, sizeof(path), "%s/%s.gp", directory, name);
    from = fopen(path, "r");
    if (!from) {
        log_error("%s: %s: is xenflush installed whole? XENFLUSH_GNUPLOT_DIR names another place",
                  path, strerror(errno));
        return false;
    }
    while ((got = fread(buffer, 1, sizeof(buffer), from)) > 0)
        fwrite(buffer, 1, got, to);
    fclose(from);
    return true;
}

static bool write_program(FILE *to, const struct chart *chart, const char *templates)
{
    write_terminal(to, chart->terminal);
    literal(to, "chart_title", chart->title);
    literal(to, "source", chart->source);
    literal(to, "unit", chart->table->time_unit);
    write_data(to, chart->table);
    return copy_template(to, templates, "common") && copy_template(to, templates, chart->name);
}

/* Starts gnuplot with `in` and `out` as its standard input and output. */
static int start(pid_t *pid, int in, int out)
{
    char *const arguments[] = { (char *)(size_t)"gnuplot", (char *)(size_t)"-d", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    int error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    error = posix_spawnp(pid, "gnuplot", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int gnuplot_draw(const struct chart *chart, const char *templates, int out)
{
    int pipe_ends[2], error, status;
    bool written;
    FILE *to;
    pid_t pid;

    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        log_error("pipe: %s", strerror(errno));
        return STATUS_FAILED;
    }
    error = start(&pid, pipe_ends[0], out);
    close(pipe_ends[0]);
    if (error) {
        log_error("gnuplot: %s: charts need gnuplot, install it", strerror(error));
        close(pipe_ends[1]);
        return STATUS_FAILED;
    }
    /* Should gnuplot end early, its exit status tells, not a signal to us. */
    signal(SIGPIPE, SIG_IGN);
    to = fdopen(pipe_ends[1], "w");
    written = to && write_program(to, chart, templates);
    if (to)
        fclose(to);
    else
        close(pipe_ends[1]);
    status = wait_for(pid);
    signal(SIGPIPE, SIG_DFL);
    if (written && status != 0)
        log_error("%s: gnuplot failed with status %d: see its message above", chart->name, status);
    return written && status == 0 ? STATUS_OK : STATUS_FAILED;
}
