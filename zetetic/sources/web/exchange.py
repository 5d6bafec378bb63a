"""One address to one body: requests, redirects and errors, within the caps (cases 25 to 28)."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx

from zetetic.sources.pages import FailureKind
from zetetic.sources.web.addresses import bare_host, literal
from zetetic.sources.web.caps import Caps
from zetetic.sources.web.client import USER_AGENT
from zetetic.sources.web.decoding import ACCEPTED, BodyTooLargeError, DecodingError, codings, decoded, read_body
from zetetic.sources.web.transport import AddressRefusedError, GuardedTransport, NameNotFoundError
from zetetic.sources.web.turns import Turns

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_FOUND = frozenset({404, 410})
_BLOCKED = frozenset({401, 402, 403, 407, 429, 451, 999})
_ASKS_TO_WAIT = frozenset({429, 503})
_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.9,*/*;q=0.5"
_HOST = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
MAX_URL_CHARACTERS = 4_000


class FetchTroubleError(Exception):
    """Why an address gave no body: the kind and a sentence."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class StatusError(FetchTroubleError):
    """An answer that is no page, with its status."""

    def __init__(self, kind: FailureKind, message: str, status: int) -> None:
        super().__init__(kind, message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """What an address gave: `url` is the one that answered, after redirects."""

    url: str
    content_type: str | None
    body: bytes


def web_address(text: str) -> httpx.URL:
    """The address to request. Raises FetchTroubleError of kind `refused` for what is none that a page is read from."""
    try:
        url = httpx.URL(text.strip())
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError, TypeError):
        raise FetchTroubleError("refused", f"{text[:200]!r} is no web address.") from None
    if url.scheme not in ("http", "https"):
        said = f"{url.scheme[:20]}: is not read" if url.scheme else f"{text[:200]!r} is no web address"
        raise FetchTroubleError("refused", f"{said}; only http and https are.")
    if url.userinfo:
        raise FetchTroubleError("refused", "The address carries a user name or a password: ask for it without.")
    if not literal(host) and not (_HOST.fullmatch(bare_host(host)) and len(host) <= 254):
        raise FetchTroubleError("refused", f"{text[:200]!r} names no site.")
    if url.port is not None and not 0 < url.port < 65536:
        raise FetchTroubleError("refused", f"{text[:200]!r} names no port between 1 and 65535.")
    if len(str(url)) > MAX_URL_CHARACTERS:
        raise FetchTroubleError("refused", f"The address is longer than {MAX_URL_CHARACTERS:,} characters.")
    return url.copy_with(fragment=None)


Permission = Callable[[httpx.URL], Awaitable[float]]
"""Raises FetchTroubleError where an address is not to be read; else the pause the site asks for, in seconds."""


async def no_conditions(_: httpx.URL) -> float:
    """Permits everything at once."""
    return 0.0


