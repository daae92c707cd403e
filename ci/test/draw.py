"""Draws errors and warnings to be judged: draw.py SEED N FILE..., where the files are what
`assay check --format json` printed, one for each template.

They are those with the smallest SHA-256 of seed, rule, template and first line, at most three of a
rule. The last line has how many errors and warnings a template has: the median and the mean.
"""

import hashlib
import json
import os
import statistics
import sys


def main():
    seed, n, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    drawn, counts = [], []
    for name in names:
        with open(name, encoding="utf-8") as f:
            results = json.load(f)["results"]
        told = [
            r
            for r in results
            if r["status"] in ("found", "failed") and r["severity"] != "note"
        ]
        counts.append(len(told))
        for r in told:
            first = r["text"].split("\n")[0]
            key = " ".join((seed, r["rule"], os.path.basename(r["suite"]), first))
            drawn.append((hashlib.sha256(key.encode()).hexdigest(), r))
    taken = {}
    for _, r in sorted(drawn, key=lambda d: d[0]):
        if n > 0 and taken.setdefault(r["rule"], 0) < 3:
            taken[r["rule"]] += 1
            n -= 1
            print(r["severity"], r["rule"], os.path.basename(r["suite"]), r["text"], sep="\t")
    print(f"{len(counts)} templates: median {statistics.median(counts)}, "
          f"mean {statistics.mean(counts):.2f}")


main()
