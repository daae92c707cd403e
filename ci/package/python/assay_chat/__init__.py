"""Tests what a chat template really does, and reads its model's outputs.

A template is given as a path (a Jinja file, a tokenizer_config.json, a model folder, a GGUF file)
or as a :class:`Template` made of its text. Requests and messages are those of OpenAI's chat API, as
dicts.

    >>> import assay_chat
    >>> assay_chat.check("chat_template.jinja").ok
    True

"""

from __future__ import annotations

import base64
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from assay_chat._process import AssayError, Process, binary, shared

__all__ = [
    "Analysis",
    "Answer",
    "AssayError",
    "Check",
    "Difference",
    "Finding",
    "Parser",
    "Prompt",
    "Template",
    "analyze",
    "binary",
    "check",
    "diff",
    "find",
    "render",
]

Reason = Literal["stop", "length", "content_filter"]
"""Why an output ended."""

Delta = dict[str, Any]
"""The addition of a piece of an output to the message, in OpenAI's shape."""


@dataclass(frozen=True)
class Finding:
    """Something that a rule has found."""

    rule: str
    """The id, such as A012; ``assay explain A012`` explains it."""
    name: str
    severity: Literal["error", "warning", "note"]
    text: str
    """The fault, in a line; further lines are evidence."""
    place: str
    """``file:line:column``, as far as it is known."""
    excerpt: str
    """The line of the template with a caret below the place."""

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        lines = [f"{place}{self.severity}: {self.text} [{self.rule}]"]
        return "\n".join(lines + ["    " + line for line in self.excerpt.splitlines()])


@dataclass(frozen=True)
class Check:
    """The result of checking a template."""

    ok: bool
    """Whether no finding is an error."""
    findings: list[Finding]
    """The worst first."""
    passed: int
    """How many checks found nothing."""
    tool_capable: bool
    """Whether each template describes tools and replays calls."""

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [finding for finding in self.findings if finding.severity == "error"]

    def __str__(self) -> str:
        return "\n".join(
            [*map(str, self.findings), f"{self.passed} passed, {len(self.errors)} failed"]
        )


@dataclass(frozen=True)
class Difference:
    """The effect of an edit of a template."""

    kind: str
    """``identical``, ``white space``, ``not observable``, ``safe``, ``risky`` or ``breaking``;
    ``not compared`` where the limits ended the look at one of the two."""
    changes: list[Finding]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.changes), self.kind])


@dataclass(frozen=True)
class Prompt:
    """A rendered request."""

    text: str
    prefill: str | None
    """The start of the model's own text, at the prompt's end; None where it cannot be told."""
    fitted: list[str]
    """How the request was changed to suit the template."""
    spans: list[dict[str, Any]] = field(repr=False, default_factory=list)
    """Whose text each byte of the prompt is: start, end, who and path."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Analysis:
    """The output format that a template shows."""

    capabilities: dict[str, bool]
    format: str
    """Lines of the form ``field: value``."""
    verified: bool
    """Whether the format is proven by round trip."""
    gate: str
    """The gate's verdict in words."""
    evidence: list[str] = field(repr=False, default_factory=list)


