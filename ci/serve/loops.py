"""An agent loop with each of the official Python clients, streamed and not, and a cancelled stream.

Usage: loops.py URL LONG, where URL is a server before the scripted agent, and LONG one whose
answers do not come to an end soon.
"""

import json
import sys

import anthropic
import openai

URL, LONG = sys.argv[1:]
MODEL, KEY, ROUNDS = "scripted", "sk-test", 10
ANSWER = "It rains everywhere, 日本 too."
TOOLS = {
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}},
                    "required": ["city"]},
    "store_note": {"type": "object", "properties": {"text": {"type": "string"}},
                   "required": ["text"]},
}


def run(turn, name, arguments):
    want = {"city": f"city-{turn} é"} if name == "get_weather" else {"text": f"note {turn}"}
    assert arguments == want, (turn, name, arguments)
    return f"weather of round {turn}"


def thought(turn):
    return f"Round {turn} needs a look."


def ends(turn, text):
    assert turn == ROUNDS and text == ANSWER, (turn, text)


def completions(stream):
    client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    tools = [{"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}
             for name, schema in TOOLS.items()]
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Rain?"}]
    for turn in range(ROUNDS + 1):
        reasoning = ""
        if stream:
            with client.chat.completions.stream(
                    model=MODEL, messages=messages, tools=tools,
                    stream_options={"include_usage": True}) as events:
                for event in events:
                    if event.type == "chunk" and event.chunk.choices:
                        delta = event.chunk.choices[0].delta
                        reasoning += getattr(delta, "reasoning_content", None) or ""
                answer = events.get_final_completion()
        else:
            answer = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
            reasoning = answer.choices[0].message.reasoning_content
        assert answer.usage.total_tokens > 0
        message = answer.choices[0].message
        if not message.tool_calls:
            assert answer.choices[0].finish_reason == "stop"
            return ends(turn, message.content)
        assert reasoning == thought(turn), reasoning
        assert answer.choices[0].finish_reason == "tool_calls" and len(message.tool_calls) == 2
        messages.append({
            "role": "assistant", "content": message.content, "reasoning_content": reasoning,
            "tool_calls": [{"id": c.id, "type": "function", "function": {
                "name": c.function.name, "arguments": c.function.arguments}}
                for c in message.tool_calls]})
        for c in message.tool_calls:
            result = run(turn, c.function.name, json.loads(c.function.arguments))
            messages.append({"role": "tool", "tool_call_id": c.id, "content": result})
    raise AssertionError("the loop does not end")


def responses(stream):
    client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    tools = [{"type": "function", "name": name, "parameters": schema, "strict": False}
             for name, schema in TOOLS.items()]
    items = [{"role": "user", "content": "Rain?"}]
    for turn in range(ROUNDS + 1):
        asked = dict(model=MODEL, input=items, tools=tools, store=False, instructions="Be brief.",
                     include=["reasoning.encrypted_content"])
        if stream:
            with client.responses.stream(**asked) as events:
                numbers = [event.sequence_number for event in events]
                answer = events.get_final_response()
            assert numbers == list(range(len(numbers))), numbers
        else:
            answer = client.responses.create(**asked)
        assert answer.status == "completed" and answer.usage.total_tokens > 0
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return ends(turn, answer.output_text)
        assert len(calls) == 2
        for item in answer.output:
            back = item.model_dump(exclude_none=True)
            if item.type == "reasoning":
                assert item.content[0].text == thought(turn)
                back["content"] = []
            back.pop("parsed_arguments", None)
            items.append(back)
        for c in calls:
            items.append({"type": "function_call_output", "call_id": c.call_id,
                          "output": run(turn, c.name, json.loads(c.arguments))})
    raise AssertionError("the loop does not end")


def messages(stream):
    client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    tools = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    turns = [{"role": "user", "content": "Rain?"}]
    count = client.messages.count_tokens(model=MODEL, messages=turns, tools=tools)
    assert count.input_tokens > 0
    for turn in range(ROUNDS + 1):
        asked = dict(model=MODEL, max_tokens=4096, messages=turns, tools=tools,
                     system="Be brief.", thinking={"type": "enabled", "budget_tokens": 1024})
        if stream:
            with client.messages.stream(**asked) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**asked)
        assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            assert answer.stop_reason == "end_turn"
            return ends(turn, "".join(b.text for b in answer.content if b.type == "text"))
        assert answer.stop_reason == "tool_use" and len(calls) == 2
        assert answer.content[0].thinking == thought(turn) and answer.content[0].signature
        turns.append({"role": "assistant", "content": answer.content})
        turns.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": c.id, "content": run(turn, c.name, c.input)}
            for c in calls]})
    raise AssertionError("the loop does not end")


def cancelled():
    client = openai.OpenAI(base_url=LONG + "/v1", api_key=KEY, max_retries=0)
    other = anthropic.Anthropic(base_url=LONG, api_key=KEY, max_retries=0)
    said = [{"role": "user", "content": "x"}]
    for stream in (
            client.chat.completions.create(model=MODEL, messages=said, stream=True),
            client.responses.create(model=MODEL, input="x", stream=True),
            other.messages.create(model=MODEL, messages=said, max_tokens=90000, stream=True)):
        for _, event in zip(range(6), stream):
            assert event
        stream.close()


for loop in (completions, responses, messages):
    for stream in (False, True):
        loop(stream)
        print(f"{loop.__name__}, streamed: {stream}: {ROUNDS} rounds")
cancelled()
print("three streams cancelled")
