"""mlx-lm with the calls of any template:

    python -m assay_chat.mlx server --model MODEL

runs mlx-lm's command with a tool parser that the template of the model teaches. mlx-lm takes its
parsers by the names of its own modules; this puts one more there and has it chosen, where the
template's calls begin with a marker. It keeps reasoning to itself.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from typing import Any

from assay_chat import AssayError
from assay_chat._serving import TOOL, Model, request_of, served, tool_of

NAME = "assay"


def choose(tokenizer: Any) -> types.ModuleType | None:
    """Return the tool parser of a tokenizer, in the shape of a module of mlx-lm; None where no
    marker begins a call, or where calls are not proven to be read."""
    model = served(tokenizer)
    try:
        model.prove()
    except AssayError:
        return None
    starts = [t.text for t in _plan(model, None).triggers if t.call and not t.pattern]
    if not starts:
        return None
    module = types.ModuleType(f"mlx_lm.tool_parsers.{NAME}")
    start = min(starts, key=len)

    def parse_tool_call(text: str, tools: Any = None) -> list[dict[str, Any]]:
        parser = _plan(model, tools).parser()
        parser.write(start + text)
        answer = parser.close()
        calls = [_call(c) for c, whole in zip(answer.tool_calls, answer.complete) if whole]
        if not calls:  # mlx-lm goes on without the section
            raise ValueError(f"there is no complete call in {start + text!r}")
        return calls

    # The section goes to the end of the answer: it has all calls, and their closers.
    module.tool_call_start, module.tool_call_end = start, ""  # type: ignore[attr-defined]
    module.parse_tool_call = parse_tool_call  # type: ignore[attr-defined]
    return module


def _plan(model: Model, tools: Any) -> Any:
    told = [tool_of(tool) for tool in tools or [TOOL]]
    return model.prepare(request_of({}, tools=told, reasoning_format="none"), prefill="")


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function, made = call["function"], {}
    if "id" in call:
        made["id"] = call["id"]
    return made | {"name": function["name"], "arguments": json.loads(function["arguments"])}


def register(utils: Any) -> None:
    """Have mlx-lm's module tokenizer_utils choose our parser, or its own where we have none."""
    theirs: Callable[[Any], Any] = utils._infer_tool_parser

    def infer(tokenizer: Any) -> Any:
        module = choose(tokenizer) if tokenizer.chat_template else None
        if module is None:
            return theirs(tokenizer)
        sys.modules[module.__name__] = module
        return NAME

    utils._infer_tool_parser = infer


def main() -> None:
    from mlx_lm import cli, tokenizer_utils

    register(tokenizer_utils)
    cli.main()


if __name__ == "__main__":
    main()
