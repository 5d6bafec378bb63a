"""Where texts come from: search providers, pages, local documents, and the identity of all of them."""

from zetetic.sources.documents import DocumentFolder, DocumentsError, Holdings
from zetetic.sources.extraction import Extracted, ExtractionFailure, extract
from zetetic.sources.identity import canonical_url, registrable_domain, sketch_similarity, text_sketch, work_identity
from zetetic.sources.junk import junk_reason
from zetetic.sources.pages import Fetcher, FetchFailure, Page, page_from_web, text_sha256
from zetetic.sources.search import Hit, SearchProvider, SearchResult, SearchStatus, merged_search

__all__ = [
    "DocumentFolder",
    "DocumentsError",
    "Extracted",
    "ExtractionFailure",
    "FetchFailure",
    "Fetcher",
    "Hit",
    "Holdings",
    "Page",
    "SearchProvider",
    "SearchResult",
    "SearchStatus",
    "canonical_url",
    "extract",
    "junk_reason",
    "merged_search",
    "page_from_web",
    "registrable_domain",
    "sketch_similarity",
    "text_sha256",
    "text_sketch",
    "work_identity",
]
