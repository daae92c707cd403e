"""Reads a fault's output by vLLM's own parser: python fault.py < REQUEST. There is no adapter.

torch is stood in for, since no parser calculates (../stub.py); the tokeniser has a token for each
byte and for each marker.
"""

import json
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
import stub  # noqa: E402

stub.vllm()

from tokenizers import AddedToken  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.parser import ParserManager  # noqa: E402

given = json.load(sys.stdin)
markers = given["special_tokens"] + given.get("vocabulary", [])
markers.append("<|python_tag|>")  # Llama's tokeniser has it
raw = stub.tokenizer(*dict.fromkeys(markers))
raw.add_special_tokens([AddedToken("<|eos|>", special=True)])
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|eos|>")

body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
if given["request"].get("tools"):
    body |= {"tools": given["request"]["tools"], "tool_choice": "auto"}
request = ChatCompletionRequest(**body)
names = given["parser"]
parser = ParserManager.get_parser(
    tool_parser_name=names["tool"] or None,
    reasoning_parser_name=names["reasoning"] or None,
    enable_auto_tools=True,
)(tokenizer, request.tools, chat_template_kwargs=given["request"].get("chat_template_kwargs") or {})
request = parser.adjust_request(request) or request
prompt = tokenizer.encode(given["prompt"], add_special_tokens=False)
message = {"reasoning_content": "", "content": "", "tool_calls": []}
if "chunks" not in given:
    parser.set_prompt_token_ids(prompt)
    ids = tokenizer.encode(given["output"], add_special_tokens=False)
    thought, content, calls = parser.parse(
        given["output"], request, enable_auto_tools=True, model_output_token_ids=ids
    )
    message["reasoning_content"], message["content"] = thought or "", content or ""
    message["tool_calls"] = [{"name": c.name, "arguments": c.arguments} for c in calls or []]
else:
    for i, chunk in enumerate(given["chunks"]):
        ids = tokenizer.encode(chunk, add_special_tokens=False)
        last = i + 1 == len(given["chunks"])
        delta = parser.parse_delta(chunk, ids, request, prompt, finished=last)
        if delta is None:
            continue
        message["reasoning_content"] += delta.reasoning or ""
        message["content"] += delta.content or ""
        for c in delta.tool_calls or []:
            while len(message["tool_calls"]) <= c.index:
                message["tool_calls"].append({"name": "", "arguments": ""})
            call = message["tool_calls"][c.index]
            call["name"] += (c.function and c.function.name) or ""
            call["arguments"] += (c.function and c.function.arguments) or ""
print(json.dumps(message))
