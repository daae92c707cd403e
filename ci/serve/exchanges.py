"""Has the official Python clients take drawn answers, and compares their messages.

Usage: exchanges.py TOOLS < SERVERS, where SERVERS is a list of {family, url, cases} in JSON; the
server answers "Case N." with the case's message, which each client, streamed and not, must find.
Prints how many exchanges there were and each wrong one; the exit status is 1 where one is.
"""

import json
import sys

import anthropic
import openai

MODEL, KEY = "scripted", "sk-test"
TOOLS = [tool["function"] for tool in json.loads(sys.argv[1])]


def completions(url, text, stream):
    client = openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
    asked = dict(model=MODEL, messages=[{"role": "user", "content": text}],
                 tools=[{"type": "function", "function": tool} for tool in TOOLS])
    reasoning = ""
    if stream:
        with client.chat.completions.stream(**asked) as events:
            for event in events:
                if event.type == "chunk" and event.chunk.choices:
                    delta = event.chunk.choices[0].delta
                    reasoning += getattr(delta, "reasoning_content", None) or ""
            choice = events.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(**asked).choices[0]
        reasoning = getattr(choice.message, "reasoning_content", None) or ""
    calls = [(c.function.name, json.loads(c.function.arguments))
             for c in choice.message.tool_calls or []]
    assert choice.finish_reason == ("tool_calls" if calls else "stop"), choice.finish_reason
    return choice.message.content or "", reasoning, calls


def responses(url, text, stream):
    client = openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
    asked = dict(model=MODEL, input=text, store=False,
                 tools=[{"type": "function", "strict": False, **tool} for tool in TOOLS])
    if stream:
        with client.responses.stream(**asked) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    else:
        answer = client.responses.create(**asked)
    assert answer.status == "completed", answer.status
    reasoning = "".join(part.text for item in answer.output if item.type == "reasoning"
                        for part in item.content or [])
    calls = [(item.name, json.loads(item.arguments)) for item in answer.output
             if item.type == "function_call"]
    return answer.output_text, reasoning, calls


def messages(url, text, stream):
    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    asked = dict(model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": text}],
                 tools=[{"name": tool["name"], "description": tool["description"],
                         "input_schema": tool["parameters"]} for tool in TOOLS])
    if stream:
        with client.messages.stream(**asked) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(**asked)
    calls = [(block.name, block.input) for block in answer.content if block.type == "tool_use"]
    assert answer.stop_reason == ("tool_use" if calls else "end_turn"), answer.stop_reason
    said = "".join(block.text for block in answer.content if block.type == "text")
    thought = "".join(block.thinking for block in answer.content if block.type == "thinking")
    return said, thought, calls


def typed(calls):
    """Returns calls with their arguments as texts: in Python True is 1, and 1 is 1.0."""
    return [(name, json.dumps(arguments, sort_keys=True)) for name, arguments in calls]


count, wrong = 0, 0
for server in json.load(sys.stdin):
    for case in server["cases"]:
        want = (case["content"].strip(), case["reasoning"].strip(),
                typed((name, json.loads(text)) for name, text in case["calls"] or []))
        for ask in (completions, responses, messages):
            for stream in (False, True):
                count += 1
                try:
                    content, reasoning, calls = ask(server["url"], f"Case {case['number']}.",
                                                    stream)
                    got = (content.strip(), reasoning.strip(), typed(calls))
                except Exception as error:
                    got = repr(error)
                if got != want:
                    wrong += 1
                    print(server["family"], ask.__name__, "streamed" if stream else "whole",
                          case["number"], "got", got, "want", want)
print(f"{count} exchanges, {wrong} wrong")
sys.exit(wrong > 0)
