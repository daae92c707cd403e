#!/usr/bin/env bash
# Builds the archives of the C library for the platforms of a release, by zig, links each twice, in
# two folders, and compares the bytes. It judges each library's functions and needs, and runs the
# program of docs/embedding.md with it where an emulator is here: qemu-aarch64, with Debian's
# libc6-arm64-cross, and wine64. What cannot run here runs in the release's workflow.
#
#   ci/library/platforms.sh [PLATFORMS]    all (default), host, or a list
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "libassay: $*" >&2; exit 1; }
zig=$(ci/fetch/zig.sh)
out=$PWD/out/libraries
rm -rf "$out"
mkdir -p "$out/elsewhere"
for folder in "$out/one" "$out/two"; do
  TMPDIR=$out/elsewhere ASSAY_ZIG=$zig "${GO:-go}" run ./ci/package -version 0.0.0-dev -library \
    -platforms "${1:-all}" -out "$folder" >/dev/null
done
diff -r "$out/one" "$out/two" || die "the second link gave other bytes"
shopt -s nullglob
for file in "$out"/one/*.tar.gz; do tar -xzf "$file" -C "$out"; done
for file in "$out"/one/*.zip; do python3 -m zipfile -e "$file" "$out"; done
python3 ci/library/judge.py cmd/libassay/assay.h "$out"/libassay_*/libassay.*
source=$PWD/cmd/libassay/testdata
cd "$out"

example() { # PLATFORM TARGET LIBRARY COMMAND...: the program prints what the page shows
  local folder=libassay_0.0.0-dev_$1
  [ -d "$folder" ] || return 0
  command -v "${4:-env}" >/dev/null || { echo "libassay: there is no $4: $1 is not run"; return; }
  "$zig" cc -target "$2" -std=c11 -Wl,-s -I"$folder" "$source/example.c" "$folder/$3" \
    -o "$folder/example.exe"
  LD_LIBRARY_PATH=$folder "${@:4}" "$folder/example.exe" | tr -d '\r' |
    diff - "$source/example.txt" || die "$1: the example prints something else"
  echo "libassay: $1: the example runs"
}
example linux_amd64 x86_64-linux-gnu.2.17 libassay.so
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
example linux_arm64 aarch64-linux-gnu.2.17 libassay.so qemu-aarch64
# Wine 8 lacks a library of Windows' that Go's runtime draws random numbers from: this stands in.
export WINEPREFIX=$out/wine WINEDEBUG=-all PATH=$PATH:/usr/lib/wine
if [ -d libassay_0.0.0-dev_windows_amd64 ] && command -v wine64 >/dev/null; then
  wine64 cmd /c exit || true
  system=$WINEPREFIX/drive_c/windows/system32
  cat >random.c <<'C'
#include <stddef.h>
unsigned char __stdcall SystemFunction036(void *data, unsigned long size);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, size_t size) {
    return SystemFunction036(data, (unsigned long)size);
}
C
  [ -f "$system/bcryptprimitives.dll" ] ||
    "$zig" cc -target x86_64-windows-gnu -shared random.c -ladvapi32 \
      -o "$system/bcryptprimitives.dll"
fi
example windows_amd64 x86_64-windows-gnu libassay.dll wine64
