#!/usr/bin/env bash
# Puts the ten faults of ci/engines/faults.jsonl to their engines without the adapters:
# ci/engines/faults.sh [ENGINE...]. `make engines` has set the engines up.
set -euo pipefail
cd "$(dirname "$0")/../.."
for engine in dynamo smg; do
  target=.deps/engines/$engine/target
  [ ! -d "$target" ] || (cd "ci/engines/$engine" && CARGO_TARGET_DIR=$OLDPWD/$target cargo build --release --locked --quiet --example fault)
done
if [ -d .deps/engines/ollama ]; then
  (cd ci/engines/ollama && CGO_ENABLED=0 go build -o "$OLDPWD/.deps/engines/ollama/fault" ./fault)
fi
exec python3 ci/engines/faults.py "$@"
