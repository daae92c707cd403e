#!/usr/bin/env bash
# Writes the page of `assay report` to out/page.html and looks at it in headless Chromium, wide,
# dark and narrow: it must show the whole report, stand alone, log no error, lead from templates to
# their results, open and close, fit a small screen, and have no accessibility fault that axe-core
# finds. Chromium and npm are needed; CHROMIUM names the binary.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=out/page.html
most=$((8 << 20)) # bytes of a page that people still open
die() { echo "page: $*" >&2; exit 1; }

mkdir -p out
work=$(mktemp -d "$PWD/out/page.XXXXXX")
trap 'rm -rf "$work"' EXIT
. ci/pages/chromium.sh

go run ./cmd/assay report --html "$out" >"$work/text" || [ -s "$out" ] || die "no page was written"
grep -Eq '<(script|link|img|iframe)|url\(|@import' "$out" && die "the page loads something or runs a script"
[ "$(wc -c <"$out")" -le "$most" ] || die "the page has $(wc -c <"$out") bytes, more than $most"
templates=$(grep -cE '^[a-z0-9.-]+ +(ok|-|[0-9]+ [a-zA-Z]+) ' "$work/text")

# The checks run inside a copy of the page and leave their verdict in its title. Of the results that
# look alike every twentieth is opened and kept, since axe takes minutes for thousands.
{
  sed '/<\/body>/,$d' "$out"
  printf '<script>\n'
  cat "$AXE"
  cat <<'EOF'

const faults = [];
addEventListener('error', (e) => faults.push('error: ' + e.message));
const check = (ok, text) => { if (!ok) faults.push(text); };
const all = (selector) => [...document.querySelectorAll(selector)];

const ids = all('[id]').map((e) => e.id);
check(new Set(ids).size === ids.length, 'an id is used twice');
all('a[href^="#"]').forEach((a) => check(document.getElementById(a.hash.slice(1)), a.hash + ' leads nowhere'));
check(/mended|Nothing fails/.test(document.querySelector('h1').textContent), 'the verdict is missing');
all('.verdicts tr').forEach((tr) => check(!tr.querySelector('.tag:not(.ok)') || tr.querySelector('th a'), tr.textContent + ' leads nowhere'));
const filter = document.getElementById('odd'), fine = document.querySelector('tr.fine');
filter.click();
check(!fine || getComputedStyle(fine).display === 'none', 'the filter hides nothing');
filter.click();
check(!fine || getComputedStyle(fine).display !== 'none', 'the filter cannot be undone');
const marked = document.querySelector('pre .p-marker');
check(marked, 'no marker is marked in any output');
check(!marked || getComputedStyle(marked).backgroundColor !== getComputedStyle(marked.parentElement).backgroundColor, 'markers have no colour');
check(document.querySelector('.time span'), 'no case has a timeline');
all('summary').slice(0, 50).forEach((s) => {
  s.focus();
  check(document.activeElement === s, 'a summary cannot be reached by keyboard');
  s.click();
  check(s.parentElement.open, 'a summary does not open');
});
all('section details').forEach((d, i) => { if (i % 20) d.remove(); else d.open = true; });
let width = innerWidth; // Chromium makes no window that is as narrow as a telephone's
if (width < 640) {
  document.body.style.width = (width = 360) + 'px';
  document.body.style.margin = 0;
}
all('body *').forEach((e) => check(e.closest('.scroll *, pre *') || e.getBoundingClientRect().right <= width + 1, e.tagName + ' is wider than ' + width));
axe.run(document, { resultTypes: ['violations'] }).then(
  (r) => { r.violations.forEach((v) => faults.push('axe: ' + v.id + ' ' + v.nodes[0].target)); },
  (e) => { faults.push('axe failed: ' + e); },
).then(() => { document.title = 'checked ' + width + ': ' + all('th[scope=row]').length + ' templates, ' + faults.length + ' faults ' + faults.slice(0, 9).join('; '); });
</script>
</body>
</html>
EOF
} >"$work/page.html"
look() { # WHAT FLAGS...
  local dom title
  dom=$(timeout 240 "$CHROMIUM" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=200000 \
    --enable-logging=stderr --dump-dom "${@:2}" "file://$work/page.html" 2>"$work/log") || die "$1: Chromium failed: $(tail -3 "$work/log")"
  title=$(grep -o -m1 '<title>[^<]*' <<<"$dom")
  case $title in
    *"checked "*": $templates templates, 0 faults"*) ;;
    *) die "$1: expected $templates templates and no fault, found ${title#<title>}" ;;
  esac
  ! grep -E 'CONSOLE.*(rror|arning)' "$work/log" || die "$1: the console has errors"
  echo "page: $1: ${title#<title>}"
}
look wide --window-size=1280,900
look dark --window-size=1280,900 --blink-settings=preferredColorScheme=0
look narrow --window-size=360,800
echo "page: $out, $(wc -c <"$out") bytes"
