"""vLLM's server with the parsers of assay_chat.vllm, asked over HTTP: an adapter.

Everything between the client and the engine's core is vLLM's own: its arguments, its application
with its routes, its renderer, its detokenizer. The core is scripted: it answers with the tokens of
the case's output, a piece at a time. torch is the one that xgrammar brings; it calculates nothing.
With --responses the answers come from /v1/responses, else from /v1/chat/completions.
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
import threading
from types import SimpleNamespace

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
os.environ["VLLM_TARGET_DEVICE"] = "cpu"
sys.path.insert(0, os.environ["ASSAY_VLLM"])

import openai  # noqa: E402
import stub  # noqa: E402
import uvicorn  # noqa: E402
from assay_adapter import Message, Unsupported, reasoning_of, serve, text_of  # noqa: E402
from tokenizers import AddedToken  # noqa: E402
from torch import nn  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from vllm import __version__  # noqa: E402
from vllm.entrypoints.common.cli_args import (  # noqa: E402
    init_parser_plugin,
    make_arg_parser,
    validate_parsed_serve_args,
)
from vllm.entrypoints.launchers.api_server.app_state import init_app_state  # noqa: E402
from vllm.entrypoints.launchers.api_server.entry import build_async_engine_client  # noqa: E402
from vllm.entrypoints.launchers.app import build_app  # noqa: E402
from vllm.model_executor.models.registry import ModelRegistry  # noqa: E402
from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: E402
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason  # noqa: E402
from vllm.v1.engine.core_client import EngineCoreClient  # noqa: E402

RESPONSES = "--responses" in sys.argv
FLAGS = (
    "--served-model-name m --enable-auto-tool-choice --tool-call-parser assay"
    " --reasoning-parser assay --tool-parser-plugin assay_chat.vllm"
    " --reasoning-parser-plugin assay_chat.vllm --disable-log-stats --enforce-eager"
).split()
EOS = "<|assay-eos|>"


class Model(nn.Module):
    """What vLLM asks of a model's class before it is loaded."""

    def __init__(self, vllm_config, prefix=""):
        pass

    def embed_input_ids(self, input_ids):
        pass

    def forward(self, input_ids, positions):
        pass

    def compute_logits(self, hidden_states):
        pass


ModelRegistry.register_model("Scripted", Model)


class Core(EngineCoreClient):
    """The engine's process: answers every request with the script."""

    engine_ranks_managed = [0]
    resources = SimpleNamespace(engine_dead=False)

    def __init__(self):
        self.outputs = asyncio.Queue()
        self.script = []  # the pieces of the next answer, as EngineCoreOutput takes them

    async def get_supported_tasks_async(self):
        return ("generate",)

    async def add_request_async(self, request):
        for piece in self.script:
            one = EngineCoreOutput(request.request_id, **piece)
            self.outputs.put_nowait(EngineCoreOutputs(outputs=[one]))

    async def get_output_async(self):
        await asyncio.sleep(0)  # a piece is read before the next one comes
        return await self.outputs.get()

    async def abort_requests_async(self, request_ids):
        pass

    async def reset_mm_cache_async(self):
        pass

    def shutdown(self, timeout=None):
        pass


class Server:
    """A served template, on a port of its own."""

    def __init__(self, template, bos, eos, words):
        raw = stub.tokenizer(*words)
        raw.add_special_tokens([AddedToken(EOS, special=True)])
        self.tok = PreTrainedTokenizerFast(
            tokenizer_object=raw, bos_token=bos, eos_token=eos or EOS
        )
        self.tok.chat_template = template
        self.folder = tempfile.TemporaryDirectory()
        self.tok.save_pretrained(self.folder.name)
        config = {
            "architectures": ["Scripted"], "model_type": "llama", "hidden_size": 64,
            "num_attention_heads": 1, "num_hidden_layers": 1, "vocab_size": len(self.tok),
            "max_position_embeddings": 1 << 20,
        }  # fmt: skip
        with open(os.path.join(self.folder.name, "config.json"), "w") as f:
            json.dump(config, f)
        self.core = self.http = self.failed = None
        self.ready = threading.Event()
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self._thread, daemon=True)
        self.thread.start()
        self.ready.wait()
        if self.failed:
            raise self.failed
        port = self.sock.getsockname()[1]
        self.client = openai.OpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0
        )

    def _thread(self):
        try:
            asyncio.run(self._run())
        except BaseException as e:
            self.failed = e
            self.ready.set()

    async def _run(self):
        parser = make_arg_parser(FlexibleArgumentParser())
        args = parser.parse_args(["--model", self.folder.name, *FLAGS])
        validate_parsed_serve_args(args)
        init_parser_plugin(args)
        self.core = Core()
        EngineCoreClient.make_async_mp_client = staticmethod(lambda **_: self.core)
        async with build_async_engine_client(args) as engine:
            tasks = await engine.get_supported_tasks()
            app = build_app(args, tasks, engine.model_config)
            await init_app_state(engine, app.state, args, tasks)
            self.http = app.state.server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
            self.ready.set()
            await self.http.serve(sockets=[self.sock])

    def close(self):
        self.http.should_exit = True
        self.thread.join()
        self.folder.cleanup()


