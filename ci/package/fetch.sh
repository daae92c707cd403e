#!/usr/bin/env bash
# Fetches a released binary for this machine, holds it to the release's checksums, and prints its
# path. The checksums are held to their signature where this checkout has the key of releases,
# assay.pub beside this script; openssl is needed then.
#
#   fetch.sh VERSION DIR     VERSION such as 0.1.0 or v0.1.0; empty: the newest that docs/changes.md of this checkout has
#
# ASSAY_RELEASES is where releases are found, if not where the project publishes them. curl, tar
# and, on Windows, unzip are needed.
set -euo pipefail
version=${1#v} dir=$2
die() { echo "fetch: $*" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -n "$version" ] || version=$(sed -n '/^## \([0-9][0-9.]*\).*/{s//\1/p;q;}' "$here/../../docs/changes.md")
case $version in *[!0-9.]* | '') die "expected a version such as 0.1.0, found \"$version\"" ;; esac
case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  MINGW* | MSYS* | CYGWIN*) os=windows ;;
  *) die "there is no release for $(uname -s); \`go install github.com/goassay/assay/cmd/assay@v$version\` builds the command" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) die "there is no release for $(uname -m); \`go install github.com/goassay/assay/cmd/assay@v$version\` builds the command" ;;
esac
folder=assay_${version}_${os}_$arch archive=$folder.tar.gz binary=assay
[ $os != windows ] || { archive=$folder.zip; binary=assay.exe; }
from=${ASSAY_RELEASES:-https://github.com/goassay/assay/releases/download}/v$version

mkdir -p "$dir"
cd "$dir"
files=(checksums.txt "$archive") key=$here/assay.pub
[ ! -f "$key" ] || files+=(checksums.txt.sig)
for file in "${files[@]}"; do
  curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$file" "$from/$file" || die "$from/$file cannot be fetched"
done
if [ -f "$key" ]; then
  openssl base64 -d -A -in checksums.txt.sig -out checksums.sig
  openssl dgst -sha256 -verify "$key" -signature checksums.sig checksums.txt >/dev/null 2>&1 ||
    die "checksums.txt of $version is not signed with the key of this checkout; do not use the release"
fi
want=$(awk -v file="$archive" '$2 == file { print $1 }' checksums.txt)
[ -n "$want" ] || die "checksums.txt of $version has no $archive"
if command -v sha256sum >/dev/null; then found=$(sha256sum "$archive"); else found=$(shasum -a 256 "$archive"); fi
[ "${found%% *}" = "$want" ] || die "the checksum of $archive is ${found%% *}, expected $want; the file was changed on its way"
if [ $os = windows ]; then unzip -oq "$archive"; else tar -xzf "$archive"; fi
echo "$PWD/$folder/$binary"
