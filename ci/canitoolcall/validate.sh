#!/usr/bin/env bash
# Writes the cases of all families as CanIToolCall's records, and has its own validator judge them.
# The model is made up, since the corpus has templates of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
env=$(ci/fetch/venv.sh canitoolcall ci/canitoolcall/requirements.txt)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=()
for template in corpus/*/template.jinja; do
  family=$(basename "$(dirname "$template")")
  models+=(--model "$family=assay/corpus@0123456789abcdef0123456789abcdef01234567")
done
go run ./cmd/assay export cases --as canitoolcall --out "$work/records" "${models[@]}" \
  >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
records=$(find "$work/records" -name '*.jsonl' -exec cat {} + | wc -l)
[ "$records" -ge 500 ] || { echo "canitoolcall: $records records, expected 500 and more" >&2; exit 1; }
"$env/bin/canitoolcall" validate "$work/records"
echo "canitoolcall: $records records"
