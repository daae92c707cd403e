"""Tests of somebody who writes an inference server: whatever pieces an output comes in, the
server's deltas, put together, are the message of the whole output."""

import os

import pytest

import assay_chat

TEMPLATE = os.environ.get("TEMPLATE", "chat_template.jinja")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
REQUEST = {"messages": [{"role": "user", "content": "Weather in Zürich?"}], "tools": TOOLS}
OUTPUT = (
    'I look. <tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
)


def serve(pieces):
    """Stands for the server under test: it gets an output in pieces and sends deltas to a client."""
    return assay_chat.Template.open(TEMPLATE).parser(REQUEST).deltas(pieces)


def put_together(deltas):
    """Put deltas together as a client of OpenAI's API does."""
    message = {"content": "", "calls": {}}
    for delta in deltas:
        message["content"] += delta.get("content") or ""
        for part in delta.get("tool_calls", []):
            call = message["calls"].setdefault(part["index"], {"name": "", "arguments": ""})
            call["name"] += part["function"].get("name", "")
            call["arguments"] += part["function"].get("arguments", "")
    return message


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_pieces_do_not_matter(size):
    raw = OUTPUT.encode()
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    meant = assay_chat.Template.open(TEMPLATE).parse(OUTPUT, REQUEST)
    message = put_together(serve(pieces))
    assert message["content"] == meant.content
    assert list(message["calls"].values()) == [
        {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for call in meant.tool_calls
    ]
