"""The loop of an adapter in Python: a JSON object a line in, one out (docs/reference/adapters.md).

An adapter passes `serve` a function for each operation it knows. A function takes the request and
returns the answer. An exception becomes an answer with "error"; Unsupported becomes one with
"unsupported", for features that the engine lacks by its own documentation. Every
answer tells the processor time that the operation took.
"""

import datetime
import importlib
import json
import os
import sys
import time
import traceback

# The time that templates see, and with them the encoders that write a date into their prompt.
CLOCK = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Unsupported(Exception):
    """The engine does not do this, by design."""


def serve(**operations):
    # Engines print to standard output and to the log; neither may reach the protocol's stream.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        start = time.process_time_ns()
        try:
            operation = operations.get(request.get("op"))
            if operation is None:
                raise Unsupported("no operation " + str(request.get("op")))
            answer = operation(request)
        except Unsupported as e:
            answer = {"unsupported": str(e)}
        except (Exception, SystemExit) as e:
            where = traceback.extract_tb(e.__traceback__)[-1]
            answer = {
                "error": f"{type(e).__name__}: {e}"[:2000],
                "at": f"{os.path.basename(where.filename)}:{where.lineno}",
            }
        answer["nanoseconds"] = time.process_time_ns() - start
        answer["id"] = request.get("id", "")
        text = json.dumps(answer, ensure_ascii=False, default=str)
        out.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")
        out.flush()


def package(module, name):
    """Imports a module of a package of PyPI; where it is not installed, every answer says so."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        why = f"python3 ({sys.executable}) cannot load {module}: {e}; install it: pip install {name}"

    def missing(_):
        raise RuntimeError(why)

    serve(describe=missing)
    sys.exit(1)


def text_of(m):
    """Returns the content of a message as one text."""
    content = m.get("content")
    if isinstance(content, list):
        for p in content:
            if "text" not in p and p.get("type") != "thinking":
                raise Unsupported(f"content of the type {p.get('type')}")
        return "".join(p.get("text") or "" for p in content)
    return content or ""


def reasoning_of(m):
    """Returns the reasoning of a message, by whichever name it goes."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if m.get(name):
            return m[name]
    parts = m.get("content")
    parts = parts if isinstance(parts, list) else []
    thoughts = [p.get("thinking") for p in parts if p.get("type") == "thinking"]
    return "".join(t if isinstance(t, str) else "".join(x["text"] for x in t) for t in thoughts)


def arguments_of(function):
    """Returns the arguments of a call as a value, also where they come as JSON text."""
    arguments = function.get("arguments")
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def declared(request):
    """Returns the tools that an answer may call: none where the request's tool_choice is none."""
    if request.get("tool_choice") == "none":
        return []
    return [
        t if "function" in t else {"type": "function", "function": t}
        for t in request.get("tools") or []
    ]


class Message:
    """Joins deltas: reasoning, content, and calls by index."""

    def __init__(self):
        self.reasoning, self.content, self.calls, self.deltas = "", "", {}, []

    def add(self, reasoning=None, content=None, calls=()):
        delta = {}
        if reasoning:
            self.reasoning += reasoning
            delta["reasoning_content"] = reasoning
        if content:
            self.content += content
            delta["content"] = content
        for index, call_id, name, arguments in calls:
            call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
            call["id"] = call["id"] or call_id or ""
            call["name"] += name or ""
            call["arguments"] += arguments or ""
            function = {}
            if name:
                function["name"] = name
            if arguments:
                function["arguments"] = arguments
            part = {"index": index, "function": function}
            if call_id and name:
                part["id"] = call_id
            delta.setdefault("tool_calls", []).append(part)
        if delta:
            self.deltas.append(delta)

    def answer(self, streamed):
        message = {
            "reasoning_content": self.reasoning,
            "content": self.content,
            "tool_calls": [self.calls[i] for i in sorted(self.calls)],
        }
        return {"message": message, "deltas": self.deltas} if streamed else {"message": message}
