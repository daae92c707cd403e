"""Tests of somebody who fine-tunes a model: the template that is saved beside the weights has no
fault, behaves as the base model's does, and the training data comes back as it went in."""

import json
import os

import assay_chat

TEMPLATE = os.environ.get("TUNED", "out/chat_template.jinja")
BASE = os.environ.get("BASE", "base/chat_template.jinja")

CONVERSATION = {
    "messages": [
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call00001",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                }
            ],
        },
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
        }
    ],
}


def test_the_template_has_no_fault():
    result = assay_chat.check(TEMPLATE)
    assert result.ok, str(result)


def test_the_edit_breaks_nothing():
    difference = assay_chat.diff(BASE, TEMPLATE)
    assert difference.kind != "breaking", str(difference)


def test_training_data_is_read_back():
    """The template's text of an answer, which the model learns, is parsed to the same
    answer."""
    template = assay_chat.Template.open(TEMPLATE)
    question = {**CONVERSATION, "messages": CONVERSATION["messages"][:-1]}
    asked = template.render({**question, "add_generation_prompt": True})
    whole = template.render({**CONVERSATION, "add_generation_prompt": False})
    learnt = whole.text.removeprefix(asked.text)
    [call] = template.parse(learnt, question).tool_calls
    [meant] = CONVERSATION["messages"][-1]["tool_calls"]
    assert call["function"]["name"] == meant["function"]["name"]
    assert json.loads(call["function"]["arguments"]) == json.loads(meant["function"]["arguments"])
