#!/usr/bin/env bash
# Holds assay serve to the official Python and Go clients, and the deployments here to their
# schemas. The Python environment lies in the cache and is set up once; the Go clients are
# requirements of a module of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."
env=$(ci/fetch/venv.sh serve ci/serve/requirements.txt)
"$env/bin/check-jsonschema" --builtin-schema vendor.compose-spec ci/serve/compose.yaml
ci/scale/kubernetes.sh ci/serve/kubernetes.yaml
ASSAY_PYTHON=$env/bin/python ${GO:-go} test ./harness/serve -run 'TestPython|TestErrorClasses' -count 1 -v
cd ci/serve/official
${GO:-go} test -count 1 -v .
