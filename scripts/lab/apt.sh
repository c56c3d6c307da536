# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced: an apt of the lab's own, which needs no root and leaves the machine's
# alone. It has its own list of sources, made of the Debian mirrors that the
# machine already uses, with source packages added, and its own index and cache.

apt_dir=$LAB/apt

private_apt() {
    local tool=$1
    shift
    "$tool" -q \
        -o Dir::Etc::sourcelist="$apt_dir/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
        -o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=false \
        -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# Which mirrors carry the running release, one "URI SUITE COMPONENT" a line.
machine_mirrors() {
    local release
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(ORIGIN)|$(CODENAME)|$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' |
        sed -n "s/^Debian|${release}[^|]*|//p" | sort -u
}

private_apt_update() {
    local mirrors
    mirrors=$(machine_mirrors)
    if [ -z "$mirrors" ] && [ "$(id -u)" -eq 0 ]; then
        apt-get -q update >/dev/null        # a fresh image has no lists at all
        mirrors=$(machine_mirrors)
    fi
    [ -n "$mirrors" ] || die "apt knows no mirror of this Debian release: run apt-get update first"
    mkdir -p "$apt_dir"/lists/partial "$apt_dir"/cache/archives/partial
    sed 'h;s/^/deb /;p;g;s/^/deb-src /' <<<"$mirrors" >"$apt_dir/sources.list"
    private_apt apt-get update >/dev/null
}
