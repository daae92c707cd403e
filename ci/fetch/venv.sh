#!/usr/bin/env bash
# Prints the folder of a virtual environment of Python with the requirements of files:
# ci/fetch/venv.sh NAME FILE... What a file named no-deps.txt lists is installed without the modules that
# it asks for. The environment lies in the cache under the digest of the files, and is set up once.
set -euo pipefail
name=$1
shift
env=${XDG_CACHE_HOME:-$HOME/.cache}/assay/$name-$(cat "$@" | sha256sum | cut -c1-16)
if [ ! -f "$env/.complete" ]; then
  command -v python3 >/dev/null || { echo "$name: python3 is not installed" >&2; exit 1; }
  rm -rf "$env"
  python3 -m venv "$env"
  for file; do
    deps=()
    [ "$(basename "$file")" != no-deps.txt ] || deps=(--no-deps)
    "$env/bin/pip" install -q --disable-pip-version-check "${deps[@]}" -r "$file" >&2
  done
  touch "$env/.complete"
fi
echo "$env"
