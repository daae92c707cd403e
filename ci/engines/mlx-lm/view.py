"""mlx-lm's own way from a request to a prompt: the server's process_message_content, and the
apply_chat_template of its tokeniser's wrapper, with mlx stood in for."""

import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import stub  # noqa: E402

stub.install("mlx")

from mlx_lm import server, tokenizer_utils  # noqa: E402
from transformers.utils import chat_template_utils  # noqa: E402

from assay_view import serve, set_clock, tokenizer  # noqa: E402

set_clock(chat_template_utils)


class Recorder(tokenizer_utils.TokenizerWrapper):
    """Keeps the text of the prompt, which the server asks for in tokens alone."""

    def apply_chat_template(self, *args, **kwargs):
        self.__dict__.setdefault("texts", []).append(
            super().apply_chat_template(*args, **{**kwargs, "tokenize": False})
        )
        return super().apply_chat_template(*args, **kwargs)


def view(r):
    q = r["request"]
    generator = object.__new__(server.ResponseGenerator)
    generator.model_provider = types.SimpleNamespace(
        processor=None, cli_args=types.SimpleNamespace(chat_template_args={})
    )
    tok = Recorder(tokenizer(r))
    request = server.APIHandler.handle_chat_completions(types.SimpleNamespace(body=q, stream=False))
    args = types.SimpleNamespace(chat_template_kwargs=q.get("chat_template_kwargs"))
    generator._tokenize(tok, request, args)
    return tok.texts[0]


serve(view)
