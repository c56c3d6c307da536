#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What `make run` does after the build: a real trace to a report and charts.
set -eu

cd "$(dirname "$0")/.."
trace=tests/traces/amd-batched.xentrace
database=charts/amd-batched.db

mkdir -p charts
echo "$ ./xenflush import $trace -o $database --force --tsc-hz=1GHz --label='AMD-Vi, batched, emulated'"
./xenflush import "$trace" -o "$database" --force --tsc-hz=1GHz --label='AMD-Vi, batched, emulated'
echo
echo "$ ./xenflush report $database"
./xenflush report "$database"
echo
echo "The trace comes from an emulated machine: counts and ranges are exact, the time"
echo "that IPIs take is not that of hardware."
echo
echo "$ ./xenflush plot $database -o charts"
./xenflush plot "$database" -o charts
