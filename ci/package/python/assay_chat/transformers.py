"""``parse_response`` of transformers by the tokenizer's own template, for formats too that no
``response_template`` expresses.

    tokenizer = assay_chat.transformers.attach(AutoTokenizer.from_pretrained(MODEL))
    message = tokenizer.parse_response(output, prefix=prompt, tools=tools)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from assay_chat import Parser
from assay_chat._serving import model_plan, request_of, served, tool_of

_Tokenizer = TypeVar("_Tokenizer")


def attach(tokenizer: _Tokenizer) -> _Tokenizer:
    """Have a tokenizer's ``parse_response`` read by its template, and return the tokenizer."""

    def parse(response: Any, schema: Any = None, *, prefix: Any, tools: Any = None) -> Any:
        if schema is not None:  # a response_template of the caller's
            return type(tokenizer).parse_response(  # type: ignore[attr-defined]
                tokenizer, response, schema, prefix=prefix, tools=tools
            )
        return parse_response(tokenizer, response, prefix=prefix, tools=tools)

    tokenizer.parse_response = parse  # type: ignore[attr-defined]
    return tokenizer


def parse_response(
    tokenizer: Any, response: Any, *, prefix: Any = "", tools: Sequence[Any] | None = None
) -> Any:
    """Return an output, or a batch of them, as messages. The prefix is the prompt; outputs and
    prompts are texts or token ids. Arguments are dicts, or text where they are no JSON object."""
    outputs, is_batch = _texts(tokenizer, response)
    prompts, each = _texts(tokenizer, prefix)
    if not each:
        prompts = prompts * len(outputs)
    if len(prompts) != len(outputs):
        raise ValueError(f"there are {len(outputs)} responses and {len(prompts)} prefixes")
    messages = [_message(parser_of(tokenizer, p, tools), o) for o, p in zip(outputs, prompts)]
    return messages if is_batch else messages[0]


def parser_of(tokenizer: Any, prompt: str, tools: Sequence[Any] | None = None) -> Parser:
    """Return a parser for the answer to a prompt: for streams, beside ``TextIteratorStreamer``."""
    fields = {"tools": [tool_of(_described(tool)) for tool in tools]} if tools else {}
    return model_plan(served(tokenizer), prompt, request_of({}, **fields)).parser()


def _described(tool: Any) -> Any:
    """Return a tool as JSON; transformers takes Python's functions, too."""
    if isinstance(tool, Mapping) or not callable(tool):
        return tool
    from transformers.utils import get_json_schema

    return get_json_schema(tool)


def _texts(tokenizer: Any, given: Any) -> tuple[list[str], bool]:
    """Return texts, and whether they are a batch."""
    if isinstance(given, str):
        return [given], False
    if hasattr(given, "tolist"):  # an array or a tensor
        given = given.tolist()
    if len(given) == 0:
        return [""], False
    if not isinstance(given[0], int):
        return [one if isinstance(one, str) else tokenizer.decode(one) for one in given], True
    return [tokenizer.decode(given)], False


def _message(parser: Parser, output: str) -> dict[str, Any]:
    parser.write(output)
    message = dict(parser.close().message)
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [
            call | {"function": call["function"] | {"arguments": _value(call)}} for call in calls
        ]
    return message


def _value(call: Mapping[str, Any]) -> Any:
    text = call["function"]["arguments"]
    try:
        value = json.loads(text)
    except json.JSONDecodeError:  # it breaks off
        return text
    return value if isinstance(value, dict) else text
