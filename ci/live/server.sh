#!/usr/bin/env bash
# Provides llama-server 0.5.0, built from the source that `make deps` fetched, and runs a command
# that needs it.
#
#   ci/live/server.sh [COMMAND...]      the command finds the program by ASSAY_LLAMA_SERVER
#
# It stands alone, without its web page and without TLS, under
# ${XDG_CACHE_HOME:-$HOME/.cache}/assay. Building it takes several minutes on two cores. The result
# gets its place by a rename; an interrupted build goes on where it was.
set -euo pipefail

version=0.5.0
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay

say() { printf 'server: %s\n' "$*" >&2; }
die() { say "$1"; exit 1; }
need() { # COMMAND PACKAGE
  command -v "$1" >/dev/null || die "$1 is not installed, and is needed to build llama-server $version. On Debian and Ubuntu: apt-get install $2"
}

target=$cache/llama-server-$version
build=$target.build
if [ ! -x "$target" ]; then
  need cmake cmake
  need "${CXX:-c++}" build-essential
  ci/fetch/deps.sh
  options=()
  if command -v ninja >/dev/null; then options+=(-G Ninja); else need make make; fi
  jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  mkdir -p "$build"
  say "building with $jobs jobs; the log is $build/log"
  {
    cmake -S "$(cd -P .deps/llama.cpp && pwd)" -B "$build/tree" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF \
      -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF \
      -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF ${options[@]+"${options[@]}"} &&
    cmake --build "$build/tree" --target llama-server -j "$jobs"
  } >"$build/log" 2>&1 || { tail -n 20 "$build/log" >&2; die "llama-server could not be built; $build/log has everything, and removing $build starts anew"; }
  mv "$build/tree/bin/llama-server" "$target"
  rm -rf "$build"
fi
say "llama-server $version is $target"
[ $# -gt 0 ] || exit 0
export ASSAY_LLAMA_SERVER=$target
exec "$@"
