#!/usr/bin/env bash
# Has vLLM's own classes serve templates by assay_chat.vllm: the cases of the corpus, strangers'
# templates, reasoning by token ids, and constraints. Nothing of it needs a GPU.
#
#   ci/engines/vllm/test.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."
go=${GO:-go}
ci/engines/setup.sh vllm
out=$PWD/out/vllm
mkdir -p "$out"
"$go" build -trimpath -o "$out/assay" ./cmd/assay
CGO_ENABLED=1 "$go" build -tags libassay -trimpath -buildmode c-shared -ldflags "-s -w" \
  -o "$out/libassay.so" ./cmd/libassay
export ASSAY=$out/assay ASSAY_LIBRARY=$out/libassay.so
env=$(readlink -f .deps/engines/vllm)
# Every seventh template: the first of the list are variants of a few.
ASSAY_VLLM=$env/vllm PYTHONPATH=$PWD/ci/package/python "$env/bin/python" -W ignore \
  ci/engines/vllm/plugin.py corpus $(ls .deps/hub/*.jinja | awk 'NR % 7 == 3')
"$out/assay" engines run --known ci/known/assay-vllm.txt ci/engines/vllm/assay
