"""Servers that mean harm, or know no better (case 28); and being polite to those that do."""

import asyncio
import gzip
import resource
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import httpx
import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from sources.web.loopback import Loopback, Route, Wire, answer, article, moved

from zetetic.sources import FetchFailure, Page
from zetetic.sources.web import Caps, WebFetcher, guarded_client

PUBLIC = "93.184.215.14"


def caps(**some: Any) -> Caps:
    return Caps(**{"pause_seconds": 0.0, **some})


async def failure(routes: dict[str, Route], given: Caps, path: str = "/") -> FetchFailure:
    async with Loopback(routes) as site, WebFetcher(allow=site.allow, caps=given, robots=False) as web:
        began = time.monotonic()
        got = await web.fetch(site.url(path))
        assert time.monotonic() - began < 20  # nothing here may hang; how long exactly is the machine's affair
    assert isinstance(got, FetchFailure), got
    return got


def forever(piece: bytes, head: bytes = b"") -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Sends a head once, then a piece for ever, as fast as it is taken."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return behave


def dripping(head: bytes, piece: bytes, every: float) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Sends a head, then a piece every so many seconds."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            await writer.drain()
            await asyncio.sleep(every)
            writer.write(piece)

    return behave


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"

# redirects


async def test_a_circle_of_redirects_is_ended() -> None:
    got = await failure({"/": moved("/a"), "/a": moved("/b"), "/b": moved("/a")}, caps())
    assert (got.kind, got.message) == ("unreadable", "The address leads in a circle of redirects.")


async def test_redirects_without_end_are_ended() -> None:
    routes: dict[str, Route] = {f"/{n}": moved(f"/{n + 1}") for n in range(50)}
    async with Loopback(routes) as site, WebFetcher(allow=site.allow, caps=caps(redirects=5), robots=False) as web:
        got = await web.fetch(site.url("/0"))
        assert isinstance(got, FetchFailure)
        assert got.message == "The address leads on over 5 redirects."
        assert len(site.paths) == 6
        assert isinstance(await web.fetch(site.url("/45")), FetchFailure)


async def test_a_circle_that_sets_a_new_cookie_each_time_is_ended() -> None:
    answers = [moved("/", set_cookie=f"n={n}; Path=/") for n in range(50)]
    assert "over 10 redirects" in (await failure({"/": answers}, caps())).message


@pytest.mark.parametrize("location", ["", "http://[::1", "http://a b c/"])
async def test_a_redirect_to_no_address_says_so(location: str) -> None:
    got = await failure({"/": moved(location)}, caps())
    assert got.kind in ("unreadable", "refused")
    assert "redirects to" in got.message


# sizes


async def test_a_body_without_end_is_ended_by_its_size() -> None:
    got = await failure({"/": forever(b"<p>words " * 1000, HEAD + b"\r\n")}, caps(body_bytes=1_000_000))
    assert (got.kind, got.message) == ("unsupported", "The page is larger than 1,000,000 bytes.")


async def test_a_body_that_says_it_is_10_gb_is_not_begun() -> None:
    async with (
        Loopback({"/": forever(b"x" * 1000, HEAD + b"content-length: 10000000000\r\n\r\n")}) as site,
        WebFetcher(allow=site.allow, robots=False) as web,
    ):
        got = await web.fetch(site.url())
    assert isinstance(got, FetchFailure)
    assert got.message == "The page is larger than 30,000,000 bytes."


async def test_chunks_without_end_are_ended_by_their_size() -> None:
    head = HEAD + b"transfer-encoding: chunked\r\n\r\n"
    got = await failure({"/": forever(b"3e8\r\n" + b"x" * 1000 + b"\r\n", head)}, caps(body_bytes=100_000))
    assert got.message == "The page is larger than 100,000 bytes."


async def test_a_film_is_left_at_its_first_bytes() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\n\r\n"
    async with (
        Loopback({"/": forever(b"\x00\x00\x00\x18ftypmp42" * 500, head)}) as site,
        WebFetcher(allow=site.allow, robots=False) as web,
    ):
        got = await web.fetch(site.url())
    assert isinstance(got, FetchFailure)
    assert (got.kind, got.message) == ("unsupported", "The document is binary data: there is no text to read.")


