"""Runs vLLM's own tests of parsers, with its parsers or with assay_chat.vllm in their place, and
compares the two runs.

suites.py run own|ours TESTS RESULT [PART]   write what the tests gave; PART: a pattern of files
suites.py compare OWN OURS JUDGED            count by file, list what only vLLM's parser passes, and
                                             fail where JUDGED lists other tests

torch and the tokenizers of the tests' models are stood in for: a tokenizer has GPT-2's pieces of
words, from llama.cpp's folder, and a token for each marker that a parser of vLLM's names. In the
place of a family's parsers stand ours, made of that family's template.
"""

import ast
import functools
import importlib
import json
import os
import re
import struct
import sys
import types
from collections import Counter
from pathlib import Path

here = Path(__file__).resolve().parent
root = here.parent.parent.parent

# The template of each name that vLLM has parsers under: a family of the corpus, a template of the
# Hub's set, or one that vLLM ships as an example. Names that are not here have no template at hand.
# Where models of a name differ it is the one whose outputs the tests have: the prompts of qwen3's
# and holo2's end in the opener of reasoning.
CORPUS = {
    "apertus": "apertus", "cohere_command3": "command-r7b", "cohere_command4": "cohere2-moe",
    "deepseek_r1": "deepseek-r1", "deepseek_v3": "deepseek-v3.1",
    "deepseek_v31": "deepseek-v3.1", "deepseek_v32": "deepseek-v3.2", "deepseek_v4": "deepseek-v4",
    "gemma4": "gemma-4", "gigachat3": "gigachat3", "glm45": "glm-4.7", "glm47": "glm-4.7",
    "granite": "granite-3.3", "granite4": "granite-4", "granite_thinking_parser": "granite-3.3",
    "hermes": "hermes", "kimi_k2": "kimi-k2-thinking", "kimi_k3": "kimi-k3",
    "lfm2": "lfm2.5-instruct", "ling3": "ling-3", "llama3_json": "llama-3",
    "minicpm5": "minicpm5", "minimax_m2": "minimax-m2", "minimax_m2_append_think": "minimax-m2",
    "minimax_m3": "minimax-m3", "mistral": "mistral-nemo", "muse_glimmer": "muse-glimmer",
    "nemotron_v3": "nemotron-3", "poolside_v1": "laguna-s", "qwen3": "qwen3.5",
    "qwen3_coder": "qwen3-coder", "qwen3_xml": "qwen3-coder", "seed_oss": "seed-oss",
    "step3p5": "step-3.5",
}  # fmt: skip
OTHERS = {
    "deepseek_v3": "examples/tool_chat_template_deepseekv3.jinja",
    "functiongemma": "hub/unsloth-functiongemma-270m-it.jinja",
    "granite-20b-fc": "examples/tool_chat_template_granite_20b_fc.jinja",
    "holo2": "hub/Qwen-Qwen3-VL-8B-Thinking.jinja",
    "hunyuan_a13b": "examples/tool_chat_template_hunyuan_a13b.jinja",
    "hy_v3": "hub/tencent-Hy3-preview.jinja",
    "internlm": "examples/tool_chat_template_internlm2_tool.jinja",
    "llama4_pythonic": "examples/tool_chat_template_llama4_pythonic.jinja",
    "longcat": "hub/meituan-longcat-LongCat-Flash-Chat.jinja",
    "olmo3": "hub/allenai-Olmo-3-7B-Instruct.jinja",
    "phi4_mini_json": "examples/tool_chat_template_phi4_mini.jinja",
    "pythonic": "examples/tool_chat_template_llama3.2_pythonic.jinja",
    "step3": "hub/stepfun-ai-step3.jinja",
    "xlam": "examples/tool_chat_template_xlam_llama.jinja",
}


def template_of(name, tests):
    """Return the text of a name's template; None where there is none."""
    if name in OTHERS:
        folder, rest = OTHERS[name].split("/", 1)
        at = {"hub": root / ".deps/hub", "examples": tests / "examples"}
        path = at[folder] / rest
    elif name in CORPUS:
        path = root / "corpus" / CORPUS[name] / "template.jinja"
    else:
        return None
    return path.read_text(encoding="utf-8")


