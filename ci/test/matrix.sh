#!/usr/bin/env bash
# Runs the tests under conditions that they must not depend on, one row after another:
#
#   ci/test/matrix.sh ROW... [-- PACKAGE...]
#
#   one      on one processor              race     under the race detector
#   shuffle  in another order              twice    twice in one process
#   nohome   without HOME                  zone     in another time zone and language
#   spaces   in a path with spaces         offline  without a network but the loopback's
#   nobody   as the user nobody: needs root
#
# Without packages it runs those of all. ASSAY_VENDOR is taken from .deps where `make deps` was run.
# CI runs three rows; run the others after a change to how tests start programs or find files.
set -euo pipefail
cd "$(dirname "$0")/../.."

rows=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do rows+=("$1"); shift; done
[ $# = 0 ] || shift
packages=("$@")
[ $# -gt 0 ] || packages=(./...)
[ ${#rows[@]} -gt 0 ] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 2; }
vendor=.deps/llama.cpp/models/templates
[ ! -d "$vendor" ] || export ASSAY_VENDOR=$PWD/$vendor
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-matrix.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
caches=(GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)" GOPATH="$(go env GOPATH)")
run=(go test -timeout 1h -count 1)

copy() { # FOLDER: puts the checkout there, without what git ignores, and goes there
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ ! -e "$file" ] || printf '%s\0' "$file"
  done | tar --null -T - -cf - | tar -xf - -C "$1"
  cd "$1"
  git init -q
  git add -A # tests ask git for the files
}

row() {
  case $1 in
    one) GOMAXPROCS=1 "${run[@]}" "${packages[@]}" ;;
    race) "${run[@]}" -race "${packages[@]}" ;;
    shuffle) "${run[@]}" -shuffle=on "${packages[@]}" ;;
    twice) "${run[@]}" -count 2 "${packages[@]}" ;;
    zone) TZ=Pacific/Apia LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 "${run[@]}" "${packages[@]}" ;;
    nohome) env -u HOME -u XDG_CACHE_HOME -u XDG_CONFIG_HOME "${caches[@]}" "${run[@]}" "${packages[@]}" ;;
    spaces)
      mkdir -p "$work/temporary files"
      (copy "$work/a path with spaces" &&
        TMPDIR="$work/temporary files" "${run[@]}" -trimpath "${packages[@]}")
      ;;
    offline)
      unshare -n sh -c 'ip link set lo up && exec "$@"' - env GOPROXY=off GOFLAGS=-mod=readonly \
        "${run[@]}" "${packages[@]}"
      ;;
    nobody)
      # Programs are built as root and run as nobody, who owns the checkout. Tests that run the go
      # command themselves (ci, harness/testkit/hostile) find root's caches, which nobody cannot use.
      mkdir -p "$work/home"
      cat >"$work/as-nobody" <<-'EOF'
			#!/bin/sh
			chmod a+rx "$(dirname "$1")" "$(dirname "$(dirname "$1")")"
			exec setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups "$@"
		EOF
      chmod a+rx "$work" "$work/as-nobody"
      if [ -n "${ASSAY_VENDOR:-}" ]; then
        mkdir -p "$work/vendor"
        cp "$ASSAY_VENDOR"/*.jinja "$work/vendor"
        chmod -R a+rX "$work/vendor"
      fi
      (copy "$work/checkout" && chown -R nobody "$work/home" "$work/checkout" &&
        HOME=$work/home ASSAY_VENDOR=${ASSAY_VENDOR:+$work/vendor} GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
          env "${caches[@]}" "${run[@]}" -trimpath -exec "$work/as-nobody" "${packages[@]}")
      ;;
    *) echo "matrix: there is no row $1" >&2; exit 2 ;;
  esac
}

failed=()
for name in "${rows[@]}"; do
  printf '\nmatrix: %s\n' "$name" >&2
  row "$name" || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || { echo "matrix: FAILED: ${failed[*]}" >&2; exit 1; }
echo "matrix: passed: ${rows[*]}" >&2
