#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# usage: check.sh [OPTION...] [QUEUE...]
#
# Proves that the queues, 4.17 and 4.20 unless some are named, apply and build,
# patch by patch, on x86, against Debian's Xen sources; before that the style of
# the patches, and the fitting of patches to other trees.
#
# The sources are those of the Debian release that each queue is for, from the
# mirror that apt uses. XEN_417=DIR and XEN_420=DIR give trees instead. A release
# that the mirror does not have is skipped, and told so; the exit status is 77 when
# no queue was built at all.
#
#   --style        only what needs no Xen tree
#   --last         build only what all patches together make
#   --each         build after each patch (this is what it does anyway)
#   --work=DIR     work there and leave it behind, to look at or to go on from
#   --jobs=N       for make; default: as many as there are processors
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab_scripts=$here/../scripts/lab

die() {
    echo "check.sh: $*" >&2
    exit 1
}

show_help() {
    sed -n '3,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
}

style_only='' build=each work='' jobs=$(nproc) queues=()
for argument in "$@"; do
    case $argument in
    -h | --help) show_help ;;
    --style) style_only=1 ;;
    --each | --last) build=${argument#--} ;;
    --work=*) work=${argument#*=} ;;
    --jobs=*) jobs=${argument#*=} ;;
    -*) die "unknown option $argument; see --help" ;;
    *) [ -d "$here/$argument" ] || die "there is no queue $argument"
       queues+=("$argument") ;;
    esac
done
[ ${#queues[@]} -gt 0 ] || queues=(4.17 4.20)

echo "== style and records"
python3 "$here/check_style.py" "${queues[@]}" || die "the patches need mending"
echo "== fitting to other trees"
python3 "$here/test_patchfit.py" 2>&1 | tail -n 4
[ -z "$style_only" ] || exit 0

if [ -z "$work" ]; then
    work=$(mktemp -d "${TMPDIR:-/tmp}/xenflush-check.XXXXXX")
    trap 'rm -rf "$work"' EXIT
else
    mkdir -p "$work"
    work=$(cd "$work" && pwd)
fi

for tool in git make gcc bison flex python3; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is missing" >&2; exit 77; }
done

debian_of() {
    case $1 in
    4.17) echo bookworm ;;
    4.20) echo trixie ;;
    *) die "of which Debian release is Xen $1?" ;;
    esac
}

# source_of QUEUE DIR: Debian's source into DIR/xen, by the lab's own apt, which is
# told of another release than the machine's where that is needed. The index may
# list a version that the mirror no longer, or not yet, has.
source_of() (
    queue=$1 dir=$2
    wanted=$(debian_of "$queue")
    export LAB=$dir
    # shellcheck source=../scripts/lab/apt.sh
    . "$lab_scripts/apt.sh"
    eval "$(declare -f machine_mirrors | sed '1s/machine_mirrors/running_mirrors/')"
    machine_mirrors() {
        running_mirrors | sed "s/ $(. /etc/os-release && echo "$VERSION_CODENAME")/ $wanted/"
    }
    cd "$dir"
    private_apt_update || exit 1
    versions=$(private_apt apt-cache showsrc xen |
        awk -v prefix="$queue" '$1 == "Version:" && index($2, prefix) == 1 { print $2 }' | sort -Vru)
    for version in $versions; do
        if private_apt apt-get source --download-only "xen=$version"; then
            dpkg-source --no-check -x xen_*.dsc xen
            echo "Debian's $version" >version
            exit 0
        fi
    done
    exit 1
)

