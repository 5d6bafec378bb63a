"""A real MCP server over stdio, run as a process of its own: tools that search, and tools that do not."""

from __future__ import annotations

from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("library", log_level="ERROR")


@server.tool()
def search_pages(query: str) -> list[dict[str, Any]]:
    """Finds pages."""
    if query == "nothing":
        return []
    if query == "trouble":
        raise RuntimeError("the library is closed")
    return [
        {"url": "https://harbour-office.example/tower", "title": "The tower", "snippet": f"42 metres, for {query}."},
        {
            "url": "https://land-survey.example/heights",
            "title": "Heights",
            "snippet": "Levelled.",
            "date": "2024-05-01",
        },
    ]


@server.tool()
def look_up(term: str, limit: int = 3) -> str:
    """Tells of a term in a text."""
    return f"The keeper's book says of {term}: it is 42 metres tall. See https://keeper.example/book for more."


@server.tool(annotations=ToolAnnotations(readOnlyHint=False, destructiveHint=True))
def remove_page(url: str) -> str:
    """Removes a page."""
    return f"{url} is gone"


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


if __name__ == "__main__":
    server.run("stdio")
