#!/usr/bin/env bash
# Runs a command with ASSAY_PYTHON, a Python that has transformers, tokenizers and TRL's templates,
# pinned: ci/tokens.sh COMMAND... The environment lies in the cache and is set up once.
set -euo pipefail
cd "$(dirname "$0")/.."
key=$(cat ci/tokens/requirements.txt ci/tokens/no-deps.txt | sha256sum | cut -c1-16)
env=${XDG_CACHE_HOME:-$HOME/.cache}/assay/tokens-$key
if [ ! -f "$env/.complete" ]; then
  command -v python3 >/dev/null || { echo "tokens: python3 is not installed" >&2; exit 1; }
  rm -rf "$env"
  python3 -m venv "$env"
  "$env/bin/pip" install -q --disable-pip-version-check -r ci/tokens/requirements.txt
  "$env/bin/pip" install -q --disable-pip-version-check --no-deps -r ci/tokens/no-deps.txt
  touch "$env/.complete"
fi
ASSAY_PYTHON=$env/bin/python exec "$@"
