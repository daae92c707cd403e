from typing import Optional, Literal

try:
    from mcp.server.mcpserver import MCPServer as FastMCP
except ImportError:
    from mcp.server.fastmcp import FastMCP
m = FastMCP("notes")


@m.tool()
def get_weather(
    city: str,
    days: Optional[int] = None,
    unit: Literal["celsius", "fahrenheit"] = "celsius",
    where: dict[str, float] | None = None,
    tags: list[str] = [],
) -> dict[str, str]:
    return {"sky": "clear"}


@m.tool()
def list_notes() -> list[str]:
    """Lists all notes."""
    return ["a note", "another"]


m.run()
