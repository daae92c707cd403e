"""mlx-lm's tool parsers, called as its server calls them: on the text between a call's markers.
With --assay they are those of assay_chat.mlx."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import pkgutil
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from assay_adapter import Message, Unsupported, declared, serve  # noqa: E402

# The package imports mlx, which needs Apple's hardware; its parsers do not.
_spec = importlib.util.find_spec("mlx_lm")
_package = types.ModuleType("mlx_lm")
_package.__path__ = list(_spec.submodule_search_locations)
sys.modules["mlx_lm"] = _package

import mlx_lm.tool_parsers  # noqa: E402

PARSERS = {
    m.name: importlib.import_module("mlx_lm.tool_parsers." + m.name)
    for m in pkgutil.iter_modules(mlx_lm.tool_parsers.__path__)
}


def inference():
    """Takes the function that picks a parser out of a module that imports mlx at its top."""
    path = os.path.join(_package.__path__[0], "tokenizer_utils.py")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    import ast

    tree = ast.parse(text)
    wanted = [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef) and n.name in ("_infer_tool_parser", "_is_xtml_vocab")
    ]
    wanted += [
        n
        for n in tree.body
        if isinstance(n, ast.Assign)
        and all(isinstance(t, ast.Name) and t.id.startswith("_XTML") for t in n.targets)
    ]
    wanted.sort(key=lambda n: n.lineno)
    scope = {}
    exec(compile(ast.Module(wanted, []), path, "exec"), scope)
    return scope["_infer_tool_parser"]


INFER = inference()
OURS = "--assay" in sys.argv
if OURS:
    import assay_chat.mlx
    from assay_view import tokenizer


def describe(_):
    if OURS:
        return {"engine": "assay-mlx-lm", "version": importlib.metadata.version("mlx-lm"),
                "by_template": True, "streams": False, "reasoning": False}  # fmt: skip
    return {
        "engine": "mlx-lm",
        "version": importlib.metadata.version("mlx-lm"),
        "tool_parsers": sorted(PARSERS),
        "reasoning_parsers": [],
        "streams": False,
        "reasoning": False,
    }


def detect(r):
    tokenizer = types.SimpleNamespace(
        chat_template=r["template"],
        get_vocab=lambda: {t: i for i, t in enumerate(r.get("vocabulary") or [])},
    )
    return {"parser": {"tool": INFER(tokenizer) or "", "reasoning": ""}}


def chosen(r):
    """Returns the parser that mlx-lm would take for a template of ours."""
    utils = types.SimpleNamespace(_infer_tool_parser=INFER)
    assay_chat.mlx.register(utils)
    name = utils._infer_tool_parser(tokenizer(r))
    if not name:
        raise Unsupported("no marker begins a call of this template")
    return importlib.import_module("mlx_lm.tool_parsers." + name)


def parse(r):
    if r.get("chunks") is not None:
        raise Unsupported("mlx-lm has no streaming parser of calls")
    name = (r.get("parser") or {}).get("tool")
    tools = declared(r["request"])
    message = Message()
    text = r["output"]
    if OURS and tools:
        name = "assay"
    if not name or not tools:
        message.add(content=text)
        return message.answer(False)
    module = chosen(r) if OURS else PARSERS[name]
    start, end = module.tool_call_start, module.tool_call_end
    calls = []
    while True:
        before, found, rest = text.partition(start)
        message.add(content=before)
        if not found:
            break
        section, _, text = rest.partition(end) if end else (rest, "", "")
        parsed = module.parse_tool_call(section, tools)
        calls += parsed if isinstance(parsed, list) else [parsed]
    made = []
    for i, call in enumerate(calls):
        arguments = call.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        made.append((i, call.get("id"), call.get("name"), arguments))
    message.add(calls=made)
    return message.answer(False)


serve(describe=describe, detect=detect, parse=parse)
