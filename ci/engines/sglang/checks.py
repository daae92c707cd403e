"""Tests assay_chat.sglang behind SGLang's chat handler: what the corpus' cases do not ask.

checks.py CORPUS [TEMPLATES...]    TEMPLATES: strangers', 40 of which have to be served unseen
"""

import json
import os
import sys
from pathlib import Path

from answers import asked, handler, streamed, whole  # noqa: I001 it stands in for what follows

from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES
from sglang.srt.parser.reasoning_parser_names import REASONING_PARSER_NAMES
from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo

import assay_chat
from assay_view import tokenizer
from unseen import unseen

CORPUS = Path(sys.argv[1])
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        },
    },
}  # fmt: skip
HI = [{"role": "user", "content": "Hi"}]
PROMPT = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
THOUGHT = "<think>\nhm\n</think>\n\n"


def of(text, *words):
    return tokenizer({"template": text, "bos": "<s>", "eos": "</s>", "vocabulary": list(words)})


def family(name, *words):
    return of((CORPUS / name / "template.jinja").read_text(encoding="utf-8"), *words)


def read(server, output, prompt=PROMPT, **body):
    """Returns reasoning, content and calls: whole and streamed have to be alike."""
    got, pieces = [], [output[i : i + 3] for i in range(0, len(output), 3)]
    for how, given in ((whole, output), (streamed, pieces)):
        request, _ = asked(server, prompt, messages=HI, **body)
        m = how(server, request, given)["message"]
        calls = [(c["name"], json.loads(c["arguments"])) for c in m["tool_calls"]]
        got.append((m["reasoning_content"], m["content"], calls))
    assert got[0] == got[1], got
    return got[0]


def test_registered():
    assert "assay" in TOOL_CALL_PARSER_NAMES and "assay" in REASONING_PARSER_NAMES


def test_start():
    """A template without a call is refused, unless the environment insists."""
    plain = of("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    server = handler(plain)
    try:
        asked(server, "", messages=HI, tools=[WEATHER])
        raise AssertionError("a template without calls is served")
    except assay_chat.AssayError as error:
        assert error.kind == "unverified", error
    os.environ["ASSAY_INSIST"] = "1"
    asked(server, "", messages=HI, tools=[WEATHER])
    del os.environ["ASSAY_INSIST"]


def test_pairs():
    """Each of the two parsers alone, and both."""
    tok, calls = family("qwen3", "<think>", "</think>"), [("get_weather", {"city": "Oslo"})]
    output, tools = THOUGHT + "I look.\n" + CALL, [WEATHER]
    both = handler(tok)
    assert read(both, output, tools=tools) == ("hm", "I look.", calls)
    assert read(both, THOUGHT + "Hi", tools=tools) == ("hm", "Hi", [])
    assert read(both, "Hi", tools=tools) == ("", "Hi", [])
    reasoning, content, none = read(both, output, tools=tools, tool_choice="none")
    assert reasoning == "hm" and "I look." in content and not none
    thought, content, found = read(both, output, tools=tools, separate_reasoning=False)
    assert not thought and "hm" in content and found == calls, content
    reasoning, content, none = read(handler(tok, reasoning_parser="assay"), output, tools=tools)
    assert reasoning == "hm" and "<tool_call>" in content and not none
    thought, content, found = read(handler(tok, tool_call_parser="assay"), output, tools=tools)
    assert not thought and "hm" in content and found == calls, content
    mixed = handler(tok, tool_call_parser="assay", reasoning_parser="qwen3")
    reasoning, content, found = read(mixed, output, tools=tools)
    assert (reasoning.strip(), content.strip(), found) == ("hm", "I look.", calls)


def test_prompt():
    """The prompt says whether reasoning is open."""
    both = handler(family("qwen3", "<think>", "</think>"))
    assert read(both, "hm", PROMPT + "<think>\n\n</think>\n\n", tools=[WEATHER]) == ("", "hm", [])
    got = read(both, "hm\n</think>\n\nHi", PROMPT + "<think>\n", tools=[WEATHER])
    assert got == ("hm", "Hi", [])


def test_constraint():
    """The grammar of an answer takes a call in the template's spelling and, where a call is
    demanded, nothing else."""
    tok = family("qwen3", "<think>", "</think>")
    compiler = GrammarCompiler(TokenizerInfo.from_huggingface(tok))
    for server in (handler(tok), handler(tok, tool_call_parser="assay")):
        assert asked(server, PROMPT, messages=HI, tools=[WEATHER])[1] is None

        def takes(choice, text, server=server):
            _, constraint = asked(server, PROMPT, messages=HI, tools=[WEATHER], tool_choice=choice)
            assert constraint[0] == "structural_tag"
            tag = constraint[1].model_dump(by_alias=True)
            matcher = GrammarMatcher(compiler.compile_structural_tag(tag))
            return matcher.accept_string(text) and matcher.accept_token(tok.eos_token_id)

        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            assert takes(choice, CALL), choice
            assert not takes(choice, "Hello"), choice
            assert not takes(choice, CALL.replace("city", "town")), choice


def test_unseen():
    """Strangers' templates: what the format spells is read back, whole and streamed."""
    for path, text, sample, prompt, tools in unseen(sys.argv[2:], WEATHER):
        got = read(handler(of(text)), sample, prompt, tools=tools, input_ids=[0])
        name, arguments = got[2][0]
        assert (name, arguments["city"]) == ("get_weather", "Zürich"), (path, got)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("sglang: passed:", name)
