#!/usr/bin/env bash
# Runs every fuzz target of the module for a time: ci/fuzz.sh 10s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: ci/fuzz.sh TIME}
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
  dir=$(dirname "$file")
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
    echo "== $dir $target for $time"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir"
  done
done
