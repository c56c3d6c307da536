#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Puts the record tables that MKSCHEMA prints between the marker lines of SCHEMA.
# usage: update-schema.sh MKSCHEMA SCHEMA [OUTPUT]
set -eu

mkschema=$1
schema=$2
output=${3:-$schema}
new=$(mktemp)
trap 'rm -f "$new"' EXIT

sed '/^-- \[records\]/q' "$schema" >"$new"
"$mkschema" >>"$new"
sed -n '/^-- \[end of records\]/,$p' "$schema" >>"$new"
cat "$new" >"$output"
