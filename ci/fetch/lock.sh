#!/usr/bin/env bash
# Writes corpus/vendor.lock: the SHA-256 and family of every template that corpus/families.txt
# lists.
set -euo pipefail
cd "$(dirname "$0")/../.."
templates=.deps/llama.cpp/models/templates
sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
{
  sed -n '/^#/p' corpus/vendor.lock
  awk '/^#/ || !NF { next } /^[ \t]/ { print $1, family; next } { family = $1; sub(/:$/, "", family) }' corpus/families.txt |
    LC_ALL=C sort | while read -r name family; do
    sum=$(sha256 "$templates/$name" | cut -d' ' -f1)
    printf '%s  %-18s  %s\n' "$sum" "$family" "$name"
  done
} >corpus/vendor.lock.new
mv corpus/vendor.lock.new corpus/vendor.lock
