"""Mistral's own encoder, the package mistral-common: adapter.py VERSION.

The package ships the vocabulary of the first Tekken models. Their format is version 3; for the
versions after it, the vocabulary gets all control tokens that the package knows, in its own order.
So texts are those of the models, and so are ids but for the numbers of control tokens. The settings
of v15 are those that its first models take, which each model's own file names.
"""

import importlib.metadata
import json
import os
import sys

if "assay_adapter" not in sys.modules:  # it is there where the command carries both
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from assay_adapter import Unsupported, package, serve  # noqa: E402

root = package("mistral_common", "mistral-common")
from mistral_common.protocol.instruct import normalize, request, validator  # noqa: E402
from mistral_common.tokens.tokenizers import instruct, mistral  # noqa: E402
from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy, SpecialTokens  # noqa: E402
from mistral_common.tokens.tokenizers.base import TokenizerVersion  # noqa: E402
from mistral_common.tokens.tokenizers import model_settings_builder as builders  # noqa: E402
from mistral_common.tokens.tokenizers.tekken import Tekkenizer  # noqa: E402

VERSIONS = {
    "v3": instruct.InstructTokenizerV3, "v7": instruct.InstructTokenizerV7,
    "v11": instruct.InstructTokenizerV11, "v13": instruct.InstructTokenizerV13,
    "v15": instruct.InstructTokenizerV15,
}  # fmt: skip
NAME = sys.argv[1] if len(sys.argv) > 1 else ""
_encoders = {}


def tekken(version):
    path = os.path.join(os.path.dirname(root.__file__), "data", "tekken_240718.json")
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    config = data["config"]
    known = [t["token_str"] for t in Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    known += [t.value for t in SpecialTokens if t.value not in known]
    settings = None
    if version.supports_model_settings:
        none, high = request.ReasoningEffort.none, request.ReasoningEffort.high
        effort = builders.ReasoningEffortEnumBuilder(values=[none, high], default=none)
        settings = builders.ModelSettingsBuilder(reasoning_effort=effort)
    return Tekkenizer(
        data["vocab"],
        [{"rank": i, "token_str": t, "is_control": True} for i, t in enumerate(known)],
        config["pattern"], config["default_vocab_size"], config["default_num_special_tokens"],
        version, model_settings_builder=settings,
    )  # fmt: skip


def encoder(mode):
    """The tokeniser with one way to check requests: what a server takes, or a training's."""
    if NAME not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise ValueError(f"{NAME or 'no version'}: expected a version of the format: {known}")
    version = TokenizerVersion(NAME)
    if not _encoders:
        _encoders["raw"] = VERSIONS[NAME](tekken(version))
    if mode not in _encoders:
        raw = _encoders["raw"]
        _encoders[mode] = mistral.MistralTokenizer(
            raw,
            validator=validator.get_validator(version, mode=mode),
            request_normalizer=normalize.get_normalizer(
                version, raw.tokenizer.model_settings_builder
            ),
        )
    return _encoders[mode]


def describe(_):
    encoder(validator.ValidationMode.test)
    version = importlib.metadata.version("mistral-common")
    return {
        "engine": "mistral-common", "version": f"{version} {NAME}",
        "encodes": True, "tokenizes": True, "bos": "<s>", "eos": "</s>",
    }  # fmt: skip


def openai(m):
    """A message in OpenAI's shape: arguments as text. Before v13 the format has no reasoning, which
    is left out."""
    parts = m.get("content") if isinstance(m.get("content"), list) else []
    if any(p.get("type") not in ("text", "thinking") for p in parts):
        raise Unsupported("content in other parts than texts: the vocabulary has no images")
    if TokenizerVersion(NAME) < TokenizerVersion.v13:
        m = {k: x for k, x in m.items() if k not in ("reasoning", "reasoning_content")}
    if m.get("tool_calls"):
        m = dict(m, tool_calls=[openai_call(c) for c in m["tool_calls"]])
    return m


def openai_call(call):
    f = call.get("function", call)
    if not isinstance(f.get("arguments"), str):
        f = dict(f, arguments=json.dumps(f.get("arguments"), ensure_ascii=False))
    return {"id": call.get("id") or "null", "type": "function", "function": f}


def render(r):
    v = r["vars"]
    messages = [openai(m) for m in v["messages"]]
    settings = TokenizerVersion(NAME).supports_model_settings and v.get("reasoning_effort")
    effort = {"reasoning_effort": v["reasoning_effort"]} if settings else {}
    asked = request.ChatCompletionRequest.from_openai(messages, v.get("tools"), **effort)
    mode = validator.ValidationMode.test
    if messages[-1]["role"] == "assistant":
        mode = validator.ValidationMode.finetuning
    encoded = encoder(mode).encode_chat_completion(asked)
    text = encoder(mode).decode(encoded.tokens, special_token_policy=SpecialTokenPolicy.KEEP)
    return {"text": text, "ids": encoded.tokens}


def tokenize(r):
    """The ids of a prompt as text, in which every control token's text is that token."""
    raw, ids, rest = _encoders["raw"].tokenizer, [], r["text"]
    names = [t.value for t in SpecialTokens if raw.is_special(t.value)]
    while rest:
        found = [(rest.find(n), -len(n), n) for n in names if n in rest]
        at, _, name = min(found) if found else (len(rest), 0, "")
        ids += raw.encode(rest[:at], bos=False, eos=False) if at else []
        ids += [raw.get_special_token(name)] if name else []
        rest = rest[at + len(name) :]
    return {"ids": ids}


serve(describe=describe, render=render, tokenize=tokenize)
