#!/usr/bin/env bash
# Builds a snapshot of a release and uses it as people will: checks the checksums and their
# signature, and installs the command from the built files into clean environments, where it has to
# judge a template: the archive on PATH, the wheel in virtual environments, where the Python
# package's tests run too, the npm packages in a folder, the image's root file system by chroot.
# Nothing is published.
#
#   ci/package/snapshot.sh [PLATFORMS]     host (default), all, or a list such as linux/amd64,windows/arm64
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$PWD/out/snapshot
version=$(sed -n '/^## \([0-9][0-9.]*\).*/{s//\1/p;q;}' docs/changes.md)-dev
run=snapshot
. ci/package/judge.sh
for tool in python3 npm openssl; do command -v $tool >/dev/null || die "$tool is not installed"; done

go run ./ci/package -version "$version" -out "$out" -platforms "${1:-host}"

wrong=$(signed "$out" "$out/assay.pub") || die "$wrong"

tar -xzf "$out/assay_${version}_${os}_$arch.tar.gz" -C "$work"
path=$work/assay_${version}_${os}_$arch:$path judges "archive" assay

# The edition for buckets: twice as large, and otherwise the same.
tar -xzf "$out/assay_cloud_${version}_${os}_$arch.tar.gz" -C "$work"
path=$work/assay_cloud_${version}_${os}_$arch:$path judges "archive for buckets" assay
buckets() { path=$work/$1_${version}_${os}_$arch:$path alone assay survey "$2" 2>&1 || true; }
found=$(buckets assay_cloud s3:///manifest.jsonl)
[[ $found == *"the bucket's name is missing"* ]] || die "archive for buckets: $found"
found=$(buckets assay s3://bucket/manifest.jsonl)
[[ $found == *"this program cannot reach buckets"* ]] || die "archive: $found"

# `go install` takes the last commit, from files that lie as a module proxy serves them.
go run ./ci/package -version "$version" -out "$work/proxy" -module
fetched=file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
GOBIN=$work/bin GOPROXY=file://$work/proxy,$fetched GONOSUMDB=github.com/goassay GOFLAGS=-modcacherw \
  GOMODCACHE=$work/modules go install "github.com/goassay/assay/cmd/assay@v$version" 2>"$work/log" || die "go install: $(cat "$work/log")"
path=$work/bin judges "go install" assay

# A release has its texts compressed, and reads from them what `go install` reads.
says() { path=$1:$path alone assay $words 2>&1 || true; }
for words in "explain A001" "engines pick --engine vllm $folder/good.jinja" "run --run hermes" "audit $folder"; do
  found=$(says "$work/assay_${version}_${os}_$arch")
  [ "$found" = "$(says "$work/bin")" ] || die "assay $words: found other words than of go install's: $found"
done

# The wheel is tested with the oldest CPython that it supports, and with the newest that is here.
for python in "$HOME"/.pyenv/versions/3.*/bin/python /usr/bin/python3.?? "$(command -v python3.10)" "$(command -v python3)"; do
  "$python" -c 'import sys, venv, ensurepip; print(*sys.version_info[:3], sys.executable, sep=" ")' 2>/dev/null || true
done | sort -u -k1,1n -k2,2n -k3,3n >"$work/pythons"
pythons=$( (grep -m1 '^3 10 ' "$work/pythons"; grep -E '^3 1[1-9] ' "$work/pythons" | tail -1) | cut -d' ' -f4)
if ! grep -q '^3 10 ' "$work/pythons"; then
  [ -z "${ASSAY_NEED_PYTHONS:-}" ] || die "there is no CPython 3.10, which the wheel is to be tested with"
  echo "snapshot: there is no CPython 3.10 here, so the wheel is tested with the newest alone"
fi
[ -n "$pythons" ] || die "there is no CPython 3.10 or newer with venv"
for python in $pythons; do
  version_of=$("$python" -c 'import platform; print(platform.python_version())')
  venv=$work/venv-$version_of
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet --no-index --disable-pip-version-check --find-links "$out" --pre assay-chat
  judges "wheel, CPython $version_of" "$venv/bin/assay-chat"
  judges "wheel, CPython $version_of, python -m" "$venv/bin/python" -m assay_chat
  "$venv/bin/pip" install --quiet --disable-pip-version-check pytest==8.4.2
  export TEMPLATES=$folder EXAMPLES=$PWD/ci/package/python/examples
  "$venv/bin/python" -m pytest -q -p no:cacheprovider ci/package/python/tests ||
    die "wheel, CPython $version_of: the package's tests fail"
  ASSAY_LIBRARY='' "$venv/bin/python" -m pytest -q -p no:cacheprovider ci/package/python/tests ||
    die "wheel, CPython $version_of: the package's tests fail by the child process"
done

# uvx takes the wheel without an environment of ours; uv itself comes from PyPI.
"$venv/bin/pip" install --quiet --disable-pip-version-check uv==0.13.9
export UV_CACHE_DIR=$work/uv
path=$venv/bin:$path judges "uvx" uvx --quiet --offline --find-links "$out" --no-index --prerelease allow assay-chat

mkdir "$work/npm"
(cd "$work/npm" && npm install --silent --no-audit --no-fund --offline --omit=optional "$out"/assay-chat-*.tgz --force >npm.log 2>&1) ||
  die "npm: $(cat "$work/npm/npm.log")"
path=$(dirname "$(command -v node)"):$path judges "npm" "$work/npm/node_modules/.bin/assay-chat"

if [ "$os" = linux ]; then
  wrong=$(image "$out/assay_${version}_image.tar") || die "image: $wrong"
  size=$(wc -c <"$work/root/usr/bin/assay")
  [ "$size" -lt 36000000 ] || die "image: the binary has $size bytes"
  in_image "image"
  echo "snapshot: image: $(du -sb --apparent-size "$work/root" | cut -f1) bytes"
fi
