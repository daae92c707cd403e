#!/usr/bin/env bash
# Checks files for Kubernetes against its published schemas: ci/scale/kubernetes.sh FILE...
set -euo pipefail
env=$("$(dirname "$0")/../fetch/venv.sh" kubernetes "$(dirname "$0")/requirements.txt")
"$env/bin/kubernetes-validate" --strict "$@"
