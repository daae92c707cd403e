"""Reads a fault's output by SGLang's own parsers: python fault.py < REQUEST. There is no adapter."""

import json
import sys

from llm_router_utils.sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest, Tool
from llm_router_utils.sglang.srt.function_call.function_call_parser import FunctionCallParser
from llm_router_utils.sglang.srt.parser.reasoning_parser import ReasoningParser

given = json.load(sys.stdin)


class Vocabulary:
    """The words of the model's tokeniser, which some parsers look up."""

    def get_vocab(self):
        return {word: i for i, word in enumerate(given.get("vocabulary", []))}


tools = [Tool(**t) for t in given["request"].get("tools") or []]
names = given["parser"]
message = {"reasoning_content": "", "content": "", "tool_calls": []}
calls = None
if names["tool"] and tools:
    calls = FunctionCallParser(tools, names["tool"], tokenizer=Vocabulary())
thinks = None
if names["reasoning"]:
    thinks = ReasoningParser(
        model_type=names["reasoning"],
        stream_reasoning=True,
        force_reasoning=bool(given.get("reasoning_open")) or None,
        request=ChatCompletionRequest(model="m", messages=[{"role": "user", "content": ""}]),
        tokenizer=Vocabulary(),
    )


def add(text, items, stream):
    message["content"] += text or ""
    for item in items:
        if not stream or item.name:
            message["tool_calls"].append({"name": item.name, "arguments": ""})
        message["tool_calls"][-1]["arguments"] += item.parameters or ""


if "chunks" not in given:
    text = given["output"]
    if thinks:
        thought, text = thinks.parse_non_stream(text)
        message["reasoning_content"] = thought or ""
    if calls and text and calls.has_tool_call(text):
        add(*calls.parse_non_stream(text), stream=False)
    else:
        message["content"] = text or ""
else:
    for chunk in given["chunks"]:
        thought, text = thinks.parse_stream_chunk(chunk) if thinks else ("", chunk)
        message["reasoning_content"] += thought or ""
        if calls and text:
            add(*calls.parse_stream_chunk(text), stream=True)
        else:
            message["content"] += text or ""
    if calls:
        add(*calls.parse_stream_end(), stream=True)
print(json.dumps(message))
