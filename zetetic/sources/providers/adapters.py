"""LangChain retrievers and tools, and the tools of MCP servers, as search providers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from pydantic import TypeAdapter

from zetetic.sources.extracted import one_line
from zetetic.sources.pages import FetchFailure, Page
from zetetic.sources.providers.calling import SEARCH_SECONDS
from zetetic.sources.providers.found import Found, found_in, says_nothing
from zetetic.sources.providers.readings import SNIPPET_CHARS, hit, plain
from zetetic.sources.providers.texts import text_page
from zetetic.sources.providers.words import SAID_CHARS
from zetetic.sources.search import Hit, SearchProvider, SearchResult, SearchStatus

KEPT_TEXTS = 2_000
_QUERY_NAMES = ("query", "q", "search_query", "search", "question", "keywords", "input", "text")


class AdapterError(ValueError):
    """Something that cannot be searched; the message says what to give instead."""


class Adapter:
    """A search provider over something of LangChain's, which also reads the texts it found that have no address."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self._seconds = seconds
        self._texts: OrderedDict[str, Page] = OrderedDict()

    def page(self, url: str) -> Page | None:
        """The text that was found under this `tool:` address."""
        return self._texts.get(url.strip())

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The text at a `tool:` address that a search gave."""
        message = f"{self.name} has found no text at {url}."
        return self.page(url) or FetchFailure(url=url, kind="not_found", message=message)

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """At most `limit` hits; whatever the tool raises is the status `failed` (R7)."""
        try:
            async with asyncio.timeout(self._seconds):
                found = await self._found(query)
        except TimeoutError:
            return self._answer(SearchStatus.FAILED, f"{self.name} did not answer within {self._seconds:g} seconds.")
        except Exception as error:
            # What it says may hold a key that its author put into an address, so only its kind is told.
            return self._answer(SearchStatus.FAILED, f"{self.name} raised {type(error).__name__}.")
        if isinstance(found, str):
            return self._answer(SearchStatus.FAILED, f"{self.name} failed: {plain(found, SAID_CHARS)}")
        hits = _one_an_address(filter(None, map(self._hit, found)))[: max(limit, 0)]
        if not hits:
            return self._answer(SearchStatus.NO_RESULTS, f"{self.name} found nothing for this query.")
        return SearchResult(provider=self.name, status=SearchStatus.OK, hits=hits)

    async def _found(self, query: str) -> Sequence[Found] | str:
        """What was found, or what the tool says went wrong."""
        raise NotImplementedError

    def _hit(self, found: Found) -> Hit | None:
        if addressed := hit(found.url, found.title, found.text, found.date):
            return addressed
        page = text_page(self.name, found.text, title=plain(found.title), origin=found.origin, date=found.date)
        if page is None:
            return None
        self._texts[page.url] = page
        self._texts.move_to_end(page.url)
        while len(self._texts) > KEPT_TEXTS:
            self._texts.popitem(last=False)
        snippet = one_line(page.text, SNIPPET_CHARS)
        return Hit(url=page.url, title=page.title, snippet=snippet, date=page.published, identity=page.canonical)

    def _answer(self, status: SearchStatus, detail: str) -> SearchResult:
        return SearchResult(provider=self.name, status=status, detail=detail)


def _one_an_address(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits, those of one address as one: retrievers give a page in parts, and each is a reason to read it."""
    found: dict[str, Hit] = {}
    for one in hits:
        first = found.setdefault(one.key, one)
        if one.snippet not in first.snippet:
            snippet = one_line(f"{first.snippet} … {one.snippet}", SNIPPET_CHARS)
            found[one.key] = first.model_copy(update={"snippet": snippet})
    return tuple(found.values())


class RetrieverSearch(Adapter):
    """A LangChain retriever. A document's address is the http(s) one in its metadata, else one of its text."""

    def __init__(self, retriever: BaseRetriever, *, name: str = "", timeout: float = SEARCH_SECONDS) -> None:
        """Named as the retriever is, unless it is given a name. `timeout` is in seconds, for one search."""
        super().__init__(name or retriever.name or type(retriever).__name__, timeout)
        self._retriever = retriever

    async def _found(self, query: str) -> Sequence[Found] | str:
        documents: Sequence[Document] = await self._retriever.ainvoke(query)
        return found_in(documents)


