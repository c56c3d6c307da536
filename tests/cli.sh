#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The commands as a person calls them: names, options, exit statuses, and what an
# interrupted import leaves behind.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

trace=$top/tests/traces/amd-batched.xentrace
db=$scratch/a.db

# --- import -------------------------------------------------------------------
exits "import without a trace is a usage error" 2 "$XENFLUSH" import
exits "import of an unknown option is a usage error" 2 "$XENFLUSH" import --frobnicate "$trace"
exits "import of a missing file" 2 "$XENFLUSH" import "$scratch/none" -o "$db"
exits "import of a directory" 2 "$XENFLUSH" import "$scratch" -o "$db"
check "none of these left a file" test ! -e "$db"
for rate in 0 -1 x 1.5 99GHz 1THz '' 1.0000000001GHz; do
    exits "rate '$rate' is refused" 2 "$XENFLUSH" import "$trace" -o "$db" "--tsc-hz=$rate"
done
for start in x 2026-13-01T00:00:00Z -5; do
    exits "start '$start' is refused" 2 "$XENFLUSH" import "$trace" -o "$db" "--start=$start"
done
exits "mask is refused" 2 "$XENFLUSH" import "$trace" -o "$db" --mask=0x100000000
exits "import" 0 "$XENFLUSH" import "$trace" -o "$db" --tsc-hz=2.4GHz --mask=0x0090f000 \
    --start=2026-01-31T12:00:00Z --host=h1 --label=l1 --xen-version=4.17 --xen-cmdline='a b'
same "import says nothing on standard error" "" "$(cat "$scratch/err")"
same "run metadata" "2400000000|9498624|2026-01-31T12:00:00Z|h1|l1|4.17|a b" "$(sqlite3 "$db" \
    'SELECT tsc_hz, mask, start_time, host, label, xen_version, xen_cmdline FROM run')"
exits "seconds since 1970" 0 "$XENFLUSH" import -q "$trace" -o "$scratch/s.db" --start=1769860800
same "start as ISO 8601" 2026-01-31T12:00:00Z "$(sqlite3 "$scratch/s.db" 'SELECT start_time FROM run')"
same "without a rate ts is cycles" 0 "$(sqlite3 "$scratch/s.db" 'SELECT count(*) FROM tlb_flush WHERE ts <> tsc')"
before=$(cksum <"$db")
exits "an existing database is not overwritten" 2 "$XENFLUSH" import "$trace" -o "$db"
same "it is as it was" "$before" "$(cksum <"$db")"
exits "--force replaces it" 0 "$XENFLUSH" import -q "$trace" -o "$db" --force --tsc-hz=1GHz
exits "a bad trace does not replace it" 2 "$XENFLUSH" import /dev/null -o "$db" --force
check "the good one is still there" test -s "$db"
cp "$trace" "$scratch/same"
ln "$scratch/same" "$scratch/link"
for name in same ./same link; do
    exits "--force does not replace the trace ($name)" 2 \
        "$XENFLUSH" import -q -f "$scratch/same" -o "$scratch/$name"
done
exits "nor a later piece" 2 "$XENFLUSH" import -q -f "$trace" "$scratch/same" -o "$scratch/same"
exits "nor standard input" 2 sh -c '"$1" import -q -f - -o "$2" <"$2"' sh "$XENFLUSH" "$scratch/same"
check "the trace is as it was" cmp "$trace" "$scratch/same"
echo important >"$scratch/notes"
sqlite3 "$scratch/foreign.db" 'CREATE TABLE t(a)'
for name in notes foreign.db; do
    exits "nor a file of another kind ($name)" 2 \
        "$XENFLUSH" import -q -f "$trace" -o "$scratch/$name"
done
same "that is as it was" important "$(cat "$scratch/notes")"
exits "default name" 0 sh -c 'cd "$1" && "$2" import -q "$3"' sh "$scratch" "$XENFLUSH" "$trace"
check "it is the trace's with .db" test -s "$scratch/amd-batched.xentrace.db"
exits "unwritable directory" 2 "$XENFLUSH" import "$trace" -o /nonexistent/x.db
same "nothing unfinished is left" "" "$(find "$scratch" -name '*importing*')"

