"""What the plugins of engines know of the template that serves: its headers, prefills and
reasoning, and the shape of requests. The environment says what engines tell no parser:

* ASSAY_CHAT_TEMPLATE, a file: the template where the server has its own.
* ASSAY_FALLBACKS, names with commas between them: spellings of calls that are read besides the
  template's own.
* ASSAY_INSIST=1: serve tools though nothing proves that the template's calls are read.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay_chat import AssayError, Plan, Template

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks a word up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}


class Model:
    """What the template says of a model's answers."""

    def __init__(self, template: Template) -> None:
        self.template = template
        told = template.format()
        reasoning = told.get("reasoning", {})
        self.header: str = told.get("header", "")
        self.prefills: list[str] = told.get("prefills") or [""]
        # What an answer's start is looked for by. Where the parts of an answer have the header, it
        # is in the prefill.
        self.mark = self.header or self.prefills[0]
        self.ends = [end.strip() for end in told.get("end", []) if end.strip()]
        self.opens, self.closes = text_of(reasoning.get("open")), text_of(reasoning.get("close"))
        self.routed = "routes" in told
        self.thinks = bool(self.closes) or any(
            route.get("kind") == "reasoning" for route in told.get("routes", [])
        )
        self.proven = False

    def prove(self) -> None:
        """Raise an error where calls are not proven to be read."""
        if not self.proven:
            self.prepare(request_of({}, tools=[TOOL]), prefill="")
            self.proven = True

    def prepare(self, request: dict[str, Any], **options: Any) -> Plan:
        """Prepare a request as the environment wants it."""
        names = os.environ.get("ASSAY_FALLBACKS", "")
        return self.template.prepare(
            request,
            fallbacks=[name.strip() for name in names.split(",") if name.strip()],
            insist=os.environ.get("ASSAY_INSIST") == "1",
            **options,
        )

    def prefill(self, switches: dict[str, Any]) -> str:
        """Return the prefill of an ordinary request with some switches of the template."""
        prompt = self.template.prepare(request_of(switches), insist=True).prompt
        return prompt[prompt.rfind(self.header) + len(self.header) :] if self.header else ""


def text_of(marker: Any) -> str:
    """Return a marker's text without the white space at its edges."""
    return (marker["text"] if isinstance(marker, dict) else marker or "").strip()


@lru_cache(maxsize=8)
def _model(text: str, name: str, bos: str, eos: str) -> Model:
    return Model(Template(text, name, bos, eos))


def served(tokenizer: Any, own: str | None = None) -> Model:
    """Return the model of the template that serves: a request's own, the one that the environment
    names, or the tokenizer's for requests with tools."""
    if own is None and (named := os.environ.get("ASSAY_CHAT_TEMPLATE")):
        own = Path(named).read_text(encoding="utf-8")
    template = Template.of_tokenizer(tokenizer)
    return _model(own or template.text, template.name, template.bos or "", template.eos or "")


def request_of(switches: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a request as far as it decides how the answer is read."""
    messages = [{"role": "user", "content": "Hi"}]
    return {"messages": messages, "chat_template_kwargs": switches, **fields}


def tool_of(tool: Any) -> dict[str, Any]:
    """Return a tool in the shape of chat completions; Responses has its function's members flat."""
    told: dict[str, Any] = tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True)
    if "function" in told:
        return told
    members = {k: told[k] for k in ("name", "description", "parameters") if k in told}
    return {"type": "function", "function": members}


def choice_of(choice: Any) -> Any:
    """Return a tool_choice in the shape of chat completions."""
    if choice is None or isinstance(choice, str):
        return choice or "auto"
    told = choice if isinstance(choice, dict) else choice.model_dump(exclude_none=True)
    name = told["function"]["name"] if "function" in told else told.get("name")
    return {"type": "function", "function": {"name": name}} if name else "auto"


def begun(model: Model, prompt: str) -> str | None:
    """Return the start of the answer in a prompt; None where it has no header of its own."""
    at = prompt.rfind(model.mark)
    start = prompt[at + len(model.header) :]
    return None if at < 0 or any(end in start for end in model.ends) else start


def model_plan(model: Model, prompt: str, request: dict[str, Any]) -> Plan:
    """Return the plan of the answer to a prompt that the engine has rendered. Without a prompt that
    of an ordinary request tells what the answer begins with."""
    if not prompt:
        return model.prepare(request)
    try:
        return model.prepare(request, prefill=begun(model, prompt) or "")
    except AssayError:
        return model.prepare(request, prefill="")
