#!/usr/bin/env python3
"""Compares the cases of two revisions of the corpus: OLD NEW REASONS, two folders and a list.

A case says: this template, this request, this command, this output, this expectation. Each such
tuple of OLD must be one of NEW. One that is not stands in REASONS, under its reason, as FAMILY/CASE
COMMAND; a line that is not needed is an error as well. Names of cases, and the form of JSON, are no
part of a tuple.
"""

import pathlib
import sys

import corpus


def ordered(text):
    """A JSON text in one form: members in their order, numbers with their digits."""
    try:
        return corpus.write(corpus.read(text))
    except ValueError:
        return text


def message(text):
    """A message in one form: arguments are the JSON that a string of them holds."""
    try:
        value = corpus.read(text)
    except ValueError:
        return text
    value.pop("role", None)
    for call in value.get("tool_calls", []):
        function = call.get("function", call)
        if type(function.get("arguments")) is str:
            function["arguments"] = ordered(function["arguments"])
        else:
            function["arguments"] = corpus.write(function["arguments"])
    return corpus.write(dict(sorted(value.items())))


def request(text):
    """A request in one form: the order of its members means nothing."""
    return corpus.write(dict(sorted(corpus.read(text).items())))


def tuples(case):
    """The tuples of a case, each with the command that it is named by."""
    asked, answered = "", ""
    for line in case.commands:
        negated = line.startswith("! ")
        command, *args = line.removeprefix("! ").split()
        files = [case.files[a].removesuffix("\n") for a in args if a in case.files]
        if command == "request":
            asked = request(files[0])
        elif command in ("caps", "gate"):
            for arg in args or [""]:
                yield command, (case.family, "", command, negated, arg)
        elif command in ("parse", "stream"):
            answered = files[0]
            yield (
                command,
                (case.family, asked, command, "-cut" in args, answered, message(files[1])),
            )
        elif command == "finish":
            yield command, (case.family, asked, command, answered, args[0])
        elif command == "roundtrip":
            yield command, (case.family, asked, command, message(files[0]))
        elif command != "template":
            yield command, (case.family, asked, command, negated, *files)


def reasons(path):
    """The tuples that may be missing: lines with a tab, under their reasons."""
    listed, reason = {}, ""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            listed[line.strip()] = reason
        elif line and not line.startswith("#"):
            reason = line
    return listed


def main():
    old, new, listed = sys.argv[1:]
    have = {found for case in corpus.Corpus(new).cases() for _, found in tuples(case)}
    listed, total, missing, failed = reasons(listed), 0, set(), 0
    for case in corpus.Corpus(old).cases():
        for command, wanted in tuples(case):
            total += 1
            if wanted in have:
                continue
            name = f"{case.family}/{case.name} {command}"
            missing.add(name)
            if name not in listed:
                failed += 1
                print(f"missing: {name}")
    for name in sorted(set(listed) - missing):
        failed += 1
        print(f"listed, and not missing: {name}")
    print(f"{total} tuples, {len(missing)} of them missing with a reason")
    sys.exit(1 if failed or not total else 0)


if __name__ == "__main__":
    main()
