# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-only
# Step programs: xfpaths under trace, with the commands that lab.programs names.
# What it prints goes to the host as xfpaths.txt, for the checker.
#   lab.programs=A,B   commands of xfpaths, NAME or NAME=NUMBER

commands=$(echo "${lab_programs:-unmap,assisted,cache,mtrr,physmap,copy}" | tr , ' ')

trace_start "$OUT/trace.bin"
sleep 1                         # until the buffers are mapped
# shellcheck disable=SC2086 # a list of words
xfpaths $commands >"$OUT/xfpaths.txt" 2>"$OUT/xfpaths.err"
status=$?
sleep 1                         # until xentrace has read what is left
trace_stop
say "xfpaths: exit status $status, $(grep -c '^XF' "$OUT/xfpaths.txt") lines"
cat "$OUT/xfpaths.err"
[ $status -eq 0 ] || fail "xfpaths: exit status $status"
