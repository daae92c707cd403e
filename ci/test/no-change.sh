#!/usr/bin/env bash
# Proves that the goldens, the scripts and the generated documents are up to date: updates them in a
# scratch copy of the checkout and demands that nothing changes there.
set -euo pipefail
cd "$(dirname "$0")/../.."
vendor=$PWD/.deps/llama.cpp/models/templates
scratch=$(mktemp -d "${TMPDIR:-/tmp}/assay-no-change.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$scratch"
cd "$scratch"
git init -q && git add -A && git -c user.name=ci -c user.email=ci@localhost commit -q -m scratch
export GOFLAGS="${GOFLAGS:-} -timeout=1h" # on a busy machine they take long
update() {
  ASSAY_VENDOR=$vendor go test ./harness/corpus/script ./golden -update &&
    go test ./engine/codegen -run 'TestForms|TestRequests' -update &&
    go test ./harness/check/config -run TestSchema -update &&
    go test ./ci -run 'TestRulesPage|TestAPI|TestEmbedding' -update
}
if ! update >update.log 2>&1; then
  tail -40 update.log
  echo "no-change: updating failed; run \`make update\` to see more" >&2
  exit 1
fi
rm update.log
if [ -n "$(git status --porcelain)" ]; then
  git --no-pager diff --stat
  git --no-pager diff | sed -n 1,200p
  echo "no-change: these files differ from those that the code produces; run \`make update\`, read the diff, commit" >&2
  exit 1
fi
echo "no-change: goldens, scripts and documents are up to date"
