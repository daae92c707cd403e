import sys
import asyncio
from typing import Literal, Optional
from pydantic_ai import Agent, ImageUrl
from pydantic import BaseModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

m = OpenAIChatModel("m", provider=OpenAIProvider(base_url=sys.argv[1] + "/v1", api_key="x"))
a = Agent(m, instructions="You are terse.", system_prompt="You answer.")


class Place(BaseModel):
    lat: float
    lon: float


@a.tool_plain
def get_weather(
    city: str,
    days: Optional[int] = None,
    unit: Literal["celsius", "fahrenheit"] = "celsius",
    at: Optional[Place] = None,
) -> str:
    """Weather of a place.

    Args:
        city: City and country.
    """
    return "clear"


@a.tool_plain
def list_notes() -> list[str]:
    return ["a note"]


async def main():
    r = await a.run("Weather in Lumati?")
    r = await a.run("And tomorrow?", message_history=r.all_messages())
    await a.run(["What is this?", ImageUrl("https://example.org/a.png")])

    class Out(BaseModel):
        text: str
        note: Optional[str] = None

    try:
        await Agent(m, output_type=Out).run("Hello")
    except Exception as e:
        print(e, file=sys.stderr)


asyncio.run(main())