# The tokenizer.


def gguf(path, *keys):
    """Return the values of lists of texts in a GGUF file's head."""
    data = path.read_bytes()
    at, found = 24, {}
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def number(form):
        nonlocal at
        (n,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return n

    def text():
        nonlocal at
        size = number("<Q")
        at += size
        return data[at - size : at].decode()

    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        key, kind = text(), number("<I")
        if kind == 8:
            text()
        elif kind == 9:
            inner, count = number("<I"), number("<Q")
            if inner == 8:
                texts = [text() for _ in range(count)]
                if key in keys:
                    found[key] = texts
            else:
                at += count * sizes[inner]
        else:
            at += sizes[kind]
    return [found[key] for key in keys]


def make_tokenizer(sources):
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens, merges = gguf(root / ".deps/llama.cpp/models/ggml-vocab-gpt-2.gguf",
                          "tokenizer.ggml.tokens", "tokenizer.ggml.merges")  # fmt: skip
    vocab = {token: i for i, token in enumerate(tokens)}
    raw = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m.split(" ", 1)) for m in merges]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    markers = set()
    for source in sources:
        markers |= set(re.findall(r"</?[|｜]?[\w:▁.-]+[|｜]?>|\[/?[A-Z_]{3,}\]", source))
    raw.add_tokens([AddedToken(m, normalized=False) for m in sorted(markers)])
    return PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="<|endoftext|>")


# Ours in the place of vLLM's.


def plain(tool):
    """Return a tool, which may be a mock, as chat completions have it."""
    from assay_chat._serving import tool_of

    try:
        told = tool_of(tool)
        json.dumps(told)
        return told
    except TypeError:
        parameters = tool.function.parameters
        parameters = parameters if isinstance(parameters, dict) else {"type": "object"}
        return {
            "type": "function",
            "function": {"name": tool.function.name, "parameters": parameters},
        }


# Where a text of a test may have the name of a function.
NAMES = [
    r"^WORD$", r"WORD\(", r"name[\"']?\s*[:=]\s*\\?[\"']?WORD", r"function=WORD",
    r"functions\.WORD",
    r"call:WORD", r"sep[|｜]>WORD", r"tool_call>\s*WORD", r"^WORD\">",
]  # fmt: skip


@functools.cache
def named(file):
    """Return a tool for each word of a test's file that may be a function's name."""
    words = set()
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for form in NAMES:
                words |= set(re.findall(form.replace("WORD", r"([A-Za-z_][\w.-]*)"), node.value))
    return [
        {"type": "function", "function": {"name": word, "parameters": {"type": "object"}}}
        for word in sorted(words)
    ]


