"""Reads the outputs that the library's test has written down, by the Python package: each piece has
to give the deltas that it gives in Go, to the byte.

vectors.py DELTAS [EVERY]    EVERY: one vector of so many by the child process as well
"""

import json
import os
import sys

import assay_chat


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(plan, v):
    """Return the vector's first piece whose deltas differ, with both of them."""
    parser = plan.parser()
    for number, (piece, want) in enumerate(zip(v["pieces"], v["deltas"])):
        got = compact(parser.write(piece.encode("latin-1")) or "")
        if got != compact(json.loads(want) if want else ""):
            return f"piece {number}: {got}, want {want}"
    answer = parser.close("length" if v["cut"] else "stop")
    want = json.loads(v["deltas"][-1])
    got = {
        "deltas": answer.deltas,
        "message": answer.message,
        "finish_reason": answer.finish_reason,
        "complete": answer.complete,
        "diagnostics": answer.diagnostics,
    }
    return "" if compact(got) == compact(want) else f"the end: {compact(got)}, want {compact(want)}"


def main():
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    library = os.environ["ASSAY_LIBRARY"]
    counts, failed = {"library": 0, "child process": 0}, 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            v = json.loads(line)
            template = assay_chat.Template(v["text"], v["template"])
            by = [("library", library)]
            if every and number % every == 0:
                by.append(("child process", ""))
            for name, os.environ["ASSAY_LIBRARY"] in by:
                wrong = read(template.prepare(v["request"], **v["options"]), v)
                counts[name] += 1
                if wrong and (failed := failed + 1) < 10:
                    print(f"{v['id']} by the {name}, {len(v['pieces'])} pieces: {wrong}")
    print("python:", ", ".join(f"{n} outputs by the {name}" for name, n in counts.items()))
    sys.exit(failed > 0 or not counts["library"])


main()
