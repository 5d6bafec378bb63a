"""The user's documents and the web, behind one `fetch`."""

from __future__ import annotations

from zetetic.sources.documents import DocumentFolder
from zetetic.sources.pages import Fetcher, FetchFailure, Page
from zetetic.sources.plain_text import is_web


class CombinedFetcher:
    """A document of the folder where it holds one at the address, else the web for what is a web address.

    So a local copy of a page, one that declares the page's url, is read in place of it.
    """

    def __init__(self, folder: DocumentFolder, web: Fetcher) -> None:
        self._folder = folder
        self._web = web

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The page at `url`."""
        local = self._folder.find(url) is not None or not is_web(url.strip())
        return await (self._folder if local else self._web).fetch(url)
