#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzzes the reading of traces with libFuzzer, from the fixtures as seeds.
# usage: run.sh SECONDS
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=$1
build=$top/build/fuzz

command -v clang >/dev/null || { echo "fuzz: skipped, clang is not installed" >&2; exit 0; }
mkdir -p "$build/corpus" "$build/seeds"
sources=
for file in "$top"/collector/*.c "$top"/common/*.c; do
    case $file in */main.c | */mkschema.c | */cmd-import.c | */import.c) continue ;; esac
    sources="$sources $file"
done
# shellcheck disable=SC2086 # a list of names
clang -g -O1 -std=gnu11 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -I"$top/common" -I"$top/collector" -I"$top/tracepoints" -o "$build/fuzz-trace" \
    "$top/tests/fuzz/fuzz-trace.c" $sources "$top/build/schema.c" -lsqlite3
for fixture in "$top"/tests/fixtures/*/*.txt; do
    python3 "$top/tests/tools/trace_text.py" "$fixture" \
        "$build/seeds/$(basename "$fixture" .txt)" 2>/dev/null || true
done
find "$build/seeds" -size +64k -delete
cd "$build"
./fuzz-trace -max_total_time="$seconds" -max_len=16384 -print_final_stats=1 -close_fd_mask=2 \
    corpus seeds