def replace(tests):
    """Put our parsers into the place of vLLM's, and return the names without a template."""
    import assay_chat.vllm as ours
    from vllm.parser.abstract_parser import DelegatingParser
    from vllm.parser.engine import registered_adapters
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    from assay_chat import AssayError, Template
    from assay_chat._serving import Model

    os.environ["ASSAY_INSIST"] = "1"
    made = []  # the template of the parser that is being made

    class Turn(ours._Turn):
        def __init__(self, tokenizer, switches):
            # Tests of reasoning show no prompt: theirs is one where reasoning is on.
            super().__init__(tokenizer, {"enable_thinking": True, "thinking": True} | switches)
            self.served = made[-1]
            self.started = None  # what a prompt begins the answer with; None: the usual

        def model(self, request=None):
            Outcomes.asked = True
            return self.served

        def plan(self, request=None, **options):
            """The server makes a tool parser with the request's tools, and our parser reads calls
            of these alone. Tests give them with the request, as mocks, or leave them out, and call
            others: so those are declared, too, that the test's file names."""
            asked = getattr(request, "tools", None)
            asked = asked if isinstance(asked, list) else []
            tools = self.tools if isinstance(self.tools, list) else []
            self.tools = [plain(t) for t in tools or asked]
            given = {tool["function"]["name"] for tool in self.tools}
            self.tools += [t for t in named(Outcomes.file) if t["function"]["name"] not in given]
            choice = getattr(request, "tool_choice", None) if asked else "auto"
            if self.started is not None:
                options.setdefault("prefill", self.started)
            return super().plan(types.SimpleNamespace(tool_choice=choice), **options)

    ours._Turn = Turn

    def of(base, model, alone=True):
        def init(self, *args, **kwargs):
            made.append(model)
            try:
                base.__init__(self, *args, **kwargs)
            finally:
                made.pop()
            if base is ours.AssayToolParser and alone:
                self.skip_reasoning_parsing = True  # as vLLM has it
                self.turn.started = ""

        return type("Ours", (base,), {"__init__": init})

    models, missing, swapped = {}, set(), {}

    def model(name):
        if name not in models:
            text = template_of(name, tests)
            try:
                models[name] = text and Model(Template(text, name))
            except AssayError as error:  # a template that fails on requests without tools
                print(f"vllm: {name}: {error}")
                models[name] = None
        return models[name]

    for manager, base, get in (
        (ToolParserManager, ours.AssayToolParser, "get_tool_parser"),
        (ReasoningParserManager, ours.AssayReasoningParser, "get_reasoning_parser"),
    ):
        for name in sorted(manager.list_registered()):
            if name == "assay":
                continue
            own = getattr(manager, get)(name)
            if not model(name) or (get, name) == ("get_reasoning_parser", "granite"):
                missing.add(name)  # granite's is of 3.2, whose template is not at hand
                continue
            # One class for the names that share one of vLLM's.
            if own not in swapped:
                swapped[own] = of(base, model(name))
            manager.register_module(name, force=True, module=swapped[own])
    # Classes that do both in one.
    for name, module in list(sys.modules.items()):
        if not name.startswith("vllm.parser.") or not module:
            continue
        for key, own in list(vars(module).items()):
            if not (isinstance(own, type) and own.__module__ == name) or own in swapped:
                continue
            engine = next(
                (a for a in vars(registered_adapters).values()
                 if isinstance(a, type) and getattr(a, "_parser_engine_cls", None) is own),
                None,
            )  # fmt: skip
            names = [n for n in models if models[n] and n.replace("_", "") in
                     (name.rsplit(".", 1)[1].replace("_", ""), )]  # fmt: skip
            if engine is None or not names:
                continue
            both = {
                "tool_parser_cls": of(ours.AssayToolParser, models[names[0]], alone=False),
                "reasoning_parser_cls": of(ours.AssayReasoningParser, models[names[0]]),
            }
            swapped[own] = type("OursBoth", (DelegatingParser,), both)
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and module:
            for key, own in list(vars(module).items()):
                if isinstance(own, type) and own in swapped:
                    setattr(module, key, swapped[own])
    Outcomes.names = {mine: own.__name__ for own, mine in swapped.items()}
    return sorted(missing)


# The runs.


class Outcomes:
    """Writes what each test gave, with the end of its failure."""

    file, asked = "", False  # of the test that runs: where it is, and whether it asked our parsers
    names = {}  # of vLLM's classes by ours in their place

    def __init__(self, result):
        self.out, self.seen = open(result, "w", encoding="utf-8"), set()

    def pytest_make_parametrize_id(self, val):
        """A test of a class has the same name in both runs."""
        return Outcomes.names.get(val) if isinstance(val, type) else None

    def pytest_runtest_setup(self, item):
        Outcomes.file, Outcomes.asked = str(item.path), False

    def put(self, test, outcome, text):
        if test not in self.seen:
            self.seen.add(test)
            line = json.dumps([test, outcome, text, Outcomes.asked], ensure_ascii=False)
            print(line, file=self.out, flush=True)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            lines = str(report.longrepr or "").strip().splitlines()
            self.put(report.nodeid, report.outcome, lines[-12:])

    def pytest_collectreport(self, report):
        if report.failed:
            self.put(report.nodeid, "error", str(report.longrepr).strip().splitlines()[-3:])


# Tests of what vLLM's parsers are built with, and not of how a family is read. Those of
# tests/parser make its engines of parsers themselves, for which nothing of ours can stand.
INNER = {
    "test_structural_tag_registry", "test_utils", "test_openai_tool_parser",
    "test_gptoss_reasoning_parser",
}  # fmt: skip