@cache
def bomb(window: int) -> bytes:
    """Two gigabytes of zeros in some 2 MB. What lies between two full flushes is made once and repeated."""
    machine = zlib.compressobj(9, zlib.DEFLATED, window)
    block = bytes(1 << 24)
    start = machine.compress(block) + machine.flush(zlib.Z_FULL_FLUSH)
    stretch = machine.compress(block) + machine.flush(zlib.Z_FULL_FLUSH)
    return start + stretch * 127 + machine.flush()


@pytest.mark.parametrize(("coding", "window"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
async def test_a_few_kilobytes_do_not_become_gigabytes(coding: str, window: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    got = await failure({"/": answer(bomb(window), content_encoding=coding)}, caps(decoded_bytes=5_000_000))
    assert (got.kind, got.message) == ("unsupported", "The page is larger than 5,000,000 bytes.")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # kilobytes on Linux
    assert grown < 300_000


async def test_a_bomb_in_a_bomb_and_one_of_many_members_stay_within_the_cap() -> None:
    nested = gzip.compress(bomb(31), 1)
    got = await failure({"/": answer(nested, content_encoding="gzip, gzip")}, caps(decoded_bytes=5_000_000))
    assert got.message == "The page is larger than 5,000,000 bytes."
    members = gzip.compress(bytes(1_000_000)) * 20
    got = await failure({"/": answer(members, content_encoding="gzip")}, caps(decoded_bytes=5_000_000))
    assert got.message == "The page is larger than 5,000,000 bytes."


async def test_more_text_than_is_read_in_time_is_refused() -> None:
    got = await failure({"/": answer(article() * 1000)}, caps(markup_bytes=100_000))
    assert got.kind == "unsupported"
    assert got.message.endswith("bytes of text or HTML, more than 100,000.")


async def test_headers_without_end_are_ended() -> None:
    got = await failure({"/": forever(b"x-more: " + b"y" * 1000 + b"\r\n", HEAD)}, caps())
    assert got.kind == "unreadable"
    assert got.message.startswith("The answer of 127.0.0.1 is broken: ")


# times


async def test_a_server_that_says_nothing_is_left() -> None:
    got = await failure({"/": dripping(b"", b"", 60)}, caps(idle_seconds=0.1))
    assert (got.kind, got.message) == ("timeout", "127.0.0.1 did not answer in time.")


async def test_a_slow_drip_is_ended_by_the_whole_time() -> None:
    drip = dripping(HEAD + b"content-length: 1000000\r\n\r\n", b"x", 0.02)
    got = await failure({"/": drip}, caps(total_seconds=0.3, idle_seconds=5.0))
    assert (got.kind, got.message) == ("timeout", "The page did not come within 0.3 seconds.")


async def test_a_slow_drip_of_headers_is_ended_by_the_whole_time() -> None:
    got = await failure({"/": dripping(HEAD, b"x-a: b\r\n", 0.02)}, caps(total_seconds=0.3, idle_seconds=5.0))
    assert got.kind == "timeout"


async def test_redirects_share_the_whole_time() -> None:
    async def slowly(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(moved("/a"))
        await writer.drain()

    async def other(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    got = await failure({"/": slowly, "/a": other}, caps(total_seconds=0.4, idle_seconds=5.0))
    assert got.kind == "timeout"


async def test_reading_the_text_has_its_time() -> None:
    got = await failure({"/": answer(article() * 5000)}, caps(extract_seconds=0.001))
    assert (got.kind, got.message) == ("timeout", "The page's text was not read within 0.001 seconds.")


# broken answers


@pytest.mark.parametrize(
    "reply",
    [
        HEAD + b"content-length: 5000\r\n\r\n<p>cut off in the middle",
        HEAD + b"content-length: many\r\n\r\n<p>x",
        HEAD + b"content-length: 5\r\ncontent-length: 7\r\n\r\n<p>xxxx",
        HEAD + b"transfer-encoding: chunked\r\n\r\n3e8\r\n<p>cut off",
        HEAD + b"transfer-encoding: chunked\r\n\r\nno number\r\n<p>x\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n<p>x",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
        b"\x00" * 200,
        b"HTTP/1.1 banana OK\r\n\r\n",
    ],
)
async def test_a_broken_answer_is_a_reason_and_no_page(reply: bytes) -> None:
    got = await failure({"/": reply}, caps())
    assert got.kind == "unreadable"
    assert got.message.startswith("The answer of 127.0.0.1 is broken: ")


@settings(max_examples=60)
@given(st.binary(max_size=600), st.sampled_from([b"", HEAD, HEAD + b"\r\n", HEAD + b"content-encoding: gzip\r\n\r\n"]))
def test_no_bytes_of_a_server_raise(data: bytes, head: bytes) -> None:
    async def fetched() -> Page | FetchFailure:
        async with (
            Loopback({"/": head + data}) as site,
            WebFetcher(allow=site.allow, caps=caps(idle_seconds=2.0), robots=False) as web,
        ):
            return await web.fetch(site.url())

    assert isinstance(asyncio.run(fetched()), Page | FetchFailure)


async def test_the_event_loop_is_never_held_up() -> None:
    """As in a server that raises at any blocking call in its loop."""
    long = article("".join(f"The bridge number {n} was built in 1905. " for n in range(20_000)))
    async with Loopback({"/": answer(gzip.compress(long.encode()), content_encoding="gzip")}) as site:
        with blockbuster_ctx():
            async with WebFetcher(allow=site.allow, caps=caps()) as web:
                assert isinstance(await web.fetch(site.url()), Page)
            async with guarded_client(timeout=20, allow=site.allow) as client:
                assert (await client.get(site.url())).status_code == 200


# robots.txt

ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.cgi$\n\nUser-agent: zetetic\nDisallow: /not-for-zetetic\n"


async def read(site: Loopback, *paths: str, **some: Any) -> list[Page | FetchFailure]:
    async with WebFetcher(allow=site.allow, caps=caps(), **some) as web:
        return [await web.fetch(site.url(path)) for path in paths]


def kinds(got: list[Page | FetchFailure]) -> list[str]:
    return [one.kind if isinstance(one, FetchFailure) else "page" for one in got]


async def test_what_a_site_asks_of_robots_is_kept_to_and_read_once() -> None:
    routes = {path: answer(article()) for path in ("/", "/not-for-zetetic", "/private/a")}
    async with Loopback(
        {**routes, "/robots.txt": answer(ROBOTS, "text/plain"), "/to": moved("/not-for-zetetic")}
    ) as site:
        got = await read(site, "/", "/not-for-zetetic", "/to", "/private/a")
    assert kinds(got) == ["page", "blocked", "blocked", "page"]  # its own group is what counts for zetetic
    assert site.paths == ["/robots.txt", "/", "/to", "/private/a"]
    assert isinstance(got[1], FetchFailure)
    assert got[1].message == "The robots.txt of 127.0.0.1 keeps programs off this page."


async def test_robots_can_be_passed_over() -> None:
    async with Loopback({"/": answer(article()), "/robots.txt": answer("User-agent: *\nDisallow: /")}) as site:
        assert kinds(await read(site, "/")) == ["blocked"]
        assert kinds(await read(site, "/", robots=False)) == ["page"]


@pytest.mark.parametrize(
    ("robots", "kind"),
    [
        (answer("", status="404 Not Found"), "page"),
        (answer("", status="403 Forbidden"), "page"),
        (answer("", status="500 Internal Server Error"), "unreachable"),
        (answer("", status="503 Service Unavailable"), "unreachable"),
        (answer("<html>no robots.txt at all</html>"), "page"),
        (answer(b"\x00\xff\xfe binary \x80"), "page"),
        (moved("/robots.txt"), "page"),
        (moved("http://10.0.0.1/robots.txt"), "refused"),
        (forever(b"#" * 1000, b"HTTP/1.1 200 OK\r\n\r\n"), "unsupported"),
    ],
)
async def test_a_robots_file_that_cannot_be_read_permits_or_not_as_its_standard_says(robots: Route, kind: str) -> None:
    async with Loopback({"/": answer(article()), "/robots.txt": robots}) as site:
        assert kinds(await read(site, "/")) == [kind]


async def test_a_robots_file_that_does_not_come_costs_a_bounded_time_and_is_not_asked_for_at_once_again() -> None:
    async with (
        Loopback({"/": answer(article()), "/robots.txt": dripping(b"", b"", 60)}) as site,
        WebFetcher(allow=site.allow, caps=caps(robots_seconds=0.1)) as web,
    ):
        got = [await web.fetch(site.url()), await web.fetch(site.url())]
    assert kinds(got) == ["timeout", "timeout"]
    assert site.paths == ["/robots.txt"]


async def test_the_robots_file_of_every_site_on_the_way_counts() -> None:
    async with Loopback({"/": moved("http://b.example/")}) as first:
        routes: dict[str, Route] = {"/": answer(article()), "/robots.txt": answer("User-agent: *\nDisallow: /")}
        async with Loopback(routes) as second:
            wire = Wire(
                {"a.example": [PUBLIC], "b.example": ["8.8.8.8"]},
                {(PUBLIC, 80): first.port, ("8.8.8.8", 80): second.port},
            )
            async with WebFetcher(caps=caps(), resolve=wire.resolve, connect=wire.connect) as web:
                assert kinds([await web.fetch("http://a.example/")]) == ["blocked"]
    assert (first.paths, second.paths) == (["/robots.txt", "/"], ["/robots.txt"])


# politeness


async def test_one_host_is_asked_two_things_at_a_time_with_a_pause_between() -> None:
    async def slowly(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(answer(article()))
        await writer.drain()

    paths = [f"/{n}" for n in range(6)]
    async with (
        Loopback(dict.fromkeys(paths, slowly)) as site,
        WebFetcher(allow=site.allow, caps=Caps(pause_seconds=0.03), robots=False) as web,
    ):
        began = asyncio.get_running_loop().time()
        got = await asyncio.gather(*(web.fetch(site.url(path)) for path in paths))
    assert kinds(list(got)) == ["page"] * 6
    assert site.most_at_once == 2
    assert site.starts[-1] - began > 5 * 0.03


async def test_a_pause_that_a_site_asks_for_is_kept_in_bounds() -> None:
    robots = answer("User-agent: *\nCrawl-delay: 3600\n")
    async with (
        Loopback({"/a": answer(article()), "/b": answer(article()), "/robots.txt": robots}) as site,
        WebFetcher(allow=site.allow, caps=caps(crawl_delay_seconds=0.2)) as web,
    ):
        await web.fetch(site.url("/a"))
        await web.fetch(site.url("/b"))
    assert 0.15 < site.starts[2] - site.starts[1] < 10


# the client for APIs


async def test_an_api_that_means_harm_is_ended_too() -> None:
    routes: dict[str, Route] = {
        "/bomb": answer(bomb(31), content_encoding="gzip"),
        "/endless": forever(b"x" * 65536, HEAD + b"\r\n"),
        "/drip": dripping(HEAD + b"\r\n", b"x", 0.02),
        "/gzip": answer(gzip.compress(b'{"a": 1}'), "application/json", content_encoding="gzip"),
    }
    async with Loopback(routes) as site, guarded_client(timeout=20, allow=site.allow) as client:
        assert (await client.get(site.url("/gzip"))).json() == {"a": 1}
        for path in ("/bomb", "/endless"):
            with pytest.raises(httpx.DecodingError, match="larger than 20,000,000 bytes"):
                await client.get(site.url(path))
        async with guarded_client(timeout=0.3, allow=site.allow) as hasty:
            with pytest.raises(httpx.ReadTimeout, match="No complete answer within"):
                await hasty.get(site.url("/drip"))
