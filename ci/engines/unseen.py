"""Templates of strangers, each with the answer that its format spells."""

import json
from pathlib import Path

import assay_chat
from assay_chat._process import shared


def unseen(paths, weather, want=40):
    """Yields the path and the text of templates with tools, an answer that calls get_weather, the
    prompt before it, and its tools: weather, which gets a second parameter, and list_notes. Without
    a path there is nothing to yield; of some, want have to be there."""
    tools = json.loads(json.dumps([weather]))
    tools[0]["function"]["parameters"]["properties"]["days"] = {"type": "integer"}
    tools.append({"type": "function", "function": {"name": "list_notes", "parameters": {
        "type": "object", "properties": {}}}})  # fmt: skip
    request = {"messages": [{"role": "user", "content": "Hi"}], "tools": [weather]}
    served = 0
    for path in paths:
        if served == want:
            return
        text = Path(path).read_text(encoding="utf-8")
        template = assay_chat.Template(text, bos="<s>", eos="</s>")
        try:
            told = shared.ask("analyze", template={"text": text, "bos": "<s>", "eos": "</s>"})
            prompt = template.prepare(request).prompt
        except assay_chat.AssayError:
            continue  # no template for tools
        if "get_weather" not in told["sample"] or "routes" in template.format():
            continue
        yield path, text, told["sample"], prompt, tools
        served += 1
    assert served == want or not paths, f"{served} templates are served, want {want}"
