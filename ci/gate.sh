#!/usr/bin/env bash
# Judges templates: `assay check` on each, and `assay diff` against the base commit on those that changed.
#
#   ci/gate.sh [--base COMMIT] [--only-changed] [--templates PATHSPEC] [--report DIR] [-- ARGUMENTS OF CHECK]
#
# ASSAY is the command to run; by default it is built from this checkout. With --report check.sarif and check.xml (JUnit) are left in
# DIR. Exit status: 0 accepted, 1 rejected, 2 could not run.
set -euo pipefail

base= only_changed= templates='*.jinja' report=
while [ $# -gt 0 ]; do
  case $1 in
    --base) base=$2; shift 2 ;;
    --only-changed) only_changed=1; shift ;;
    --templates) templates=$2; shift 2 ;;
    --report) report=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "gate: unknown argument $1" >&2; exit 2 ;;
  esac
done
assay=(${ASSAY:-})
if [ -z "${ASSAY:-}" ]; then
  bin=$(mktemp -d "${TMPDIR:-/tmp}/assay-gate.XXXXXX")
  trap 'rm -rf "$bin"' EXIT
  (cd "$(dirname "$0")/.." && go build -o "$bin/assay" ./cmd/assay) || exit 2
  assay=("$bin/assay")
fi
[ -z "$only_changed" ] || [ -n "$base" ] || { echo "gate: --only-changed needs --base" >&2; exit 2; }

list() {
  if [ -n "$only_changed" ]; then
    git diff --name-only --relative --diff-filter=d "$base" -- "$templates"
  else
    git ls-files -- "$templates"
  fi
}
files=()
while IFS= read -r file; do files+=("$file"); done < <(list)
if [ ${#files[@]} = 0 ]; then
  echo "gate: no template to judge"
  exit 0
fi

verdict=0
judge() { # what, command...
  local status=0
  echo "== $1"
  "${@:2}" || status=$?
  [ "$status" -le "$verdict" ] || verdict=$status
}
reports=()
if [ -n "$report" ]; then
  mkdir -p "$report"
  reports=(--sarif "$report/check.sarif" --junit "$report/check.xml")
fi
judge "check ${files[*]}" "${assay[@]}" check ${reports[@]+"${reports[@]}"} "$@" "${files[@]}"
if [ -n "$base" ]; then
  for file in "${files[@]}"; do
    if git cat-file -e "$base:./$file" 2>/dev/null && ! git diff --quiet "$base" -- "$file"; then
      judge "diff $file" "${assay[@]}" diff "git:$base:./$file" "$file"
    fi
  done
fi
exit $verdict
