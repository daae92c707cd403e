"""Tests what a chat template really does, and reads its model's outputs.

A template is given as a path (a Jinja file, a tokenizer_config.json, a model folder, a GGUF file)
or as a :class:`Template` made of its text. Requests and messages are those of OpenAI's chat API, as
dicts.

    >>> import assay_chat
    >>> assay_chat.check("chat_template.jinja").ok
    True

"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Union

from assay_chat._errors import AssayError, binary
from assay_chat._library import LibraryPlan, LibraryReader, format_of, loaded
from assay_chat._library import write_many as written
from assay_chat._process import ProcessPlan, ProcessReader, folder_of, run, shared

__all__ = [
    "Analysis",
    "Answer",
    "AssayError",
    "Check",
    "Difference",
    "Finding",
    "Fix",
    "Parser",
    "Patch",
    "Plan",
    "Prompt",
    "Rule",
    "Segment",
    "Template",
    "Training",
    "Trigger",
    "Vocabulary",
    "analyze",
    "binary",
    "check",
    "diff",
    "emit",
    "explain",
    "find",
    "fix",
    "library",
    "render",
    "train",
    "write_many",
]

Reason = Literal["stop", "length", "content_filter"]
"""Why an output ended."""

Incomplete = Literal["keep", "drop", "text"]
"""What becomes of a call that breaks off."""

Language = Literal["lazy-gbnf", "gbnf", "ebnf", "lark", "structural-tag"]
"""A language of grammars."""

Target = Literal[
    "format", "response-template", "capabilities", "structural-tag", "lark", "ebnf", "gbnf"
]
"""What :func:`emit` writes."""

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
class Patch:
    """An edit of a template that mends a fault and is proven to change nothing else."""

    kind: str
    rules: list[str]
    """The ids of the rules that find nothing any more."""
    diff: str


@dataclass(frozen=True)
class Fix:
    """The patches of a template."""

    ok: bool
    """Whether nothing is left that a patch should mend."""
    patches: list[Patch]
    left: list[dict[str, Any]]
    """Faults that cannot be mended, with the reasons."""


@dataclass(frozen=True)
class Training:
    """A template with the tags of training."""

    status: str
    """``placed``, or why they are not."""
    tagged: bool
    """Whether the template has the tags already."""
    diff: str
    """The edit that puts them in."""
    untagged: list[Any]
    """Places of text that the model writes and that has no tags."""


@dataclass(frozen=True)
class Rule:
    """A rule of the checks."""

    id: str
    name: str
    severity: str
    text: str
    damage: str
    fix: str


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
class Trigger:
    """A text of an output from which a lazy grammar constrains it."""

    text: str
    pattern: bool
    """Whether the text is a regular expression."""
    call: bool
    """Whether a call begins there."""


@dataclass(frozen=True)
class Segment:
    """A part of a prompt, in bytes, and whose it is."""

    offset: int
    size: int
    own: bool
    """Whether it is the template's own text."""
    path: str = ""
    """Of the request, such as ``messages[1].content``."""
    role: str = ""
    turn: int | None = None
    """The number of its message; None where it is of none."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a tokenizer: the texts of its files. With them a parser takes tokens by their
    ids, and a marker that is a token is that token alone."""

    tokenizer: str = field(repr=False)
    """Of ``tokenizer.json``."""
    tokenizer_config: str = field(default="", repr=False)
    generation_config: str = field(default="", repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Return the vocabulary of a model folder, or of a ``tokenizer.json``."""
        place = Path(path)
        file = place / "tokenizer.json" if place.is_dir() else place
        beside = {
            name: (file.with_name(name + ".json").read_text(encoding="utf-8"))
            for name in ("tokenizer_config", "generation_config")
            if file.with_name(name + ".json").exists()
        }
        return cls(file.read_text(encoding="utf-8"), **beside)

    @classmethod
    def of_tokenizer(cls, tokenizer: Any) -> Vocabulary:
        """Return the vocabulary of a fast tokenizer of transformers."""
        return cls(tokenizer.backend_tokenizer.to_str())


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
    vocabulary: Vocabulary | None = None

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, vocabulary: Vocabulary | None = None
    ) -> Template:
        """Return the template of a file or a model folder; of several the one for requests with
        tools. What cannot be read raises an :class:`AssayError` of the kind ``template``."""
        file = os.fspath(path)
        found = shared.ask("source", template={"file": shared.path(file)})
        known = not found["stand_ins"]
        return cls(
            text=found["text"],
            name=found["name"],
            bos=found["bos"] if known else None,
            eos=found["eos"] if known else None,
            file=file,
            vocabulary=vocabulary,
        )

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, *, vocabulary: Vocabulary | None = None) -> Template:
        """Return the template of a tokenizer of transformers, for requests with tools."""
        text = tokenizer.get_chat_template(tools=[{"type": "function", "function": {"name": "f"}}])
        return cls(
            text,
            str(tokenizer.name_or_path or "tokenizer"),
            tokenizer.bos_token or "",
            tokenizer.eos_token or "",
            vocabulary=vocabulary,
        )

    def _reference(self) -> dict[str, Any]:
        if self.file is not None:
            reference: dict[str, Any] = {"file": shared.path(self.file)}
        else:
            reference = {"text": self.text, "name": self.name}
        if self.vocabulary is not None:
            reference["tokenizer"] = folder_of(self.vocabulary)
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

    def format(self) -> dict[str, Any]:
        """Return the output format as JSON; docs/reference/format.md has its members."""
        library = loaded()
        text = emit("format", self) if library is None else format_of(library, self)
        found: dict[str, Any] = json.loads(text)
        return found

    def prepare(
        self,
        request: Mapping[str, Any],
        *,
        fallbacks: Sequence[str] = (),
        insist: bool = False,
        tolerances: Mapping[str, bool] | None = None,
        incomplete: Incomplete = "keep",
        prefill: str | None = None,
    ) -> Plan:
        """Render a request, and return what a server needs to have a model answer it. The tools
        decide which text is a call.

        A template whose spelling of calls is not proven raises an :class:`AssayError` of the kind
        ``unverified``, unless fallback spellings are named or ``insist`` is set. ``tolerances``
        switches some on or off by name; ``incomplete`` is the policy for calls that break off.

        ``prefill`` is for a prompt that somebody else has rendered: its text after the header of
        the answer. Nothing is rendered then, and the plan has no prompt."""
        options = {
            "fallbacks": list(fallbacks) or None,
            "insist": insist or None,
            "tolerances": dict(tolerances or {}) or None,
            "incomplete": incomplete,
            "prefill": prefill,
        }
        given = {name: value for name, value in options.items() if value is not None}
        if (library := loaded()) is not None:
            return Plan(LibraryPlan(library, self, json.dumps(request), json.dumps(given)))
        return Plan(ProcessPlan(self._reference(), request, given))

    def parser(self, request: Mapping[str, Any] | None = None, **options: Any) -> Parser:
        """Return a parser for the answer to a request; :meth:`prepare` has the options. Without a
        request it is the answer to the battery's one with tools."""
        return self.prepare(_usual() if request is None else request, **options).parser()

    def parse(
        self, output: str, request: Mapping[str, Any] | None = None, reason: Reason = "stop"
    ) -> Answer:
        """Parse a whole output."""
        parser = self.parser(request)
        first = parser.write(output)
        answer = parser.close(reason)
        return replace(answer, deltas=first + answer.deltas)


@lru_cache(maxsize=1)
def _usual() -> dict[str, Any]:
    """Return the battery's request with tools."""
    battery = shared.ask("conversations", template={"text": "{{ messages }}"})
    found: dict[str, Any] = next(c["request"] for c in battery if c["name"] == "tools")
    return found


AnyTemplate = Union[str, "os.PathLike[str]", Template]
"""A path, or a template."""


class Plan:
    """A request that is ready for a model. ``Template.prepare`` makes one; it makes any number of
    parsers."""

    def __init__(self, plan: LibraryPlan | ProcessPlan) -> None:
        self._plan = plan
        told = plan.told
        self.prompt: str = told["prompt"]
        """The rendered request."""
        self.prefill: str = told["prefill"]
        """The start of the model's own text, at the prompt's end."""
        self.stops: list[str] = told["stops"] or []
        """Texts that end the turn."""
        self.preserved: list[str] = told["preserved"] or []
        """Texts that a tokenizer must not cut, and must give back as text."""
        self.lazy: bool = told["lazy"]
        """Whether a grammar waits for a trigger."""
        self.triggers = [Trigger(**trigger) for trigger in told["triggers"] or []]
        self.fitted: list[str] = told["fitted"] or []
        """How the request was changed to suit the template."""

    def parser(self) -> Parser:
        """Return a parser for one answer."""
        return Parser(self, self._plan.reader())

    def grammar(self, language: Language = "lazy-gbnf") -> str:
        """Return the grammar of the answers. ``lazy-gbnf`` is llama.cpp's from a trigger on; the
        others are of whole answers: ``gbnf``, ``ebnf`` and ``structural-tag`` for xgrammar,
        ``lark`` for llguidance."""
        return self._plan.grammar(language)

    def segments(self) -> list[Segment]:
        """Return whose text each part of the prompt is, in order and without gaps."""
        return [Segment(**segment) for segment in self._plan.segments()]


class Parser:
    """Reads one output, piece by piece, as it streams. ``Plan.parser`` makes one."""

    def __init__(self, plan: Plan, reader: LibraryReader | ProcessReader) -> None:
        self.plan, self._reader, self._write = plan, reader, reader.write

    @property
    def prompt(self) -> str:
        """The rendered request."""
        return self.plan.prompt

    @property
    def prefill(self) -> str:
        """The start of the model's own text."""
        return self.plan.prefill

    @property
    def stops(self) -> list[str]:
        """Texts that end the turn."""
        return self.plan.stops

    @property
    def held(self) -> int:
        """Bytes that were read and are in no delta yet."""
        return self._reader.held()

    def write(self, piece: str | bytes) -> list[Delta]:
        """Read more of the output and return its addition to the message. Bytes may end inside a
        character; deltas never do."""
        return self._write(piece.encode() if isinstance(piece, str) else piece)

    def write_tokens(self, ids: Sequence[int]) -> list[Delta]:
        """Read more of the output as tokens of the template's vocabulary."""
        return self._reader.write_tokens(ids)

    def close(self, reason: Reason = "stop") -> Answer:
        """End the output and return the message. ``length`` means that a limit cut the output off."""
        told = self._reader.finish(reason)
        return Answer(
            told["message"],
            told["finish_reason"],
            told["complete"],
            told["diagnostics"],
            told["deltas"],
        )

    def deltas(self, pieces: Iterable[str | bytes], reason: Reason = "stop") -> Iterator[Delta]:
        """Yield the deltas of an output as its pieces come, those of its end included."""
        for piece in pieces:
            yield from self.write(piece)
        yield from self.close(reason).deltas


def write_many(
    parsers: Sequence[Parser], pieces: Sequence[str | bytes | Sequence[int]]
) -> list[list[Delta] | AssayError]:
    """Write a piece, or token ids, to each of some parsers: one call of the library for all. Where
    a piece cannot be read its result is the error; the others are read all the same."""
    if len(parsers) != len(pieces):
        raise AssayError("request", f"there are {len(parsers)} parsers and {len(pieces)} pieces")
    raw = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    readers = [parser._reader for parser in parsers]
    inside = [reader for reader in readers if isinstance(reader, LibraryReader)]
    if inside and len(inside) == len(readers):
        return written(inside, raw)
    results: list[list[Delta] | AssayError] = []
    for reader, piece in zip(readers, raw):
        try:
            if isinstance(piece, bytes):
                results.append(reader.write(piece))
            else:
                results.append(reader.write_tokens(piece))
        except AssayError as error:
            results.append(error)
    return results


def _reference(template: AnyTemplate) -> dict[str, Any]:
    return (
        template._reference() if isinstance(template, Template) else {"file": shared.path(template)}
    )


def library() -> str | None:
    """Return the path of the library that reads outputs in this process; None where this platform
    has none, and a child process reads them. The variable ASSAY_LIBRARY names one, or none where it
    is empty."""
    found = loaded()
    return None if found is None else found.path


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
    return shared.ask("find", dir=shared.path(folder))["files"] or []


@contextmanager
def _on_disk(template: AnyTemplate) -> Iterator[str]:
    """Yield the path of a template. One without a file lies in a folder of its own for a while,
    with its tokens beside it."""
    if not isinstance(template, Template):
        yield os.fspath(template)
        return
    if template.file is not None:
        yield template.file
        return
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder, "chat_template.jinja")
        path.write_text(template.text, encoding="utf-8", newline="")
        tokens = {"bos_token": template.bos, "eos_token": template.eos}
        Path(folder, "tokenizer_config.json").write_text(
            json.dumps({name: text for name, text in tokens.items() if text is not None}),
            encoding="utf-8",
        )
        yield str(path)


