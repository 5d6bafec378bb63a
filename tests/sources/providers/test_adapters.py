"""LangChain retrievers and tools and an MCP server as search providers, and texts that have no address of their own."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool, tool

from zetetic.sources import FetchFailure, Hit, SearchStatus, text_sha256
from zetetic.sources.providers import AdapterError, McpServer, RetrieverSearch, ToolSearch, adapted

pytestmark = pytest.mark.rule("R7", "R8")
TOWER = "https://harbour-office.example/tower"
TALL = "The Ortel lighthouse is 42 metres tall."
HITS = (Hit(url=TOWER, title="The tower", snippet=TALL, date="2024-05-01"),)
SERVER = McpServer(
    {"transport": "stdio", "command": sys.executable, "args": [str(Path(__file__).parent / "mcp_server.py")]},
    timeout=60,
)


class Shelf(BaseRetriever):
    """A retriever of given documents."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        if query == "trouble":
            raise RuntimeError("https://shelf.example/?api_key=hush")
        return self.documents


def gives(result: Any, **more: Any) -> BaseTool:
    """A tool that gives this, whatever it is asked."""

    def library(query: str) -> Any:
        return result

    return StructuredTool.from_function(library, description="Searches the library.", **more)


# retrievers


async def test_a_retriever_gives_hits_and_documents_without_an_address_can_be_read() -> None:
    documents = [
        Document(TALL, metadata={"source": TOWER, "title": "The tower", "date": "2024-05-01"}),
        Document("Chapter 1. It was lit in 1911.", metadata={"source": "shelf/book.pdf", "page": 1}),
        Document("Chapter 2. It was white.", metadata={"source": "shelf/book.pdf", "page": 2}),
        Document("", metadata={"source": "empty.txt"}),
    ]
    provider = RetrieverSearch(Shelf(documents=documents), name="my shelf")
    result = await provider.search("Ortel", limit=5)
    assert result.status is SearchStatus.OK
    assert result.hits[0] == HITS[0]
    text = "Chapter 1. It was lit in 1911."
    assert result.hits[1].url == f"tool:my-shelf/shelf%2Fbook.pdf/{text_sha256(text)}"
    page = await provider.fetch(result.hits[1].url)
    assert not isinstance(page, FetchFailure)
    assert (page.text, page.title, page.canonical) == (text, text, result.hits[1].key)
    other = await provider.fetch(result.hits[2].url)
    assert not isinstance(other, FetchFailure)
    # D33: two parts of one book are one origin
    assert page.domain == other.domain == "local:my-shelf/shelf/book.pdf"
    assert len(result.hits) == 3
    assert len((await provider.search("Ortel", limit=2)).hits) == 2


@pytest.mark.rule("R6")
async def test_parts_of_one_page_are_one_hit() -> None:
    parts = [Document(text, metadata={"source": TOWER}) for text in ("It is tall.", "It is white.", "It is tall.")]
    result = await RetrieverSearch(Shelf(documents=parts)).search("Ortel", limit=5)
    assert [(hit.url, hit.snippet) for hit in result.hits] == [(TOWER, "It is tall. … It is white.")]


async def test_a_text_that_no_search_gave_is_not_found() -> None:
    provider = RetrieverSearch(Shelf(documents=[]))
    assert await provider.fetch(f"tool:Shelf/{'0' * 64}") == FetchFailure(
        url=f"tool:Shelf/{'0' * 64}", kind="not_found", message=f"Shelf has found no text at tool:Shelf/{'0' * 64}."
    )
    assert (await provider.search("Ortel", limit=5)).status is SearchStatus.NO_RESULTS


async def test_what_a_retriever_raises_is_failed_and_not_repeated() -> None:
    result = await RetrieverSearch(Shelf(documents=[])).search("trouble", limit=5)
    assert (result.status, result.detail) == (SearchStatus.FAILED, "Shelf raised RuntimeError.")


# tools


