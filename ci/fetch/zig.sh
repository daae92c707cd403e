#!/usr/bin/env bash
# Prints the path of zig, whose C compiler builds the C library for every platform of a release. It
# comes from PyPI and lies in the cache (430 MB).
set -euo pipefail
cd "$(dirname "$0")/../.."
env=$(ci/fetch/venv.sh zig ci/package/zig.txt)
ls "$env"/lib/python3*/site-packages/ziglang/zig
