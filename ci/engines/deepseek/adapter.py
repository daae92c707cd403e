"""DeepSeek's own encoders of V3.2 and V4, as the package llm-router-utils carries them:
adapter.py v3.2|v4. The publisher ships them beside the models' weights, and in no package.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from assay_adapter import reasoning_of, serve, text_of  # noqa: E402

FILES = {"v3.2": "encoding_dsv32.py", "v4": "encoding_dsv4.py"}
HEADER = re.compile(r"(<｜Assistant｜>|\n\n)</?think>\Z")
NAME = sys.argv[1] if len(sys.argv) > 1 else ""
_loaded = {}


def encoding():
    """The encoder's module, which needs nothing else of its package."""
    if NAME not in FILES:
        raise ValueError(f"{NAME or 'no version'}: expected one of {', '.join(FILES)}")
    if NAME not in _loaded:
        root = importlib.util.find_spec("llm_router_utils").submodule_search_locations[0]
        path = os.path.join(root, "sglang", "srt", "entrypoints", "openai", FILES[NAME])
        spec = importlib.util.spec_from_file_location("encoding", path)
        _loaded[NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(_loaded[NAME])
    return _loaded[NAME]


def describe(_):
    encoding()
    version = importlib.metadata.version("llm-router-utils")
    return {"engine": "DeepSeek " + NAME, "version": version, "encodes": True,
            "bos": encoding().bos_token, "eos": encoding().eos_token}  # fmt: skip


def message(m):
    m = {**m, "content": text_of(m), "reasoning_content": reasoning_of(m)}
    calls = m.pop("tool_calls", None) or []
    if calls:
        m["tool_calls"] = [{"id": c.get("id"), "function": call(c)} for c in calls]
    return m


def call(c):
    f = c.get("function", c)
    if not isinstance(f.get("arguments"), str):
        f = dict(f, arguments=json.dumps(f.get("arguments"), ensure_ascii=False))
    return f


def render(r):
    v = r["vars"]
    messages = [message(m) for m in v["messages"]]
    if v.get("tools"):  # they belong to the system message
        if messages[0]["role"] not in ("system", "developer"):
            messages.insert(0, {"role": "system", "content": ""})
        messages[0]["tools"] = [t if "function" in t else {"function": t} for t in v["tools"]]
    thinking = v.get("thinking", v.get("enable_thinking", False))
    options = {"thinking_mode": "thinking" if thinking else "chat"}
    if NAME == "v4" and v.get("reasoning_effort"):
        options["reasoning_effort"] = v["reasoning_effort"]
    text = encoding().encode_messages(messages, **options)
    if not v.get("add_generation_prompt"):  # the encoder asks for an answer all the same
        text = HEADER.sub("", text)
    return {"text": text}


serve(describe=describe, render=render)