class ToolSearch(Adapter):
    """A LangChain tool that takes a text and gives results, or a text. Raises AdapterError for one that cannot."""

    def __init__(self, tool: BaseTool, *, timeout: float = SEARCH_SECONDS) -> None:
        """Named as the tool is. `timeout` is in seconds, for one search."""
        super().__init__(tool.name, timeout)
        self._tool = tool
        self._argument = query_argument(tool)
        if not self._argument:
            raise AdapterError(
                f"The tool {tool.name!r} cannot be searched: it must take one required text, such as `query`."
            )
        if (tool.metadata or {}).get("readOnlyHint") is False or (tool.metadata or {}).get("destructiveHint") is True:
            raise AdapterError(
                f"The tool {tool.name!r} says that it changes things: only tools that read are searched."
            )

    async def _found(self, query: str) -> Sequence[Found] | str:
        told = await self._tool.ainvoke(self._call(query))
        content, artifact = told, None
        if isinstance(told, ToolMessage):
            content, artifact = told.content, told.artifact
            if told.status == "error":
                return " ".join(one.text for one in found_in(content)) or "it does not say why"
        structured = [one for one in found_in(artifact) if one.url or one.text]
        found = structured or found_in(content, title=f"{self.name}: {query}")
        return [] if len(found) == 1 and not found[0].url and says_nothing(found[0].text) else found

    def _call(self, query: str) -> Any:
        """What the tool is called with: as a model's call where that brings more back (an artifact, that it failed),
        else plainly, since a call makes a text of whatever is returned."""
        args = {self._argument: query}
        if self._tool.response_format == "content_and_artifact" or self._tool.handle_tool_error:
            return {"name": self._tool.name, "args": args, "id": "search", "type": "tool_call"}
        return args


def query_argument(tool: BaseTool) -> str:
    """The name of the text a tool is asked with: its one required text, or the one that is called like a query."""
    schema = tool.tool_call_schema
    described: Mapping[str, Any] = schema if isinstance(schema, dict) else TypeAdapter(schema).json_schema()
    properties = described.get("properties", {})
    texts = [name for name, of in properties.items() if isinstance(of, dict) and _is_text(of)]
    required = [name for name in described.get("required", properties) if name in properties]
    if any(name not in texts for name in required) or len(required) > 1:
        return ""
    return required[0] if required else next((name for name in _QUERY_NAMES if name in texts), "")


def _is_text(described: Mapping[str, Any]) -> bool:
    kinds = [described, *described.get("anyOf", [])]
    return any(kind.get("type") == "string" for kind in kinds)


@dataclass(frozen=True)
class McpServer:
    """An MCP server whose search tools are providers: a connection as langchain-mcp-adapters takes it.

    `{"transport": "stdio", "command": …, "args": […]}`, or `{"transport": "http", "url": …}`. `tools` names those to
    search with; without names, every tool that takes one required text and does not say that it changes things. Each
    search opens a session of its own, so a server that died is started anew.
    """

    connection: Mapping[str, Any] = field(repr=False)
    tools: tuple[str, ...] = ()
    timeout: float = SEARCH_SECONDS
    """Of one search, and of listing the tools (seconds)."""

    async def providers(self) -> list[SearchProvider]:
        """A provider for each search tool. Raises AdapterError where there is none, or no server."""
        try:
            from langchain_mcp_adapters.tools import load_mcp_tools
        except ImportError:
            raise AdapterError("An MCP server needs a package: pip install 'zetetic[mcp]'.") from None
        try:
            async with asyncio.timeout(self.timeout):
                offered = await load_mcp_tools(None, connection=dict(self.connection))  # type: ignore[arg-type]
        except TimeoutError:
            raise AdapterError(f"The MCP server did not answer within {self.timeout:g} seconds: check it.") from None
        except Exception as error:
            kind = type(_first(error)).__name__
            raise AdapterError(f"The MCP server could not be asked for its tools ({kind}): check it.") from None
        names = ", ".join(tool.name for tool in offered) or "none"
        if unknown := [name for name in self.tools if name not in {tool.name for tool in offered}]:
            raise AdapterError(f"The MCP server has no tool {unknown[0]!r}; it has: {names}.")
        wanted = [tool for tool in offered if not self.tools or tool.name in self.tools]
        found: list[SearchProvider] = []
        for tool in wanted:
            try:
                found.append(ToolSearch(tool, timeout=self.timeout))
            except AdapterError:
                if self.tools:
                    raise
        if not found:
            raise AdapterError(f"The MCP server has no tool that takes one text and only reads; it has: {names}.")
        return found


def _first(error: BaseException) -> BaseException:
    """What went wrong within groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def adapted(given: object) -> list[SearchProvider]:
    """The providers of something a host passed in: a provider as it is, a retriever, a tool, an MCP server.

    Raises AdapterError for anything else.
    """
    if isinstance(given, McpServer):
        return await given.providers()
    if isinstance(given, BaseRetriever):
        return [RetrieverSearch(given)]
    if isinstance(given, BaseTool):
        return [ToolSearch(given)]
    if callable(getattr(given, "search", None)) and isinstance(getattr(given, "name", None), str):
        return [given]  # type: ignore[list-item]
    raise AdapterError(
        f"search holds a {type(given).__name__}, which cannot be searched: give a provider's name, or an object with "
        "`name` and `async search(query, *, limit)`, a LangChain retriever or tool, or an McpServer."
    )
