#!/usr/bin/env bash
# Sets up the engines that adapters drive, pinned, in the cache: ci/engines/setup.sh [NAME...]. Without a
# name: all of them. Each engine has a folder ci/engines/NAME with its needs (requirements.txt and
# no-deps.txt for pip, a setup script for the rest) and a script "run" that starts its adapter. A
# set-up that is complete is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay/engines
[ $# -gt 0 ] || set -- $(ls -d engines/*/ | xargs -n1 basename)

for name in "$@"; do
  dir=engines/$name
  [ -d "$dir" ] || { echo "no engine $name; there are: $(ls -d engines/*/ | xargs -n1 basename | tr '\n' ' ')" >&2; exit 2; }
  # The pins decide where an environment lies, so that a changed pin makes a new one. Engines with
  # one list share one.
  key=$({ cat "$dir"/requirements.txt "$dir"/no-deps.txt "$dir"/setup "$dir"/*.lock "$dir"/src/*.rs "$dir"/*.go "$dir"/go.* "$dir"/package*.json "$dir"/*.cpp "$dir"/CMakeLists.txt 2>/dev/null || true
    [ ! -f "$dir"/Cargo.lock ] || cat engines/protocol.rs; } | sha256sum | cut -c1-16)
  env=$cache/$name-$key
  if [ ! -f "$env/.complete" ]; then
    echo "engines: setting up $name" >&2
    rm -rf "$env"
    mkdir -p "$env"
    if [ -f "$dir/requirements.txt" ]; then
      python3 -m venv "$env"
      "$env/bin/pip" install -q --disable-pip-version-check -r "$dir/requirements.txt"
      [ ! -f "$dir/no-deps.txt" ] || "$env/bin/pip" install -q --disable-pip-version-check --no-deps -r "$dir/no-deps.txt"
    fi
    [ ! -f "$dir/setup" ] || "$dir/setup" "$env"
    touch "$env/.complete"
  fi
  mkdir -p ../.deps/engines
  ln -sfn "$env" "../.deps/engines/$name"
done
