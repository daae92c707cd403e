#!/usr/bin/env bash
# Provides the implementations that `make bench-peers` compares with, and runs the comparison;
# further arguments go to harness/testkit/measure/bench/peers.
#
#   jinja2               pip, in a virtual environment
#   @huggingface/jinja   npm
#   gonja                is a dependency of the harness
#   minijinja            its adapter, as `make engines ENGINE=minijinja` builds it
#   Dynamo, smg          the parsers of their crates, through the adapters of `make engines`
#   xgrammar, llguidance the compilation of a grammar, through the adapters of `make grammars`
#   llama.cpp            its chat library, as `make engines ENGINE=llama.cpp` builds it; takes some
#                        minutes once
#
# Fetched and built files stay in ${XDG_CACHE_HOME:-$HOME/.cache}/assay. A peer whose tools are not
# installed (python3; node and npm; cmake and a C++ compiler) is left out, with a line that says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
jinja2=3.1.6 huggingface=0.5.11
mkdir -p "$cache"
peers=()
say() { printf 'peers: %s\n' "$*" >&2; }
have() { # NAME COMMAND...
  local name=$1 command
  shift
  for command; do
    command -v "$command" >/dev/null || { say "$name is left out: $command is not installed"; return 1; }
  done
}

if have jinja2 python3; then
  python=python3
  if ! python3 -c 'import jinja2' 2>/dev/null; then
    python=$cache/venv/bin/python
    [ -x "$python" ] || python3 -m venv "$cache/venv"
    "$python" -c 'import jinja2' 2>/dev/null || "$cache/venv/bin/pip" install --quiet "jinja2==$jinja2"
  fi
  peers+=(-python "$(command -v "$python")")
fi

if have @huggingface/jinja node npm; then
  module=$cache/huggingface-jinja-$huggingface
  if [ ! -d "$module" ]; then
    work=$(mktemp -d "$cache/work.XXXXXX")
    (cd "$work" && npm pack --silent "@huggingface/jinja@$huggingface" >/dev/null && tar -xzf ./*.tgz)
    mv "$work/package" "$module"
    rm -rf "$work"
  fi
  peers+=(-jinja "$module/dist/index.js")
fi

if have minijinja cargo; then
  ci/engines/setup.sh minijinja
  peers+=(-minijinja .deps/engines/minijinja/target/release/assay-minijinja)
fi

adapters=()
if have "Dynamo and smg" cargo; then
  ci/engines/setup.sh dynamo smg
  adapters+=(dynamo smg)
fi
if have "xgrammar and llguidance" python3; then
  ci/engines/setup.sh grammars
  adapters+=(grammars)
fi
[ ${#adapters[@]} = 0 ] || peers+=(-adapters "$(IFS=,; echo "${adapters[*]}")")

if have llama.cpp cmake "${CXX:-c++}"; then
  ci/engines/setup.sh llama.cpp
  peers+=(-llama .deps/engines/llama.cpp/driver)
fi

binary=$(mktemp -d)
trap 'rm -rf "$binary"' EXIT
go build -o "$binary/peers" ./harness/testkit/measure/bench/peers
"$binary/peers" "${peers[@]}" "$@"
