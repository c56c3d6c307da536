#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds xenalyze alone from a Xen tree:
#
#     build-xenalyze.sh TREE OUTPUT
#
# TREE need be neither configured nor built, and nothing is written into it. Any
# release from 4.17 on does, patched or not: the source files are those that the
# tree's own Makefile links into xenalyze. CC and CFLAGS are heeded; without
# CFLAGS, warnings are errors and -O2 is used. OUTPUT is replaced only when the
# build has succeeded.
set -euo pipefail

die()
{
    echo "build-xenalyze.sh: $*" >&2
    exit 1
}

[ $# -eq 2 ] || die "usage: build-xenalyze.sh TREE OUTPUT"
[ -d "$1/xen/include/public" ] || die "$1: not a Xen tree, no xen/include/public"
tree=$(realpath -- "$1")
output=$2
[ ! -d "$output" ] || die "$output: is a directory, a file name is wanted"
dir=$tree/tools/xentrace
[ -f "$dir/xenalyze.c" ] || die "$dir: no xenalyze.c"

cc=${CC:-gcc}
command -v "${cc%% *}" >/dev/null || die "no compiler: $cc (set CC)"

# "xenalyze: xenalyze.o mread.o ..." names what it is made of.
read -r -a objects < <(sed -n 's/^xenalyze: *//p' "$dir/Makefile") ||
    die "$dir/Makefile: no rule for xenalyze"
sources=()
for object in "${objects[@]}"; do
    source=$dir/${object%.o}.c
    [ -f "$source" ] || die "$dir/Makefile: $object has no source file"
    sources+=("$source")
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Xen's build makes such a directory of its public headers, <xen/NAME.h>.
mkdir "$work/include"
ln -s "$tree/xen/include/public" "$work/include/xen"

default_flags="-O2 -g -Wall -Wstrict-prototypes -Wdeclaration-after-statement
    -Wno-unused-but-set-variable -Wno-unused-local-typedefs -Werror"
read -r -d '' -a flags <<<"${CFLAGS:-$default_flags}" || true
read -r -a compiler <<<"$cc"

"${compiler[@]}" -std=gnu99 -fno-strict-aliasing -D__XEN_TOOLS__ "${flags[@]}" \
    -I"$work/include" -I"$tree/tools/include" -o "$work/xenalyze" "${sources[@]}" ||
    die "$tree: xenalyze does not build"
install -m 755 "$work/xenalyze" "$output.new"
mv -f "$output.new" "$output"
