#!/usr/bin/env bash
# Builds the extension for VS Code as out/assay.vsix, and tests the server that it starts with VS
# Code's own library of the protocol.
set -euo pipefail
cd "$(dirname "$0")"
out=../../../out
mkdir -p "$out"
npm ci --ignore-scripts --no-audit --no-fund
"${GO:-go}" build -o "$out/assay" ../../../cmd/assay
ASSAY=$PWD/$out/assay npm test
cp ../../../LICENSE LICENSE
trap 'rm -f LICENSE' EXIT
npx vsce package --no-rewrite-relative-links --out "$out/assay.vsix"
