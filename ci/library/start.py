"""Measures how long a new process takes until its first parser: start.py PROGRAM LIBRARY TEMPLATE.
PROGRAM is testdata/start.c. Prints a table of medians, and in brackets the least, in milliseconds:
other programs on the machine make the wall's time longer, and the least shows by how much."""

import os
import resource
import statistics
import subprocess
import sys
import time

RUNS = 21
REQUEST = {"messages": [{"role": "user", "content": "Hi"}]}


def processor():
    """Return the processor time of this process and of the children that have ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def python(template):
    """Print what this process takes to import the package, and from there to the first parser."""
    begun = time.perf_counter(), processor()
    import assay_chat

    loaded = time.perf_counter(), processor()
    with open(template, encoding="utf-8") as file:
        parser = assay_chat.Template(file.read()).prepare(REQUEST).parser()
    made = time.perf_counter()
    if not assay_chat.library():  # the child process counts once it has ended
        from assay_chat._process import shared

        shared.stop()
    used = processor()
    print(*((to - of) * 1e6 for of, to in zip(begun, loaded)),
          (made - loaded[0]) * 1e6, (used - loaded[1]) * 1e6)  # fmt: skip
    del parser


def measured(command, **environment):
    """Return the median and the least of each number that a command prints."""
    runs = []
    for _ in range(RUNS):
        done = subprocess.run(
            command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True
        )
        runs.append([float(n) / 1e3 for n in done.stdout.split()])
    return [(statistics.median(column), min(column)) for column in zip(*runs)]


def main():
    program, library, template = sys.argv[1:]
    python = [sys.executable, __file__, template]
    print("| in a new process, ms | load | processor | first parser | processor |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, command, environment in (
        ("C: `dlopen`, compile, prepare, parser", [program, library, template], {}),
        ("Python: `import`, then the same in process", python, {"ASSAY_LIBRARY": library}),
        ("Python: the same by the child process", python, {"ASSAY_LIBRARY": ""}),
    ):
        cells = (f"{m:.1f} ({least:.1f})" for m, least in measured(command, **environment))
        print(f"| {name} |", " | ".join(cells), "|")


if len(sys.argv) == 2:
    python(sys.argv[1])
else:
    main()
