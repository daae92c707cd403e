"""vLLM's parsers, called as its server calls them, with torch stood in for (stub.py).

With --assay they are those of assay_chat.vllm, registered as vLLM's own plugin loader does it; with
--hf vLLM's generic ones, by the response_template of the request.
"""

import importlib.util
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stub  # noqa: E402

VERSION = stub.vllm()

from assay_adapter import Message, Unsupported, declared, serve  # noqa: E402
from tokenizers import AddedToken  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.parser import ParserManager  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402


OURS, HF = "--assay" in sys.argv, "--hf" in sys.argv
if OURS:
    ToolParserManager.import_tool_parser("assay_chat.vllm")


def describe(_):
    if OURS:
        return {"engine": "assay-vllm", "version": VERSION, "by_template": True,
                "streams": True}  # fmt: skip
    if HF:
        return {"engine": "vllm-hf", "version": VERSION, "response_template": True,
                "streams": True}  # fmt: skip
    return {
        "engine": "vllm",
        "version": VERSION,
        "tool_parsers": sorted(ToolParserManager.list_registered()),
        "reasoning_parsers": sorted(ReasoningParserManager.list_registered()),
        "streams": True,
    }


class Vocabulary(dict):
    """A vocabulary that remembers the look-ups that failed."""

    def __init__(self, tokens):
        super().__init__(tokens)
        self.missed = []

    def __contains__(self, token):
        return self.get(token) is not None

    def get(self, token, default=None):
        found = super().get(token)
        if found is None and isinstance(token, str):
            self.missed.append(token)
        return default if found is None else found

    def __missing__(self, token):
        self.missed.append(token)
        raise KeyError(token)


class ByteTokenizer(PreTrainedTokenizerFast):
    """One token a byte, and one for each marker."""

    def get_vocab(self):
        if not hasattr(self, "looked_up"):
            self.looked_up = Vocabulary(super().get_vocab())
        return self.looked_up


_tokenizers = {}


def tokenizer(special, template=None, bos=None, eos=None):
    key = (*special, template, bos, eos)
    if key not in _tokenizers:
        raw = stub.tokenizer(*special)
        raw.add_special_tokens([AddedToken("<|assay-eos|>", special=True)])
        _tokenizers[key] = ByteTokenizer(
            tokenizer_object=raw, bos_token=bos, eos_token=eos or "<|assay-eos|>"
        )
        _tokenizers[key].chat_template = template
    return _tokenizers[key]


_classes, _demanded = {}, {}


def parser(r, tools):
    """Returns the parser of a request and its tokeniser; None where no parser is named.

    A parser may demand tokens that its model's tokeniser has and the template does not write, such
    as <|python_tag|>. Where its constructor fails, it gets the tokens that it looked up in vain.
    """
    names = {"tool": "assay", "reasoning": "assay"} if OURS else r.get("parser") or {}
    if HF:
        return generic(r, tools)
    key = (names.get("tool"), names.get("reasoning"))
    if key not in _classes:
        _classes[key] = ParserManager.get_parser(
            tool_parser_name=key[0] or None,
            reasoning_parser_name=key[1] or None,
            enable_auto_tools=True,
        )
    cls = _classes[key]
    special = sorted({*(r.get("special_tokens") or []), *(r.get("vocabulary") or [])})
    extra = _demanded.setdefault((key, tuple(special)), [])
    options = {"chat_template_kwargs": r["request"].get("chat_template_kwargs") or {}}
    while True:
        tok = tokenizer(special + extra, r["template"], r.get("bos"), r.get("eos")) if OURS else \
            tokenizer(special + extra)  # fmt: skip
        if cls is None:
            return None, tok
        tok.get_vocab().missed.clear()
        try:
            return cls(tok, tools, **options), tok
        except (RuntimeError, ValueError, KeyError, AttributeError):
            missed = [t for t in dict.fromkeys(tok.get_vocab().missed) if t not in special + extra]
            if not missed:
                raise
            extra += missed


def generic(r, tools):
    """Returns vLLM's generic parser of the request's response_template. It wants reasoning under
    another name than transformers' messages have, and joins the parts of a text itself."""
    if r.get("response_template") is None:
        raise Unsupported("no response_template for this template")
    template = dict(r["response_template"])
    names = {"reasoning_content": "thinking"}
    template["fields"] = {
        names.get(name, name): {k: v for k, v in field.items() if k != "join"}
        for name, field in template["fields"].items()
    }
    special = sorted(set(r.get("special_tokens") or []))
    tok = tokenizer(special, r["template"], r.get("bos"), r.get("eos"))
    tok.response_template = template
    cls = ParserManager.get_parser(
        tool_parser_name="hf" if tools and "tool_calls" in template["fields"] else None,
        reasoning_parser_name="hf" if "thinking" in template["fields"] else None,
        enable_auto_tools=True,
        tokenizer=tok,
    )
    options = {"chat_template_kwargs": r["request"].get("chat_template_kwargs") or {}}
    return cls and cls(tok, tools, **options), tok


def parse(r):
    tools = declared(r["request"])
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if tools:
        body["tools"], body["tool_choice"] = tools, "auto"
    if OURS:  # reads more of the request: a prompt that ends in a tool's result is rendered again
        body["messages"] = r["request"]["messages"]
        body["continue_final_message"] = bool(r["request"].get("continue_final_message"))
        body["add_generation_prompt"] = not body["continue_final_message"]
        body["response_format"] = r["request"].get("response_format")
        if schema := r["request"].get("json_schema"):
            body["response_format"] = {
                "type": "json_schema", "json_schema": {"name": "s", "schema": schema}
            }  # fmt: skip
    body["chat_template_kwargs"] = r["request"].get("chat_template_kwargs") or {}
    request = ChatCompletionRequest(**body)
    try:
        p, tok = parser(r, request.tools)
        return run(r, p, tok, request)
    except NotImplementedError as e:
        raise Unsupported(str(e)) from e


def run(r, p, tok, request):
    message = Message()
    chunks = r.get("chunks")
    if p is None:
        message.add(content=r["output"])
        return message.answer(chunks is not None)
    adjusted = p.adjust_request(request)
    request = adjusted if adjusted is not None else request
    prompt_ids = tok.encode(r.get("prompt") or "", add_special_tokens=False)
    if chunks is None:
        ids = tok.encode(r["output"], add_special_tokens=False)
        p.set_prompt_token_ids(prompt_ids)
        thought, content, calls = p.parse(
            r["output"], request, enable_auto_tools=True, model_output_token_ids=ids
        )
        message.add(
            reasoning=thought,
            content=content,
            calls=[(i, None, c.name, c.arguments) for i, c in enumerate(calls or [])],
        )
        return message.answer(False)
    for i, chunk in enumerate(chunks):
        ids = tok.encode(chunk, add_special_tokens=False)
        d = p.parse_delta(chunk, ids, request, prompt_ids, finished=i + 1 == len(chunks))
        if d is None:
            continue
        thought = getattr(d, "reasoning", None) or getattr(d, "reasoning_content", None)
        calls = [
            (
                c.index,
                c.id,
                c.function.name if c.function else None,
                c.function.arguments if c.function else None,
            )
            for c in d.tool_calls or []
        ]
        message.add(reasoning=thought, content=d.content, calls=calls)
    return message.answer(True)


serve(describe=describe, parse=parse)
