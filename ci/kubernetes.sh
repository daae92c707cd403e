#!/usr/bin/env bash
# Checks files for Kubernetes against its published schemas: ci/kubernetes.sh FILE... The validator
# lies in the cache and is set up once.
set -euo pipefail
env=${XDG_CACHE_HOME:-$HOME/.cache}/assay/kubernetes-validate-1.37.0
if [ ! -f "$env/.complete" ]; then
  command -v python3 >/dev/null || { echo "kubernetes: python3 is not installed" >&2; exit 1; }
  rm -rf "$env"
  python3 -m venv "$env"
  "$env/bin/pip" install -q --disable-pip-version-check kubernetes-validate==1.37.0
  touch "$env/.complete"
fi
"$env/bin/kubernetes-validate" --strict "$@"
