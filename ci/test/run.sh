#!/usr/bin/env bash
# Runs the tests of all packages, as `make test` does: fetches the vendors' templates where they are
# missing, builds, runs, and ends with one line about what failed.
#
#   ci/test/run.sh [--short] [FLAG OF go test...] [PACKAGE...]
#
# --short fetches nothing, and runs the tests that need nothing but Go. Without a package it runs
# those of all. GO is the go command.
#
# A package may take an hour: on a machine that is busy with other work it takes many times as long
# as on a quiet one, and Go's own limit of ten minutes would stop tests that are well.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=${GO:-go}
short=''
[ "${1:-}" != --short ] || { short=1; shift; }

echo "make test: builds and runs the tests. Two quiet processors take about 8 minutes the first" \
  "time and 6 later; other work beside them makes it longer, not wrong." >&2
command -v "$go" >/dev/null || {
  echo "make test: FAILED: there is no go command; https://go.dev/dl has it" >&2
  exit 1
}

# Without a home that can be written to there is no build cache, no module cache and no place for
# the vendors' templates. The user database knows one, mostly; else .deps is one.
usable() { [ -n "$1" ] && [ -d "$1" ] && [ -w "$1" ]; }
if ! usable "${HOME:-}"; then
  HOME=$(eval echo "~$(id -un)")
  usable "$HOME" || HOME=$PWD/.deps/home
  mkdir -p "$HOME"
  export HOME
  echo "make test: HOME names no folder that can be written to; $HOME is used" >&2
fi
if [ -z "$short" ]; then
  ci/fetch/deps.sh
  export ASSAY_VENDOR=$PWD/.deps/llama.cpp/models/templates
fi

packages=(./...)
[ $# = 0 ] || case ${*: -1} in ./*) packages=() ;; esac
log=$(mktemp "${TMPDIR:-/tmp}/assay-test.XXXXXX")
trap 'rm -f "$log"' EXIT
if "$go" test -timeout 1h "$@" ${packages[@]+"${packages[@]}"} 2>&1 | tee "$log"; then
  echo "make test: passed" >&2
  exit
fi
failed=$(sed -nE -e 's/^--- FAIL: ([^ ]+).*/\1/p' -e 's/^FAIL\t([^ \t]+).*\[(.*)\]$/\1 (\2)/p' \
  -e 's/^panic: (test timed out.*)/\1/p' "$log" | sort -u)
echo "make test: FAILED: $(echo "${failed:-see the lines above}" | head -n 20 | paste -sd ' ' -)." \
  "CONTRIBUTING.md, \"When make test fails\", says what to do" >&2
exit 1
