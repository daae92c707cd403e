#!/usr/bin/env bash
# Builds the page that runs in a browser as out/site and tries it in headless Chromium: loading,
# verdict, every view, links, offline, keyboard, accessibility (axe), a telephone's width, dark
# mode; then a report of one template, and the parse vectors on the engine in WebAssembly. Pictures
# are left in out/pictures. Chromium and npm are needed; CHROMIUM names the binary.
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "site: $*" >&2; exit 1; }
mkdir -p out
work=$(mktemp -d "$PWD/out/site.XXXXXX")
trap 'rm -rf "$work"' EXIT
. ci/pages/chromium.sh
go run ./ci/package -version 0.1.0-dev -out out/site -page
go build -o "$work/assay" ./cmd/assay
sed "s/(message.content or '')/message.content/" corpus/hermes/template.jinja >"$work/bad.jinja"
"$work/assay" report "$work/bad.jinja" --html "$work/report.html" >/dev/null || [ $? = 1 ]
"$work/assay" diff corpus/hermes/template.jinja "$work/bad.jinja" --html "$work/diff.html" >/dev/null || [ $? = 1 ]
SITE=out/site WORK=$work ASSAY=$work/assay drive ci/pages/site.mjs

# The engine in WebAssembly, by node: the parse vectors beside the checkout, or, without them, those
# of a family of ours.
vectors=../shared/reference/parse.jsonl templates=.deps/llama.cpp/models/templates
if [ ! -f "$vectors" ] || [ ! -d "$templates" ]; then
  "$work/assay" export cases | sed -n '/"template":"hermes/p' | sed -n 1,100p >"$work/vectors.jsonl"
  vectors=$work/vectors.jsonl templates=corpus
fi
GOOS=js GOARCH=wasm ASSAY_VECTORS=$(realpath "$vectors") ASSAY_VENDOR=$(realpath "$templates") \
  go test -v -count 1 -exec="$(go env GOROOT)/lib/wasm/go_js_wasm_exec" ./cmd/page
