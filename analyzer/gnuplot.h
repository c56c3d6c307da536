/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gnuplot.h - drawing one table with gnuplot.
 */
#ifndef XENFLUSH_GNUPLOT_H
#define XENFLUSH_GNUPLOT_H

#include "table.h"

enum terminal { TERM_SVG, TERM_PNG, TERM_TEXT };

struct chart {
    const char *name;           /* of its template, NAME.gp */
    const char *title;
    const char *source;         /* label or file of the trace; any text */
    enum terminal terminal;
    const struct table *table;
};

/*
 * Draws the chart with the templates of a directory into the file descriptor
 * `out`.  Returns an exit status; what is wrong has been logged.
 */
int gnuplot_draw(const struct chart *chart, const char *templates, int out);

#endif
