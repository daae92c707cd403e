#!/usr/bin/env bash
# Rehearses a release on this machine, and publishes nothing outside it: tags a scratch clone, builds
# the parts twice in different surroundings and compares the bytes, and publishes them and a version
# before to registries on loopback. There each part is installed by its own client (fetch.sh, the
# Action, pip, uvx, npm, go install, the image by chroot), upgraded and rolled back, and has to judge
# a template each time. Then the published files are changed, and each client has to refuse them.
# Nothing is fetched but uv, once. The second build keeps its compiled packages in out/rehearsal (2
# GB), which no other build uses; without that folder it takes minutes more.
#
#   ci/package/rehearse.sh [PLATFORMS]     host (default), all, or a list; installed is this machine's
set -euo pipefail
cd "$(dirname "$0")/../.."
run=rehearse
. ci/package/judge.sh
for tool in git python3 npm openssl curl; do command -v $tool >/dev/null || die "$tool is not installed"; done
platforms=${1:-host} before=0.0.9
after=$(sed -n '/^## \([0-9][0-9.]*\).*/{s//\1/p;q;}' docs/changes.md)
say() { echo "$run: $(($(date +%s) - begun)) s: $*"; }
begun=$(date +%s)

# The owner's part: a key, its public half in the checkout, a tag.
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/key.pem"
git clone --quiet . "$work/one"
openssl pkey -in "$work/key.pem" -pubout -out "$work/one/ci/package/assay.pub"
git -C "$work/one" add ci/package/assay.pub
git -C "$work/one" -c user.name=owner -c user.email=owner@localhost commit --quiet -m "ci: add the key of releases"
git -C "$work/one" tag "v$after"
mkdir "$work/another place"
(umask 077 && git clone --quiet --branch "v$after" "$work/one" "$work/another place/two" 2>/dev/null)

build() { # VERSION CLONE OUT VARIABLE=VALUE...: what release.yml builds, and the module as `go install` takes it
  local version=$1 out=$3
  (cd "$2" && shift 3 && export GOFLAGS='' GOPROXY=off GOTOOLCHAIN=local "$@" &&
    go run ./ci/package -version "v$version" -out "$out" -platforms "$platforms" -key "$work/key.pem" &&
    go run ./ci/package -version "v$version" -out "$out.module" -module) >"$work/log" || die "build of $version: $(cat "$work/log")"
}
modules=$(go env GOMODCACHE)
(umask 022 && build "$after" "$work/one" "$work/after" TZ=UTC LC_ALL=C)
say "built"
mkdir "$work/home"
(umask 077 && build "$after" "$work/another place/two" "$work/again" HOME="$work/home" TZ=Asia/Kathmandu \
  LC_ALL=C.UTF-8 LANG=tr_TR.UTF-8 GOMODCACHE="$modules" GOCACHE="$PWD/out/rehearsal" TMPDIR="$work/home")
# A signature of ECDSA has a random number in it.
differ=$(cd "$work" && diff -rq --exclude=checksums.txt.sig after again && diff -rq after.module again.module) || die "the two builds differ: $differ"
say "built again with a cache of its own, in another folder, umask, zone, language and HOME: $(ls "$work/after" | wc -l) files, equal to the byte"
build "$before" "$work/one" "$work/before"
signed "$work/after" "$work/one/ci/package/assay.pub" && signed "$work/before" "$work/one/ci/package/assay.pub" || die "a release is not as signed"
say "built $before as the version before"

site=$work/site
mkdir -p "$site/simple/assay-chat" "$site/releases" "$site/go" "$site/images" "$site/npm"
coproc python3 ci/package/registry.py "$site"
trap 'kill $COPROC_PID; chmod -R u+w "$work"; rm -rf "$work"' EXIT
read -r at <&"${COPROC[0]}"
echo "//${at#http://}/npm/:_authToken=rehearsal" >"$work/.npmrc"
node=$(dirname "$(command -v node)"):/usr/bin:/bin

