"""xgrammar judges turns by EBNF and by structural tags."""

import os
import sys

os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"  # it would build one for torch
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import stub  # noqa: E402

stub.install("torch", "transformers", "triton")
import importlib.metadata  # noqa: E402

import judge  # noqa: E402
import xgrammar  # noqa: E402

END = 256
TOKENS = xgrammar.TokenizerInfo(
    [bytes([i]) for i in range(END)] + [b"</s>"],
    vocab_type=xgrammar.VocabType.RAW,
    vocab_size=END + 1,
    stop_token_ids=[END],
)
COMPILER = xgrammar.GrammarCompiler(TOKENS, max_threads=1, cache_enabled=False)


def takes(compiled):
    def of(turn):
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(b) for b in turn) and matcher.accept_token(END)

    return of


judge.serve(
    "xgrammar",
    importlib.metadata.version("xgrammar"),
    {
        "ebnf": lambda text: takes(COMPILER.compile_grammar(xgrammar.Grammar.from_ebnf(text))),
        "structural-tag": lambda text: takes(COMPILER.compile_structural_tag(text)),
    },
)
