#!/usr/bin/env bash
# Surveys the corpus on two days, between which templates change, publishes the site as
# out/observatory, and looks at each page in headless Chromium, wide, dark and narrow: it must load
# nothing, log no error, lead to the other pages, fit a small screen, and have no accessibility fault
# that axe-core finds. The table in Parquet must have the rows of the one in JSON lines, by pyarrow.
# Chromium, npm and Python are needed; CHROMIUM names the binary. With ASSAY_HUB, the folder of the
# Hub's templates, these are surveyed as well.
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "observatory: $*" >&2; exit 1; }
out=out/observatory
mkdir -p out
work=$(mktemp -d "$PWD/out/observatory.XXXXXX")
trap 'rm -rf "$work"' EXIT
. ci/pages/chromium.sh
go build -tags cloud -o "$work/assay" ./cmd/assay # which writes Parquet
folders=(corpus)
[ -z "${ASSAY_HUB:-}" ] || folders+=("$ASSAY_HUB")
mkdir "$work/folders"
for folder in "${folders[@]}"; do cp -rL "$folder" "$work/folders/"; done

# A day: a manifest of the folders, judged and merged.
day() { # DATE [--since FILE]
  (cd "$work/folders" && "$work/assay" manifest --store "$work/store" . 2>/dev/null)
  # each place gets downloads, and every fifth the base of another one
  awk -v OFS= '{ sub(/}$/, ""); print $0, ",\"downloads\":", NR * 7919 % 10007, NR % 5 ? "" : ",\"base\":\"corpus/hermes/template.jinja\"", "}" }' "$work/store/manifest.jsonl" >"$work/store/$1.jsonl"
  "$work/assay" survey "$work/store/$1.jsonl" --out "$work/$1" "${@:2}" >/dev/null || [ $? = 3 ] || die "the survey failed"
  "$work/assay" report --merge "$work/$1" --out "$work/$1.jsonl" --table "$work/places.parquet" --site "$out" --date "$1" >"$work/text"
}
rm -rf "$out"
day 2026-01-01
sed -i 's/tool_call>/tool_use>/g' "$work/folders/corpus/hermes/template.jinja"
sed -i '1s/^/{#- a comment #}/' "$work/folders/corpus/qwen3/template.jinja"
printf '{%% endif %%}' >>"$work/folders/corpus/granite-4/template.jinja"
day 2026-01-02 --since "$work/2026-01-01.jsonl"
"$work/assay" report --merge "$work/2026-01-02" --table "$work/places.jsonl" >/dev/null
[ "$(wc -l <"$out/history.jsonl")" = 2 ] || die "the history has not two days"
grep -q breaking "$out/drift.html" || die "the page of the drift lacks a breaking change"

env=$(ci/fetch/venv.sh parquet ci/scale/parquet.txt)
"$env/bin/python" - "$work/places.parquet" "$work/places.jsonl" <<'CHECK'
import json, sys
import pyarrow.parquet
rows = pyarrow.parquet.read_table(sys.argv[1]).to_pylist()
lines = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
assert rows == lines and len(rows) > 50, (len(rows), len(lines))
print(f"observatory: {len(rows)} rows in Parquet are those in JSON lines")
CHECK

look() { # PAGE WHAT FLAGS...
  local dom title
  {
    sed -e '/Content-Security-Policy/d' -e '/<\/body>/,$d' "$out/$1"
    printf '<script>\n'
    cat "$AXE"
    cat <<'CHECK'

const faults = [];
addEventListener('error', (e) => faults.push('error: ' + e.message));
const check = (ok, text) => { if (!ok) faults.push(text); };
const all = (selector) => [...document.querySelectorAll(selector)];
check(all('nav a').length === 5 && all('nav a[aria-current]').length === 1, 'the pages are not linked');
check(all('td').length > 0, 'there is no table');
let width = innerWidth; // Chromium makes no window that is as narrow as a telephone's
if (width < 640) {
  document.body.style.width = (width = 360) + 'px';
  document.body.style.margin = 0;
}
all('body *').forEach((e) => check(e.closest('.scroll *') || e.getBoundingClientRect().right <= width + 1, e.tagName + ' is wider than ' + width));
axe.run(document, { resultTypes: ['violations'] }).then(
  (r) => { r.violations.forEach((v) => faults.push('axe: ' + v.id + ' ' + v.nodes[0].target)); },
  (e) => { faults.push('axe failed: ' + e); },
).then(() => { document.title = 'checked ' + width + ': ' + faults.length + ' faults ' + faults.slice(0, 9).join('; '); });
</script>
</body>
</html>
CHECK
  } >"$work/page.html"
  dom=$(timeout 240 "$CHROMIUM" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=200000 \
    --enable-logging=stderr --dump-dom "${@:3}" "file://$work/page.html" 2>"$work/log") || die "$1: Chromium failed: $(tail -3 "$work/log")"
  title=$(grep -o -m1 '<title>[^<]*' <<<"$dom")
  case $title in
    *"checked "*": 0 faults"*) ;;
    *) die "$1, $2: expected no fault, found ${title#<title>}" ;;
  esac
  ! grep -E 'CONSOLE.*(rror|arning)' "$work/log" || die "$1, $2: the console has errors"
}
for page in index families publishers findings drift; do
  grep -Eq '<(script|link|img|iframe)|url\(|@import' "$out/$page.html" && die "$page.html loads something or runs a script"
  look $page.html wide --window-size=1280,900
  look $page.html dark --window-size=1280,900 --blink-settings=preferredColorScheme=0
  look $page.html narrow --window-size=360,800
done
echo "observatory: five pages without a fault, $(du -sh "$out" | cut -f1): $(head -1 "$work/text")"
