"""Tests assay_chat.vllm behind vLLM's own managers: what the cases of the corpus do not ask.

plugin.py CORPUS [TEMPLATES...]    TEMPLATES: strangers', 40 of which have to be served unseen

torch is stood in for, since no parser calculates (../stub.py); the tokenizer has a token for each
byte and for each marker. `make vllm` runs this, and the corpus through `assay engines run`.
"""

import json
import os
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
import stub  # noqa: E402

stub.vllm()

from transformers import PreTrainedTokenizerFast  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest  # noqa: E402
from vllm.parser import ParserManager  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402
from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo  # noqa: E402

from unseen import unseen  # noqa: E402

CORPUS = Path(sys.argv[1])
ToolParserManager.import_tool_parser("assay_chat.vllm")
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        },
    },
}  # fmt: skip
FLAT = {"type": "function", **WEATHER["function"], "strict": False}  # as /v1/responses has it
HI = [{"role": "user", "content": "Hi"}]


def tokenizer(text, *special):
    """Return a tokenizer with a template: one token a byte, and one a marker."""
    raw = stub.tokenizer(*special)
    made = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>")
    made.chat_template = text
    return made


def family(name, *special):
    return tokenizer((CORPUS / name / "template.jinja").read_text(encoding="utf-8"), *special)


def parser_cls(tok, tool="assay", reasoning="assay"):
    return ParserManager.get_parser(
        tool_parser_name=tool, reasoning_parser_name=reasoning, enable_auto_tools=bool(tool),
        tokenizer=tok,
    )  # fmt: skip


def request(**more):
    return ChatCompletionRequest(model="m", messages=HI, **more)


def ids(tok, text):
    return tok.encode(text, add_special_tokens=False)


def stream(tok, cls, output, asked, prompt, size=3, **options):
    """Return the reasoning, the content and the calls of a stream."""
    p = cls(tok, asked.tools, **options)
    asked = p.adjust_request(asked.model_copy())
    reasoning, content, calls = "", "", {}
    pieces = [output[i : i + size] for i in range(0, len(output), size)]
    for i, piece in enumerate(pieces):
        delta = p.parse_delta(
            piece, ids(tok, piece), asked, ids(tok, prompt), finished=i + 1 == len(pieces)
        )
        if delta is None:
            continue
        reasoning, content = reasoning + (delta.reasoning or ""), content + (delta.content or "")
        for call in delta.tool_calls or []:
            one = calls.setdefault(call.index, {"id": call.id, "name": "", "arguments": ""})
            one["name"] += call.function.name or ""
            one["arguments"] += call.function.arguments or ""
    return reasoning, content, list(calls.values())


