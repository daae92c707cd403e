"""SGLang's own way from a request to a prompt: _validate_request and _process_messages of its chat
handler, with torch and the model stood in for.

A model is taken to read images where SGLang detects that its template takes content in parts.
"""

from server import ChatCompletionRequest, serving  # noqa: I001 it stands in for what follows

from assay_view import serve, tokenizer


class Refused(Exception):
    """A request that the server answers with an error."""


def view(r):
    tok = tokenizer(r)
    server = serving(tok)
    request = ChatCompletionRequest(**{"model": "m", **r["request"]})
    refusal = server._validate_request(request)
    if refusal:
        raise Refused(refusal)
    multimodal = server.tokenizer_manager.model_config.is_multimodal
    result = server._process_messages(request, multimodal)
    return tok.decode(result.prompt_ids, clean_up_tokenization_spaces=False)


serve(view)
