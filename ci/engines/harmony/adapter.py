"""OpenAI's own encoder of the Harmony format, the package openai-harmony.

A request becomes messages as the format's guide has them: the settings are the system message, the
instructions and tools the developer's, reasoning and calls messages in their channels. A call's
type is "json", as the models' template has it; the package writes whichever it is given. It loads
its vocabulary from the network, or from the folder that TIKTOKEN_ENCODINGS_BASE names.
"""

import importlib.metadata
import json
import os
import sys

if "assay_adapter" not in sys.modules:  # it is there where the command carries both
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from assay_adapter import CLOCK, arguments_of, package, reasoning_of, serve, text_of  # noqa: E402

harmony = package("openai_harmony", "openai-harmony")
_encoding = None


def encoding():
    global _encoding
    if _encoding is None:
        _encoding = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    return _encoding


def describe(_):
    encoding()
    version = importlib.metadata.version("openai-harmony")
    return {"engine": "openai-harmony", "version": version, "encodes": True, "tokenizes": True}


def settings(v):
    system = harmony.SystemContent.new().with_conversation_start_date(f"{CLOCK:%Y-%m-%d}")
    if v.get("reasoning_effort"):
        effort = harmony.ReasoningEffort(v["reasoning_effort"].capitalize())
        system = system.with_reasoning_effort(effort)
    if v.get("model_identity"):
        system = system.with_model_identity(v["model_identity"])
    for name in v.get("builtin_tools") or []:
        system = {"browser": system.with_browser_tool, "python": system.with_python_tool}[name]()
    return system


def developer(instructions, tools):
    content = harmony.DeveloperContent.new()
    if instructions:
        content = content.with_instructions(instructions)
    if tools:
        functions = [t.get("function", t) for t in tools]
        content = content.with_function_tools([
            harmony.ToolDescription.new(
                f["name"], f.get("description") or "", parameters=f.get("parameters")
            )
            for f in functions
        ])  # fmt: skip
    return said(harmony.Role.DEVELOPER, content)


def said(role, content, channel=None, recipient=None, kind=None, name=None):
    author = harmony.Author(role=role, name=name)
    message = harmony.Message.from_author_and_content(author, content)
    message.channel, message.recipient, message.content_type = channel, recipient, kind
    return message


def turn(m):
    """An assistant's message: its reasoning, what it says and its calls."""
    role, calls, text = harmony.Role.ASSISTANT, m.get("tool_calls") or [], text_of(m)
    if reasoning_of(m):
        yield said(role, reasoning_of(m), "analysis")
    if text or not calls:
        yield said(role, text, "commentary" if calls else "final")
    for call in calls:
        f = call.get("function", call)
        arguments = json.dumps(arguments_of(f), ensure_ascii=False)
        yield said(role, arguments, "commentary", "functions." + f["name"], "json")


def conversation(v):
    messages, tools = v["messages"], v.get("tools")
    instructions = ""
    if messages and messages[0]["role"] in ("system", "developer"):
        instructions, messages = text_of(messages[0]), messages[1:]
    out = [said(harmony.Role.SYSTEM, settings(v))]
    if instructions or tools:
        out.append(developer(instructions, tools))
    names, waiting = {}, []
    for m in messages:
        if m["role"] in ("system", "developer"):
            out.append(developer(text_of(m), None))
        elif m["role"] == "user":
            out.append(said(harmony.Role.USER, text_of(m)))
        elif m["role"] == "assistant":
            calls = m.get("tool_calls") or []
            waiting = [c.get("function", c)["name"] for c in calls]
            names.update({c.get("id"): n for c, n in zip(calls, waiting)})
            out.extend(turn(m))
        elif m["role"] == "tool":
            called = waiting.pop(0) if waiting else None
            name = names.get(m.get("tool_call_id")) or m.get("name") or called
            if not name:
                raise ValueError("a result of no call: the format names the function of each")
            author = "functions." + name
            out.append(said(harmony.Role.TOOL, text_of(m), "commentary", "assistant", name=author))
        else:
            raise ValueError(f"the format has no role {m['role']}")
    return harmony.Conversation.from_messages(out)


def render(r):
    v = r["vars"]
    config = harmony.RenderConversationConfig(
        auto_drop_analysis=v.get("auto_drop_analysis", True)
    )
    if v.get("add_generation_prompt"):
        ids = encoding().render_conversation_for_completion(
            conversation(v), harmony.Role.ASSISTANT, config
        )
    else:
        ids = encoding().render_conversation_for_training(conversation(v), config)
    return {"text": encoding().decode_utf8(ids), "ids": ids}


def tokenize(r):
    return {"ids": encoding().encode(r["text"], allowed_special="all")}


serve(describe=describe, render=render, tokenize=tokenize)
