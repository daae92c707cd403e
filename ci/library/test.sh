#!/usr/bin/env bash
# Builds the engine as a C library, out/libassay/libassay.so with assay.h, and tests it from Go, C
# and C++: all parse vectors in every split, the example of docs/embedding.md, threads, forked
# children, signals, a second Go runtime, and the sanitizers that the compiler has. Python's package
# reads the same vectors, in this process and by the command, and its cost is measured.
#
#   ci/library/test.sh [VECTORS...]     files with vectors of the kind parse, beside the corpus
#
# The outputs of `make fixtures` are read as well, where they can be had.
set -euo pipefail
vectors=$(for file in "$@"; do printf '%s:' "$(realpath "$file")"; done)
cd "$(dirname "$0")/../.."
die() { echo "libassay: $*" >&2; exit 1; }
go=${GO:-go} cc=${CC:-cc} cxx=${CXX:-c++}
command -v "$cc" >/dev/null || die "there is no C compiler $cc; CC names one"
source=$PWD/cmd/libassay
out=$PWD/out/libassay
mkdir -p "$out"
export CGO_ENABLED=1

"$go" vet -tags libassay,abitest ./cmd/libassay
"$go" build -tags libassay -trimpath -buildmode c-shared -ldflags "-s -w" -o "$out/libassay.so" ./cmd/libassay
rm "$out/libassay.h" # cgo's own header; assay.h is the interface
cp "$source/assay.h" "$out"
echo "libassay: $(wc -c <"$out/libassay.so") bytes"

"$go" build -trimpath -o "$out/assay" ./cmd/assay
"$out/assay" export cases >"$out/corpus.jsonl"
templates=$PWD/.deps/llama.cpp/models/templates:$PWD/corpus
if ci/fetch/sets.sh fixtures && ci/fetch/sets.sh hub; then
  vectors+=$PWD/.deps/fixtures: templates+=:$PWD/.deps/hub
elif [ -n "${ASSAY_NEED_SETS:-}" ]; then
  die "the sets cannot be fetched"
else
  echo "libassay: the public fixtures cannot be fetched here; they are left out (ASSAY_NEED_SETS=1 makes that a failure)"
fi
ASSAY_VECTORS=$vectors$out/corpus.jsonl ASSAY_DELTAS=$out/deltas.jsonl ASSAY_TEMPLATES=$templates \
  "$go" test -timeout 1h -count 1 -bench Piece -v -tags libassay,abitest ./cmd/libassay | grep -v '^=== '

link() { # PROGRAM COMPILER... : makes a program of the folder testdata, linked with the library
  "${@:2}" -Wall -Wextra -Werror -O1 -g -I"$out" -L"$out" -Wl,-rpath,"$out" -o "$out/$1" -lassay -lpthread -ldl
}
link example "$cc" -std=c11 "$source/testdata/example.c"
"$out/example" | diff "$source/testdata/example.txt" - || die "the example prints something else"
cp "$out/libassay.so" "$out/second.so"
for language in c c++; do
  compiler=$cc
  [ $language = c ] || compiler=$cxx
  command -v "$compiler" >/dev/null || { echo "libassay: there is no $compiler; $language is left out"; continue; }
  link "test-$language" "$compiler" -x "$language" "$source/testdata/test.c"
  "$out/test-$language" all
  "$out/test-$language" second "$out/second.so"
done
"$out/test-c" bench

export PYTHONPATH=$PWD/ci/package/python ASSAY=$out/assay ASSAY_LIBRARY=$out/libassay.so
python3 ci/library/vectors.py "$out/deltas.jsonl" 40 || die "Python reads something else"
python3 ci/library/cost.py corpus/hermes/template.jinja
# Not linked with the library, which it loads itself while its clock runs.
"$cc" -std=gnu11 -Wall -Wextra -Werror -O1 -I"$out" "$source/testdata/start.c" -o "$out/start" -ldl
python3 ci/library/start.py "$out/start" "$out/libassay.so" corpus/hermes/template.jinja

for sanitizers in address,undefined thread; do
  if ! echo 'int main(void) { return 0; }' | "$cc" -fsanitize=$sanitizers -x c -o "$out/probe" - 2>/dev/null || ! "$out/probe"; then
    echo "libassay: $cc has no -fsanitize=$sanitizers here; it is left out"
    continue
  fi
  CGO_CFLAGS="-O1 -g -fsanitize=$sanitizers" CGO_LDFLAGS="-fsanitize=$sanitizers" \
    "$go" build -tags libassay -trimpath -buildmode c-archive -o "$out/$sanitizers.a" ./cmd/libassay
  "$cc" -fsanitize=$sanitizers -O1 -g -I"$out" "$source/testdata/test.c" "$out/$sanitizers.a" -lpthread -ldl -o "$out/test-$sanitizers"
  parts=(threads)
  [ $sanitizers = thread ] || parts+=(forks signals) # a child of threads cannot go on under TSan
  for part in "${parts[@]}"; do
    # The host's handler of faults is under test, so the sanitizer has none.
    ASAN_OPTIONS=handle_segv=0 TSAN_OPTIONS=halt_on_error=1 "$out/test-$sanitizers" "$part"
  done
  echo "libassay: $sanitizers: nothing to report"
done
