# Finds headless Chromium, and axe-core and other packages of npm in the cache, for the scripts that
# look at pages: source it after `die` and `work`, a folder of the script's own, are there.
#
#   CHROMIUM   the binary
#   AXE        axe-core, a file
#   package NAME-VERSION   prints the folder of a package of npm, which is fetched once
#   drive FILE.mjs         runs a script by node, with CHROMIUM, AXE, and Playwright as DRIVER

cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
mkdir -p "$cache"
for name in chromium chromium-browser google-chrome; do
  [ -n "${CHROMIUM:-}" ] || CHROMIUM=$(command -v "$name" || true)
done
[ -n "$CHROMIUM" ] || die "Chromium is not installed; install it, or name the binary in CHROMIUM"
command -v npm >/dev/null || die "npm is not installed, and is needed to fetch axe-core"

package() { # NAME-VERSION
  if [ ! -d "$cache/$1" ]; then
    (cd "$work" && npm pack --silent "${1%-*}@${1##*-}" >/dev/null && tar -xzf "./$1.tgz") ||
      die "$1 cannot be fetched"
    mv -T "$work/package" "$cache/$1"
  fi
  printf '%s\n' "$cache/$1"
}

AXE=$(package axe-core-4.10.3)/axe.min.js

drive() { # FILE.mjs
  local driver
  driver=$(package playwright-core-1.56.1)
  CHROMIUM=$CHROMIUM AXE=$AXE DRIVER=$driver node "$1"
}
