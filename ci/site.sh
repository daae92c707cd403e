#!/usr/bin/env bash
# Builds the page that runs in a browser as out/site and tries it in headless Chromium: loading,
# verdict, every view, links, offline, keyboard, accessibility (axe), a telephone's width, dark
# mode; then a report of one template, and the parse vectors on the engine in WebAssembly. Pictures
# are left in out/pictures. Chromium and npm are needed; CHROMIUM names the binary.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
axe=axe-core-4.10.3 driver=playwright-core-1.56.1
die() { echo "site: $*" >&2; exit 1; }
for name in chromium chromium-browser google-chrome; do
  [ -n "${CHROMIUM:-}" ] || CHROMIUM=$(command -v "$name" || true)
done
[ -n "$CHROMIUM" ] || die "Chromium is not installed; install it, or name the binary in CHROMIUM"
command -v npm >/dev/null || die "npm is not installed, and is needed to fetch $axe and $driver"
mkdir -p out "$cache"
work=$(mktemp -d "$PWD/out/site.XXXXXX")
trap 'rm -rf "$work"' EXIT
fetch() { # PACKAGE: unpacks it into $work/package
  (cd "$work" && npm pack --silent "${1%-*}@${1##*-}" >/dev/null && tar -xzf ./"$1".tgz)
}
if [ ! -f "$cache/$axe.min.js" ]; then
  fetch $axe
  mv "$work/package/axe.min.js" "$cache/$axe.min.js"
fi
if [ ! -d "$cache/$driver" ]; then
  fetch $driver
  mv "$work/package" "$cache/$driver"
fi
go run ./ci/package -version 0.1.0-dev -out out/site -page
go build -o "$work/assay" ./cmd/assay
sed "s/(message.content or '')/message.content/" corpus/hermes/template.jinja >"$work/bad.jinja"
"$work/assay" report "$work/bad.jinja" --html "$work/report.html" >/dev/null || [ $? = 1 ]
"$work/assay" diff corpus/hermes/template.jinja "$work/bad.jinja" --html "$work/diff.html" >/dev/null || [ $? = 1 ]
CHROMIUM=$CHROMIUM DRIVER=$cache/$driver AXE=$cache/$axe.min.js SITE=out/site WORK=$work ASSAY=$work/assay node ci/site.mjs

# The engine in WebAssembly, by node: the parse vectors beside the checkout, or, without them, those
# of a family of ours.
vectors=../shared/reference/parse.jsonl templates=.deps/llama.cpp/models/templates
if [ ! -f "$vectors" ] || [ ! -d "$templates" ]; then
  "$work/assay" export cases | grep '"template":"hermes' | head -100 >"$work/vectors.jsonl"
  vectors=$work/vectors.jsonl templates=corpus
fi
GOOS=js GOARCH=wasm ASSAY_VECTORS=$(realpath "$vectors") ASSAY_VENDOR=$(realpath "$templates") \
  go test -v -count 1 -exec="$(go env GOROOT)/lib/wasm/go_js_wasm_exec" ./cmd/page