_servers = {}


def server(r):
    """Returns the server of a template and its markers. Those of one template are kept: cases come
    family by family."""
    template = (r["template"], r.get("bos"), r.get("eos"))
    words = tuple(sorted({*(r.get("special_tokens") or []), *(r.get("vocabulary") or [])}))
    if any(key[0] != template for key in _servers):
        while _servers:
            _servers.popitem()[1].close()
    if (template, words) not in _servers:
        _servers[template, words] = Server(*template, words)
    return _servers[template, words]


def parse(r):
    last = r["request"]["messages"][-1]
    if r["request"].get("continue_final_message") and not text_of(last) and reasoning_of(last):
        raise Unsupported("vLLM closes the reasoning of a message that is to be continued")
    s = server(r)
    length = r["reason"] == "length"
    pieces = [s.tok.encode(p, add_special_tokens=False) for p in r.get("chunks") or [r["output"]]]
    if not length:
        pieces.append([s.tok.eos_token_id])
    s.core.script = [{"new_token_ids": piece} for piece in pieces if piece]
    s.core.script[-1]["finish_reason"] = FinishReason.LENGTH if length else FinishReason.STOP
    return (responses if RESPONSES else chat)(s, r["request"], "chunks" in r)


def switches(q):
    told = {"enable_thinking": q["enable_thinking"]} if "enable_thinking" in q else {}
    return {"chat_template_kwargs": told | (q.get("chat_template_kwargs") or {})}


def chat(s, q, streamed):
    fields = ("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format")
    body = {k: q[k] for k in fields if k in q}
    if "json_schema" in q:
        body["response_format"] = {
            "type": "json_schema", "json_schema": {"name": "s", "schema": q["json_schema"]}
        }  # fmt: skip
    extra = switches(q)
    if q.get("continue_final_message"):
        extra |= {"continue_final_message": True, "add_generation_prompt": False}
    got = s.client.chat.completions.create(model="m", stream=streamed, extra_body=extra, **body)
    message = Message()
    for chunk in got if streamed else [got]:
        for choice in chunk.choices:
            d = choice.delta if streamed else choice.message
            calls = [
                (c.index if streamed else i, c.id, c.function.name, c.function.arguments)
                for i, c in enumerate(d.tool_calls or [])
            ]
            message.add(getattr(d, "reasoning", None), d.content, calls)
    return message.answer(streamed)


def items(q):
    """Yields the messages of a request as the items that /v1/responses takes."""
    for m in q["messages"]:
        if m["role"] == "tool":
            yield {"type": "function_call_output", "call_id": m["tool_call_id"],
                   "output": m["content"]}  # fmt: skip
            continue
        if thought := reasoning_of(m):
            content = [{"type": "reasoning_text", "text": thought}]
            yield {"type": "reasoning", "id": "r", "summary": [], "content": content}
        if m.get("content"):
            content = m["content"]
            if isinstance(content, list):
                content = [{"type": "input_text", "text": p["text"]} for p in content]
            item = {"role": m["role"], "content": content}
            if q.get("continue_final_message") and m is q["messages"][-1]:
                item["status"] = "in_progress"
            yield item
        for call in m.get("tool_calls") or []:
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def responses(s, q, streamed):
    body = {"input": list(items(q)), "store": False}
    if "tools" in q:
        body["tools"] = [{"type": "function", **t["function"]} for t in q["tools"]]
    body |= {k: q[k] for k in ("tool_choice", "parallel_tool_calls") if k in q}
    if "json_schema" in q:
        body["text"] = {
            "format": {"type": "json_schema", "name": "s", "schema": q["json_schema"]}
        }
    elif form := q.get("response_format"):
        body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
    got = s.client.responses.create(model="m", stream=streamed, extra_body=switches(q), **body)
    message, calls = Message(), {}
    if not streamed:
        for item in got.output:
            if item.type == "reasoning":
                message.add(reasoning=item.content[0].text)
            elif item.type == "message":
                message.add(content=item.content[0].text)
            else:
                calls[item.id] = (len(calls), item.call_id, item.name, item.arguments)
        message.add(calls=calls.values())
        return message.answer(False)
    for event in got:
        if event.type == "response.reasoning_text.delta":
            message.add(reasoning=event.delta)
        elif event.type == "response.output_text.delta":
            message.add(content=event.delta)
        elif event.type == "response.output_item.added" and event.item.type == "function_call":
            calls[event.output_index] = len(calls)
            message.add(calls=[(len(calls) - 1, event.item.call_id, event.item.name, "")])
        elif event.type == "response.function_call_arguments.delta":
            message.add(calls=[(calls[event.output_index], None, None, event.delta)])
    return message.answer(True)


def describe(_):
    name = "assay-vllm-responses" if RESPONSES else "assay-vllm-http"
    return {"engine": name, "version": __version__, "by_template": True, "streams": True}


serve(describe=describe, parse=parse)
os._exit(0)  # the server's thread is not waited for
