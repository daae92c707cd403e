#!/usr/bin/env bash
# Has vLLM's own classes serve templates by assay_chat.vllm: the cases of the corpus, strangers'
# templates, reasoning by token ids, and constraints; and the corpus again over HTTP, by its server
# in front of a scripted engine. Nothing of it needs a GPU.
#
#   ci/engines/vllm/test.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."
. ci/engines/plugin.sh vllm
# Every seventh template: the first of the list are variants of a few.
ASSAY_VLLM=$env/vllm "$env/bin/python" -W ignore \
  ci/engines/vllm/plugin.py corpus $(ls .deps/hub/*.jinja | awk 'NR % 7 == 3')
"$out/assay" engines run --known ci/known/assay-vllm.txt --known ci/known/assay-vllm-http.txt \
  ci/engines/vllm/assay ci/engines/vllm/serve "ci/engines/vllm/serve --responses"
