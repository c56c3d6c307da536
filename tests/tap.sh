# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# tap.sh - TAP for shell tests; sourced.  XENFLUSH is the program under test.
#
#   check "name" COMMAND...      ok if the command succeeds
#   same "name" EXPECTED FOUND   ok if the two are equal
#   exits "name" N COMMAND...    ok if the exit status is N; output in $scratch/out, err
#   skip "name" "why"
#   finish                       prints the plan, exits

tests=0
failed=0
# shellcheck disable=SC2034 # for the tests
top=$(cd "$(dirname "$0")/.." && pwd)
: "${XENFLUSH:=$top/xenflush}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

result() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        failed=$((failed + 1))
        echo "not ok $tests - $2"
    fi
}

check() {
    check_name=$1
    shift
    if "$@" >"$scratch/out" 2>"$scratch/err"; then
        result 0 "$check_name"
    else
        result 1 "$check_name"
        sed 's/^/# /' "$scratch/out" "$scratch/err"
    fi
}

same() {
    if [ "$2" = "$3" ]; then
        result 0 "$1"
    else
        result 1 "$1"
        echo "# expected: $2"
        echo "# found:    $3"
    fi
}

exits() {
    exits_name=$1
    exits_status=$2
    shift 2
    exits_found=0
    "$@" >"$scratch/out" 2>"$scratch/err" || exits_found=$?
    if [ "$exits_found" -eq "$exits_status" ]; then
        result 0 "$exits_name"
    else
        result 1 "$exits_name"
        echo "# exit status $exits_found, not $exits_status"
        sed 's/^/# /' "$scratch/out" "$scratch/err"
    fi
}

skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

finish() {
    echo "1..$tests"
    [ "$failed" -eq 0 ]
    exit
}
