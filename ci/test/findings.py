"""Writes what a report of `assay check --format json` finds, a line for each template.

    assay check --seed 1 --format json TEMPLATES... | python3 ci/test/findings.py

A line has the template's file name and the errors and warnings of each rule: "A013 error 2". No
text of a template is in it.
"""

import collections
import json
import os
import sys


def main() -> None:
    found: dict[str, collections.Counter[str]] = {}
    for result in json.load(sys.stdin)["results"]:
        of = found.setdefault(os.path.basename(result["suite"]), collections.Counter())
        if result["status"] in ("failed", "found") and result["severity"] != "note":
            of[f"{result['rule']} {result['severity']}"] += 1
        elif result["status"] == "not judged" and result["severity"] == "error":
            of[f"{result['rule']} not judged"] += 1
    for name, rules in sorted(found.items()):
        words = (f"{rule} {times}" if times > 1 else rule for rule, times in sorted(rules.items()))
        print(f"{name}: {', '.join(words) or 'nothing'}")


if __name__ == "__main__":
    main()
