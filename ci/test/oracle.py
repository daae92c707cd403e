"""Renders prompts with jinja2 set up as Hugging Face transformers does, and compares them with
ours.

The prompts are the vectors of the kind jinja on the standard input, and the prompt goldens in the
scripts of the corpus whose folder is the argument; there, calls carry their arguments as objects,
or as text where a template takes no objects, and a template that demands the variable functions
gets the functions as JSON text. Reasoning that a template leaves out is put into blocks of the
content.

The set-up is that of transformers/utils/chat_template_utils.py: an immutable sandbox, trim_blocks,
lstrip_blocks, loop controls, the generation block, and tojson without HTML escapes.
"""

import datetime
import json
import pathlib
import sys

import corpus
import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(Extension):
    """{% generation %} marks an assistant's text; for rendering it is a block like any other."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


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


def variables(request, as_object):
    """A request as a template sees it, as package chattemplate gives it."""
    request = json.loads(request)
    for message in request["messages"]:
        for call in message.get("tool_calls") or []:
            if as_object and isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    given = {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"}
    names = ("messages", "tools", "add_generation_prompt", "enable_thinking")
    given.update({name: request[name] for name in names if name in request})
    return given | (request.get("chat_template_kwargs") or {})


def thoughts(given):
    """The reasoning of past answers."""
    texts = (message.get("reasoning_content") for message in given["messages"])
    return [text for text in texts if text]


def in_blocks(given):
    """The variables with answers as objects of blocks, where some templates read thoughts."""
    messages = []
    for message in given["messages"]:
        if message["role"] == "assistant" and isinstance(message.get("content") or "", str):
            message = dict(message)
            thought = message.pop("reasoning_content", None)
            blocks = [{"type": "thoughts", "text": thought}] if thought else []
            blocks.append({"type": "response", "text": message.get("content") or ""})
            message["content"] = {"blocks": blocks}
        messages.append(message)
    return given | {"messages": messages}


class Comparison:
    """Renders prompts, each template compiled once, and counts those that differ."""

    def __init__(self):
        self.env, self.templates, self.total, self.failed = environment(), {}, 0, 0

    def render(self, source, given):
        if source not in self.templates:
            self.templates[source] = self.env.from_string(source)
        return self.templates[source].render(given)

    def compare(self, name, text, ours):
        self.total += 1
        if text == ours:
            return
        self.failed += 1
        at = next(
            (i for i, (a, b) in enumerate(zip(text, ours)) if a != b), min(len(text), len(ours))
        )
        print(f"FAIL {name} at character {at}")
        print(f"  jinja2 {text[max(0, at - 30) : at + 60]!r}")
        print(f"  ours   {ours[max(0, at - 30) : at + 60]!r}")

    def vector(self, vector):
        try:
            text = self.render(vector["template"], vector["vars"])
        except Exception as error:  # whatever it raises, the prompt is not ours
            text = f"{type(error).__name__}: {error}"
        self.compare(vector["id"], text, vector["want"])

    def case(self, root, case):
        named = dict(
            line.split(" ")[:2]
            for line in case.commands
            if line.startswith(("prompt ", "request "))
        )
        if "prompt" not in named or "request" not in named:
            return
        source = (root / case.family / "template.jinja").read_text(encoding="utf-8")
        request = case.files[named["request"]]
        given = variables(request, as_object=True)
        functions = {"functions": tojson([tool["function"] for tool in given.get("tools", [])])}
        attempts = [given, variables(request, as_object=False), given | functions]
        for attempt in attempts:
            try:
                text = self.render(source, attempt)
                break
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
        if any(thought not in text for thought in thoughts(given)):
            try:
                blocks = self.render(source, in_blocks(given))
                if all(thought in blocks for thought in thoughts(given)):
                    text = blocks
            except Exception:  # the template has no such blocks
                pass
        self.compare(
            f"{case.family}/{case.name}", text, case.files[named["prompt"]].removesuffix("\n")
        )


def main():
    comparison = Comparison()
    for line in sys.stdin:
        comparison.vector(json.loads(line))
    for folder in sys.argv[1:]:
        for case in corpus.Corpus(folder).cases():
            comparison.case(pathlib.Path(folder), case)
    total, failed = comparison.total, comparison.failed
    print(f"{total - failed} prompts as jinja2 {jinja2.__version__} renders them, {failed} not")
    sys.exit(1 if failed or not total else 0)


if __name__ == "__main__":
    main()
