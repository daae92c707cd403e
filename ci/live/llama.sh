#!/usr/bin/env bash
# Provides libllama 0.5.0 for the build tag llama, and runs a command that needs it.
#
#   ci/live/llama.sh [COMMAND...]                an installed libllama that pkg-config finds is used as it is; else it is built
#   LLAMA_BACKEND=cuda|vulkan|cpu           the device to build it for (default cpu); an installed one is not looked for where this is given
#
# It is built from the source that `make deps` fetched, in about a minute on two cores, under
# ${XDG_CACHE_HOME:-$HOME/.cache}/assay, and linked as .deps/llama. The command finds it by
# PKG_CONFIG_PATH and CGO_LDFLAGS. The result gets its place by a rename; an interrupted build goes
# on where it was.
set -euo pipefail

version=0.5.0
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay

say() { printf 'llama: %s\n' "$*" >&2; }
die() { say "$1"; shift; for line in "$@"; do printf '       %s\n' "$line" >&2; done; exit 1; }
need() { # COMMAND PACKAGE
  command -v "$1" >/dev/null || die "$1 is not installed, and is needed to build libllama $version. On Debian and Ubuntu:" "apt-get install $2"
}

need pkg-config pkg-config
if [ -z "${LLAMA_BACKEND:-}" ] && pkg-config --exists llama; then
  say "using the installed libllama $(pkg-config --modversion llama)"
  rm -f .deps/llama
  [ $# -eq 0 ] || exec "$@"
  exit 0
fi

backend=${LLAMA_BACKEND:-cpu}
case $backend in
  cpu) options=() ;;
  cuda) need nvcc nvidia-cuda-toolkit; options=(-DGGML_CUDA=ON) ;;
  vulkan) need glslc glslc; options=(-DGGML_VULKAN=ON) ;;
  *) die "LLAMA_BACKEND=$backend is no backend; it is cpu, cuda or vulkan" ;;
esac
need cmake cmake
need "${CC:-cc}" build-essential
need "${CXX:-c++}" build-essential

target=$cache/libllama-$version-$backend
build=$target.build
if [ ! -d "$target" ]; then
  ci/fetch/deps.sh
  if command -v ninja >/dev/null; then options+=(-G Ninja); else need make make; fi
  jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  mkdir -p "$build"
  say "building for $backend with $jobs jobs; the log is $build/log"
  {
    cmake -C ci/live/llama.cmake -S "$(cd -P .deps/llama.cpp && pwd)" -B "$build/tree" -DCMAKE_INSTALL_PREFIX="$target" "${options[@]}" &&
    cmake --build "$build/tree" -j "$jobs" &&
    rm -rf "$build/stage" && DESTDIR=$build/stage cmake --install "$build/tree"
  } >"$build/log" 2>&1 || { tail -n 20 "$build/log" >&2; die "libllama could not be built; $build/log has everything, and removing $build starts anew"; }
  mv "$build/stage$target" "$target"
  rm -rf "$build"
fi
[ -f "$target/lib/pkgconfig/llama.pc" ] || die "$target has no lib/pkgconfig/llama.pc; remove it and run \`make llama\` again"
mkdir -p .deps
rm -f .deps/llama.new
ln -s "$target" .deps/llama.new
mv -T .deps/llama.new .deps/llama 2>/dev/null || { rm -rf .deps/llama; mv .deps/llama.new .deps/llama; }
say "libllama $version for $backend is linked as .deps/llama"
[ $# -gt 0 ] || exit 0
export PKG_CONFIG_PATH=$target/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export CGO_LDFLAGS="${CGO_LDFLAGS:-} -Wl,-rpath,$target/lib"
exec "$@"
