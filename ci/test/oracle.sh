#!/usr/bin/env bash
# Renders the prompts of the standard battery and those of the corpus with Python's jinja2, set up
# as transformers does, and compares them with ours, which stand in the goldens and the scripts.
# Python and jinja2 are needed; jinja2 is installed into a virtual environment in the cache.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
command -v python3 >/dev/null || { echo "oracle: python3 is not installed" >&2; exit 1; }
if ! python3 -c 'import jinja2' 2>/dev/null; then
  [ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
  "$cache/venv/bin/python" -c 'import jinja2' 2>/dev/null || "$cache/venv/bin/pip" install --quiet jinja2==3.1.6
  python=$cache/venv/bin/python
fi
go run ./cmd/assay export prompts --vendor .deps/llama.cpp/models/templates | PYTHONDONTWRITEBYTECODE=1 "${python:-python3}" ci/test/oracle.py corpus
