#!/usr/bin/env bash
# Has other engines' own code serve templates by assay_chat: the cases of the corpus and, where the
# engine's folder has checks.py, what they do not ask, with strangers' templates. Nothing of it needs
# a GPU. ci/engines/vllm/test.sh does the same for vLLM.
#
#   ci/engines/test.sh [ENGINE...]     sglang, transformers and mlx-lm
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- sglang transformers mlx-lm
for engine in "$@"; do
  . ci/engines/plugin.sh "$engine"
  # Every seventh template: the first of the list are variants of a few.
  [ ! -f "ci/engines/$engine/checks.py" ] || PYTHONPATH=$PYTHONPATH:ci/engines "$env/bin/python" -W ignore \
    "ci/engines/$engine/checks.py" corpus $(ls .deps/hub/*.jinja | awk 'NR % 7 == 3')
  if [ -f "ci/known/assay-$engine.txt" ]; then
    "$out/assay" engines run --known "ci/known/assay-$engine.txt" "ci/engines/$engine/assay"
  else # it has no place for reasoning and markers around content, which many cases have
    rm -f "$out/results.jsonl"
    "$out/assay" engines run --results "$out/results.jsonl" "ci/engines/$engine/assay" >/dev/null
    read=$(grep -c '"verdict":"\(equal\|spaced\)"' "$out/results.jsonl")
    echo "$engine: $read results as wanted"
    [ "$read" -ge 625 ] || { echo "$engine: fewer than 625" >&2; exit 1; }
  fi
done
