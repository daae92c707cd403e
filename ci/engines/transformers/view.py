"""transformers' own way from a request to a prompt: the tokeniser's apply_chat_template.

view.py [VERSION]: without a version the one of requirements.txt; the others are those that setup
installed beside it.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
if len(sys.argv) > 1:
    beside = os.path.join(sys.prefix, "versions", sys.argv[1])
    if not os.path.isdir(beside):
        sys.exit(f"{beside} does not exist; ci/engines/transformers/setup names the versions")
    sys.path.insert(0, beside)

from transformers.utils import chat_template_utils  # noqa: E402

from assay_view import serve, set_clock, tokenizer  # noqa: E402

set_clock(chat_template_utils)


def view(r):
    q = r["request"]
    options = {n: q[n] for n in ("tools", "documents", "continue_final_message") if n in q}
    return tokenizer(r).apply_chat_template(
        q["messages"],
        add_generation_prompt=q.get("add_generation_prompt", False),
        tokenize=False,
        **options,
        **(q.get("chat_template_kwargs") or {}),
    )


serve(view)
