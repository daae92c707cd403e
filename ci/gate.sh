#!/usr/bin/env bash
# Judges templates: what they do (`assay check`) and, against a base commit, what an edit changes (`assay diff`), in one report.
#
#   ci/gate.sh [--base COMMIT] [--only-changed] [--templates PATHSPEC] [--report DIR] [-- ARGUMENTS OF CHECK]
#
# Run it in the folder of the templates. ASSAY is the command to run; by default it is built from this checkout. With --report,
# check.sarif and check.xml (JUnit) are left in DIR. Where GITHUB_OUTPUT names a file, "verdict" is added to it: accepted, rejected,
# failed or nothing. Exit status: 0 accepted or nothing to judge, 1 rejected, 2 could not run.
set -euo pipefail

base='' only_changed='' templates='*.jinja' report=''
die() { echo "gate: $*" >&2; verdict failed; exit 2; }
verdict() { [ -z "${GITHUB_OUTPUT:-}" ] || echo "verdict=$1" >>"$GITHUB_OUTPUT"; }
while [ $# -gt 0 ]; do
  case $1 in --base | --templates | --report) [ $# -gt 1 ] || die "$1 needs a value" ;; esac
  case $1 in
    --base) base=$2; shift 2 ;;
    --only-changed) only_changed=1; shift ;;
    --templates) templates=$2; shift 2 ;;
    --report) report=$2; shift 2 ;;
    --) shift; break ;;
    *) die "unknown argument $1" ;;
  esac
done
[ -z "$only_changed" ] || [ -n "$base" ] || die "--only-changed needs --base"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || die "$PWD is not in a git repository, where templates are looked for"

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-gate.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -n "$base" ]; then
  if ! git rev-parse --verify --quiet --end-of-options "$base^{commit}" >/dev/null; then
    [ "$(git rev-parse --is-shallow-repository)" = false ] || die "the base commit $base is not in this clone, which is shallow." \
      "Clone with its history (actions/checkout: fetch-depth: 0), or fetch the commit: git fetch --no-tags --depth=1 origin $base"
    die "the base commit $base is not in this repository"
  fi
  since=$(git merge-base --end-of-options "$base" HEAD 2>/dev/null || echo "$base")
  git diff --name-only -z --relative --diff-filter=D --find-renames "$since" -- "$templates" >"$work/deleted" || die "git diff failed"
  while IFS= read -r -d '' file; do echo "gate: deleted, so not judged: $file"; done <"$work/deleted"
fi
if [ -n "$only_changed" ]; then
  git diff --name-only -z --relative --diff-filter=d "$since" -- "$templates" >"$work/files" || die "git diff failed"
  git ls-files -z --others --exclude-standard -- "$templates" >>"$work/files" || die "git ls-files failed"
else
  git ls-files -z --cached --others --exclude-standard --deduplicate -- "$templates" >"$work/files" || die "git ls-files failed"
fi
files=()
while IFS= read -r -d '' file; do [ ! -f "$file" ] || files+=("$file"); done <"$work/files"
if [ ${#files[@]} = 0 ]; then
  echo "gate: no template to judge"
  verdict nothing
  exit 0
fi

assay=(${ASSAY:-})
if [ -z "${ASSAY:-}" ]; then
  (cd "$(dirname "${BASH_SOURCE[0]}")/.." && go build -o "$work/assay" ./cmd/assay) || die "assay cannot be built"
  assay=("$work/assay")
fi
arguments=()
if [ -n "$report" ]; then
  mkdir -p "$report" || die "the folder $report cannot be made"
  arguments+=(--sarif "$report/check.sarif" --junit "$report/check.xml")
fi
[ -z "$base" ] || arguments+=(--base "$base")
printf 'gate: judging %s\n' "${files[@]}"
status=0
"${assay[@]}" check ${arguments[@]+"${arguments[@]}"} "$@" -- "${files[@]}" || status=$?
case $status in
  0) verdict accepted ;;
  1) verdict rejected ;;
  *) verdict failed; status=2 ;;
esac
exit $status