# Standard input, a FIFO and pieces give the same rows as the file.
rows() { sqlite3 "$1" "SELECT tsc, pos, cpu, pages, flags, rc FROM batch_end" | cksum; }
exits "standard input" 0 sh -c '"$1" import -q - -o "$2" <"$3"' sh "$XENFLUSH" "$scratch/i.db" "$trace"
same "same rows from standard input" "$(rows "$db")" "$(rows "$scratch/i.db")"
exits "a pipe" 0 sh -c 'cat "$3" | "$1" import -q - -o "$2"' sh "$XENFLUSH" "$scratch/p.db" "$trace"
same "same rows from a pipe" "$(rows "$db")" "$(rows "$scratch/p.db")"
head -c 500000 "$trace" >"$scratch/piece1"
tail -c +500001 "$trace" >"$scratch/piece2"
exits "pieces cut anywhere" 0 "$XENFLUSH" import -q "$scratch/piece1" "$scratch/piece2" -o "$scratch/2.db"
same "same rows from pieces" "$(rows "$db")" "$(rows "$scratch/2.db")"
same "pieces are listed" "0|500000 500000|$(($(wc -c <"$trace") - 500000))" \
    "$(sqlite3 "$scratch/2.db" 'SELECT start, bytes FROM piece' | tr '\n' ' ' | sed 's/ $//')"

# --- interrupted imports --------------------------------------------------------
mkfifo "$scratch/fifo"
for signal in INT TERM HUP KILL; do
    python3 -c 'import signal, sys, os
signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
        "$XENFLUSH" import "$scratch/fifo" -o "$scratch/killed.db" >/dev/null 2>&1 &
    pid=$!
    exec 7>"$scratch/fifo"
    head -c 100000 "$trace" >&7
    sleep 0.3
    kill -s "$signal" "$pid"
    status=0
    wait "$pid" || status=$?
    exec 7>&-
    check "SIG$signal ends the import by that signal" test "$status" -gt 128
    check "SIG$signal leaves no database" test ! -e "$scratch/killed.db"
    same "SIG$signal leaves nothing with an unfinished name" "" \
        "$(find "$scratch" -name 'killed*' ! -name '*importing*')"
done

# A full disk: no database, a message, status 2.
exits "a file size limit fails the import" 2 \
    sh -c 'ulimit -f 200 && exec "$1" import "$2" -o "$3"' sh "$XENFLUSH" "$trace" "$scratch/full.db"
same "it says so" 1 "$(grep -c full.db "$scratch/err")"
same "and leaves nothing" "" "$(find "$scratch" -name 'full.db*')"

# --- report, query, derive on odd databases --------------------------------------
echo "no database" >"$scratch/text.db"
sqlite3 "$scratch/other.db" 'CREATE TABLE t(a)'
cp "$db" "$scratch/newer.db"
sqlite3 "$scratch/newer.db" 'PRAGMA user_version = 99'
cp "$db" "$scratch/older.db"
sqlite3 "$scratch/older.db" 'PRAGMA user_version = 0'
for command in report derive; do
    exits "$command of a missing database" 1 "$XENFLUSH" $command "$scratch/none.db"
    check "$command does not make it" test ! -e "$scratch/none.db"
done
for odd in text other newer older; do
    exits "report of $odd.db" 2 "$XENFLUSH" report "$scratch/$odd.db"
    exits "query of $odd.db" 2 "$XENFLUSH" query "$scratch/$odd.db" 'SELECT 1'
    exits "derive of $odd.db" 2 "$XENFLUSH" derive "$scratch/$odd.db"
done
exits "report of an unknown name" 2 "$XENFLUSH" report "$db" nonsense
exits "report in an unknown format" 2 "$XENFLUSH" report "$db" headline --format=xml
exits "an unknown command" 2 "$XENFLUSH" frobnicate
exits "--help" 0 "$XENFLUSH" --help
exits "--version" 0 "$XENFLUSH" --version
for command in import report plot query derive; do
    exits "$command --help" 0 "$XENFLUSH" "$command" --help
    exits "$command -h" 0 "$XENFLUSH" "$command" -h
done
for name in $("$XENFLUSH" report --list | awk '{ print $1 }'); do
    for format in text csv json; do
        "$XENFLUSH" report "$db" "$name" "--format=$format" >"$scratch/report" 2>"$scratch/err"
        status=$?
        check "report $name as $format" test "$status" -eq 0 -o "$status" -eq 3
        if [ "$format" = json ] && [ "$status" -eq 0 ]; then
            check "report $name is JSON" python3 -m json.tool "$scratch/report"
        fi
    done