def suites():
    """Return the files of tests that are of a family each."""
    files = [p for f in ("tool_parsers", "reasoning") for p in Path("tests", f).glob("test_*.py")]
    return [p for p in sorted(files) if p.stem not in INNER]


def run(whose, tests, result, part=""):
    sys.path[:0] = [str(here.parent), str(tests)]
    os.environ |= {"VLLM_LOGGING_LEVEL": "CRITICAL", "HF_HUB_OFFLINE": "1"}
    import stub

    stub.vllm()
    vllm = Path(os.environ["ASSAY_VLLM"]) / "vllm"
    sources = [p.read_text(encoding="utf-8") for folder in ("tool_parsers", "reasoning", "parser")
               for p in (vllm / folder).rglob("*.py")]  # fmt: skip
    made = make_tokenizer(sources)
    import transformers
    import vllm.tokenizers
    import vllm.tokenizers.registry

    def get(*args, **kwargs):
        return made

    transformers.AutoTokenizer.from_pretrained = get
    vllm.tokenizers.get_tokenizer = vllm.tokenizers.registry.get_tokenizer = get
    for folder in ("tool_parsers", "reasoning", "parser"):
        for path in (Path(os.environ["ASSAY_VLLM"]) / "vllm" / folder).glob("*.py"):
            importlib.import_module(f"vllm.{folder}.{path.stem}".removesuffix(".__init__"))
    if whose == "ours":
        print("vllm: no template for", ", ".join(replace(tests)))
    import pytest

    outcomes = Outcomes(result)
    os.chdir(tests)
    code = pytest.main(
        [
            *"-q --no-header --runxfail --tb=short -rN --continue-on-collection-errors".split(),
            *"-p no:cacheprovider".split(), *(str(p) for p in suites() if re.search(part, str(p))),
        ],
        plugins=[outcomes],
    )  # fmt: skip
    if code not in (0, 1):  # all tests passed, or some failed
        sys.exit(f"vllm: pytest ended with {code!r}")


# What a failure says where a test asks for a parser's private parts or class, gives a tokenizer
# that cannot decode or a request that is none.
INSIDE = [
    "'Ours' object has no attribute", "type object 'Ours'", "does not have the attribute",
    r"isinstance\(<__main__\.Ours", r"isinstance\(None, StructuralTag", "has no attribute 'decode'",
    "unexpected keyword argument 'skip_special_tokens'", "while processing 'ids'",
    "Mock object has no attribute", "MagicMock is not JSON serializable",
]  # fmt: skip


def compare(own, ours, judged):
    with open(judged, encoding="utf-8") as f:
        known = {line.split("\t")[0] for line in f if line.strip() and not line.startswith("#")}
    own, ours = (
        {test: rest for test, *rest in map(json.loads, open(p, encoding="utf-8"))}
        for p in (own, ours)
    )
    files, different = {}, set()
    inside = re.compile("|".join(INSIDE))
    for test, (outcome, *_) in own.items():
        count = files.setdefault(test.split("::")[0], Counter())
        mine, text, asked = ours.get(test, ["missing", [], False])
        if outcome != "passed":
            count["not run"] += 1
        elif inside.search("\n".join(text)):
            count["inside"] += 1
        elif mine != "missing" and not asked:
            count["without a parser"] += 1
        else:
            count["both" if mine == "passed" else "different"] += 1
            if mine != "passed":
                different.add(test)
                print(test, *text, sep="\n    ")
    kinds = ["both", "different", "inside", "without a parser", "not run"]
    print("| file |", " | ".join(kinds), "|\n|" + " --- |" * (len(kinds) + 1))
    for file, c in [*sorted(files.items()), ("all", sum(files.values(), Counter()))]:
        print("|", file, "|", " | ".join(str(c[kind]) for kind in kinds), "|")
    faults = [f"{judged} lacks {test}" for test in sorted(different - known)]
    faults += [f"{judged} has {test}, which is no difference" for test in sorted(known - different)]
    if faults:
        sys.exit("vllm: " + "\nvllm: ".join(faults))


if sys.argv[1] == "compare":
    compare(*sys.argv[2:])
else:
    run(sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
