"""Makes the data of package harness/conversation/clients from the notes of server.py.

distil.py LOGS NOTE OUT: for each client LOGS/NAME.jsonl, with its version in LOGS/NAME.version.
Instructions and descriptions are replaced by our words; of many tools those are kept that have
something of their own in their schemas.
"""

import json
import os
import re
import sys

OWN = {
    "You are terse.",
    "Weather in Lumati?",
    "And tomorrow?",
    "What is this?",
    "Hello",
    "You answer.",
    "You route.",
    "I look.",
    "clear",
    "a note",
    "The weather in Lumati is clear.",
    "Read note.txt",
    "Done.",
    "another",
    '{"sky": "clear"}',
}
seen = {}


def own(text, what="Instructions"):
    if text in OWN or len(text) < 3 or re.fullmatch(r"https?://\S+", text):
        return text
    if text not in seen:
        seen[text] = f"{what} number {len(seen) + 1}, in our words."
    return seen[text]


def content(c, what):
    if c is None:
        return None
    if isinstance(c, str):
        return own(c, what)
    out = []
    for p in c:
        p = dict(p)
        p.pop("cache_control", None)
        p.pop("annotations", None)
        if isinstance(p.get("text"), str):
            p["text"] = own(p["text"], what)
        out.append(p)
    return out


def schema(s, name, fill=True):
    if isinstance(s, list):
        return [schema(x, name) for x in s]
    if not isinstance(s, dict):
        return s
    out = {}
    for k, v in s.items():
        if k == "description" and isinstance(v, str):
            out[k] = f"About {name}."
        elif k in ("properties", "$defs", "definitions") and isinstance(v, dict):
            out[k] = {n: schema(x, n) for n, x in v.items()}
        elif k in ("items", "anyOf", "oneOf", "allOf", "additionalProperties", "not"):
            out[k] = schema(v, name)
        elif k in ("examples",):
            continue
        elif k == "pattern":
            out[k] = v
        else:
            out[k] = v
    return out


def features(v, path=""):
    f = set()
    if isinstance(v, dict):
        for k, x in v.items():
            f.add(k if not path.endswith("properties") else "name")
            if k == "type" and not isinstance(x, dict):
                f.add("type=" + json.dumps(x))
            f |= features(x, path + "." + k)
    elif isinstance(v, list):
        for x in v:
            f |= features(x, path + "[]")
    return f


def tools(ts, called):
    out = []
    for t in ts or []:
        f = t.get("function", t)
        g = {"name": f["name"]}
        if "description" in f:
            g["description"] = f"Does {f['name']}." if f["description"] else f["description"]
        p = f.get("parameters", f.get("input_schema"))
        if p is not None:
            g["parameters"] = schema(p, f["name"])
        if "strict" in f:
            g["strict"] = f["strict"]
        out.append({"type": "function", "function": g})
    keep, have = [], set()
    for t in sorted(out, key=lambda t: (t["function"]["name"] not in called, len(json.dumps(t)))):
        new = features(t) - have
        if t["function"]["name"] in called or new and len(json.dumps(t)) < 1100:
            keep.append(t)
            have |= new
    return keep[:6]


def calls_of(ms):
    return {c["function"]["name"] for m in ms for c in m.get("tool_calls", [])}


def from_responses(b):
    ms = []
    if b.get("instructions"):
        ms.append({"role": "system", "content": b["instructions"]})
    for i in b["input"]:
        if i.get("type", "message") == "message":
            c = [{"type": "text", "text": p["text"]} for p in i["content"] if "text" in p]
            ms.append(
                {
                    "role": i["role"],
                    "content": c if i["role"] != "assistant" else "".join(p["text"] for p in c),
                }
            )
        elif i["type"] == "function_call":
            call = {
                "id": i["call_id"],
                "type": "function",
                "function": {"name": i["name"], "arguments": i["arguments"]},
            }
            if ms and ms[-1]["role"] == "assistant" and "tool_calls" in ms[-1]:
                ms[-1]["tool_calls"].append(call)
            else:
                ms.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif i["type"] == "function_call_output":
            o = i["output"]
            ms.append(
                {
                    "role": "tool",
                    "tool_call_id": i["call_id"],
                    "content": (
                        o
                        if isinstance(o, str)
                        else [{"type": "text", "text": p["text"]} for p in o]
                    ),
                }
            )
    return ms, [t for t in b.get("tools", []) if t.get("type") == "function"]


