#!/usr/bin/env bash
# Checks files for Kubernetes against its published schemas: ci/kubernetes.sh FILE...
set -euo pipefail
env=$("$(dirname "$0")/venv.sh" kubernetes "$(dirname "$0")/scale/requirements.txt")
"$env/bin/kubernetes-validate" --strict "$@"
