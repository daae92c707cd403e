#!/usr/bin/env bash
# Writes the page of `assay report` and looks at it in headless Chromium: it must hold what the report holds, load nothing, log
# no error, and have no accessibility fault that axe-core finds. Chromium and npm are needed (CHROMIUM names the binary).
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/page.html
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
axe=axe-core-4.10.3
die() { echo "page: $*" >&2; exit 1; }

chromium=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
  [ -n "$chromium" ] || chromium=$(command -v "$name" || true)
done
[ -n "$chromium" ] || die "Chromium is not installed; install it, or name the binary in CHROMIUM"
command -v npm >/dev/null || die "npm is not installed, and is needed to fetch $axe"
mkdir -p out "$cache"
if [ ! -f "$cache/$axe.min.js" ]; then
  work=$(mktemp -d "$cache/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent "${axe%-*}@${axe##*-}" >/dev/null && tar -xzf ./*.tgz package/axe.min.js)
  mv "$work/package/axe.min.js" "$cache/$axe.min.js"
fi

go run ./cmd/assay report --html "$out" >/dev/null || [ -s "$out" ] || die "no page was written"
grep -Eq '<(script|link|img|iframe)|url\(|@import' "$out" && die "the page loads something or runs a script"

# axe runs inside a copy of the page and leaves its verdict in the title.
checked=$PWD/out/page-checked.html
{
  sed '/<\/body>/,$d' "$out"
  printf '<script>\n'
  cat "$cache/$axe.min.js"
  cat <<'EOF'

document.querySelectorAll('details').forEach((d, i) => { if (i < 40) d.open = true; });
axe.run(document, { resultTypes: ['violations'] }).then(
  (r) => { document.title = 'axe: ' + r.violations.length + ' ' + r.violations.map((v) => v.id + ' ' + v.nodes[0].target).join('; '); },
  (e) => { document.title = 'axe failed: ' + e; });
</script>
</body>
</html>
EOF
} >"$checked"
dom=$(timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --virtual-time-budget=60000 --dump-dom "file://$checked" 2>/dev/null)
title=$(sed -n 's/.*<title>\([^<]*\)<\/title>.*/\1/p' <<<"$dom" | head -1)
[ "${title#axe: 0 }" != "$title" ] || die "accessibility: $title"
rows=$(grep -c '<th scope="row">' <<<"$dom")
[ "$rows" -gt 5 ] || die "the page shows $rows templates"
rm -f "$checked"
echo "page: $out, $rows templates, no fault found by axe"
