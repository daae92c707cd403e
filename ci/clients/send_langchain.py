import sys
from typing import Literal, Optional
from langchain_openai import ChatOpenAI
from langchain_core.tools import tool
from langchain_core.messages import *
from pydantic import BaseModel


@tool
def get_weather(
    city: str, days: Optional[int] = None, unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> str:
    """Weather of a place."""
    return "clear"


@tool
def list_notes() -> str:
    """Lists all notes."""
    return "a note"


m = ChatOpenAI(base_url=sys.argv[1] + "/v1", api_key="x", model="m")
b = m.bind_tools([get_weather, list_notes])
h = [SystemMessage("You are terse."), HumanMessage("Weather in Lumati?")]
a = b.invoke(h)
h.append(a)
for t in a.tool_calls:
    h.append(ToolMessage("clear", tool_call_id=t["id"], name=t["name"]))
a = b.invoke(h)
h.append(a)
h.append(HumanMessage("And tomorrow?"))
a = b.invoke(h)
h.append(a)
for t in a.tool_calls:
    h.append(ToolMessage([{"type": "text", "text": "clear"}], tool_call_id=t["id"]))
b.invoke(h)
m.invoke(
    [
        HumanMessage(
            [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ]
        )
    ]
)
m.bind_tools([get_weather], strict=True).invoke("Hello")


class Answer(BaseModel):
    text: str
    note: Optional[str] = None


try:
    m.with_structured_output(Answer, method="function_calling").invoke("Hello")
except Exception as e:
    print(e, file=sys.stderr)
try:
    ChatOpenAI(base_url=sys.argv[1] + "/v1", api_key="x", model="o1").invoke(h[:2])
except Exception as e:
    print(e, file=sys.stderr)
