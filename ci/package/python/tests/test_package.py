"""Tests of the Python package as it is installed: `make snapshot` runs them in a virtual
environment, by the library and by the child process. TEMPLATES is a folder with good.jinja and
bad.jinja, an edit of it that refuses null content beside calls."""

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import assay_chat
from assay_chat._process import Process, shared

TEMPLATES = Path(os.environ["TEMPLATES"])
GOOD, BAD = TEMPLATES / "good.jinja", TEMPLATES / "bad.jinja"
EXAMPLES = Path(os.environ["EXAMPLES"])
CALL = 'Hi <tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'


def test_check():
    good, bad = assay_chat.check(GOOD), assay_chat.check(str(BAD))
    assert good.ok and good.tool_capable and good.passed > 50
    assert not bad.ok and bad.findings[0].rule == "A012" and bad.findings[0].place == f"{BAD}:22:48"
    assert "^" in str(bad.errors[0])
    assert assay_chat.check(BAD, only=["A001"], untrusted=True).findings == []


def test_diff():
    assert assay_chat.diff(GOOD, GOOD).kind == "identical"
    difference = assay_chat.diff(GOOD, assay_chat.Template(BAD.read_text()))
    assert difference.kind == "breaking" and difference.changes


def test_render_and_analyze():
    template = assay_chat.Template.open(GOOD)
    prompt = template.render({"messages": [{"role": "user", "content": "Grüezi"}]})
    assert (
        "Grüezi" in str(prompt) and prompt.prefill == "" and prompt.spans[-1]["who"] == "generation"
    )
    analysis = template.analyze()
    assert (
        analysis.verified
        and analysis.capabilities["supports_tools"]
        and "per_call_start" in analysis.format
    )
    with pytest.raises(assay_chat.AssayError) as caught:
        assay_chat.render(
            assay_chat.Template("{{ raise_exception('no') }}{% if %}"), {"messages": []}
        )
    assert caught.value.kind == "template"


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_streaming(size):
    parser = assay_chat.Template.open(GOOD).parser()
    raw, deltas, held = CALL.encode(), [], 0
    for at in range(0, len(raw), size):
        deltas += parser.write(raw[at : at + size])
        held = max(held, parser.held)
    answer = parser.close()
    assert (
        answer.content == "Hi"
        and answer.finish_reason == "tool_calls"
        and answer.complete == [True]
    )
    assert json.loads(answer.tool_calls[0]["function"]["arguments"]) == {"city": "Zürich"}
    assert size > 5 or held > 0 and len(deltas) > 2
    with pytest.raises(assay_chat.AssayError):
        parser.write("more")


def test_pieces_of_a_character():
    parser, raw = assay_chat.Template.open(GOOD).parser(), "ü\ufffd\U0001f600".encode() + b"\xff."
    deltas = [parser.write(raw[at : at + 1]) for at in range(len(raw))]
    assert "".join(d["content"] for piece in deltas for d in piece).startswith("ü\ufffd\U0001f600")


def test_a_call_is_announced_before_it_is_complete():
    parser = assay_chat.Template.open(GOOD).parser()
    deltas = parser.write(CALL[: CALL.index("Zürich")])
    assert deltas[-1]["tool_calls"][0]["function"]["name"] == "get_weather"
    answer = parser.close("length")
    assert answer.finish_reason == "length" and answer.complete == [False] and answer.diagnostics


def test_a_parser_that_is_not_closed_is_dropped():
    template = assay_chat.Template.open(GOOD)
    for _ in range(1100):  # more than may be open
        template.parser()
    gc.collect()
    assert template.parse("Hi").content == "Hi"


REQUEST = {
    "messages": [{"role": "user", "content": "Weather?"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
        }
    ],
}


def test_what_reads():
    """The library, unless the caller wants none."""
    assert (assay_chat.library() is None) == (os.environ.get("ASSAY_LIBRARY") == "")


def test_open():
    for path in ("missing.jinja", TEMPLATES):  # nothing, and a folder that is no model's
        with pytest.raises(assay_chat.AssayError) as caught:
            assay_chat.Template.open(path)
        assert caught.value.kind == "template", caught.value
    template = assay_chat.Template.open(GOOD)
    assert template.text == GOOD.read_text() and template.name == str(GOOD)


