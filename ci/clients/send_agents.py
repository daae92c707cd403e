import sys
import asyncio
from typing import Literal, Optional
from openai import AsyncOpenAI
from agents import (
    Agent,
    Runner,
    function_tool,
    OpenAIChatCompletionsModel,
    set_tracing_disabled,
    SQLiteSession,
)

set_tracing_disabled(True)


@function_tool
def get_weather(
    city: str, days: Optional[int] = None, unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> str:
    """Weather of a place.

    Args:
        city: City and country.
        days: How many days.
    """
    return "clear"


@function_tool
def list_notes() -> list[str]:
    return ["a note"]


async def main():
    c = AsyncOpenAI(base_url=sys.argv[1] + "/v1", api_key="x")
    a = Agent(
        name="A",
        instructions="You are terse.",
        tools=[get_weather, list_notes],
        model=OpenAIChatCompletionsModel(model="m", openai_client=c),
    )
    s = SQLiteSession("s")
    await Runner.run(a, "Weather in Lumati?", session=s)
    await Runner.run(a, "And tomorrow?", session=s)
    await Runner.run(
        a,
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "image_url": "https://example.org/a.png"},
                ],
            }
        ],
    )
    d = Agent(
        name="B",
        instructions="You route.",
        handoffs=[a],
        model=OpenAIChatCompletionsModel(model="m", openai_client=c),
    )
    await Runner.run(d, "Hello")


asyncio.run(main())
