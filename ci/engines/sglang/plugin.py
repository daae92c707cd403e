"""assay_chat.sglang behind SGLang's own chat handler: an adapter."""

from answers import asked, handler, streamed, whole  # noqa: I001 it stands in for what follows

from assay_adapter import declared, serve
from assay_view import tokenizer


def describe(_):
    return {"engine": "assay-sglang", "version": "0.5.23", "by_template": True, "streams": True}


_last = {}


def server_of(r):
    """Returns the handler of a template; the cases of one come together."""
    key = (r["template"], r.get("bos"), r.get("eos"), *(r.get("vocabulary") or []))
    if key not in _last:
        _last.clear()
        _last[key] = handler(tokenizer(r))
    return _last[key]


def parse(r):
    server, given = server_of(r), r["request"]
    body = {
        "messages": given["messages"],
        "continue_final_message": bool(given.get("continue_final_message")),
        "chat_template_kwargs": given.get("chat_template_kwargs") or {},
    }
    if tools := declared(r["request"]):
        body |= {"tools": tools, "tool_choice": "auto"}
    body["input_ids"] = [0]  # the prompt is given
    request, _ = asked(server, r.get("prompt") or "", **body)
    if r.get("chunks") is None:
        return whole(server, request, r["output"])
    return streamed(server, request, r["chunks"])


serve(describe=describe, parse=parse)