def test_plan():
    plan = assay_chat.Template.open(GOOD).prepare(REQUEST)
    assert "Weather?" in plan.prompt and "<|im_end|>" in "".join(plan.stops + plan.preserved)
    assert plan.lazy and plan.triggers[0].call and "tool_call" in plan.triggers[0].text
    raw = plan.prompt.encode()
    theirs = [s for s in plan.segments() if s.path == "messages[0].content"]
    assert [raw[s.offset :][: s.size] for s in theirs] == [b"Weather?"]
    assert theirs[0].role == "user" and theirs[0].turn == 0 and not theirs[0].own
    assert sum(s.size for s in plan.segments()) == len(raw)
    for language in ("lazy-gbnf", "gbnf", "ebnf", "lark"):
        assert "get_weather" in plan.grammar(language), language
    assert "get_weather" in json.dumps(json.loads(plan.grammar("structural-tag")))
    with pytest.raises(assay_chat.AssayError) as caught:
        plan.grammar("klingon")
    assert caught.value.kind == "request" and "lark" in str(caught.value)
    assert [plan.parser().write("Hi") for _ in range(2)] == [[{"content": "Hi"}]] * 2


def test_a_prompt_that_is_rendered():
    template = assay_chat.Template.open(GOOD)
    assert template.format()["header"] == "<|im_start|>assistant\n"
    plan = template.prepare(REQUEST, prefill="Hel")
    assert plan.prompt == "" and plan.parser().write("lo") == [{"content": "lo"}]


TOKENIZER = {
    "added_tokens": [
        {"id": 7, "content": "<tool_call>", "special": False},
        {"id": 8, "content": "</tool_call>", "special": False},
    ],
    "model": {
        "type": "BPE",
        "vocab": {
            "<tool": 20,
            "_call>": 21,
            '{"name":"get_weather",': 22,
            '"arguments":{"city":"Z\u00c3': 23,
            '\u00bcrich"}}': 24,
        },
    },
    "decoder": {"type": "ByteLevel"},
}


