"""Search services by name, and whatever of LangChain's or an MCP server's can be searched, as search providers."""

from zetetic.sources.providers.adapters import Adapter, AdapterError, McpServer, RetrieverSearch, ToolSearch, adapted
from zetetic.sources.providers.arxiv import Arxiv
from zetetic.sources.providers.brave import Brave
from zetetic.sources.providers.calling import ApiProvider
from zetetic.sources.providers.exa import Exa
from zetetic.sources.providers.openalex import OpenAlex
from zetetic.sources.providers.pubmed import PubMed
from zetetic.sources.providers.registry import KNOWN, UnknownProvider, make_provider
from zetetic.sources.providers.searxng import Searxng
from zetetic.sources.providers.serper import Serper
from zetetic.sources.providers.tavily import Tavily
from zetetic.sources.providers.web import WebSearch
from zetetic.sources.providers.wikipedia import Wikipedia

__all__ = [
    "KNOWN",
    "Adapter",
    "AdapterError",
    "ApiProvider",
    "Arxiv",
    "Brave",
    "Exa",
    "McpServer",
    "OpenAlex",
    "PubMed",
    "RetrieverSearch",
    "Searxng",
    "Serper",
    "Tavily",
    "ToolSearch",
    "UnknownProvider",
    "WebSearch",
    "Wikipedia",
    "adapted",
    "make_provider",
]
