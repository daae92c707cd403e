import os
import sys
import asyncio
from openai import AsyncOpenAI
from agents import Agent, Runner, OpenAIChatCompletionsModel, set_tracing_disabled
from agents.mcp import MCPServerStdio

set_tracing_disabled(True)


async def main():
    c = AsyncOpenAI(base_url=sys.argv[1] + "/v1", api_key="x")
    async with MCPServerStdio(
        params={
            "command": sys.executable,
            "args": [os.path.join(os.path.dirname(__file__), "mcp_tools.py")],
        }
    ) as s:
        a = Agent(
            name="A",
            instructions="You are terse.",
            mcp_servers=[s],
            model=OpenAIChatCompletionsModel(model="m", openai_client=c),
        )
        await Runner.run(a, "Weather in Lumati?")


asyncio.run(main())
