"""Keyless web search over several public search engines at once, by the library `ddgs` (extra `web`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from zetetic.sources.extracted import one_line
from zetetic.sources.providers.calling import SEARCH_SECONDS
from zetetic.sources.providers.queries import capped
from zetetic.sources.providers.readings import MalformedError, hit, usable
from zetetic.sources.providers.words import SAID_CHARS
from zetetic.sources.search import SearchResult, SearchStatus

if TYPE_CHECKING:
    from ddgs.ddgs import DDGS

QUERY_CHARS = 400
MOST_HITS = 30
ENGINE_SECONDS = 6
"""One engine's answer (seconds)."""
LEFT_OUT = frozenset({"grokipedia", "wikipedia"})
"""Of the library's engines: texts that a model wrote, and what the provider `wikipedia` searches better."""
_TURNED_AWAY = frozenset({202, 403, 418, 429})
"""How engines answer a client that asks too often or looks like a machine."""


class WebSearch:
    """Metasearch without a key. It looks at what each engine answered: being turned away is no empty result (D38).

    There is no quota to use up. `engines` chooses among the library's text engines; by default all but `LEFT_OUT`.
    """

    name = "web"

    def __init__(self, *, engines: Sequence[str] = (), timeout: float = SEARCH_SECONDS) -> None:
        """Nothing is sent yet; the library is loaded at the first search. `timeout` is in seconds, for one search."""
        self._engines = tuple(engines)
        self._timeout = timeout

    @property
    def missing(self) -> str:
        """How to install the library, where it is not."""
        return "" if find_spec("ddgs") else "web needs the package ddgs: pip install 'zetetic[web]'."

    async def search(self, query: str, *, limit: int) -> SearchResult:
        """At most `limit` hits, best first. The engines are asked in a thread, which is left behind when it is late."""
        if self.missing:
            return self._answer(SearchStatus.NOT_CONFIGURED, self.missing)
        asked, wanted = capped(query, QUERY_CHARS), min(limit, MOST_HITS)
        if not asked or wanted < 1:
            return self._answer(SearchStatus.NO_RESULTS, "Nothing was asked for.")
        try:
            async with asyncio.timeout(self._timeout):
                return await _in_thread(lambda: self._searched(asked, wanted))
        except TimeoutError:
            return self._answer(SearchStatus.FAILED, f"web did not answer within {self._timeout:g} seconds.")

    def _searched(self, query: str, limit: int) -> SearchResult:
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        answered: list[int] = []
        engines = ",".join(self._engines or _all_engines())
        try:
            with _watched(answered, min(ENGINE_SECONDS, max(1, int(self._timeout)))) as ddgs:
                found = ddgs.text(query, max_results=limit, backend=engines)
            each = (hit(row.get("href"), row.get("title"), row.get("body")) for row in found)
            hits = tuple(usable(each, len(found))[:limit])
        except RatelimitException:
            return self._answer(SearchStatus.RATE_LIMITED, "The engines of web are asked too often.")
        except TimeoutException:
            return self._answer(SearchStatus.FAILED, "The engines of web did not answer in time.")
        except MalformedError as error:
            return self._answer(SearchStatus.FAILED, f"The answer of web cannot be used: {error}.")
        except DDGSException as error:
            return self._without_hits(error, answered)
        except Exception as error:  # what engines answer is parsed by the library, which foresees little (R7)
            return self._answer(SearchStatus.FAILED, f"The library behind web failed: {type(error).__name__}.")
        return SearchResult(provider=self.name, status=SearchStatus.OK, hits=hits)

    def _without_hits(self, error: Exception, answered: Sequence[int]) -> SearchResult:
        nothing = str(error) == "No results found."
        if nothing and 200 in answered:
            return self._answer(SearchStatus.NO_RESULTS, "web found nothing for this query.")
        codes = ", ".join(f"HTTP {code}" for code in sorted(set(answered)))
        if _TURNED_AWAY.intersection(answered):
            return self._answer(SearchStatus.RATE_LIMITED, f"The engines of web turned the search away ({codes}).")
        said = codes if nothing else one_line(str(error), SAID_CHARS).rstrip(".")
        return self._answer(SearchStatus.FAILED, f"No engine of web could be asked: {said or 'none answered'}.")

    def _answer(self, status: SearchStatus, detail: str) -> SearchResult:
        return SearchResult(provider=self.name, status=status, detail=detail)


def _all_engines() -> list[str]:
    from ddgs.engines import ENGINES

    return sorted(set(ENGINES["text"]) - LEFT_OUT)


def _watched(answered: list[int], seconds: int) -> DDGS:
    """The library's client, noting the HTTP status of each engine's answer: it says the same of 403 and of nothing."""
    from ddgs.ddgs import DDGS  # the package's own name for it is a stand-in that cannot be derived from

    class Watched(DDGS):
        def _get_engines(self, category: str, backend: str) -> list[Any]:
            engines: list[Any] = super()._get_engines(category, backend)
            for engine in engines:
                engine.http_client.request = _noting(engine.http_client.request, answered)
            return engines

    return Watched(timeout=seconds)


def _noting(request: Callable[..., Any], answered: list[int]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        response = request(*args, **kwargs)
        answered.append(int(response.status_code))
        return response

    return noted


async def _in_thread(work: Callable[[], SearchResult]) -> SearchResult:
    """Work in a thread of its own, which does not keep the process or the loop's pool: it may hang in a library."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[SearchResult] = loop.create_future()

    def settle(done: SearchResult | BaseException) -> None:
        if not result.done():
            if isinstance(done, BaseException):
                result.set_exception(done)
            else:
                result.set_result(done)

    def run() -> None:
        done: SearchResult | BaseException
        try:
            done = work()
        except BaseException as error:
            done = error
        try:
            loop.call_soon_threadsafe(settle, done)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=run, name="zetetic-web-search", daemon=True).start()
    return await result
