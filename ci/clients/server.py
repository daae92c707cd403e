"""A server on loopback that answers as a model would that calls tools, and notes every request.

server.py PORT LOG NOTE: chat completions, Responses, Messages, streamed or not. The first answer
calls two of the tools that the request brings, which read the file NOTE where the tools are a
coding agent's; once there are results it answers in words.
"""

import gzip
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOG, NOTE = sys.argv[2], sys.argv[3]
CALLS = [("get_weather", {"city": "Lumati", "days": 3}), ("list_notes", {})]
CLI = {
    "read": lambda: {"filePath": NOTE},
    "Read": lambda: {"file_path": NOTE},
    "exec_command": lambda: {"cmd": "cat " + NOTE},
    "shell": lambda: {"command": ["cat", NOTE]},
    "shell_command": lambda: {"command": "cat " + NOTE},
    "read_file": lambda: {"path": NOTE},
    "read_files": lambda: {"paths": [NOTE]},
    "execute_command": lambda: {"command": "cat " + NOTE, "requires_approval": False},
    "bash": lambda: {"command": "cat " + NOTE, "description": "read"},
}
lock = threading.Lock()


def log(path, body):
    with lock, open(LOG, "a") as f:
        f.write(json.dumps({"path": path, "body": body}) + "\n")


def picks(names):
    own = [(n, a) for n, a in CALLS if n in names]
    if own:
        return own
    for n, a in CLI.items():
        if n in names:
            return [(n, a()), (n, a())]
    return []


