#!/usr/bin/env bash
# Runs a command with ASSAY_PYTHON, a Python that has transformers, tokenizers and TRL's templates,
# pinned: ci/tokens/run.sh COMMAND... The environment lies in the cache and is set up once.
set -euo pipefail
cd "$(dirname "$0")/../.."
env=$(ci/fetch/venv.sh tokens ci/tokens/requirements.txt ci/tokens/no-deps.txt)
ASSAY_PYTHON=$env/bin/python exec "$@"
