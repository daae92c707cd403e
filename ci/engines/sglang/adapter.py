"""SGLang's parsers as its router ships them (PyPI llm-router-utils)."""

import importlib.metadata
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from assay_adapter import Message, declared, serve  # noqa: E402

from llm_router_utils.sglang.srt.entrypoints.openai.protocol import (  # noqa: E402
    ChatCompletionRequest,
    Tool,
)
from llm_router_utils.sglang.srt.function_call.function_call_parser import (  # noqa: E402
    FunctionCallParser,
)
from llm_router_utils.sglang.srt.parser import reasoning_parser, template_detection  # noqa: E402


def describe(_):
    return {
        "engine": "sglang",
        "version": importlib.metadata.version("llm-router-utils"),
        "tool_parsers": sorted(FunctionCallParser.ToolCallParserEnum),
        "reasoning_parsers": sorted(reasoning_parser.ReasoningParser.DetectorMap),
        "streams": True,
    }


class Vocabulary:
    """The questions of detection and parsers to a tokeniser: which added tokens there are."""

    def __init__(self, tokens):
        self.tokens = {t: i for i, t in enumerate(tokens)}
        self.all_special_tokens = list(tokens)

    def get_vocab(self):
        return self.tokens

    get_added_vocab = get_vocab

    def convert_tokens_to_ids(self, token):
        return self.tokens.get(token)

    def encode(self, text, **_):
        return [self.tokens[text]] if text in self.tokens else list(text.encode())


def detect(r):
    template = r["template"]
    force, config = template_detection.detect_reasoning_pattern(template)
    tokens = Vocabulary(r.get("vocabulary") or [])
    tool = template_detection.detect_tool_call_parser(template, tokens, config, force)
    reasoning = None
    find = getattr(template_detection, "detect_reasoning_parser", None)
    if find is not None:
        reasoning = find(template, tokens, config, force)
    return {"parser": {"tool": tool or "", "reasoning": reasoning or ""}}


def parse(r):
    names = r.get("parser") or {}
    tools = [Tool(**t) for t in declared(r["request"])]
    chunks = r.get("chunks")
    streamed = chunks is not None
    message = Message()
    tokens = Vocabulary(r.get("vocabulary") or [])
    thinks = None
    if names.get("reasoning"):
        # The server tells the parser that the prompt opened a block.
        thinks = reasoning_parser.ReasoningParser(
            model_type=names["reasoning"],
            stream_reasoning=True,
            force_reasoning=bool(r.get("reasoning_open")) or None,
            request=ChatCompletionRequest(model="m", messages=[{"role": "user", "content": ""}]),
            tokenizer=tokens,
        )
    calls = None
    if names.get("tool") and tools:
        calls = FunctionCallParser(tools, names["tool"], tokenizer=tokens)

    def content(text, end=False):
        if calls is None:
            message.add(content=text)
            return
        if not streamed:
            if text and calls.has_tool_call(text):
                text, items = calls.parse_non_stream(text)
                message.add(
                    content=text,
                    calls=[(i, None, c.name, c.parameters) for i, c in enumerate(items)],
                )
            else:
                message.add(content=text)
            return
        pieces = [calls.parse_stream_chunk(text)] if text else []
        if end:
            pieces.append(calls.parse_stream_end())
        for text, items in pieces:
            message.add(
                content=text, calls=[(c.tool_index, None, c.name, c.parameters) for c in items]
            )

    if not streamed:
        text = r["output"]
        if thinks is not None:
            thought, text = thinks.parse_non_stream(text)
            message.add(reasoning=thought)
        content(text or "")
        return message.answer(False)
    for chunk in chunks:
        if thinks is not None:
            thought, chunk = thinks.parse_stream_chunk(chunk)
            message.add(reasoning=thought)
        content(chunk or "")
    rest = ""
    if thinks is not None:
        thought, rest = thinks.parse_stream_end()
        message.add(reasoning=thought)
    content(rest or "", end=True)
    return message.answer(True)


serve(describe=describe, detect=detect, parse=parse)