def from_messages(b):
    ms = []
    s = b.get("system")
    if s:
        ms.append(
            {
                "role": "system",
                "content": (
                    s if isinstance(s, str) else [{"type": "text", "text": p["text"]} for p in s]
                ),
            }
        )
    for m in b["messages"]:
        c = m["content"]
        if isinstance(c, str):
            ms.append({"role": m["role"], "content": c})
            continue
        text = [{"type": "text", "text": p["text"]} for p in c if p["type"] == "text"]
        for p in c:
            if p["type"] == "tool_result":
                ms.append(
                    {"role": "tool", "tool_call_id": p["tool_use_id"], "content": p["content"]}
                )
        uses = [
            {
                "id": p["id"],
                "type": "function",
                "function": {"name": p["name"], "arguments": json.dumps(p["input"])},
            }
            for p in c
            if p["type"] == "tool_use"
        ]
        if m["role"] == "assistant":
            a = {"role": "assistant", "content": "".join(p["text"] for p in text) or None}
            if uses:
                a["tool_calls"] = uses
            ms.append(a)
        elif text:
            ms.append({"role": m["role"], "content": text})
    return ms, b.get("tools", [])


ABOUT = {
    "openai-agents": ("PyPI openai-agents", "chat completions"),
    "langchain": ("PyPI langchain-openai", "chat completions"),
    "pydantic-ai": ("PyPI pydantic-ai-slim", "chat completions"),
    "mcp": ("PyPI mcp, by openai-agents", "chat completions"),
    "codex": ("npm @openai/codex", "responses"),
    "opencode": ("npm opencode-ai", "chat completions"),
    "claude-code": ("npm @anthropic-ai/claude-code", "messages"),
    "cline": ("npm cline", "chat completions"),
}


logs, note, out = sys.argv[1:]
for client, (package, protocol) in ABOUT.items():
    version = open(os.path.join(logs, client + ".version")).read().strip()
    seen.clear()
    reqs, sets, have = [], [], set()
    for line in open(os.path.join(logs, client + ".jsonl")):
        r = json.loads(line)
        b = r["body"]
        if protocol == "responses":
            ms, ts = from_responses(b)
        elif protocol == "messages":
            ms, ts = from_messages(b)
        else:
            ms, ts = b["messages"], b.get("tools") or []
        clean = []
        for m in ms:
            n = {"role": m["role"]}
            if "content" in m:
                n["content"] = content(
                    m["content"],
                    {"tool": "Output", "user": "Context"}.get(m["role"], "Instructions"),
                )
            for k in m:
                if k not in ("role", "content"):
                    n[k] = m[k]
            clean.append(n)
        kept = tools(
            ts,
            calls_of(ms)
            | {"Read", "read", "exec_command", "read_files", "get_weather", "list_notes"},
        )
        key = json.dumps(
            [[m["role"], type(m.get("content")).__name__] for m in clean]
        ) + json.dumps(kept)
        if key in have:
            continue
        have.add(key)
        if kept and kept not in sets:
            sets.append(kept)
        reqs.append((clean, kept))

    # one message and one tool a line
    def dump(v):
        return json.dumps(v, ensure_ascii=False)

    L = ["{"]
    head = {"client": client, "package": package, "version": version, "protocol": protocol}
    for k, v in head.items():
        L.append(f' "{k}": {json.dumps(v)},')
    L.append(' "tools": [')
    for i, ts in enumerate(sets):
        for j, t in enumerate(ts):
            L.append(
                ("  [" if j == 0 else "   ")
                + dump(t)
                + ("," if j < len(ts) - 1 else "]" + ("," if i < len(sets) - 1 else ""))
            )
    L[-1] += "],"
    L.append(' "requests": [')
    for i, (ms, kept) in enumerate(reqs):
        L.append("  {" + (f'"tools": {sets.index(kept)}, ' if kept else "") + '"messages": [')
        for j, m in enumerate(ms):
            L.append(
                "   "
                + dump(m)
                + ("," if j < len(ms) - 1 else "]}" + ("," if i < len(reqs) - 1 else ""))
            )
    L.append(" ]\n}")
    text = "\n".join(L) + "\n"
    text = text.replace(note, "note.txt")
    assert os.path.dirname(note) not in text, client
    json.loads(text)
    open(os.path.join(out, client + ".json"), "w").write(text)
    print(client, len(reqs), len(text))