class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def do_GET(self):
        self.send(
            {
                "object": "list",
                "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}],
                "models": [],
            }
        )

    def send(self, v, ctype="application/json", raw=None):
        b = raw if raw is not None else json.dumps(v).encode()
        self.send_response(200)
        self.send_header("Content-Type", ctype)
        self.send_header("Content-Length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)

    def sse(self, events, named=False):
        out = b""
        for e in events:
            if named:
                out += f"event: {e['type']}\n".encode()
            out += b"data: " + json.dumps(e).encode() + b"\n\n"
        if not named:
            out += b"data: [DONE]\n\n"
        self.send(None, "text/event-stream", out)

    def do_POST(self):
        n = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(n)
        if self.headers.get("Transfer-Encoding") == "chunked":
            raw = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                raw += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    break
        enc = self.headers.get("Content-Encoding") or ""
        if enc == "zstd":
            raw = subprocess.run(["zstd", "-dc"], input=raw, capture_output=True).stdout
        elif enc == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw)
        except Exception:
            body = {"raw": raw[:200].decode("latin1")}
        log(self.path, body)
        p = self.path.split("?")[0]
        if p.endswith("count_tokens"):
            return self.send({"input_tokens": 10})
        if p.endswith("/chat/completions"):
            return self.chat(body)
        if p.endswith("/responses"):
            return self.to_responses(body)
        if p.endswith("/messages"):
            return self.messages(body)
        self.send({})

    def chat(self, b):
        names = [t["function"]["name"] for t in b.get("tools") or []]
        results = sum(m["role"] == "tool" for m in b["messages"])
        users = sum(m["role"] == "user" for m in b["messages"])
        calls = picks(names) if results == 0 or (users >= 2 and results <= 2) else []
        if users >= 2 and results:
            calls = calls[:1]
        text = (
            "I look."
            if users >= 2 and calls
            else None
            if calls
            else "The weather in Lumati is clear."
        )
        tc = [
            {
                "id": f"call_{results}{i}abcdef",
                "type": "function",
                "function": {"name": n, "arguments": json.dumps(a)},
            }
            for i, (n, a) in enumerate(calls)
        ]
        fin = "tool_calls" if tc else "stop"
        base = {"id": "c1", "created": 1, "model": b.get("model", "m")}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        if not b.get("stream"):
            msg = {"role": "assistant", "content": text}
            if tc:
                msg["tool_calls"] = tc
            return self.send(
                {
                    **base,
                    "object": "chat.completion",
                    "choices": [{"index": 0, "message": msg, "finish_reason": fin}],
                    "usage": usage,
                }
            )
        ev = [
            {
                **base,
                "object": "chat.completion.chunk",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"role": "assistant", "content": text},
                        "finish_reason": None,
                    }
                ],
            }
        ]
        for i, t in enumerate(tc):
            ev.append(
                {
                    **base,
                    "object": "chat.completion.chunk",
                    "choices": [
                        {
                            "index": 0,
                            "delta": {"tool_calls": [{"index": i, **t}]},
                            "finish_reason": None,
                        }
                    ],
                }
            )
        ev.append(
            {
                **base,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {}, "finish_reason": fin}],
                "usage": usage,
            }
        )
        self.sse(ev)

    def to_responses(self, b):
        names = [t.get("name") for t in b.get("tools") or []]
        results = (
            sum(
                i.get("type") in ("function_call_output", "custom_tool_call_output")
                for i in b["input"]
                if isinstance(i, dict)
            )
            if isinstance(b["input"], list)
            else 0
        )
        calls = picks(names) if results == 0 else []
        r = {
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": b.get("model", "m"),
            "output": [],
            "usage": {
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 18,
            },
            "parallel_tool_calls": True,
            "tools": [],
            "tool_choice": "auto",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "temperature": 1,
            "top_p": 1,
        }
        items = [
            {
                "type": "function_call",
                "id": f"fc{i}",
                "call_id": f"call_{i}",
                "name": n,
                "arguments": json.dumps(a),
                "status": "completed",
            }
            for i, (n, a) in enumerate(calls)
        ] or [
            {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
            }
        ]
        if not b.get("stream"):
            return self.send({**r, "output": items})
        ev = [
            {
                "type": "response.created",
                "sequence_number": 0,
                "response": {**r, "status": "in_progress"},
            }
        ]
        for i, it in enumerate(items):
            ev.append(
                {
                    "type": "response.output_item.added",
                    "sequence_number": 1,
                    "output_index": i,
                    "item": it,
                }
            )
            ev.append(
                {
                    "type": "response.output_item.done",
                    "sequence_number": 2,
                    "output_index": i,
                    "item": it,
                }
            )
        ev.append(
            {"type": "response.completed", "sequence_number": 3, "response": {**r, "output": items}}
        )
        self.sse(ev, named=True)

    def messages(self, b):
        names = [t.get("name") for t in b.get("tools") or []]
        results = sum(
            isinstance(m["content"], list)
            and any(x.get("type") == "tool_result" for x in m["content"])
            for m in b["messages"]
        )
        calls = picks(names) if results == 0 else []
        if calls:
            blocks = [{"type": "text", "text": "I look."}] + [
                {"type": "tool_use", "id": f"toolu_{i}abc", "name": n, "input": a}
                for i, (n, a) in enumerate(calls)
            ]
        else:
            blocks = [{"type": "text", "text": "Done."}]
        stop = "tool_use" if calls else "end_turn"
        m = {
            "id": "msg1",
            "type": "message",
            "role": "assistant",
            "model": b.get("model", "m"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 1},
        }
        if not b.get("stream"):
            return self.send({**m, "content": blocks, "stop_reason": stop})
        ev = [{"type": "message_start", "message": m}]
        for i, bl in enumerate(blocks):
            if bl["type"] == "text":
                ev += [
                    {
                        "type": "content_block_start",
                        "index": i,
                        "content_block": {"type": "text", "text": ""},
                    },
                    {
                        "type": "content_block_delta",
                        "index": i,
                        "delta": {"type": "text_delta", "text": bl["text"]},
                    },
                ]
            else:
                ev += [
                    {
                        "type": "content_block_start",
                        "index": i,
                        "content_block": {**bl, "input": {}},
                    },
                    {
                        "type": "content_block_delta",
                        "index": i,
                        "delta": {
                            "type": "input_json_delta",
                            "partial_json": json.dumps(bl["input"]),
                        },
                    },
                ]
            ev.append({"type": "content_block_stop", "index": i})
        ev += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": 9},
            },
            {"type": "message_stop"},
        ]
        self.sse(ev, named=True)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
