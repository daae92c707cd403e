"""Reads vectors of the kind jinja, renders each with jinja2 set up as Hugging Face transformers does, and compares.

The set-up is that of transformers/utils/chat_template_utils.py: an immutable sandbox, trim_blocks, lstrip_blocks,
loop controls, the generation block, and tojson without HTML escapes.
"""

import datetime
import json
import sys

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(Extension):
    """{% generation %} marks what an assistant wrote; for rendering it is a block like any other."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def main():
    env, templates, total, failed = environment(), {}, 0, 0
    for line in sys.stdin:
        vector = json.loads(line)
        total += 1
        source = vector["template"]
        if source not in templates:
            templates[source] = env.from_string(source)
        try:
            text = templates[source].render(vector["vars"])
        except Exception as error:  # whatever it raises, the prompt is not what ours is
            text = f"{type(error).__name__}: {error}"
        if text != vector["want"]:
            failed += 1
            at = next((i for i, (a, b) in enumerate(zip(text, vector["want"])) if a != b), min(len(text), len(vector["want"])))
            print(f"FAIL {vector['id']} at character {at}")
            print(f"  jinja2 {text[max(0, at - 30):at + 60]!r}")
            print(f"  ours   {vector['want'][max(0, at - 30):at + 60]!r}")
    print(f"{total - failed} prompts as jinja2 {jinja2.__version__} renders them, {failed} not")
    sys.exit(1 if failed or not total else 0)


main()
