"""Renders conversations as transformers does, with the spans of its mask of the assistant's text.

Reads JSON lines {"template", "messages", "tools", "vars"} and writes, for each, {"text", "spans"}
with the spans in bytes, or {"error"}. The text is apply_chat_template's, the spans are
those of which it makes the mask of return_assistant_tokens_mask. Tags that transformers does not
see are an error.
"""

import json
import sys

from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template


def refuse(message, *args):
    raise ValueError(message)


def main():
    # The warning that the template has no tags, after which the mask is empty.
    chat_template_utils.logger.warning_once = refuse
    for line in sys.stdin:
        job = json.loads(line)
        try:
            texts, spans = render_jinja_template(
                conversations=[job["messages"]],
                tools=job["tools"] or None,
                chat_template=job["template"],
                return_assistant_tokens_mask=True,
                add_generation_prompt=False,
                **job["vars"],
            )
        except Exception as e:
            print(json.dumps({"error": f"{type(e).__name__}: {e}"}), flush=True)
            continue
        text = texts[0]
        at = lambda n: len(text[:n].encode())
        print(
            json.dumps({"text": text, "spans": [[at(a), at(b)] for a, b in spans[0]]}), flush=True
        )


main()
