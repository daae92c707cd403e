#!/usr/bin/env bash
# Fetches a released binary for this machine, holds it to the release's checksums, and prints its
# path.
#
#   fetch.sh VERSION DIR     VERSION such as 0.1.0 or v0.1.0; empty: the newest that docs/changes.md of this checkout has
#
# ASSAY_RELEASES is where releases are found, if not where the project publishes them. curl, tar
# and, on Windows, unzip are needed.
set -euo pipefail
version=${1#v} dir=$2
die() { echo "fetch: $*" >&2; exit 2; }
changes=$(dirname "${BASH_SOURCE[0]}")/../../docs/changes.md
[ -n "$version" ] || version=$(sed -n '/^## \([0-9][0-9.]*\).*/{s//\1/p;q;}' "$changes")
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
for file in checksums.txt "$archive"; do
  curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$file" "$from/$file" || die "$from/$file cannot be fetched"
done
want=$(awk -v file="$archive" '$2 == file { print $1 }' checksums.txt)
[ -n "$want" ] || die "checksums.txt of $version has no $archive"
if command -v sha256sum >/dev/null; then found=$(sha256sum "$archive"); else found=$(shasum -a 256 "$archive"); fi
[ "${found%% *}" = "$want" ] || die "the checksum of $archive is ${found%% *}, expected $want; the file was changed on its way"
if [ $os = windows ]; then unzip -oq "$archive"; else tar -xzf "$archive"; fi
echo "$PWD/$folder/$binary"
