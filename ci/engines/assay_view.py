"""The loop of a view in Python: the prompt that an engine makes of a request, by its own code.

A line of standard input is {"id", "template", "bos", "eos", "vocabulary", "request", "now"}; a line
of standard output is {"id", "prompt"} or {"id", "error", "message"} (docs/internals/views.md). bos
and eos that are null or absent are tokens that the tokeniser does not have; vocabulary lists
markers that it has. now is the clock of strftime_now, an ISO time without a zone.
"""

import datetime
import json
import os
import sys
import time

import jinja2


class Clock(datetime.datetime):
    """datetime.datetime with a clock that the request sets."""

    at = "2026-01-02T03:04:05"

    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(cls.at)


def set_clock(module):
    """Gives the module that defines strftime_now the clock of the request."""
    module.datetime = Clock


def tokenizer(r, cls=None):
    """Returns a tokeniser of bytes with the template and the tokens of the request."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = r.get("vocabulary") or []
    key = (cls, r.get("bos"), r.get("eos"), tuple(words))
    if key not in _tokenizers:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        raw = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        raw.decoder = decoders.ByteLevel()
        raw.add_tokens([AddedToken(w, normalized=False) for w in words])
        texts = {"bos_token": r.get("bos"), "eos_token": r.get("eos")}
        tokens = {name: text for name, text in texts.items() if text is not None}
        _tokenizers[key] = (cls or PreTrainedTokenizerFast)(tokenizer_object=raw, **tokens)
    _tokenizers[key].chat_template = r["template"]
    return _tokenizers[key]


_tokenizers = {}


def refusal(e):
    """Names an error by where it came from: what a template words itself is refused, any other
    failure while it renders is crashed, a template that does not compile is syntax, and what the
    engine's own request code rejects is request."""
    while e.__cause__ is not None:
        e = e.__cause__
    if isinstance(e, jinja2.TemplateSyntaxError):
        return "syntax", e
    frame, rendering = e.__traceback__, False
    while frame is not None:
        rendering = rendering or frame.tb_frame.f_code.co_filename == "<template>"
        frame = frame.tb_next
    if not rendering:
        return "request", e
    return ("refused" if type(e) is jinja2.TemplateError else "crashed"), e


def serve(view):
    """Answers every line by view, a function from a line's object to a prompt."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    os.dup2(2, 1)  # what an engine prints is no answer
    for line in sys.stdin.buffer:
        r = json.loads(line)
        Clock.at = r.get("now") or Clock.at
        start = time.process_time_ns()
        try:
            answer = {"prompt": view(r)}
        except Exception as e:
            name, cause = refusal(e)
            answer = {"error": name, "message": f"{type(cause).__name__}: {cause}"[:2000]}
        answer["nanoseconds"] = time.process_time_ns() - start
        answer["id"] = r.get("id", "")
        out.write(json.dumps(answer) + "\n")
        out.flush()
