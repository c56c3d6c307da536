#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: make-tree.sh SOURCE OUTDIR
#
# OUTDIR/xen: a copy of the Xen tree SOURCE with the project's queue applied, and
# on top of it the lab's own patches, patches/*.patch, which make a fault happen
# on demand and are no part of the queue.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) show_help ;;
esac
[ $# -eq 2 ] || usage_error "a tree and a directory are needed"
apply=$project/tracepoints/apply.sh
[ -x "$apply" ] || die "there is no queue to apply: $apply is missing"

mkdir -p "$2"
cp -a "$1" "$2/xen"
"$apply" "$2/xen"
shopt -s nullglob
for patch in "$lab_scripts"/patches/*.patch; do
    echo "applying ${patch##*/}"
    patch -d "$2/xen" -p1 --forward --no-backup-if-mismatch <"$patch"
done