def test_tokens(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    vocabulary = assay_chat.Vocabulary.open(tmp_path)
    parser = assay_chat.Template.open(GOOD, vocabulary=vocabulary).prepare(REQUEST).parser()
    for ids in ([20, 21], [7, 22, 23], [24, 8]):
        parser.write_tokens(ids)
    for ids in ([99], [-1], [1 << 40]):
        with pytest.raises(assay_chat.AssayError) as caught:
            parser.write_tokens(ids)
        assert caught.value.kind == "request" and "token" in str(caught.value)
    answer = parser.close()
    assert answer.content == "<tool_call>"
    assert json.loads(answer.tool_calls[0]["function"]["arguments"]) == {"city": "Zürich"}
    with pytest.raises(assay_chat.AssayError) as caught:
        assay_chat.Template.open(GOOD).prepare(REQUEST).parser().write_tokens([20])
    assert caught.value.kind == "request"


def test_many(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    vocabulary = assay_chat.Vocabulary.open(tmp_path)
    plan = assay_chat.Template.open(GOOD, vocabulary=vocabulary).prepare(REQUEST)
    parsers = [plan.parser() for _ in range(6)]
    parsers[3].close()
    pieces = ["Hi", "Grüezi".encode(), "", "late", [20, 21], CALL]
    results = assay_chat.write_many(parsers, pieces)
    assert results[:3] == [[{"content": "Hi"}], [{"content": "Grüezi"}], []]
    assert isinstance(results[3], assay_chat.AssayError) and results[3].kind == "finished"
    assert results[4] == [{"content": "<tool_call>"}]
    assert "get_weather" in json.dumps(results[5])
    assert assay_chat.write_many([], []) == []
    with pytest.raises(assay_chat.AssayError):
        assay_chat.write_many(parsers, ["one"])


def test_errors():
    with pytest.raises(assay_chat.AssayError) as caught:
        assay_chat.Template("a\n{% if %}", "mine.jinja").prepare(REQUEST)
    error = caught.value
    assert (error.kind, error.offset, error.line, error.column) == ("template", 8, 2, 7)
    assert "mine.jinja:2:7" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.kind, str(again), again.line) == ("template", str(error), 2)
    plain = assay_chat.Template("{% for m in messages %}{{ m.content }}{% endfor %}")
    with pytest.raises(assay_chat.AssayError) as caught:
        plain.prepare(REQUEST)
    assert caught.value.kind == "unverified"
    assert plain.prepare(REQUEST, insist=True).parser().write("Hi") == [{"content": "Hi"}]
    for options in ({"tolerances": {"fly": True}}, {"incomplete": "fly"}, {"fallbacks": ["fly"]}):
        with pytest.raises(assay_chat.AssayError):
            assay_chat.Template.open(GOOD).prepare(REQUEST, **options)
    with pytest.raises(assay_chat.AssayError) as caught:
        assay_chat.Template.open(GOOD).parser().close("tired")
    assert caught.value.kind == "request"


def test_pickle():
    template = pickle.loads(pickle.dumps(assay_chat.Template.open(GOOD)))
    assert template == assay_chat.Template.open(GOOD) and template.parse("Hi").content == "Hi"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fork():
    """A child of a process that has the library gets an error, with the remedy; the child process
    is started anew."""
    template = assay_chat.Template.open(GOOD)
    parser, wanted = template.parser(), "forked" if assay_chat.library() else "internal"
    child = os.fork()
    if child == 0:
        try:
            try:
                parser.write("Hi")
            except assay_chat.AssayError as error:
                os._exit(0 if error.kind == wanted else 3)
            os._exit(4)
        finally:
            os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert parser.write("Hi") == [{"content": "Hi"}]


def test_threads():
    plan, wrong = assay_chat.Template.open(GOOD).prepare(REQUEST), []
    one = plan.parser()  # of all threads

    def work():
        for _ in range(20):
            parser = plan.parser()
            for at in range(0, len(CALL), 3):
                parser.write(CALL[at : at + 3])
                one.write("word ")
            if parser.close().content != "Hi":
                wrong.append(parser)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and one.close().content.count("word") == 8 * 20 * len(range(0, len(CALL), 3))


def test_commands(tmp_path):
    fixed = assay_chat.fix(BAD)
    assert fixed.ok and fixed.patches[0].rules == ["A012"] and "+++" in fixed.patches[0].diff
    text = assay_chat.Template(BAD.read_text(), eos="<|im_end|>")
    assert assay_chat.fix(text).patches[0].kind == fixed.patches[0].kind
    tagged = assay_chat.train(GOOD)
    assert tagged.status == "placed" and not tagged.tagged and "{% generation %}" in tagged.diff
    assert json.loads(assay_chat.emit("format", GOOD))["header"]
    assert "get_weather" in assay_chat.emit("gbnf", GOOD, REQUEST)
    rule = assay_chat.explain("A012")
    assert rule.name == "null-content-printed" and rule.damage and rule.fix
    for call in (lambda: assay_chat.explain("A0"), lambda: assay_chat.fix("missing.jinja")):
        with pytest.raises(assay_chat.AssayError):
            call()


def test_process():
    process = Process()
    with pytest.raises(assay_chat.AssayError) as caught:
        process.ask("fly")
    assert caught.value.kind == "request"
    assert process.ask("describe")["protocol"] == 1
    process.stop()
    assert process.ask("describe")["program"] == "assay"  # it is started again
    process.stop()
    threads = [
        threading.Thread(target=lambda: assay_chat.check(GOOD, only=["A001"])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.skipif(bool(assay_chat.library()), reason="the library is no process of its own")
def test_killed():
    """A parser of a process that was killed gives an error, and its number means no other one."""
    template = assay_chat.Template.open(GOOD)
    old = [template.parser() for _ in range(3)]
    shared._process.kill()
    shared._process.wait()
    with pytest.raises(assay_chat.AssayError) as caught:
        old[0].write("Hi")
    assert caught.value.kind == "internal" and "has ended" in str(caught.value)
    new = [template.parser() for _ in range(3)]
    for parser in old:
        with pytest.raises(assay_chat.AssayError):
            parser.write("Hi")
    assert [parser.close().content for parser in new] == ["", "", ""]


def test_cost_of_a_piece():
    parser = assay_chat.Template.open(GOOD).parser()
    begun = time.process_time()
    for _ in range(1000):
        parser.write("word ")
    assert time.process_time() - begun < 2  # seconds of this process; 0.1 is usual


def pytest_of(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        capture_output=True,
        text=True,
        cwd=TEMPLATES,
        env=os.environ | environment,
    )


def test_plugin():
    run = pytest_of("--assay", ".")
    assert run.returncode == 1 and "1 failed, 1 passed" in run.stdout and "[A012]" in run.stdout, (
        run.stdout + run.stderr
    )
    run = pytest_of("--assay", "good.jinja", "--assay-tools")
    assert run.returncode == 0 and "1 passed" in run.stdout, run.stdout
    run = pytest_of("--assay", "missing")
    assert run.returncode != 0 and "missing" in run.stdout + run.stderr


def test_examples():
    run = pytest_of(str(EXAMPLES / "test_finetune.py"), TUNED="good.jinja", BASE="good.jinja")
    assert "3 passed" in run.stdout, run.stdout
    run = pytest_of(str(EXAMPLES / "test_finetune.py"), TUNED="bad.jinja", BASE="good.jinja")
    assert "2 failed, 1 passed" in run.stdout, run.stdout
    run = pytest_of(str(EXAMPLES / "test_server.py"), TEMPLATE="good.jinja")
    assert "5 passed" in run.stdout, run.stdout


class Tokenizer:
    """What assay_chat asks of a tokenizer of transformers. A token is a character."""

    name_or_path, bos_token, eos_token = "here", None, "<|im_end|>"

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def get_chat_template(self, tools):
        return GOOD.read_text()

    def decode(self, ids):
        return "".join(map(chr, ids))

    def parse_response(self, response, schema, *, prefix, tools):
        return {"content": schema["content"]}


def test_transformers():
    from assay_chat.transformers import attach

    tokenizer = attach(Tokenizer())
    prompt, tools = "<|im_start|>assistant\n", REQUEST["tools"]
    read = tokenizer.parse_response
    message = read(CALL, prefix=prompt, tools=tools)
    assert message["content"] == "Hi"
    assert message["tool_calls"][0]["function"] == {
        "name": "get_weather",
        "arguments": {"city": "Zürich"},
    }
    assert read([ord(c) for c in CALL], prefix=[ord(c) for c in prompt], tools=tools) == message
    assert read([CALL, "Ho"], prefix=prompt, tools=tools)[1]["content"] == "Ho"
    assert "tool_call" in read(CALL, prefix=prompt)["content"]
    assert read("x", {"content": "theirs"}, prefix="") == {"content": "theirs"}
    broken = read(CALL[:-30], prefix=prompt, tools=tools)["tool_calls"][0]["function"]
    assert isinstance(broken["arguments"], str)
    with pytest.raises(ValueError, match="2 responses"):
        read(["a", "b"], prefix=["a", "b", "c"])


def test_page(tmp_path, monkeypatch, capsys):
    """What docs/python.md shows."""
    page = (EXAMPLES.parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
    for name in ("chat_template.jinja", "old.jinja", "new.jinja"):
        (tmp_path / name).write_text(BAD.read_text())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    monkeypatch.chdir(tmp_path)
    sent = []
    names = {
        **REQUEST,
        "send": sent.append,
        "generate": lambda prompt, stop: [CALL[:9], CALL[9:].encode()],
        "generate_ids": lambda prompt: [[7, 22], [23, 24, 8]],
        "AutoTokenizer": Tokenizer,
        "output": CALL,
        "prompt": "<|im_start|>assistant\n",
    }
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 5 and json.dumps(sent).count('"name": "get_weather"') == 2
    printed = capsys.readouterr().out
    assert "A012" in printed and "identical" in printed and "generation" in printed


def test_transformers_script():
    """The script's part that streams, with a model that puts out the expected text: loading one is
    transformers' affair."""
    import types

    class Streamer:
        def __init__(self, tokenizer, **settings):
            self.pieces = CALL[:20], CALL[20:41], CALL[41:]

        def __iter__(self):
            return iter(self.pieces)

    fake = types.ModuleType("transformers")
    fake.TextIteratorStreamer, fake.AutoModelForCausalLM, fake.AutoTokenizer = Streamer, None, None
    before, sys.modules["transformers"] = sys.modules.get("transformers"), fake
    sys.path.insert(0, str(EXAMPLES))
    try:
        import transformers_script

        class Encoder(Tokenizer):
            def __call__(self, text, **settings):
                return {"input_ids": text}

        class Model:
            def generate(self, **settings):
                assert settings["max_new_tokens"] == 5

        parser = assay_chat.Template.of_tokenizer(Tokenizer()).parser(
            {
                "messages": [{"role": "user", "content": "Weather?"}],
                "tools": [transformers_script.WEATHER],
            }
        )
        deltas = list(transformers_script.stream(Model(), Encoder(), parser, max_new_tokens=5))
    finally:
        sys.path.remove(str(EXAMPLES))
        del sys.modules["transformers"]
        if before is not None:
            sys.modules["transformers"] = before
    assert deltas[0] == {"content": "Hi"} and "get_weather" in json.dumps(deltas)


def test_module():
    run = subprocess.run(
        [sys.executable, "-m", "assay_chat", "check", str(BAD)], capture_output=True, text=True
    )
    assert run.returncode == 1 and "A012" in run.stdout
    shared.stop()
    assert assay_chat.check(GOOD).ok
