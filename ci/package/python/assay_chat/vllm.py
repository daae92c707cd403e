"""A tool parser and a reasoning parser for vLLM, both by the template that serves.

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser assay --reasoning-parser assay

vLLM finds the parsers by the package's entry point; ``--tool-parser-plugin assay_chat.vllm`` names
them where plugins are switched off. Neither parser has a word of any format in it: what they know
they learn from the template. The environment says what vLLM tells no parser:

* ASSAY_CHAT_TEMPLATE, a file: the template where the server has its own, as by ``--chat-template``.
* ASSAY_FALLBACKS, names with commas between them: spellings of calls that are read besides the
  template's own.
* ASSAY_INSIST=1: serve tools though nothing proves that the template's calls are read. Without it
  such a template stops the server at its start.

vLLM makes both parsers for each answer, the reasoning parser first. They read it together, by one
:class:`assay_chat.Parser`: the reasoning parser reads a whole output, and alone a streamed one; the
tool parser streams where both are there. In the engine's process the reasoning parser tells by ids
where a grammar begins.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.reasoning import ReasoningParser, ReasoningParserManager
from vllm.renderers.chat_utils import make_tool_call_id
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager

from assay_chat import Answer, Delta, Parser, Plan
from assay_chat._serving import Model, choice_of, request_of, served, tool_of

NAME = "assay"

_TAIL = 256  # tokens of a prompt that are looked at first for the header of the answer
_NEAR = 16  # tokens that may spell the end of reasoning


def _form_of(request: Any) -> dict[str, Any] | None:
    """Return the form that a request wants its answer in, in the shape of chat completions."""
    form = getattr(request, "response_format", None)
    if form is not None:
        return dict(form.model_dump(by_alias=True, exclude_none=True))
    form = getattr(getattr(request, "text", None), "format", None)  # of /v1/responses
    if form is None:
        return None
    told = form.model_dump(by_alias=True, exclude_none=True)
    kind = told.pop("type")
    return {"type": kind, kind: told} if told else {"type": kind}


class _Turn:
    """One answer, which the parsers read together."""

    def __init__(self, tokenizer: Any, switches: dict[str, Any]) -> None:
        self.tokenizer, self.switches = tokenizer, switches
        self.has_tools = False  # a tool parser reads it, too
        self.reasons = True  # a reasoning parser reads it, too
        self.tools: list[Any] = []
        self.prompt: Sequence[int] | None = None
        self.parser: Parser | None = None
        self.answer: Answer | None = None
        self._ids: dict[int, str] = {}

    def model(self, request: Any = None) -> Model:
        return served(self.tokenizer, getattr(request, "chat_template", None))

    def text(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def after_header(self, model: Model, ids: Sequence[int]) -> str | None:
        """Return the text after the last header of an answer; None where there is none."""
        if not model.mark:
            return None
        size = _TAIL
        while True:
            text = self.text(ids[-size:])
            if (at := text.rfind(model.mark)) >= 0:
                return text[at + len(model.header) :]
            if size >= len(ids):
                return None
            size *= 8

    def plan(self, request: Any = None, **options: Any) -> Plan:
        """Return the plan of the answer. The prompt says what the answer begins with; without it
        a prompt with the same switches does."""
        model = self.model(request)
        choice = choice_of(getattr(request, "tool_choice", None)) if request is not None else "auto"
        tools = [tool_of(t) for t in self.tools] if self.has_tools and choice != "none" else []
        fields: dict[str, Any] = {}
        if tools:
            fields = {"tools": tools, "tool_choice": choice}
            if getattr(request, "parallel_tool_calls", None) is False:
                fields["parallel_tool_calls"] = False
        if not self.reasons:
            fields["reasoning_format"] = "none"
        if form := _form_of(request):
            fields["response_format"] = form
        begun = None
        if self.prompt is not None and "prefill" not in options:
            begun = self.after_header(model, self.prompt)
        if begun is not None and (
            begun in model.prefills or getattr(request, "continue_final_message", False)
        ):
            options["prefill"] = begun
        elif begun is not None and getattr(request, "messages", None):
            # An answer without a header of its own, such as one to a tool's result.
            told = request.model_dump(mode="json", exclude_none=True, include={"messages"})
            fields["messages"] = told["messages"]
        return model.prepare(request_of(self.switches) | fields, **options)

    def read(self, output: str, request: Any) -> Answer:
        """Read a whole output, once for both parsers."""
        if self.answer is None:
            parser = self.plan(request).parser()
            parser.write(output)
            self.answer = parser.close()
        return self.answer

    def write(self, piece: str, request: Any = None) -> DeltaMessage | None:
        if self.parser is None:
            self.parser = self.plan(request).parser()
        return self._message(self.parser.write(piece))

    def finish(self) -> DeltaMessage | None:
        if self.parser is None:
            return None
        parser, self.parser = self.parser, None
        return self._message(parser.close().deltas)

    def _message(self, deltas: list[Delta]) -> DeltaMessage | None:
        """Return deltas as vLLM has them. A call without an id gets one with its name."""
        if not deltas:
            return None
        reasoning = "".join(delta.get("reasoning_content", "") for delta in deltas)
        content = "".join(delta.get("content", "") for delta in deltas)
        calls: dict[int, DeltaToolCall] = {}
        for call in (call for delta in deltas for call in delta.get("tool_calls", ())):
            function = call["function"]
            if "id" in call:
                self._ids[call["index"]] = call["id"]
            joined = calls.setdefault(
                call["index"],
                DeltaToolCall(index=call["index"], function=DeltaFunctionCall(arguments="")),
            )
            assert joined.function is not None
            if "name" in function:
                joined.id = self._ids.get(call["index"]) or make_tool_call_id()
                joined.type, joined.function.name = "function", function["name"]
            joined.function.arguments += function.get("arguments", "")
        return DeltaMessage(
            reasoning=reasoning or None, content=content or None, tool_calls=list(calls.values())
        )


class _Made(threading.local):
    """The turn of the reasoning parser that this thread made last: the tool parser that vLLM makes
    next, for the same answer, reads it, too."""

    turn: _Turn | None = None


_made = _Made()


class AssayReasoningParser(ReasoningParser):
    """Reads reasoning as the template writes it."""

    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self.turn = _made.turn = _Turn(tokenizer, kwargs.get("chat_template_kwargs") or {})
        self.turn.model()  # a template that cannot be used fails when the server starts

    @property
    def reasoning_start_str(self) -> str | None:
        return self.turn.model().opens or None

    @property
    def reasoning_end_str(self) -> str | None:
        return self.turn.model().closes or None

    def adjust_request(self, request: Any) -> Any:
        request.skip_special_tokens = False  # markers are to reach the parsers
        return request

    # In the server: one answer.

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        self.turn.prompt = prompt_token_ids

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        answer = self.turn.read(model_output, request)
        return answer.message.get("reasoning_content") or None, answer.content or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> DeltaMessage | None:
        return self.turn.write(delta_text)

    def finish_streaming(self) -> DeltaMessage | None:
        return self.turn.finish()

    # In the engine: where a grammar begins.

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        # A stream's prompt: whether the other parser reads the answer.
        if input_ids is self.turn.prompt:
            return self.turn.has_tools
        return self._ended(input_ids)

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        model = self.turn.model()
        if model.closes and not model.routed:
            new = len(list(delta_ids))
            if model.closes not in self.turn.text(input_ids[-new - _NEAR :]):
                return False
        return self._ended(input_ids)

    def _ended(self, ids: Sequence[int]) -> bool:
        """Whether reasoning is over: its end was read. A model that may reason and does not is
        not told from one that does not yet, as by vLLM's own parsers."""
        model, turn = self.turn.model(), self.turn
        if not model.thinks:
            return True
        begun = turn.after_header(model, ids)
        if begun is None or any(end in begun for end in model.ends):
            # ids without a prompt, or an answer without a header of its own, after the last turn
            text = turn.text(ids) if begun is None else begun
            last = max((text.rfind(end) + len(end) for end in model.ends if end in text), default=0)
            begun = model.prefill(turn.switches) + text[last:]
        if not model.routed:
            return model.closes in begun
        if not begun.strip():
            return False
        # The next letter would be content.
        parser = model.template.prepare(request_of({}), insist=True, prefill="").parser()
        parser.write(begun + "x")
        message = parser.close().message
        return bool(message.get("content") or message.get("tool_calls"))

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        return input_ids[self._end(input_ids) :]

    def _end(self, ids: Sequence[int]) -> int:
        """Return how many ids it takes for reasoning to be over; all where it never is."""
        model, text, counts = self.turn.model(), self.turn.text, range(len(ids) + 1)
        header, start = model.header, 0
        if header and header in text(ids):  # of the answer
            last = bisect_left(counts, True, key=lambda i: header not in text(ids[i:])) - 1
            start = bisect_left(counts, True, last, key=lambda i: header in text(ids[last:i]))
        if not model.closes or model.routed:
            over = bisect_left(counts, True, start, key=lambda i: self._ended(ids[:i]))
            return min(over, len(ids))
        for at in range(start, len(ids), _TAIL):
            near = ids[at : at + _TAIL + _NEAR]
            if model.closes in text(near):
                return at + bisect_left(
                    range(len(near)), True, key=lambda i: model.closes in text(near[:i])
                )
        return len(ids)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        model = self.turn.model()
        if not model.thinks:
            return 0
        thought = token_ids[: self._end(token_ids)]
        text, encode = self.turn.text(thought), self.turn.tokenizer.encode
        markers = [m for m in (model.opens, model.closes) if m and m in text]
        return len(thought) - sum(len(encode(m, add_special_tokens=False)) for m in markers)


