#!/usr/bin/env bash
# Makes a bundle that runs the live suite on another machine: one with an NVIDIA GPU, its driver,
# nvcc, CMake and a C++ compiler, which may have neither Go nor a network.
#
#   ci/live/gpu.sh FILE.tar.gz       makes the bundle, of at most 60 MiB; there: tar -xzf FILE.tar.gz && assay-live/run.sh OUT
#   ci/live/gpu.sh --check [DIR]     makes one, and runs it here for the CPU in an empty directory, without Go and without a network where that
#                               can be had; the results stay in DIR where one is given
#
# In it are assay and the tests of the binding and of the live suite, linked with a libllama of the
# same version whose place is taken there by the one that run.sh builds; that library's source; and
# run.sh (ci/live/gpu-run.sh). The tiny model and the corpus are in assay. The machine that runs this
# must have the tools that `make llama` needs, and a C library that is not newer than there.
set -euo pipefail

version=0.5.0
most=$((60 * 1024 * 1024))
cd "$(dirname "$0")/../.."

say() { printf 'gpu: %s\n' "$*" >&2; }
die() { say "$1"; exit "${2:-1}"; }

case ${1:-} in
  --check) bundle= out=${2:-} ;;
  ''|-*) die "expected a file to write, such as assay-live.tar.gz, or --check" 2 ;;
  *) bundle=$1 ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-gpu.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/assay-live
mkdir -p "$root/bin" "$root/llama.cpp"

ci/fetch/deps.sh
# The library is built for the CPU whatever is installed: its soname and version are those of the
# one that run.sh builds.
LLAMA_BACKEND=cpu ci/live/llama.sh
export PKG_CONFIG_PATH=$PWD/.deps/llama/lib/pkgconfig
export CGO_LDFLAGS='-Wl,-rpath,$ORIGIN/../lib'
go build -tags llama -trimpath -ldflags '-s -w' -o "$root/bin/assay" ./cmd/assay
go test -c -tags llama -trimpath -ldflags '-s -w' -o "$root/bin/llama.test" ./engine/llama
go test -c -tags llama -trimpath -ldflags '-s -w' -o "$root/bin/live.test" ./harness/serve/live

tar -C .deps/llama.cpp -cf - CMakeLists.txt LICENSE licenses cmake ggml include src vendor | tar -C "$root/llama.cpp" -xf -
cp ci/live/gpu-run.sh "$root/run.sh"
cp ci/live/llama.cmake LICENSE NOTICE "$root"
printf 'assay %s, libllama %s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" "$version" >"$root/VERSION"
tar -C "$work" -czf "$work/bundle.tar.gz" assay-live
size=$(wc -c <"$work/bundle.tar.gz")
[ "$size" -le "$most" ] || die "the bundle has $size bytes, more than $most"

if [ -n "$bundle" ]; then
  mv "$work/bundle.tar.gz" "$bundle"
  say "$bundle has $size bytes"
  exit 0
fi

say "the bundle has $size bytes; running it for the CPU"
[ -n "$out" ] || out=$work/out
mkdir -p "$out" "$work/there"
out=$(cd "$out" && pwd)
tar -C "$work/there" -xzf "$work/bundle.tar.gz"
rm -rf "$root" # so that nothing is found where it was made
path=
IFS=: read -ra dirs <<<"$PATH"
for dir in "${dirs[@]}"; do
  [ -x "$dir/go" ] || path+=${path:+:}$dir
done
offline=()
if unshare -rn ip link set lo up 2>/dev/null; then # loopback stays, as everywhere
  offline=(unshare -rn sh -c 'ip link set lo up; exec "$@"' sh)
else
  say "a network cannot be taken away here"
fi
cd "$work/there"
${offline[@]+"${offline[@]}"} env -i PATH="$path" HOME="$work/there" bash assay-live/run.sh --backend cpu "$out"