def whole(tok, cls, output, asked, prompt, **options):
    p = cls(tok, asked.tools, **options)
    asked = p.adjust_request(asked.model_copy())
    p.set_prompt_token_ids(ids(tok, prompt))
    reasoning, content, calls = p.parse(output, asked, enable_auto_tools=True)
    return reasoning or "", content or "", [
        {"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls or []
    ]  # fmt: skip


PROMPT = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def test_registered():
    assert "assay" in ToolParserManager.list_registered()
    assert "assay" in ReasoningParserManager.list_registered()


def test_start():
    """A template without a call stops the server, unless the environment insists."""
    plain = tokenizer("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    try:
        parser_cls(plain)
        raise AssertionError("a template without calls is served")
    except TypeError as error:
        assert "not verified" in str(error), error
    assert parser_cls(plain, tool=None)  # reasoning alone asks for no calls
    os.environ["ASSAY_INSIST"] = "1"
    assert parser_cls(plain)
    del os.environ["ASSAY_INSIST"]


def test_pairs():
    """Each of the two parsers alone, and both."""
    tok, output = (
        family("qwen3", "<think>", "</think>"),
        "<think>\nhm\n</think>\n\nI look.\n" + CALL,
    )
    for read in (whole, stream):
        asked = request(tools=[WEATHER], tool_choice="auto")
        reasoning, content, calls = read(tok, parser_cls(tok), output, asked, PROMPT)
        assert (reasoning, content) == ("hm", "I look."), (read, reasoning, content)
        assert calls[0]["name"] == "get_weather" and calls[0]["id"]
        assert json.loads(calls[0]["arguments"]) == {"city": "Oslo"}
        reasoning, content, calls = read(tok, parser_cls(tok, tool=None), output, asked, PROMPT)
        assert reasoning == "hm" and "<tool_call>" in content and not calls, (read, content)
        reasoning, content, calls = read(
            tok, parser_cls(tok, reasoning=None), output, asked, PROMPT
        )
        assert not reasoning and "<think>" in content and len(calls) == 1, (read, content)
        asked = request(tools=[WEATHER], tool_choice="none")
        reasoning, content, calls = read(tok, parser_cls(tok), output, asked, PROMPT)
        assert reasoning == "hm" and "I look." in content and not calls, (read, content)


def test_prompt():
    """The prompt says whether reasoning is open, whatever the switches are."""
    tok = family("qwen3", "<think>", "</think>")
    closed = PROMPT + "<think>\n\n</think>\n\n"
    for read in (whole, stream):
        asked = request(tools=[WEATHER])
        assert read(tok, parser_cls(tok), "hm", asked, closed) == ("", "hm", [])
        opened = PROMPT + "<think>\n"
        got = read(
            tok,
            parser_cls(tok),
            "hm\n</think>\n\nHi",
            request(tools=[WEATHER], continue_final_message=True, add_generation_prompt=False),
            opened,
        )
        assert got == ("hm", "Hi", []), (read, got)


def test_responses():
    tok = family("qwen3", "<think>", "</think>")
    asked = ResponsesRequest(model="m", input="Hi", tools=[FLAT])
    for read in (whole, stream):
        reasoning, content, calls = read(tok, parser_cls(tok), "<think>\nhm\n</think>\n\n" + CALL,
                                         asked, PROMPT)  # fmt: skip
        assert reasoning == "hm" and not content and calls[0]["name"] == "get_weather", read


def test_templates():
    """The environment's template, and a request's own."""
    tok = family("qwen3")
    llama = (CORPUS / "llama-3" / "template.jinja").read_text(encoding="utf-8")
    call = '{"name": "get_weather", "parameters": {"city": "Oslo"}}'
    asked = request(tools=[WEATHER], chat_template=llama)
    header = "<|start_header_id|>assistant<|end_header_id|>\n\n"
    assert whole(tok, parser_cls(tok), call, asked, header)[2][0]["name"] == "get_weather"
    os.environ["ASSAY_CHAT_TEMPLATE"] = str(CORPUS / "llama-3" / "template.jinja")
    for read in (whole, stream):
        asked = request(tools=[WEATHER])
        assert read(tok, parser_cls(tok), call, asked, header)[2][0]["name"] == "get_weather"
    del os.environ["ASSAY_CHAT_TEMPLATE"]


def test_reasoning_by_ids():
    """Where a grammar begins in the engine's process: after which token reasoning is over."""
    reasoner = ReasoningParserManager.get_reasoning_parser("assay")
    for name, prompt, output, over in (
        ("qwen3", PROMPT, "<think>\nhm\n</think>\n\nHi", "</think>"),
        ("qwen3", PROMPT + "<think>\n\n</think>\n\n", "Hi", ""),
        ("hermes", PROMPT, "Hi", ""),
        ("deepseek-r1", "<｜User｜>Hi<｜Assistant｜><think>\n", "hm\n</think>\n\nHi", "</think>"),
        ("seed-oss", "<seed:bos>assistant\n", "<seed:think>hm</seed:think>Hi", "</seed:think>"),
    ):
        tok = family(name, "<think>", "</think>", "<seed:think>", "</seed:think>", "<seed:bos>")
        first, more = ids(tok, prompt), ids(tok, output)
        r = reasoner(tok)
        assert r.is_reasoning_end(first) == (over == ""), (name, prompt)
        at = len(ids(tok, output[: output.index(over) + len(over)])) if over else 0
        for i in range(1, len(more) + 1):
            got = r.is_reasoning_end_streaming(first + more[:i], more[i - 1 : i])
            assert got == (i >= at), (name, i, at, tok.decode(more[:i]))
        if over:
            assert tok.decode(r.extract_content_ids(first + more)).strip() == "Hi", name
            opened = output.split(over)[0].replace("<think>", "").replace("<seed:think>", "")
            if prompt is PROMPT or name == "seed-oss":
                assert r.count_reasoning_tokens(more) == len(ids(tok, opened)), name


def test_constraint():
    """The grammar of an answer takes a call in the template's spelling and, where a call is
    demanded, nothing else."""
    for name, call in (("hermes", CALL), ("qwen3", CALL)):
        tok = family(name)
        compiler = GrammarCompiler(TokenizerInfo.from_huggingface(tok))

        def takes(asked, text, compiler=compiler, tok=tok):
            tag = json.loads(asked.structured_outputs.structural_tag)
            matcher = GrammarMatcher(compiler.compile_structural_tag(tag))
            return matcher.accept_string(text) and matcher.accept_token(tok.eos_token_id)

        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            asked = request(tools=[WEATHER], tool_choice=choice)
            asked = parser_cls(tok)(tok, asked.tools).adjust_request(asked)
            assert not asked.skip_special_tokens
            assert takes(asked, call), (name, choice)
            assert not takes(asked, "Hello"), (name, choice)
            assert not takes(asked, call.replace("city", "town")), (name, choice)
        asked = request(tools=[WEATHER], tool_choice="auto")
        asked = parser_cls(tok)(tok, asked.tools).adjust_request(asked)
        assert takes(asked, "Hello. " + call) and not takes(asked, call.replace("city", "town"))
        asked = request()
        assert parser_cls(tok)(tok, asked.tools).adjust_request(asked).structured_outputs is None
        # A form beside tools, as /v1/responses has it: the answer has it, or calls.
        form = {"type": "json_schema", "name": "s", "schema": WEATHER["function"]["parameters"]}
        asked = ResponsesRequest(model="m", input="Hi", tools=[FLAT], text={"format": form})
        asked = parser_cls(tok)(tok, asked.tools).adjust_request(asked)
        assert asked.text is None and takes(asked, call) and takes(asked, '{"city": "Oslo"}'), name
        assert not takes(asked, "Hello") and not takes(asked, '{"town": "Oslo"}'), name


def test_unseen():
    """Strangers' templates: what the format spells is read back, whole and streamed."""
    for path, text, sample, prompt, tools in unseen(sys.argv[2:], WEATHER):
        tok, read = tokenizer(text), []
        for how in (whole, stream):
            got = how(tok, parser_cls(tok), sample, request(tools=tools), prompt)
            read.append((*got[:2], [(c["name"], json.loads(c["arguments"])) for c in got[2]]))
        assert read[0] == read[1], (path, read)
        name, arguments = read[0][2][0]
        assert (name, arguments["city"]) == ("get_weather", "Zürich"), (path, sample, read)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("vllm: passed:", name)