class AssayToolParser(ToolParser):
    """Reads calls as the template writes them."""

    engine_based_streaming = True
    # A call that the request demands is one in the template's spelling as well.
    supports_required_and_named = False

    def __init__(self, tokenizer: Any, tools: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools)
        turn, _made.turn = _made.turn, None
        if turn is None or turn.tokenizer is not tokenizer:
            turn = _Turn(tokenizer, kwargs.get("chat_template_kwargs") or {})
        self.turn = turn
        turn.has_tools, turn.tools = True, self.tools
        turn.model().prove()

    @property
    def skip_reasoning_parsing(self) -> bool:
        return not self.turn.reasons

    @skip_reasoning_parsing.setter
    def skip_reasoning_parsing(self, skip: bool) -> None:
        self.turn.reasons = not skip

    def adjust_request(self, request: Any) -> Any:
        request.skip_special_tokens = False
        choice = choice_of(getattr(request, "tool_choice", None))
        if not request.tools or choice == "none" or request.structured_outputs is not None:
            return request
        model = self.turn.model(request)
        options = {}
        if self.turn.reasons and model.thinks:
            if model.routed:
                return request  # the grammar would have to begin inside of a turn
            # It begins where reasoning ends.
            options["prefill"] = f"{model.opens}\n.\n{model.closes}"
        tag = self.turn.plan(request, **options).grammar("structural-tag")
        request.structured_outputs = StructuredOutputsParams(structural_tag=tag)
        # The tag has the form of the answer, too.
        if hasattr(request, "response_format"):
            request.response_format = None
        else:
            request.text = None
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        answer = self.turn.read(model_output, request)
        calls = [
            ToolCall(
                id=call.get("id") or make_tool_call_id(),
                function=FunctionCall(
                    name=call["function"]["name"], arguments=call["function"]["arguments"]
                ),
            )
            for call in answer.tool_calls
        ]
        return ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=answer.content or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> DeltaMessage | None:
        return self.turn.write(delta_text, request)

    def finish_streaming(self) -> DeltaMessage | None:
        return self.turn.finish()


def register() -> None:
    """Tell vLLM of the parsers. Its entry point calls this in each of its processes."""
    ToolParserManager.register_module(NAME, module=AssayToolParser)
    ReasoningParserManager.register_module(NAME, module=AssayReasoningParser)


register()