ITEM = {"title": "The tower", "text": TALL, "date": "2024-05-01"}
SHAPES: dict[str, Any] = {
    "a list": [{"url": TOWER, "title": "The tower", "content": TALL, "published_date": "2024-05-01"}],
    "a table": {"results": [{"link": TOWER, "name": "The tower", "snippet": TALL, "page_age": "2024-05-01"}]},
    "a table in a table": {"query": "Ortel", "web": {"results": [{"url": TOWER, **ITEM}]}},
    "JSON": json.dumps([{"href": TOWER, "title": "The tower", "body": TALL, "date": "2024-05-01"}]),
    "documents": [Document(TALL, metadata={"url": TOWER, "title": "The tower", "date": "2024-05-01"})],
    "documents as JSON": [{"page_content": TALL, "metadata": {"source": TOWER, "title": "The tower"}, **ITEM}],
    "blocks": [{"type": "text", "text": json.dumps({"url": TOWER, **ITEM})}],
    "structured content": {"structured_content": {"result": [{"url": TOWER, **ITEM}]}},
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_tools_results_are_read_in_the_shapes_that_are_common(shape: str) -> None:
    given = SHAPES[shape]
    result = await ToolSearch(gives(given)).search("Ortel", limit=5)
    assert (result.status, result.hits) == (SearchStatus.OK, HITS)
    behind = ToolSearch(gives((f"1 result: {TALL}", given), response_format="content_and_artifact"))
    assert (await behind.search("Ortel", limit=5)).hits == HITS


async def test_a_text_is_one_hit_whose_addresses_can_be_followed() -> None:
    provider = ToolSearch(gives(f"{TALL}\nSee {TOWER}."))
    result = await provider.search("Ortel", limit=5)
    assert [hit.title for hit in result.hits] == ["library: Ortel"]
    page = await provider.fetch(result.hits[0].url)
    assert not isinstance(page, FetchFailure)
    assert (page.text, page.links) == (f"{TALL}\nSee {TOWER}.", (TOWER,))


@pytest.mark.parametrize(
    "given",
    [
        "",
        [],
        {},
        {"results": []},
        "[]",
        None,
        "No results found.",
        "No good DuckDuckGo Search Result was found",
        "0 results",
    ],
)
async def test_a_tool_that_found_nothing(given: Any) -> None:
    result = await ToolSearch(gives(given)).search("Ortel", limit=5)
    assert (result.status, result.hits) == (SearchStatus.NO_RESULTS, ())


@pytest.mark.parametrize(
    "given", [3, True, b"bytes", [[[[[[["deep"]]]]]]], [None, {}], {"results": [{"url": 3}]}, [{}] * 9]
)
async def test_a_tool_that_gives_nonsense_raises_nothing(given: Any) -> None:
    assert (await ToolSearch(gives(given)).search("Ortel", limit=5)).status in (
        SearchStatus.NO_RESULTS,
        SearchStatus.OK,
    )


async def test_a_tool_that_raises_or_hangs_is_failed() -> None:
    @tool
    async def slow(query: str) -> str:
        """Never answers."""
        await asyncio.Event().wait()
        return ""

    @tool
    def broken(query: str) -> str:
        """Breaks."""
        raise ValueError("api_key=hush")

    late = await ToolSearch(slow, timeout=0.05).search("Ortel", limit=5)
    assert (late.status, late.detail) == (SearchStatus.FAILED, "slow did not answer within 0.05 seconds.")
    raised = await ToolSearch(broken).search("Ortel", limit=5)
    assert (raised.status, raised.detail) == (SearchStatus.FAILED, "broken raised ValueError.")


async def test_the_argument_is_the_one_required_text() -> None:
    asked = []

    @tool
    def look(subject: str, query: str = "", limit: int = 3) -> str:
        """Looks."""
        asked.append((subject, query, limit))
        return "something"

    await ToolSearch(look).search("Ortel", limit=5)
    assert asked == [("Ortel", "", 3)]


def test_a_tool_that_takes_no_query_or_changes_things_is_refused() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    with pytest.raises(AdapterError, match="it must take one required text"):
        ToolSearch(add)
    with pytest.raises(AdapterError, match="it must take one required text"):
        ToolSearch(StructuredTool.from_function(lambda a, b: "", name="two", description="Two texts."))
    with pytest.raises(AdapterError, match="says that it changes things"):
        ToolSearch(gives("", metadata={"readOnlyHint": False}))


# an MCP server


async def test_the_search_tools_of_an_mcp_server_are_providers() -> None:
    providers = await adapted(SERVER)
    assert [provider.name for provider in providers] == ["search_pages", "look_up"]
    pages, look_up = providers
    found = await pages.search("Ortel", limit=5)
    assert [(hit.url, hit.snippet, hit.date) for hit in found.hits] == [
        (TOWER, "42 metres, for Ortel.", None),
        ("https://land-survey.example/heights", "Levelled.", "2024-05-01"),
    ]
    assert (await pages.search("nothing", limit=5)).status is SearchStatus.NO_RESULTS
    closed = await pages.search("trouble", limit=5)
    assert closed.status is SearchStatus.FAILED
    assert "the library is closed" in closed.detail
    told = await look_up.search("Ortel", limit=5)
    assert isinstance(look_up, ToolSearch)
    page = await look_up.fetch(told.hits[0].url)
    assert not isinstance(page, FetchFailure)
    assert page.text.startswith("The keeper's book says of Ortel: it is 42 metres tall.")
    assert page.links == ("https://keeper.example/book",)


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (McpServer(SERVER.connection, ("search_page",), 60), "it has: search_pages, look_up, remove_page, add"),
        (McpServer(SERVER.connection, ("remove_page",), 60), "says that it changes things"),
        (McpServer(SERVER.connection, ("add",), 60), "must take one required text"),
        (McpServer({"transport": "stdio", "command": "no-such-program", "args": []}), "check it"),
        (McpServer({"transport": "pigeon"}), "check it"),
    ],
)
async def test_a_server_or_tool_that_cannot_be_searched_is_said(server: McpServer, says: str) -> None:
    with pytest.raises(AdapterError, match=says):
        await adapted(server)


def test_the_environment_of_a_server_stands_in_no_repr() -> None:
    server = McpServer({"transport": "stdio", "command": "x", "args": [], "env": {"KEY": "hush"}})
    assert "hush" not in repr(server)


@pytest.mark.parametrize(
    "given", [3, None, object(), {"transport": "stdio", "command": "x", "args": []}, Document("x")]
)
async def test_anything_else_is_refused_with_what_to_give(given: object) -> None:
    with pytest.raises(AdapterError, match="give a provider's name, or an object with"):
        await adapted(given)
