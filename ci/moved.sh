#!/usr/bin/env bash
# Holds the corpus against the one of c9fc065, when each case was a file: nothing that a case said
# then is missing now, but for what ci/known/moved.txt lists with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
git archive c9fc065 corpus | tar -x -C "$old"
PYTHONDONTWRITEBYTECODE=1 python3 ci/moved.py "$old/corpus" corpus ci/known/moved.txt
