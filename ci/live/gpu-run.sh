#!/usr/bin/env bash
# Builds libllama and runs the live suite with it, all layers offloaded: `ci/live/gpu.sh` puts this
# script into its bundle.
#
#   ./run.sh [--backend cuda|cpu] OUT [MODEL.gguf [ARGUMENTS OF ASSAY LIVE]]
#
# Needs CMake, make or Ninja, a C++ compiler and, for CUDA (the default), nvcc and a GPU. Nothing is
# fetched. OUT gets device.txt, build.log, tests.log, report.json, report.xml (JUnit) and cases/,
# the recordings. Without a model the tiny one goes through every family. Exit status: 0 all well, 1
# something failed, 2 it could not run.
set -euo pipefail

say() { printf 'run: %s\n' "$*" >&2; }
die() { say "$1"; exit 2; }
need() { command -v "$1" >/dev/null || die "$1 is not installed, and is needed here ($2)"; }

backend=cuda
if [ "${1:-}" = --backend ]; then
  backend=${2:-}
  shift 2 || die "--backend needs cuda or cpu"
fi
[ $# -ge 1 ] || die "expected a folder to write to"
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
model=(--tiny)
if [ $# -gt 0 ]; then
  [ -f "$1" ] || die "$1 is no file"
  model=("$(cd "$(dirname "$1")" && pwd)/$(basename "$1")" "${@:2}")
fi
cd "$(dirname "$0")"

options=()
case $backend in
  cpu) ;;
  cuda)
    need nvcc "CUDA's compiler; it is in the bin folder of the CUDA toolkit, which belongs on PATH"
    need nvidia-smi "the driver's tool, which names the device"
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/device.txt" || die "the driver shows no GPU"
    options=(-DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native)
    ;;
  *) die "$backend is no backend; it is cuda or cpu" ;;
esac
need cmake "3.18 or newer, 3.24 for CUDA"
need "${CXX:-c++}" "a C++ compiler"
if command -v ninja >/dev/null; then options+=(-G Ninja); else need make "or ninja"; fi

if [ ! -f "lib/built-for-$backend" ]; then
  rm -rf lib build
  jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  say "building libllama for $backend with $jobs jobs; the log is $out/build.log"
  {
    cmake -C llama.cmake -S llama.cpp -B build -DCMAKE_INSTALL_PREFIX="$PWD" "${options[@]}" &&
    cmake --build build -j "$jobs" && cmake --install build
  } >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; die "libllama could not be built; $out/build.log has everything"; }
  touch "lib/built-for-$backend"
  rm -rf build
fi
bin/assay version >"$out/version.txt" 2>&1 || { cat "$out/version.txt" >&2; die "assay does not start here: its C library must not be newer than this machine's"; }
cat VERSION >>"$out/version.txt"

status=0
failed() { say "$1"; status=1; }
say "the tests of the binding and of the live suite; the log is $out/tests.log"
{ bin/llama.test -test.v && bin/live.test -test.v; } >"$out/tests.log" 2>&1 || failed "tests failed, see $out/tests.log"

say "the live suite"
rm -rf "$out/cases" # of an earlier run; recordings are never overwritten
bin/assay live "${model[@]}" --gpu-layers -1 --record "$out/cases" --date "$(date -u +%Y-%m-%d)" --junit "$out/report.xml" --format json \
  >"$out/report.json" 2>"$out/live.log" || failed "runs failed, see $out/report.json and $out/live.log"

# The recordings name the device. It must be the one that was asked for: llama.cpp without a GPU it
# can use takes the CPU.
device=
recorded=$(find "$out/cases" -name '*.txtar' -print -quit 2>/dev/null) || true
[ -z "$recorded" ] || device=$(sed -n 's/, greedy,.*//; s/, temperature .*//; s/^# recorded: llama.cpp [^ ]* on //p' "$recorded")
[ -n "$device" ] || { failed "nothing was recorded"; device=nothing; }
say "computed on $device"
if [ "$backend" = cuda ]; then
  name=$(nvidia-smi --query-gpu=name --format=csv,noheader | sed -n 1p)
  case $device in *"$name"*) ;; *) failed "the device is not $name" ;; esac
fi
printf 'computed on %s\n' "$device" >>"$out/device.txt"
exit $status
