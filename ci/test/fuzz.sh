#!/usr/bin/env bash
# Runs the fuzz targets of the module, each for a time: ci/test/fuzz.sh 10s [NAME], those whose name
# contains NAME. A target that finds something does not keep the others from running; it fails the
# run at the end, and its input lies in testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/../.."
time=${1:?usage: ci/test/fuzz.sh TIME [NAME]}
failed=0
while read -r file; do
  dir=$(dirname "$file")
  # A file that is built with tags alone, such as `cgo && libassay`.
  tags=$(sed -n '1s,^//go:build ,,p' "$file" | grep -v '!' | sed 's/ *&& */,/g' || true)
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
    [[ $target == *${2:-}* ]] || continue
    echo "== $dir $target for $time"
    # Making every new input as small as can be would take most of the time.
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s -tags "$tags" ${FUZZFLAGS:-} "$dir" || failed=1
  done
done < <(grep -rl --include='*_test.go' '^func Fuzz' . | sort)
exit "$failed"
