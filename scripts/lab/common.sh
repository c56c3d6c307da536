# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the lab's scripts: where things lie, and how they speak.
#
# LAB is the work directory; nothing is ever written into the source tree.

lab_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for those who source this
project=$(cd "$lab_scripts/../.." && pwd)
export LAB=${LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/xenflush-lab}
export LC_ALL=C

die() {
    echo "lab: $*" >&2
    exit 1
}

usage_error() {
    echo "${0##*/}: $*; see --help" >&2
    exit 2
}

# The comment at the head of a script is its help.
show_help() {
    sed -n '3,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
}

# hash_of FILE|DIRECTORY...: one hash of names and contents, the same wherever
# the files lie.
hash_of() {
    local item
    for item in "$@"; do
        if [ -d "$item" ]; then
            (cd "$item" && find . -type f ! -name '*.pyc' -print0 | sort -z | xargs -0r sha256sum)
        elif [ -e "$item" ]; then
            echo "$(sha256sum <"$item") ${item##*/}"
        else
            echo "none ${item##*/}"
        fi
    done | sha256sum | cut -c1-16
}

# versions_of PACKAGE...: what is installed, one line each.
versions_of() {
    dpkg-query -W -f='${Package} ${Version}\n' "$@" 2>/dev/null || true
}
