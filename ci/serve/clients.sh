#!/usr/bin/env bash
# Holds assay serve to the official Python and Go clients, and the deployments here to their
# schemas. The Python environment lies in the cache and is set up once; the Go clients are
# requirements of a module of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."
key=$(sha256sum <ci/serve/requirements.txt | cut -c1-16)
env=${XDG_CACHE_HOME:-$HOME/.cache}/assay/serve-$key
if [ ! -f "$env/.complete" ]; then
  command -v python3 >/dev/null || { echo "serve: python3 is not installed" >&2; exit 1; }
  rm -rf "$env"
  python3 -m venv "$env"
  "$env/bin/pip" install -q --disable-pip-version-check -r ci/serve/requirements.txt
  touch "$env/.complete"
fi
"$env/bin/check-jsonschema" --builtin-schema vendor.compose-spec ci/serve/compose.yaml
ci/kubernetes.sh ci/serve/kubernetes.yaml
ASSAY_PYTHON=$env/bin/python ${GO:-go} test ./harness/serve -run TestPython -count 1 -v
cd ci/serve/official
${GO:-go} test -count 1 -v .
