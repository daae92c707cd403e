#!/usr/bin/env bash
# Runs vLLM's own tests of tool and reasoning parsers with its parsers, and with assay_chat.vllm in
# their place, and lists the tests that only vLLM's parser passes: each is judged in
# ci/known/vllm-suites.txt, or the run fails. The tests are in the source of the release alone (47
# MB), which pip fetches and nothing builds; they are not ours to pass on.
#
#   ci/engines/vllm/suites.sh      writes out/vllm/own.jsonl, ours.jsonl and suites.txt
set -euo pipefail
cd "$(dirname "$0")/../../.."
. ci/engines/plugin.sh vllm
version=$(cat "$env/vllm/VERSION")
tests=${XDG_CACHE_HOME:-$HOME/.cache}/assay/vllm-tests-$version
if [ ! -d "$tests" ]; then
  work=$(mktemp -d "$(dirname "$tests")/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # pip asks a source for its name before it keeps it: this answers, and runs nothing of the source.
  mkdir -p "$work/backend/setuptools"
  cat >"$work/backend/setuptools/build_meta.py" <<PY
import os


def prepare_metadata_for_build_wheel(folder, settings=None):
    info = os.path.join(folder, "vllm.dist-info")
    os.makedirs(info)
    with open(os.path.join(info, "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\nName: vllm\nVersion: $version\n")
    return "vllm.dist-info"
PY
  touch "$work/backend/setuptools/__init__.py"
  PYTHONPATH=$work/backend "$env/bin/pip" download -q --disable-pip-version-check --no-deps \
    --no-binary :all: --no-build-isolation -d "$work" "vllm==$version"
  mkdir "$work/set"
  tar -xzf "$work/vllm-$version.tar.gz" -C "$work/set" --strip-components=1 --wildcards \
    "vllm-$version/tests/__init__.py" "vllm-$version/tests/tool_parsers/*" \
    "vllm-$version/tests/reasoning/*" "vllm-$version/tests/parser/*" \
    "vllm-$version/tests/tool_use/__init__.py" "vllm-$version/tests/tool_use/test_muse*" \
    "vllm-$version/tests/tool_use/test_kimi*" "vllm-$version/examples/*.jinja"
  "$env/bin/pip" install -q --disable-pip-version-check --target "$work/set/pytest" \
    pytest==9.2.0 pytest-asyncio==1.5.0
  mv "$work/set" "$tests"
fi
export ASSAY_VLLM=$env/vllm PYTHONPATH=$tests/pytest:$PYTHONPATH
for whose in own ours; do
  "$env/bin/python" -W ignore ci/engines/vllm/suites.py run $whose "$tests" \
    "$out/$whose.jsonl" >"$out/$whose.txt" ||
    { tail -n 20 "$out/$whose.txt" >&2; exit 1; }
done
python3 ci/engines/vllm/suites.py compare "$out/own.jsonl" "$out/ours.jsonl" ci/known/vllm-suites.txt |
  tee "$out/suites.txt"
