"""An answer by SGLang's own chat handler with the parsers of assay_chat.sglang, whole and streamed."""

import asyncio
import json
import types

from server import ChatCompletionRequest, serving  # noqa: I001 it stands in for what follows

import assay_chat.sglang
from assay_adapter import Message

assay_chat.sglang.register()
BOTH = {"tool_call_parser": "assay", "reasoning_parser": "assay"}


def handler(tok, **options):
    return serving(tok, **(options or BOTH))


def asked(server, prompt, **body):
    """Returns a request as the handler has it when the answer comes, and its constraint."""
    request = ChatCompletionRequest(model="m", **body)
    processed = server._process_messages(request, False)
    adapted = types.SimpleNamespace(
        text=prompt, input_ids=None, sampling_params={}, require_reasoning=False
    )
    constraint = processed.tool_call_constraint
    if processed.uses_response_template:
        server._set_response_parser_context(
            request, adapted, tool_call_constraint=constraint,
            tools=server._effective_tools(request),
        )  # fmt: skip
    return request, constraint


def whole(server, request, output):
    """Returns the answer to an output that comes as one."""
    told = {"id": "x", "prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0,
            "finish_reason": {"type": "stop", "matched": None}, "weight_version": ""}  # fmt: skip
    ret = [{"text": output, "meta_info": told, "output_ids": []}]
    got = server._build_chat_response(request, ret, 0).choices[0].message
    message = Message()
    calls = [
        (i, None, c.function.name, c.function.arguments)
        for i, c in enumerate(got.tool_calls or [])
    ]
    message.add(reasoning=got.reasoning_content, content=got.content, calls=calls)
    return message.answer(False)


def streamed(server, request, chunks):
    """Returns the answer to an output that comes in chunks."""
    message = Message()
    for delta in asyncio.run(deltas(server, request, chunks)):
        calls = [
            (c["index"], None, c["function"].get("name"), c["function"].get("arguments"))
            for c in delta.get("tool_calls") or []
        ]
        message.add(delta.get("reasoning_content"), delta.get("content"), calls)
    return message.answer(True)


async def deltas(server, request, chunks):
    """Returns the deltas of a stream whose text comes in chunks."""
    offsets, thinkers, callers, has_calls, found, text = {}, {}, {}, {}, [], ""
    for i, chunk in enumerate(chunks):
        text += chunk
        events = server._generate_stream_content(
            content={"text": text, "meta_info": {"id": "x"}}, index=0, request=request, created=0,
            stream_offsets=offsets, reasoning_parser_dict=thinkers, parser_dict=callers,
            has_tool_calls=has_calls, choice_logprobs=None,
            finish_reason_type="stop" if i + 1 == len(chunks) else None,
            continuous_usage_stats=False, prompt_tokens={}, reasoning_tokens={},
            completion_tokens={},
        )  # fmt: skip
        async for event in events:
            found += [c["delta"] for c in json.loads(event.removeprefix("data: "))["choices"]]
    return found
