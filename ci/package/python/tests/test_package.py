"""Tests of the Python package as it is installed: `make snapshot` runs them in a virtual
environment. TEMPLATES is a folder with good.jinja and bad.jinja, an edit of it that refuses null
content beside calls."""

import gc
import json
import os
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
    assert not bad.ok and bad.findings[0].rule == "A012" and bad.findings[0].place == f"{BAD}:22:39"
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

        class Tokenizer:
            name_or_path, bos_token, eos_token = "here", None, "<|im_end|>"

            def get_chat_template(self, tools):
                return GOOD.read_text()

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
        deltas = list(transformers_script.stream(Model(), Tokenizer(), parser, max_new_tokens=5))
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