publish() { # VERSION RELEASE, in the order of release.yml
  local file version=$1
  cp -r "$2" "$site/releases/v$version"
  for file in "$2"/*.whl; do
    cp "$file" "$site/simple/assay-chat"
    file=$(basename "$file")
    echo "<a href=\"$file#sha256=$(sha256sum <"$2/$file" | cut -d' ' -f1)\">$file</a><br>" >>"$site/simple/assay-chat/index.html"
  done
  for file in "$2"/assay-chat-*-*-*.tgz "$2"/assay-chat-wasm-*.tgz "$2"/assay-chat-[0-9]*.tgz; do
    path=$node alone npm publish --registry "$at/npm/" --access public "$file" >"$work/log" 2>&1 || die "npm publish: $(cat "$work/log")"
  done
  cp "$2"/*_image.tar "$site/images"
  cp -r "$2.module/." "$site/go/new"
  local module=$site/go/github.com/goassay/assay/@v
  mkdir -p "$module"
  (cd "$site/go/new/github.com/goassay/assay/@v" && cat list >>"$module/list" && rm list && mv ./* "$module")
  rm -rf "$site/go/new"
}

# A client's installation of a version; latest is the newest that is published.
python3 -m venv "$work/venv"
uv=$(ci/fetch/venv.sh package ci/package/requirements.txt)/bin
mkdir "$work/npm" "$work/runner" "$work/repository"
git -C "$work/repository" init --quiet
action() { # VERSION TEMPLATE: runs the Action's step; prints its verdict
  sed '1,/^      run: |$/d; s/^        //' "$work/one/action.yml" >"$work/step.sh"
  cp "$folder/$2" "$work/repository/template.jinja"
  git -C "$work/repository" add -A
  (cd "$work/repository" && : >"$work/output" && env ROOT="$work/one" VERSION="$1" RUNNER_TEMP="$work/runner" GITHUB_OUTPUT="$work/output" \
    ASSAY_RELEASES="$at/releases" COMMAND= ARGS= ONLY_CHANGED=true TEMPLATES= BASE= REPORT= \
    bash --noprofile --norc -eo pipefail "$work/step.sh" >"$work/log" 2>&1) || true
  cat "$work/output"
}
fetch() { ASSAY_RELEASES=$at/releases "$work/one/ci/package/fetch.sh" "$1" "$2"; }
with_pip() { alone "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --index-url "$at/simple/" "$@"; }
with_npm() { (cd "$work/npm" && path=$node alone npm install --silent --no-audit --no-fund --registry "$at/npm/" "$@"); }
with_go() { # VERSION
  GOBIN=$work/bin GOPROXY=file://$site/go,file://$modules/cache/download GOSUMDB=off GOFLAGS='-modcacherw -trimpath' GOMODCACHE=$work/modules \
    go install "github.com/goassay/assay/cmd/assay@$1"
}
everywhere() { # WHAT PYTHON NODE GO: each client installs $version under its own name for it
  fetch "$version" "$work/fetched" >"$work/path" || die "$1: fetch.sh"
  judges "$1: fetch.sh" "$(cat "$work/path")"
  [ "$(action "v$version" good.jinja) $(action "v$version" bad.jinja)" = "verdict=pass verdict=fail" ] || die "$1: the Action: $(cat "$work/log")"
  with_pip --upgrade "assay-chat$2" || die "$1: pip"
  judges "$1: pip" "$work/venv/bin/assay-chat"
  path=$uv:$work/venv/bin:/usr/bin:/bin judges "$1: uvx" uvx --quiet --index-url "$at/simple/" "assay-chat@$3"
  with_npm "assay-chat@$3" "assay-chat-wasm@$3" || die "$1: npm"
  path=$node judges "$1: npm" "$work/npm/node_modules/.bin/assay-chat"
  with_go "$4" 2>"$work/log" || die "$1: go install: $(cat "$work/log")"
  path=$work/bin judges "$1: go install" assay
  [ "$os" = linux ] || return 0
  wrong=$(image "$site/images/assay_${version}_image.tar") || die "$1: image: $wrong"
  in_image "$1: image"
}
publish "$before" "$work/before"
version=$before everywhere "$before" "" latest latest
say "published $before and installed it"
publish "$after" "$work/after"
version=$after everywhere "$after, an upgrade" "" latest latest
say "published $after and upgraded to it"
version=$before everywhere "$before again" "==$before" "$before" "v$before"
say "rolled back"

# What a thief of the registries can do without the key, and what he cannot.
refuses() { # HOW REASON COMMAND...: ends with an error that says so
  local how=$1 reason=$2
  shift 2
  ! "$@" >"$work/log" 2>&1 || die "$how: taken, and it was changed"
  grep -qE "$reason" "$work/log" || die "$how: expected $reason, found $(cat "$work/log")"
  echo "$run: $how: refused"
}
changed() { printf x | dd of="$1" bs=1 seek=$(($(wc -c <"$1") / 2)) conv=notrunc status=none; }
more() { python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "a").writestr(sys.argv[2], "")' "$@"; }
archive=assay_${after}_${os}_$arch.tar.gz
changed "$site/releases/v$after/$archive"
refuses "fetch.sh, an archive that was changed" "the checksum of $archive" fetch "$after" "$work/fetched"
[ "$(action "v$after" good.jinja)" = verdict=error ] || die "the Action takes an archive that was changed"
(cd "$site/releases/v$after" && cut -c67- checksums.txt | xargs sha256sum >sums && mv sums checksums.txt)
refuses "fetch.sh, checksums that were changed along" "checksums.txt of $after is not signed" fetch "$after" "$work/fetched"
[ "$(action "v$after" good.jinja)" = verdict=error ] || die "the Action takes checksums that were changed"
refuses "openssl" "the signature is wrong" signed "$site/releases/v$after" "$work/one/ci/package/assay.pub"
for file in "$site/simple/assay-chat"/assay_chat-"$after"-*.whl; do more "$file" assay_chat/more.py; done
refuses "pip" "DO NOT MATCH THE HASHES" with_pip --force-reinstall "assay-chat==$after"
rm -rf "$work/.cache/uv"
path=$uv:$work/venv/bin:/usr/bin:/bin refuses "uvx" "[Hh]ash mismatch" alone uvx --index-url "$at/simple/" "assay-chat@$after" version
changed "$site/npm/assay-chat/-/assay-chat-$after.tgz"
rm -rf "$work/.npm"
refuses "npm" "EINTEGRITY" with_npm --loglevel error "assay-chat@$after"
# Go's own database of checksums is not here; go.sum of a module that has used the release is.
mkdir "$work/user"
cd "$work/user"
user() { GOPROXY=file://$site/go,file://$modules/cache/download GOSUMDB=off GOFLAGS=-modcacherw GOMODCACHE=$1 go "${@:2}"; }
user "$work/modules" mod init user 2>"$work/log"
user "$work/modules" get "github.com/goassay/assay@v$after" 2>"$work/log" || die "go get: $(cat "$work/log")"
more "$site/go/github.com/goassay/assay/@v/v$after.zip" "github.com/goassay/assay@v$after/more.txt"
refuses "go" "checksum mismatch" user "$work/fresh" mod download github.com/goassay/assay
changed "$site/images/assay_${after}_image.tar"
refuses "image" "does not match its digest" image "$site/images/assay_${after}_image.tar"
say "all held"
