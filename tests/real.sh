#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Real traces: every count and every headline figure against a count made from
# the bytes by a script that shares no code with the collector.
# XENFLUSH_TRACES: a directory with more traces; then also the known counts of
# whole recordings are checked.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

count=$top/tests/crosscheck/count_trace.py

# Derived again from the record tables, all must be as the import made it.
derived_same() {
    for table in batch logical_call tlb_flush_link iotlb_flush_link flush_part; do
        sqlite3 "$1" "SELECT * FROM $table ORDER BY 1, 2" >"$scratch/imported"
        sqlite3 "$2" "SELECT * FROM $table ORDER BY 1, 2" >"$scratch/derived"
        cmp "$scratch/imported" "$scratch/derived" || return 1
    done
}

cross_check() {
    name=$2$(basename "$1" .xentrace)
    db=$scratch/$name.db

    exits "$name: imports clean" 0 "$XENFLUSH" import "$1" -o "$db" --tsc-hz=1GHz
    exits "$name: every count and sum" 0 python3 "$count" "$1" --check "$db"
    status=0
    "$XENFLUSH" report "$db" headline --format=json >"$scratch/headline.json" 2>"$scratch/err" ||
        status=$?
    if [ "$status" -eq 3 ]; then
        same "$name: no flush record, and it says so" 1 "$(grep -c 'no flush record' "$scratch/err")"
    else
        exits "$name: every headline figure" 0 \
            python3 "$count" "$1" --headline "$scratch/headline.json"
    fi
    cp "$db" "$scratch/again.db"
    exits "$name: derives again" 0 "$XENFLUSH" derive "$scratch/again.db"
    check "$name: derived again is the same" derived_same "$db" "$scratch/again.db"
    same "$name: integrity" ok "$(sqlite3 "$db" 'PRAGMA integrity_check')"
}

# Known counts of whole recordings: see tests/known-counts.txt.
known_counts() {
    while read -r name column value; do
        case $name in '' | '#'*) continue ;; esac
        [ -f "$XENFLUSH_TRACES/$name.xentrace" ] || continue
        case $column in
        records | windows | wraps | lost | lost_intervals | unknown | stored)
            found=$(sqlite3 "$scratch/whole-$name.db" "SELECT $column FROM run") ;;
        *)
            found=$(sqlite3 "$scratch/whole-$name.db" "SELECT count(*) FROM $column") ;;
        esac
        same "$name: $column" "$value" "$found"
    done <"$top/tests/known-counts.txt"
}

for trace in "$top"/tests/traces/*.xentrace; do
    cross_check "$trace" ""
done

if [ -n "${XENFLUSH_TRACES:-}" ]; then
    for trace in "$XENFLUSH_TRACES"/*.xentrace; do
        cross_check "$trace" whole-
    done
    known_counts
else
    skip "whole recordings" "XENFLUSH_TRACES is not set"
fi

finish
