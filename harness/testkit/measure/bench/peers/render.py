"""Measures jinja2 at the works of the program peers: render.py INPUT WORK. For every line of the
standard input it does the work once and answers with a line: the nanoseconds of processor time that
it took, and how many of its parts came out well.

jinja2 is set up as Hugging Face transformers does it, by ci/test/oracle.py.
"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[5] / "ci" / "test"))
import oracle  # noqa: E402


def main(path, work):
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
    env = oracle.environment()

    def compile_all():
        return [env.from_string(t["source"]) for t in given["templates"]]

    compiled = compile_all()

    def render():
        good = 0
        for r in given["renders"]:
            try:
                good += compiled[r["template"]].render(r["vars"]) == r["want"]
            except Exception:  # whatever it raises, the prompt is not the one that is wanted
                pass
        return good

    op = {"compile": lambda: len(compile_all()), "render": render}[work]
    op()  # once to warm up
    for _ in sys.stdin:
        start = time.process_time_ns()
        good = op()
        print(time.process_time_ns() - start, good, flush=True)


main(*sys.argv[1:])