@dataclass(frozen=True)
class Answer:
    """An output as a message."""

    message: dict[str, Any]
    """``role``, ``content``, ``reasoning_content`` and ``tool_calls``, in OpenAI's shape."""
    finish_reason: str
    complete: list[bool]
    """Of each call whether it is complete."""
    diagnostics: list[dict[str, Any]]
    """The oddities of the output."""
    deltas: list[Delta] = field(repr=False, default_factory=list)
    """The deltas that the end of the output added."""

    @property
    def content(self) -> str:
        """The text of the answer."""
        return self.message.get("content") or ""

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls, each with ``function``: ``name`` and ``arguments``, a text of JSON."""
        return self.message.get("tool_calls") or []


@dataclass(frozen=True)
class Template:
    """A chat template. It is compiled once, however often it is used.

    Without the texts of the tokens, stand-ins are used: give ``bos`` and ``eos`` where the template
    writes them."""

    text: str
    name: str = "template.jinja"
    bos: str | None = None
    eos: str | None = None
    file: str | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Template:
        """Return the template of a file or a model folder; of several the one for requests with
        tools."""
        return cls(text="", name=os.fspath(path), file=os.fspath(path))

    @classmethod
    def of_tokenizer(cls, tokenizer: Any) -> Template:
        """Return the template of a tokenizer of transformers, for requests with tools."""
        text = tokenizer.get_chat_template(tools=[{"type": "function", "function": {"name": "f"}}])
        return cls(
            text,
            str(tokenizer.name_or_path or "tokenizer"),
            tokenizer.bos_token or "",
            tokenizer.eos_token or "",
        )

    def _reference(self) -> dict[str, Any]:
        if self.file is not None:
            reference: dict[str, Any] = {"file": self.file}
        else:
            reference = {"text": self.text, "name": self.name}
        return reference | {
            name: text for name, text in (("bos", self.bos), ("eos", self.eos)) if text is not None
        }

    def check(self, *, only: Sequence[str] | None = None, untrusted: bool = False) -> Check:
        """Run the checks; see :func:`check`."""
        return check(self, only=only, untrusted=untrusted)

    def render(self, request: Mapping[str, Any]) -> Prompt:
        """Render a request; see :func:`render`."""
        return render(self, request)

    def analyze(self) -> Analysis:
        """Return the output format; see :func:`analyze`."""
        return analyze(self)

    def parser(
        self,
        request: Mapping[str, Any] | None = None,
        *,
        fallbacks: Sequence[str] = (),
        insist: bool = False,
        tolerances: Mapping[str, bool] | None = None,
        incomplete: Literal["keep", "drop", "text"] = "keep",
    ) -> Parser:
        """Return a parser for the answer to a request. The tools decide which text is a call.

        A template whose spelling of calls is not proven raises an :class:`AssayError` of the kind
        ``unverified``, unless fallback spellings are named or ``insist`` is set. ``tolerances``
        switches some on or off by name; ``incomplete`` is the policy for calls that break off."""
        fields = {
            "request": request,
            "fallbacks": list(fallbacks) or None,
            "insist": insist or None,
            "tolerances": dict(tolerances or {}) or None,
            "incomplete": incomplete,
        }
        return Parser(shared, self._reference(), fields)

    def parse(
        self, output: str, request: Mapping[str, Any] | None = None, reason: Reason = "stop"
    ) -> Answer:
        """Parse a whole output."""
        parser = self.parser(request)
        parser.write(output)
        return parser.close(reason)


AnyTemplate = Union[str, "os.PathLike[str]", Template]
"""A path, or a template."""


class Parser:
    """Reads one output, piece by piece, as it streams. ``Template.parser`` makes one."""

    def __init__(self, process: Process, template: dict[str, Any], fields: dict[str, Any]) -> None:
        opened = process.ask("parser", template=template, **fields)
        self._process, self._number, self._generation = (
            process,
            opened["parser"],
            process.generation,
        )
        self._closed = False
        self.prompt: str = opened["prompt"]
        """The rendered request."""
        self.prefill: str = opened["prefill"]
        self.stops: list[str] = opened["stops"] or []
        """Texts that end the turn."""
        self.held = 0
        """Bytes that were read and are in no delta yet."""
        self._drop = weakref.finalize(self, _drop, process, self._number, process.generation)

    def _ask(self, op: str, **fields: Any) -> Any:
        if self._closed:
            raise AssayError("request", "the parser is closed")
        if self._process.generation != self._generation:
            raise AssayError("internal", "the process that had the parser has ended")
        return self._process.ask(op, parser=self._number, **fields)

    def write(self, piece: str | bytes) -> list[Delta]:
        """Read more of the output and return its addition to the message. Bytes may end inside a
        character; deltas never do."""
        if isinstance(piece, bytes):
            answer = self._ask("write", bytes=base64.b64encode(piece).decode())
        else:
            answer = self._ask("write", text=piece)
        self.held = answer["held"]
        deltas: list[Delta] = answer["deltas"]
        return deltas

    def close(self, reason: Reason = "stop") -> Answer:
        """End the output and return the message. ``length`` means that a limit cut the output off."""
        answer = self._ask("close", reason=reason)
        self._closed = True
        self._drop.detach()
        return Answer(
            answer["message"],
            answer["finish_reason"],
            answer["complete"],
            answer["diagnostics"],
            answer["deltas"],
        )

    def deltas(self, pieces: Iterable[str | bytes], reason: Reason = "stop") -> Iterator[Delta]:
        """Yield the deltas of an output as its pieces come, those of its end included."""
        for piece in pieces:
            yield from self.write(piece)
        yield from self.close(reason).deltas


def _drop(process: Process, number: int, generation: int) -> None:
    """Forget a parser that was never closed."""
    if process.generation == generation and process._process is not None:
        try:
            process.ask("drop", parser=number)
        except AssayError:
            pass


def _reference(template: AnyTemplate) -> dict[str, Any]:
    return (
        template._reference() if isinstance(template, Template) else {"file": os.fspath(template)}
    )


def _finding(result: Mapping[str, Any]) -> Finding:
    place = result["place"]
    parts = [place.get("file", ""), place.get("line"), place.get("col")]
    return Finding(
        rule=result.get("rule", ""),
        name=result["name"],
        severity="error" if result["status"] == "failed" else result["severity"],
        text=result.get("text", ""),
        place=":".join(str(part) for part in parts if part),
        excerpt=place.get("excerpt", ""),
    )


def check(
    template: AnyTemplate, *, only: Sequence[str] | None = None, untrusted: bool = False
) -> Check:
    """Run the checks on a template, or on all templates of a file.

    ``only`` names the rules to run, by their ids. ``untrusted`` sets tight limits and lets nothing
    in the template suppress a rule, for templates of strangers."""
    answer = shared.ask(
        "check",
        template=_reference(template),
        only=None if only is None else list(only),
        untrusted=untrusted or None,
    )
    return Check(
        answer["ok"],
        [_finding(result) for result in answer["findings"]],
        answer["passed"],
        all(told["tool_capable"] for told in answer["templates"]),
    )


def diff(was: AnyTemplate, now: AnyTemplate) -> Difference:
    """Compare the behaviour of two revisions of a template."""
    answer = shared.ask("diff", was=_reference(was), **{"is": _reference(now)})
    return Difference(answer["class"], [_finding(result) for result in answer["changes"]])


def render(template: AnyTemplate, request: Mapping[str, Any]) -> Prompt:
    """Render a request, fitted to the template as an inference server fits it."""
    answer = shared.ask("render", template=_reference(template), request=request)
    return Prompt(answer["prompt"], answer["prefill"], answer["fitted"], answer["spans"])


def analyze(template: AnyTemplate) -> Analysis:
    """Return the output format that a template shows, and its capabilities."""
    reference = _reference(template)
    answer, proven = (
        shared.ask("analyze", template=reference),
        shared.ask("verify", template=reference),
    )
    return Analysis(
        answer["caps"], answer["format"], proven["verified"], proven["gate"], answer["evidence"]
    )


def find(folder: str | os.PathLike[str]) -> list[str]:
    """Return the paths of the templates below a folder: Jinja files, model folders, GGUF files."""
    return shared.ask("find", dir=os.fspath(folder))["files"] or []
