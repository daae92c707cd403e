"""A function-call parser and a reasoning parser for SGLang, both by the template that serves.

    python -m sglang.launch_server --model-path MODEL \\
        --tool-call-parser assay --reasoning-parser assay

SGLang finds the parsers by the package's entry point of the group sglang.srt.plugins. The
environment says what SGLang tells no parser (:mod:`assay_chat._serving`).

The parsers stand where SGLang has those of checkpoints that bring a ``response_template``: these are
given the rendered prompt and the tools. SGLang hands the output to the reasoning parser first, and
the tool parser gets what that passes on. Where both are ours the whole text is passed on, and each
takes its part of the answer from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sglang.srt.function_call import parser_names
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser import reasoning_parser_names
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult
from sglang.srt.parser.response_template import (
    GRAMMAR_FROM_START,
    ResponseTemplateReasoningDetector,
    ResponseTemplateToolDetector,
)
from sglang.srt.runtime_context import get_serving
from xgrammar import StructuralTag

from assay_chat import Delta, Parser
from assay_chat._serving import begun, choice_of, model_plan, request_of, served, tool_of

NAME = "assay"


class _Whole(str):
    """A text of which the reasoning parser has taken the reasoning, and which still has it."""


class _Content(str):
    """The content of an answer without calls."""


def _tools(tools: Iterable[Any] | None) -> dict[str, Any]:
    told = [tool_of(tool) for tool in tools or ()]
    return {"tools": told} if told else {}


def _joined(deltas: list[Delta], name: str) -> str:
    return "".join(delta.get(name, "") for delta in deltas)


class AssayReasoningDetector(ResponseTemplateReasoningDetector):
    """Reads reasoning as the template writes it."""

    def __init__(
        self,
        stream_reasoning: bool = True,
        tokenizer: Any = None,
        prefix: str = "",
        force_nonempty_content: bool = False,
        grammar_start: str | None = None,
        tools: Sequence[Any] | None = None,
        tool_call_parser_active: bool = False,
        **_: Any,
    ) -> None:
        if tokenizer is None:
            raise ValueError(f"the reasoning parser {NAME} needs the tokenizer")
        self.model = served(tokenizer)
        self.stream_reasoning, self.prompt = stream_reasoning, prefix
        self.passes_on = tool_call_parser_active
        self.never_empty = force_nonempty_content
        self.verbatim = grammar_start == GRAMMAR_FROM_START
        self.fields = _tools(tools) if tool_call_parser_active else {}
        self.parser: Parser | None = None
        self.waiting = ""  # reasoning that is told at its end
        # What SGLang asks of such a detector.
        self.think_start_token, self.think_end_token = self.model.opens, self.model.closes
        self.think_start_self_label, self.think_excluded_tokens = "", None
        self.message_start_think_openers = [self.model.opens] if self.model.opens else []
        self.answer_started = False

    def starts_message(self, prefix: str) -> bool:
        """Whether an answer after the prompt may do without reasoning: it is not begun there."""
        start, opens, closes = begun(self.model, prefix) or "", self.model.opens, self.model.closes
        return not opens or start.rfind(opens) <= start.rfind(closes)

    def answer_opener(self, prefix: str) -> str:
        return ""

    def json_output_started(self, text: str) -> bool:
        return self.verbatim or self.think_end_token in text

    def _parser(self) -> Parser:
        return model_plan(self.model, self.prompt, request_of({}, **self.fields)).parser()

    def detect_and_parse(self, text: str) -> ReasoningResult:
        if self.verbatim:
            return ReasoningResult(normal_text=text)
        parser = self._parser()
        parser.write(text)
        answer = parser.close()
        reasoning, content = answer.message.get("reasoning_content", ""), answer.content
        if self.passes_on and answer.tool_calls:
            return ReasoningResult(_Whole(text), reasoning)
        if self.never_empty and not content:
            reasoning, content = "", reasoning
        return ReasoningResult(_Content(content), reasoning)

    def parse_streaming_increment(self, new_text: str) -> ReasoningResult:
        if self.verbatim:
            return ReasoningResult(normal_text=new_text)
        if self.parser is None:
            self.parser = self._parser()
        return self._told(self.parser.write(new_text), new_text)

    def finish(self) -> ReasoningResult:
        if self.parser is None:
            return ReasoningResult()
        parser, self.parser = self.parser, None
        told = self._told(parser.close().deltas, "")
        told.reasoning_text, self.waiting = told.reasoning_text + self.waiting, ""
        return told

    def _told(self, deltas: list[Delta], piece: str) -> ReasoningResult:
        reasoning, content = _joined(deltas, "reasoning_content"), _joined(deltas, "content")
        if not self.stream_reasoning:
            self.waiting += reasoning
            ended = content or any("tool_calls" in delta for delta in deltas)
            reasoning, self.waiting = (self.waiting, "") if ended else ("", self.waiting)
        return ReasoningResult(_Whole(piece) if self.passes_on else content, reasoning)


class AssayToolDetector(ResponseTemplateToolDetector):
    """Reads calls as the template writes them."""

    def __init__(
        self,
        tokenizer: Any = None,
        prefix: str = "",
        tools: list[Any] | None = None,
        constrained: bool = False,
    ) -> None:
        BaseFormatDetector.__init__(self)
        if tokenizer is None:
            raise ValueError(f"the tool-call parser {NAME} needs the tokenizer")
        self.model = served(tokenizer)
        self.model.prove()
        self.prompt, self.tools = prefix, tools or []
        self.parser: Parser | None = None
        self.tool_close_literals: list[str] = []
        self.incomplete_tool_call_indices: set[int] = set()

    def _reading(self, text: str, tools: list[Any]) -> Parser:
        """Return a parser for a text: of a whole output, or of what a reasoning parser left."""
        fields = _tools(tools)
        if not isinstance(text, _Whole):
            fields["reasoning_format"] = "none"
            if get_serving().reasoning_parser not in (None, NAME):  # which has read the start
                return self.model.prepare(request_of({}, **fields), prefill="").parser()
        return model_plan(self.model, self.prompt, request_of({}, **fields)).parser()

    def _items(self, deltas: list[Delta]) -> list[ToolCallItem]:
        """Return the parts of calls. A part with a name begins one."""
        items = []
        for call in (call for delta in deltas for call in delta.get("tool_calls", ())):
            function = call["function"]
            name, arguments = function.get("name"), function.get("arguments", "")
            if name or arguments:
                items.append(
                    ToolCallItem(tool_index=call["index"], name=name, parameters=arguments)
                )
        return items

    def has_tool_call(self, text: str) -> bool:
        if not text or isinstance(text, _Content):
            return False
        # An output without calls may have markers, too, which detect_and_parse takes out.
        told = self.detect_and_parse(text, self.tools)
        return bool(told.calls) or told.normal_text != text

    def detect_and_parse(self, text: str, tools: list[Any]) -> StreamingParseResult:
        parser = self._reading(text, tools)
        parser.write(text)
        answer = parser.close()
        calls = [
            ToolCallItem(
                tool_index=i,
                name=call["function"]["name"],
                parameters=call["function"]["arguments"],
            )
            for i, call in enumerate(answer.tool_calls)
        ]
        return StreamingParseResult(normal_text=answer.content, calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> StreamingParseResult:
        if self.parser is None:
            if not new_text:
                return StreamingParseResult()
            self.parser = self._reading(new_text, tools)
        deltas = self.parser.write(new_text)
        return StreamingParseResult(
            normal_text=_joined(deltas, "content"), calls=self._items(deltas)
        )

    def finish(self, tools: list[Any]) -> StreamingParseResult:
        if self.parser is None:
            return StreamingParseResult()
        parser, self.parser = self.parser, None
        deltas = parser.close().deltas
        return StreamingParseResult(
            normal_text=_joined(deltas, "content"), calls=self._items(deltas)
        )

    # Constraints.

    def parses_required_natively(self) -> bool:
        return True

    def open_call_closer(self, text: str) -> str | None:
        return None

    def validate_structure_constraint_request(
        self,
        tool_choice: Any,
        parallel_tool_calls: bool,
        strict_requested: bool,
        *,
        tools: list[Any],
        thinking_mode: bool = False,
    ) -> Any:
        if tool_choice == "auto" and parallel_tool_calls and not strict_requested:
            return None
        return self.get_structural_tag(tools, tool_choice, thinking_mode, parallel_tool_calls)

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
        message_start: bool = False,
    ) -> Any:
        """Return the tag of the answers: from the end of reasoning on where a reasoning parser
        tells that, of the whole answer otherwise. A part addressed to somebody has none."""
        model, fields = self.model, _tools(tools)
        if not fields:
            return None
        fields["tool_choice"] = choice_of(tool_choice)
        if not parallel_tool_calls:
            fields["parallel_tool_calls"] = False
        prefill = ""
        if get_serving().reasoning_parser and not message_start and model.thinks:
            if model.routed:
                return None
            prefill = f"{model.opens}\n.\n{model.closes}"
        elif not get_serving().reasoning_parser:
            fields["reasoning_format"] = "none"
        plan = model.prepare(request_of({}, **fields), prefill=prefill)
        return StructuralTag.model_validate(json.loads(plan.grammar("structural-tag")))


def register() -> None:
    """Tell SGLang of the parsers. Its entry point calls this in each of its processes."""
    FunctionCallParser.ToolCallParserEnum[NAME] = AssayToolDetector
    ReasoningParser.DetectorMap[NAME] = AssayReasoningDetector
    for names in (
        parser_names.TOOL_CALL_PARSER_NAMES,
        reasoning_parser_names.REASONING_PARSER_NAMES,
    ):
        if NAME not in names:
            names.append(NAME)