class Exchange:
    """Reads bodies over one transport, one host's turn at a time."""

    def __init__(self, transport: GuardedTransport, turns: Turns, caps: Caps) -> None:
        self._transport = transport
        self._turns = turns
        self._caps = caps

    async def read(
        self,
        url: str,
        *,
        limit: int,
        permission: Permission = no_conditions,
        look: Callable[[bytes, str | None, str], None] | None = None,
    ) -> Answer:
        """The body at `url`, at most `limit` bytes of it sent. Raises FetchTroubleError; bounded by the caller in time.

        `permission` is asked before every request, also of a redirect; `look` sees the first bytes of an uncoded body,
        its declared type and its address, and may raise. Cookies live as long as this call, since some sites send a
        reader in a circle without them.
        """
        cookies = httpx.Cookies()
        target = web_address(url)
        been: set[tuple[str, str]] = set()
        waited = False
        while True:
            pause = await permission(target)
            request = self._request(target, cookies)
            if (at := (str(target), request.headers.get("cookie", ""))) in been:
                raise FetchTroubleError("unreadable", "The address leads in a circle of redirects.")
            async with self._turns.of(bare_host(target.host), pause):
                got = await self._sent(request, cookies, limit, look)
            if isinstance(got, Answer):
                return got
            if isinstance(got, float):  # seconds to wait, as the server asked
                if waited or got > self._caps.retry_after_seconds:
                    raise FetchTroubleError("blocked", "The server asks to come back later: too many requests.")
                waited = True
                await asyncio.sleep(got)
                continue
            been.add(at)
            if len(been) > self._caps.redirects:
                raise FetchTroubleError("unreadable", f"The address leads on over {self._caps.redirects} redirects.")
            target = _moved(target, got)

    def _request(self, target: httpx.URL, cookies: httpx.Cookies) -> httpx.Request:
        headers = {"user-agent": USER_AGENT, "accept": _ACCEPT, "accept-encoding": ACCEPTED}
        times = {
            "connect": self._caps.connect_seconds,
            "read": self._caps.idle_seconds,
            "write": self._caps.idle_seconds,
            "pool": None,
        }
        return httpx.Request("GET", target, headers=headers, cookies=cookies, extensions={"timeout": times})

    async def _sent(
        self,
        request: httpx.Request,
        cookies: httpx.Cookies,
        limit: int,
        look: Callable[[bytes, str | None, str], None] | None,
    ) -> Answer | str | float:
        """The answer, or where it redirects to, or the seconds the server asks to wait."""
        try:
            answer = await self._transport.handle_async_request(request)
            try:
                cookies.extract_cookies(answer)
                if answer.status_code in _REDIRECTS:
                    if not (moved := answer.headers.get("location", "").strip()):
                        raise FetchTroubleError("unreadable", "The address redirects to nowhere.")
                    return str(moved)
                if answer.status_code in _ASKS_TO_WAIT and (wait := _retry_after(answer)) is not None:
                    return wait
                _check_status(answer.status_code)
                return await self._whole(answer, str(request.url), limit, look)
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise _in_words(error, request.url.host) from error

    async def _whole(
        self,
        answer: httpx.Response,
        url: str,
        limit: int,
        look: Callable[[bytes, str | None, str], None] | None,
    ) -> Answer:
        declared = answer.headers.get("content-type")
        coding = answer.headers.get("content-encoding", "")
        plain = not codings(coding)
        first = (lambda head: look(head, declared, url)) if look is not None and plain else None
        try:
            body = await read_body(answer, limit, first)
            if not plain:
                body = await asyncio.to_thread(decoded, body, coding, min(limit * 2, self._caps.decoded_bytes))
        except BodyTooLargeError as error:
            raise FetchTroubleError("unsupported", str(error)) from None
        except DecodingError as error:
            raise FetchTroubleError("unreadable", str(error)) from None
        return Answer(url, declared, body)


def _moved(target: httpx.URL, location: str) -> httpx.URL:
    try:
        return web_address(str(target.join(location)))
    except (httpx.InvalidURL, ValueError):
        raise FetchTroubleError("unreadable", f"The address redirects to {location[:200]!r}, which is none.") from None
    except FetchTroubleError as error:
        raise FetchTroubleError(error.kind, f"The address redirects to another that is refused: {error}") from None


def _check_status(status: int) -> None:
    if status in (200, 203, 206):
        return
    said = f"{status} {_phrase(status)}".strip()
    if status in _NOT_FOUND:
        raise StatusError("not_found", f"There is no such page: the server answers {said}.", status)
    if status in _BLOCKED:
        raise StatusError("blocked", f"The page is not given to everyone: the server answers {said}.", status)
    if status >= 500:
        raise StatusError("unreachable", f"The server has trouble of its own: it answers {said}.", status)
    raise StatusError("unreadable", f"The server gives no page: it answers {said}.", status)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _retry_after(answer: httpx.Response) -> float | None:
    """The seconds that an answer asks to wait; None where it does not say."""
    said = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,6}", said):
        return float(said)
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def _in_words(error: httpx.HTTPError, host: str) -> FetchTroubleError:
    if isinstance(error, AddressRefusedError):
        return FetchTroubleError("refused", str(error))
    if isinstance(error, NameNotFoundError):
        return FetchTroubleError("not_found", str(error))
    if isinstance(error, httpx.TimeoutException):
        return FetchTroubleError("timeout", f"{host} did not answer in time.")
    if isinstance(error, httpx.ConnectError):
        if _of_tls(error):
            return FetchTroubleError("unreadable", f"There is no secure connection to {host}: {_reason(error)}.")
        return FetchTroubleError("unreachable", f"{host} could not be reached: {_reason(error)}.")
    if isinstance(error, httpx.ProtocolError):
        return FetchTroubleError("unreadable", f"The answer of {host} is broken: {_reason(error)}.")
    return FetchTroubleError("unreachable", f"The connection to {host} broke off.")


def _of_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
