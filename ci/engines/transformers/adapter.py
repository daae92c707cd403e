"""transformers' response parsing: with the object of the request, or with one that its server
ships. With --assay it is that of assay_chat.transformers, attached to a tokenizer."""

import ast
import importlib.metadata
import importlib.util
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from assay_adapter import Message, Unsupported, declared, serve  # noqa: E402

from transformers.utils.chat_parsing import ResponseParser, parse_response  # noqa: E402


def shipped():
    """Reads the server's table of objects by model type without importing the server, which needs
    torch."""
    root = os.path.dirname(importlib.util.find_spec("transformers").origin)
    with open(os.path.join(root, "cli", "serving", "utils.py"), encoding="utf-8") as f:
        module = ast.parse(f.read())
    constants = {}
    for node in module.body:
        target = None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target.id, node.value
        if target:
            try:
                constants[target] = eval(
                    compile(ast.Expression(value), "", "eval"), {"__builtins__": {}}, constants
                )
            except Exception:
                continue
    return constants["_RESPONSE_TEMPLATE_FALLBACKS"]


OURS = "--assay" in sys.argv
if OURS:
    import assay_chat.transformers
    from assay_view import tokenizer

# The table is by groups of model types; each object goes by the first of its group.
SHIPPED = {(types if isinstance(types, str) else types[0]): o for types, o in shipped().items()}


def describe(_):
    if OURS:
        version = importlib.metadata.version("transformers")
        return {"engine": "assay-transformers", "version": version, "by_template": True,
                "streams": True}  # fmt: skip
    return {
        "engine": "transformers",
        "version": importlib.metadata.version("transformers"),
        "tool_parsers": sorted(SHIPPED),
        "reasoning_parsers": [],
        "streams": True,
        "response_template": True,
    }


def template(r):
    if r.get("response_template") is not None:
        return r["response_template"]
    name = (r.get("parser") or {}).get("tool")
    if not name:
        raise Unsupported("no response_template for this template")
    return SHIPPED[name]


def spelled(result):
    """Turns the parsed message into OpenAI's shape, arguments as JSON text."""
    message = Message()
    calls = []
    for i, call in enumerate(result.get("tool_calls") or []):
        f = call.get("function", call)
        arguments = f.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        calls.append((i, call.get("id"), f.get("name"), arguments))
    thought = result.get("reasoning_content") or result.get("thinking") or result.get("reasoning")
    message.add(reasoning=thought, content=result.get("content"), calls=calls)
    return message.answer(False)


def parse(r):
    tools = declared(r["request"]) or None
    prefix = r.get("prompt") or ""
    if OURS:
        tok = assay_chat.transformers.attach(tokenizer(r))
        if r.get("chunks") is None:
            return spelled(tok.parse_response(r["output"], prefix=prefix, tools=tools))
        ours = assay_chat.transformers.parser_of(tok, prefix, tools)
        for chunk in r["chunks"]:
            ours.write(chunk)
        return spelled(ours.close().message)
    if r.get("chunks") is None:
        return spelled(parse_response(r["output"], template(r), prefix=prefix, tools=tools))
    parser = ResponseParser(template(r), prefix=prefix, tools=tools)
    for chunk in r["chunks"]:
        parser.feed(chunk)
    result, _ = parser.finalize()
    return spelled(result)


serve(describe=describe, parse=parse)