done
exits "query" 0 "$XENFLUSH" query "$db" 'SELECT 1 AS one, NULL AS absent' --format=csv
same "query prints CSV" "one,absent
1," "$(tr -d '\r' <"$scratch/out")"
exits "query is read-only" 1 "$XENFLUSH" query "$db" 'DELETE FROM batch'
exits "query cannot attach" 1 "$XENFLUSH" query "$db" "ATTACH '$scratch/evil.db' AS e"
check "nothing was attached" test ! -e "$scratch/evil.db"
exits "bad SQL" 1 "$XENFLUSH" query "$db" 'SELEKT'

# --skip-start: what the report counts is what SQL counts after that time.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1" <"$scratch/out"; }
exits "--skip-start" 0 "$XENFLUSH" report "$db" headline --format=json --skip-start=100ms
same "operations after the start" \
    "$(sqlite3 "$db" 'SELECT sum(done) FROM logical_call WHERE begin_ts >= 100000000')" "$(field operations)"
same "batches after the start" "$(sqlite3 "$db" 'SELECT count(*) FROM batch JOIN logical_call c USING (call)
    WHERE batch.state = 0 AND batch.begin_ts >= 100000000 AND (c.begin_ts IS NULL OR c.begin_ts >= 100000000)')" "$(field batches)"
exits "--skip-start=0s" 0 "$XENFLUSH" report "$db" headline --format=json --skip-start=0s
cp "$scratch/out" "$scratch/all"
exits "no --skip-start" 0 "$XENFLUSH" report "$db" headline --format=json
same "--skip-start=0s leaves nothing out" "$(cat "$scratch/all")" "$(cat "$scratch/out")"
exits "--skip-start beyond the end" 3 "$XENFLUSH" report "$db" --skip-start=100s
for duration in x 5 -1ms 1h nan; do
    exits "--skip-start=$duration is refused" 2 "$XENFLUSH" report "$db" "--skip-start=$duration"
done
exits "seconds without a rate are refused" 2 "$XENFLUSH" report "$scratch/s.db" --skip-start=1ms
exits "cycles without a rate" 0 "$XENFLUSH" report "$scratch/s.db" --skip-start=1000cycles

# A closed or full standard output is an error; a reader that goes away is not a crash.
if [ -c /dev/full ]; then
    exits "a full standard output of import" 2 sh -c '"$1" import --help >/dev/full' sh "$XENFLUSH"
    exits "a full standard output" 1 sh -c '"$1" report "$2" >/dev/full' sh "$XENFLUSH" "$db"
fi

# Odd names.
for name in "it's" 'a b"c' 'per%cent' -dash 'new
line'; do
    shown=$(printf %s "$name" | tr '\n' ' ')
    exits "a database called '$shown'" 0 "$XENFLUSH" import -q "$trace" -o "$scratch/./$name.db" --label="$name"
    exits "its report" 0 "$XENFLUSH" report "$scratch/./$name.db"
    if command -v gnuplot >/dev/null; then
        exits "its chart" 0 "$XENFLUSH" plot "$scratch/./$name.db" ranges -o "$scratch/./$name"
        check "is there" test -s "$scratch/./$name/ranges.svg"
    fi
done

# A label of any bytes gives charts that are XML.
if command -v gnuplot >/dev/null; then
    label=$(printf '\001\377 \303\251 <&x')
    exits "a label of odd bytes" 0 "$XENFLUSH" import -q "$trace" -o "$scratch/bytes.db" --label="$label"
    exits "its chart" 0 "$XENFLUSH" plot "$scratch/bytes.db" ranges -o "$scratch/bytes"
    exits "is XML" 0 python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' \
        "$scratch/bytes/ranges.svg"
fi

# A database derived by another version is derived again on the way.
sqlite3 "$db" 'UPDATE run SET derivation = 0; DELETE FROM batch'
exits "report derives again" 0 "$XENFLUSH" report "$db"
same "with all batches" 1 "$(sqlite3 "$db" 'SELECT count(*) > 100 FROM batch')"

# --- charts ---------------------------------------------------------------------
if command -v gnuplot >/dev/null; then
    exits "plot" 0 "$XENFLUSH" plot "$db" -o "$scratch/charts"
    check "charts are there" test -s "$scratch/charts/pages-per-flush.svg"
    exits "plot as text" 0 "$XENFLUSH" plot "$db" pages-per-flush --term=text
    same "80 columns" 1 "$(awk 'length > 80 { long = 1 } END { print !long }' "$scratch/out")"
else
    skip "plot" "gnuplot is not installed"
fi

finish