# tree_for QUEUE DIR: DIR/xen, a git repository with the source as its one commit.
tree_for() {
    local queue=$1 dir=$2 variable given
    variable=XEN_${queue/./}
    given=${!variable:-}
    mkdir -p "$dir"
    if [ -n "$given" ]; then
        [ -f "$given/xen/Makefile" ] || die "$variable=$given is no Xen tree"
        mkdir "$dir/xen"
        if [ "$(git -C "$given" rev-parse --show-toplevel 2>/dev/null)" = "$(cd "$given" && pwd -P)" ]; then
            git -C "$given" archive HEAD | tar -x -C "$dir/xen"
            echo "$given, $(git -C "$given" describe --always --tags)" >"$dir/version"
        else
            cp -a "$given/." "$dir/xen"
            echo "$given" >"$dir/version"
        fi
    elif ! source_of "$queue" "$dir" >"$dir/source.log" 2>&1; then
        return 1
    fi
    git -C "$dir/xen" init -q
    git -C "$dir/xen" config user.name check
    git -C "$dir/xen" config user.email check@localhost
    git -C "$dir/xen" add -A -f
    git -C "$dir/xen" commit -qm "source"
    git -C "$dir/xen" tag source
}

xen_make() {
    make -C "$1/xen" -j"$jobs" XEN_TARGET_ARCH=x86_64 "${@:2}"
}

# build_each DIR: check each commit out and build, which is incremental.
build_each() {
    local dir=$1 tree=$1/xen commit from number=0 began
    from=source
    [ "$build" = each ] || from=queue~1
    git -C "$tree" checkout -q source
    [ -f "$tree/debian/xen-kconfig" ] && cp "$tree/debian/xen-kconfig" "$tree/xen/.config"
    xen_make "$tree" olddefconfig >"$dir/build.log" 2>&1 ||
        { tail -n 20 "$dir/build.log"; die "the source itself cannot be configured"; }
    for commit in $(git -C "$tree" rev-list --reverse "$from..queue"); do
        number=$((number + 1)) began=$SECONDS
        git -C "$tree" checkout -q "$commit"
        if ! xen_make "$tree" >"$dir/build.log" 2>&1; then
            grep -m 20 -E 'error|warning' "$dir/build.log" || tail -n 20 "$dir/build.log"
            die "does not build: $(git -C "$tree" log -1 --format=%s)"
        fi
        printf '   builds, %3d s: %s\n' $((SECONDS - began)) "$(git -C "$tree" log -1 --format=%s)"
    done
}

# same_without_git DIR: a tree that is no repository must come out the same.
same_without_git() {
    local dir=$1
    mkdir "$dir/plain"
    git -C "$dir/xen" archive source | tar -x -C "$dir/plain"
    "$here/apply.sh" "$dir/plain" >"$dir/plain.log" || { cat "$dir/plain.log"; return 1; }
    git --git-dir="$dir/xen/.git" --work-tree="$dir/plain" diff --exit-code --stat queue -- . ||
        return 1
    rm -rf "$dir/plain"
}

checked=0 skipped=()
for queue in "${queues[@]}"; do
    echo "== queue $queue"
    dir=$work/$queue
    if ! tree_for "$queue" "$dir"; then
        reason=$(grep -m 1 -E '404|^E: |^Err:' "$dir/source.log" || tail -n 1 "$dir/source.log")
        echo "   skipped: no source of Xen $queue from the mirror (XEN_${queue/./}=DIR gives one):"
        echo "   $reason"
        skipped+=("$queue")
        continue
    fi
    echo "   source: $(cat "$dir/version")"
    "$here/apply.sh" --queue="$queue" "$dir/xen" >"$dir/apply.log" 2>&1 ||
        { cat "$dir/apply.log"; die "queue $queue does not apply"; }
    grep -E '^ *[0-9]+ +(ported|left out)' "$dir/apply.log" || true
    git -C "$dir/xen" branch queue
    same_without_git "$dir" || die "applied without git the tree is another"
    build_each "$dir"
    checked=$((checked + 1))
done
if [ "$checked" -eq 0 ]; then
    echo "skipped: no queue could be checked against a source" >&2
    exit 77
fi
echo "queues that apply and build: $checked; skipped: ${skipped[*]:-none}"
