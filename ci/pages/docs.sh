#!/usr/bin/env bash
# Builds the site of the documents as out/docs with Sphinx, from the Markdown of the repository, and
# looks at it in headless Chromium: no link leads nowhere, a search finds rules by their ids and by
# words, every kind of page fits a telephone and a wide window, dark and light, without an
# accessibility fault that axe-core finds. Python, Chromium and npm are needed. With --build it
# builds the site and does not look at it.
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "docs: $*" >&2; exit 1; }
mkdir -p out
work=$(mktemp -d "$PWD/out/docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
env=$(ci/fetch/venv.sh docs ci/pages/docs/requirements.txt)
mkdir "$work/source"
"$env/bin/sphinx-build" -q -W --keep-going -j auto -b html -c ci/pages/docs \
  -d "$work/trees" "$work/source" "$work/site"
rm -rf out/docs "$work"/site/_static/{basic.css,pygments.css,*.png} "$work/site/_sources"
mv "$work/site" out/docs
[ "${1:-}" != --build ] || exit 0
. ci/pages/chromium.sh
SITE=out/docs drive ci/pages/docs.mjs