def _command(name: str, *arguments: str) -> tuple[int, str]:
    """Run a command, and return its exit status, 0 or 1, and its output."""
    status, printed, told = run(name, *arguments)
    if status > 1 or status == 1 and not printed:
        raise AssayError("request" if status == 2 else "template", told.strip())
    return status, printed


def fix(template: AnyTemplate) -> Fix:
    """Mend the faults of a template that need no judgement, as far as that is proven."""
    with _on_disk(template) as path:
        status, printed = _command("fix", "--json", path)
    told = json.loads(printed)[0]
    return Fix(
        status == 0,
        [Patch(patch["kind"], patch["gone"] or [], patch["diff"]) for patch in told["patches"]],
        told["left"] or [],
    )


def train(template: AnyTemplate) -> Training:
    """Tag the text of a template that the model has to write, for training."""
    with _on_disk(template) as path:
        _, printed = _command("train", "--json", path)
    told = json.loads(printed)
    return Training(told["status"], told["tagged"], told.get("diff", ""), told["untagged"] or [])


def emit(target: Target, template: AnyTemplate, request: Mapping[str, Any] | None = None) -> str:
    """Write a template's output format, or the grammar of the answers to a request, for another
    engine."""
    arguments: list[str] = [target]
    with _on_disk(template) as path, tempfile.TemporaryDirectory(prefix="assay-") as folder:
        if request is not None:
            file = Path(folder, "request.json")
            file.write_text(json.dumps(request), encoding="utf-8")
            arguments += ["--request", str(file)]
        return _command("emit", *arguments, path)[1]


def explain(rule: str) -> Rule:
    """Return the page of a rule, named by its id or its name."""
    told = json.loads(_command("explain", "--json", rule)[1])
    if isinstance(told, list):
        raise AssayError("request", f"there is no rule {rule!r}; {len(told)} have the word")
    return Rule(
        told["id"], told["name"], told["severity"], told["short"], told["damage"], told["fix"]
    )
