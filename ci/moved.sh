#!/usr/bin/env bash
# Compares the corpus with the one of c9fc065, when each case was a file: nothing of a case is
# missing now, except for the losses that ci/known/moved.txt lists with their reasons.
set -euo pipefail
cd "$(dirname "$0")/.."
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
git archive c9fc065 corpus | tar -x -C "$old"
PYTHONDONTWRITEBYTECODE=1 python3 ci/moved.py "$old/corpus" corpus ci/known/moved.txt
