"""Measures what the Python package takes for a piece of four bytes, at 8,192 pieces: the best of 15
runs, in microseconds of processor time."""

import sys
import time

import assay_chat

PIECES = 8192


def measure(write):
    best = float("inf")
    for _ in range(15):
        begun = time.process_time()
        write()
        best = min(best, time.process_time() - begun)
    return best / PIECES * 1e6


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = assay_chat.Template(file.read()).prepare(
            {"messages": [{"role": "user", "content": "Hi"}]}
        )

    def each(piece):
        parser = plan.parser()

        def write():
            for _ in range(PIECES):
                parser.write(piece)

        return measure(write)

    def many(count):
        parsers, pieces = [plan.parser() for _ in range(count)], [b"word"] * count

        def write():
            for _ in range(PIECES // count):
                assay_chat.write_many(parsers, pieces)

        return measure(write)

    print(
        f"python: a piece with its delta {each(b'word'):.2f} us, one without {each(b''):.2f} us, "
        f"one of 200 streams in a call {many(200):.2f} us"
    )


main()
