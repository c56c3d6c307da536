#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs all tests (each prints TAP) and prints a summary.
# usage: run-tests.sh XENFLUSH [UNIT-TEST...]
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
XENFLUSH=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
export XENFLUSH
# Builds for tests live in build/; the charts' templates do not.
export XENFLUSH_GNUPLOT_DIR="$top/scripts/gnuplot"
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
broken=0

run() {
    echo "# $1"
    shift
    "$@" >"$log.one" 2>&1
    status=$?
    if [ "$status" -eq 77 ]; then
        printf 'ok - %s # SKIP it cannot run here\n1..0\n' "$(basename "$1")" >>"$log.one"
        status=0
    fi
    # Only what fails is shown, unless V=1.
    if [ "${V:-0}" = 1 ]; then
        cat "$log.one"
    else
        grep -v '^ok ' "$log.one"
    fi
    cat "$log.one" >>"$log"
    plan=$(grep -c '^1\.\.' "$log.one")
    if [ "$status" -ne 0 ] && ! grep -q '^not ok' "$log.one" || [ "$plan" -eq 0 ]; then
        echo "not ok - $1 ended with status $status and $plan plans"
        broken=$((broken + 1))
    fi
    rm -f "$log.one"
}

for unit in "$@"; do
    run "$(basename "$unit")" "$unit"
done
run fixtures python3 "$top/tests/tools/run_fixtures.py" "$XENFLUSH" "$top"/tests/fixtures/*/*.txt
for script in real cli windows tracepoints project; do
    run "$script" sh "$top/tests/$script.sh"
done

skipped=$(grep -c '^ok .*# SKIP' "$log")
passed=$(($(grep -c '^ok ' "$log") - skipped))
failed=$(($(grep -c '^not ok ' "$log") + broken))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
