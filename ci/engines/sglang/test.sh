#!/usr/bin/env bash
# Has SGLang's own chat handler serve templates by assay_chat.sglang: the cases of the corpus,
# strangers' templates, and constraints. Nothing of it needs a GPU.
#
#   ci/engines/sglang/test.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."
. ci/engines/plugin.sh sglang
# Every seventh template: the first of the list are variants of a few.
PYTHONPATH=$PYTHONPATH:ci/engines "$env/bin/python" -W ignore \
  ci/engines/sglang/checks.py corpus $(ls .deps/hub/*.jinja | awk 'NR % 7 == 3')
"$out/assay" engines run --known ci/known/assay-sglang.txt ci/engines/sglang/assay
