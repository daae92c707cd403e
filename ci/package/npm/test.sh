#!/usr/bin/env bash
# Builds the npm package of the engine in WebAssembly into out/node, installs it into an empty folder
# and tests it with node: its API, its types, docs/embedding.md, and the deltas that `make libassay`
# has written down.
#
#   ci/package/npm/test.sh [DELTAS]     out/libassay/deltas.jsonl, which is left out where it is not there
set -euo pipefail
cd "$(dirname "$0")/../../.."
die() { echo "node: $*" >&2; exit 1; }
for tool in node npm; do command -v $tool >/dev/null || die "$tool is not installed"; done
version=$(sed -n '/^## \([0-9][0-9.]*\).*/{s//\1/p;q;}' docs/changes.md)-dev
deltas=$(realpath -m "${1:-out/libassay/deltas.jsonl}")
"${GO:-go}" run ./ci/package -version "$version" -out out/node -npm

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-node.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/templates"
cp corpus/hermes/template.jinja "$work/templates/good.jinja"
sed "s/(message.content or '')/message.content/" "$work/templates/good.jinja" >"$work/templates/bad.jinja"
cp ci/package/npm/module/*.mjs "$work"
export TEMPLATES=$work/templates PAGE=$PWD/docs/embedding.md
package=$PWD/out/node/assay-chat-wasm-$version.tgz
cd "$work"
npm install --silent --no-audit --no-fund "$package" typescript@5.9.3
sed -n '/^```js$/,/^```$/p' "$PAGE" | grep -v '^```' >page.mts
cat >>page.mts <<'TS'
declare const text: string, bos: string, eos: string, tokenizerJson: string;
declare const messages: object[], tools: object[], output: ReadableStream<string>;
declare function generate(prompt: string, stops: string[]): AsyncIterable<string>;
declare function generateIds(prompt: string): AsyncIterable<number[]>;
declare function send(delta: object): void;
TS
node_modules/.bin/tsc --noEmit --strict --target es2022 --module nodenext --lib es2022,dom,dom.asynciterable page.mts || die "the page does not fit the types"
node --expose-gc --test test.mjs
if [ -f "$deltas" ]; then node vectors.mjs "$deltas"; else echo "node: there is no $deltas; make libassay writes it"; fi
