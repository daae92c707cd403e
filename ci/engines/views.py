"""Renders the requests of ci/engines/requests.jsonl by an engine's view (docs/internals/views.md).

    python3 ci/engines/views.py ENGINE[@VERSION] OUT TEMPLATE...

Writes an answer a line to OUT, with the id TEMPLATE:REQUEST, and prints how many are prompts, how
many errors of each kind, and the processor time of one.
"""

import collections
import json
import os
import re
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
# Markers as tokenisers hold them; some engines look at the vocabulary.
MARKER = re.compile(r"<[|/｜]?[A-Za-z][\w▁ :-]{0,30}[|｜]?>|\[/?[A-Z_]{3,30}\]")


def lines(templates, requests):
    for path in templates:
        with open(path, encoding="utf-8") as f:
            source = f.read()
        words = sorted(set(MARKER.findall(source)))
        for q in requests:
            yield {
                "id": f"{path}:{q['id']}", "template": source, "bos": "<s>", "eos": "</s>",
                "vocabulary": words, "request": q["request"], "now": "2026-01-02T03:04:05",
            }  # fmt: skip


def main(engine, out, *templates):
    name, _, version = engine.partition("@")
    with open(os.path.join(HERE, "requests.jsonl"), encoding="utf-8") as f:
        requests = [json.loads(line) for line in f]
    command = [os.path.join(HERE, name, "view"), *([version] if version else [])]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    view = subprocess.Popen(command, **pipes)

    def feed():
        with view.stdin:
            for r in lines(templates, requests):
                view.stdin.write(json.dumps(r).encode() + b"\n")

    threading.Thread(target=feed, daemon=True).start()
    kinds, spent, n = collections.Counter(), 0, 0
    with open(out, "w", encoding="utf-8") as f:
        for line in view.stdout:
            answer = json.loads(line)
            kinds[answer.get("error", "prompt")] += 1
            spent += answer.pop("nanoseconds")
            n += 1
            f.write(json.dumps(answer) + "\n")
    wanted = len(templates) * len(requests)
    if n != wanted:
        sys.exit(f"{engine}: {n} of {wanted} answers came")
    print(f"{engine}: {n} requests, {spent / max(n, 1) / 1e6:.2f} ms each; "
          + ", ".join(f"{k} {v}" for k, v in sorted(kinds.items())))  # fmt: skip


main(*sys.argv[1:])
