#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The project itself: generated parts, installed copy, shell scripts, manual.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

printf '#include "trace_flush.h"\nint number = TRC_FLUSH_IOMMU_WRITEBACK;\n' >"$scratch/ansi.c"
exits "trace_flush.h is ANSI C" 0 gcc -std=c89 -pedantic-errors -Wall -Wextra -Werror \
    -I"$top/tracepoints" -c -o "$scratch/ansi.o" "$scratch/ansi.c"

gcc -std=gnu11 -I"$top/common" -I"$top/tracepoints" -o "$scratch/mkschema" \
    "$top/collector/mkschema.c" "$top/common/events.c"
"$top/scripts/update-schema.sh" "$scratch/mkschema" "$top/schema.sql" "$scratch/schema.sql"
check "schema.sql agrees with the table of events" cmp "$top/schema.sql" "$scratch/schema.sql"
exits "schema.sql loads into the sqlite3 shell" 0 \
    sh -c 'sqlite3 "$1" <"$2"' sh "$scratch/plain.db" "$top/schema.sql"
same "every table of an import is in schema.sql" "" "$(
    "$XENFLUSH" import -q "$top/tests/traces/ept-batched.xentrace" -o "$scratch/e.db" >&2
    for db in e plain; do
        sqlite3 "$scratch/$db.db" \
            "SELECT m.name, x.name FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) x
             WHERE m.type IN ('table', 'view') ORDER BY 1, x.cid" >"$scratch/$db.names"
    done
    diff "$scratch/e.names" "$scratch/plain.names")"

exits "make install" 0 make -s -C "$top" install DESTDIR="$scratch/root" PREFIX=/usr
unset XENFLUSH_GNUPLOT_DIR
installed=$scratch/root/usr/bin/xenflush
exits "the installed program imports" 0 "$installed" import -q \
    "$top/tests/traces/ept-batched.xentrace" -o "$scratch/i.db"
exits "the installed program reports" 0 "$installed" report "$scratch/i.db"
if command -v gnuplot >/dev/null; then
    exits "the installed program plots" 0 "$installed" plot "$scratch/i.db" pages-per-flush -o "$scratch"
else
    skip "the installed program plots" "gnuplot is not installed"
fi
check "the manual is installed" test -s "$scratch/root/usr/share/man/man1/xenflush.1"
rm "$scratch/root/usr/libexec/xenflush/xenflush-collector"
exits "without the collector, import says so" 2 "$installed" import "$top/tests/traces/ept-batched.xentrace"

if command -v shellcheck >/dev/null; then
    exits "shellcheck" 0 sh -c 'cd "$1" && shellcheck .ci/run scripts/*.sh scripts/lab/*.sh scripts/lab/*/*.sh tracepoints/*.sh tests/*.sh tests/*/*.sh' sh "$top"
else
    skip "shellcheck" "not installed"
fi
if command -v mandoc >/dev/null; then
    exits "mandoc -T lint" 0 mandoc -T lint -W warning "$top/docs/xenflush.1"
else
    skip "mandoc" "not installed"
fi

finish
