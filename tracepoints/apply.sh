#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: apply.sh [OPTION...] TREE
#
# Applies the patch queue to TREE, a Xen source tree of 4.17 or later. The release
# is read from xen/Makefile, the nearest queue is taken: 4.17/ for 4.17, 4.20/ for
# what came after. Where the tree is of another release, the patches are adapted
# by file `rules` and to changed context; each adaptation is told.
#
# A git repository gets one commit a patch (git am) and must have nothing
# uncommitted; in any other tree the files are changed. All or nothing: what does
# not fit is named with its place and what the tree has there, and then nothing is
# changed. Patches which a repository has already (by subject) are passed over.
#
#   -n, --dry-run     only say what fits
#   -k, --keep-going  leave out the patches that do not fit; exit status is still 1
#       --upto=N      only the first N patches
#       --list        number the patches of the queue
#       --queue=NAME  that queue, whatever the release
#       --save=DIR    put the patches into DIR, as they were adapted
#
# To take them back: in a repository, git reset to the commit that is named at the
# end; elsewhere apply the patches of --save with patch -R, last one first.
#
# Exit status: 0 all applied, 1 something did not fit, 2 wrong use.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    echo "apply.sh: $*" >&2
    exit 2
}

show_help() {
    sed -n '3,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
}

# value_of OPTION NEXT: sets value, and shifted when it came as an argument.
value_of() {
    case $1 in
    *=*) value=${1#*=} shifted=0 ;;
    *) [ $# -ge 2 ] || die "$1 needs a value"
       value=$2 shifted=1 ;;
    esac
}

tree='' save='' dry_run='' list='' shifted=0 arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) show_help ;;
    -n | --dry-run) dry_run=1 ;;
    -k | --keep-going) arguments+=(--keep-going) ;;
    --list) list=1 arguments+=(--list) ;;
    --upto | --upto=* | --queue | --queue=*)
        value_of "$@"
        option=${1%%=*}
        [ "$option" != --upto ] || [[ $value =~ ^[0-9]+$ ]] || die "--upto=$value: not a number"
        arguments+=("$option=$value")
        shift "$shifted" ;;
    --save | --save=*)
        value_of "$@"
        save=$value
        shift "$shifted" ;;
    -*) die "unknown option $1; see --help" ;;
    *) [ -z "$tree" ] || die "one tree, please: $tree or $1?"
       tree=$1 ;;
    esac
    shift
done
[ -n "$tree" ] || die "no tree given; see --help"
[ -f "$tree/xen/Makefile" ] || die "$tree: not a Xen tree, there is no xen/Makefile"
command -v python3 >/dev/null || die "python3 is missing"
tree=$(cd "$tree" && pwd -P)

if [ -n "$list" ]; then
    exec python3 "$here/port_queue.py" "${arguments[@]}" "$tree"
fi

# Its own repository, not one that the tree happens to be unpacked in.
repository=''
if [ -e "$tree/.git" ]; then
    command -v git >/dev/null || die "$tree is a git repository, and git is missing"
    top=$(git -C "$tree" rev-parse --show-toplevel) || die "$tree: git does not take this for a repository"
    [ "$top" != "$tree" ] || repository=1
fi
if [ -n "$repository" ]; then
    [ ! -d "$(git -C "$tree" rev-parse --absolute-git-dir)/rebase-apply" ] ||
        die "$tree: git am or git rebase is going on there"
    if [ -n "$(git -C "$tree" status --porcelain --untracked-files=no)" ]; then
        [ -n "$dry_run" ] || die "$tree: has uncommitted changes; commit or stash them"
        echo "apply.sh: $tree: has uncommitted changes, with which nothing will be applied" >&2
    fi
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/patches"
status=0
python3 "$here/port_queue.py" --out="$work/patches" "${arguments[@]}" "$tree" || status=$?
[ "$status" -le 1 ] || exit 2

shopt -s nullglob
patches=("$work/patches"/*.patch)
if [ -n "$save" ]; then
    mkdir -p "$save"
    [ ${#patches[@]} -eq 0 ] || cp "${patches[@]}" "$save/"
fi
if [ -n "$dry_run" ]; then
    echo "dry run: nothing is changed"
    exit "$status"
fi
if [ "$status" -ne 0 ] && [[ " ${arguments[*]} " != *" --keep-going "* ]]; then
    echo "nothing is changed" >&2
    exit 1
fi

# What git am began is taken back, new files of a patch it was at included.
undo() {
    git -C "$tree" am --quit >/dev/null 2>&1 || true
    rm -f "$(git -C "$tree" rev-parse --absolute-git-dir)/index.lock"
    git -C "$tree" reset -q --hard "$before" ||
        die "cannot be undone: git reset --hard $before does"
    sed -n '/^new file mode/,/^+++ /s|^+++ b/||p' "${patches[@]}" | while read -r file; do
        git -C "$tree" ls-files --error-unmatch -- "$file" >/dev/null 2>&1 || rm -f -- "$tree/$file"
    done
}

interrupted() {
    trap '' INT TERM HUP
    undo
    echo "apply.sh: interrupted, the tree is as it was" >&2
    exit 130
}

if [ -n "$repository" ] && [ ${#patches[@]} -gt 0 ]; then
    before=$(git -C "$tree" rev-parse HEAD)
    # A committer is needed; the author is the patches'.
    git -C "$tree" var GIT_COMMITTER_IDENT >/dev/null 2>&1 ||
        export GIT_COMMITTER_NAME="xenflush developers" GIT_COMMITTER_EMAIL=xenflush@localhost
    trap interrupted INT TERM HUP
    if ! git -C "$tree" am --quiet --no-gpg-sign --whitespace=nowarn "${patches[@]}" >"$work/am.log" 2>&1; then
        undo
        cat "$work/am.log" >&2
        echo "apply.sh: git am failed, the tree is as it was" >&2
        exit 1
    fi
    trap - INT TERM HUP
    printf 'applied %d patches; git -C %q reset --hard %s takes them back\n' \
        ${#patches[@]} "$tree" "${before:0:12}"
else
    # The same once more, the patches being saved by now.
    if [ -z "$repository" ]; then
        python3 "$here/port_queue.py" --write "${arguments[@]}" "$tree" >/dev/null || [ $? -eq 1 ] || exit 2
    fi
    echo "applied ${#patches[@]} patches"
fi
exit "$status"
