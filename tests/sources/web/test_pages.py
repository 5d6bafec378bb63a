"""Pages as people have them, from a real server (cases 25 to 27)."""

import asyncio
import gzip
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from pathlib import Path

import docx
import pypdf
import pytest
from sources.pdf_files import pdf
from sources.web.loopback import Loopback, answer, article, moved

from zetetic.sources import DocumentFolder, FetchFailure, Page
from zetetic.sources.web import Caps, CombinedFetcher, WebFetcher

QUICK = Caps(pause_seconds=0.0)


async def read(site: Loopback, path: str = "/") -> Page | FetchFailure:
    async with WebFetcher(allow=site.allow, caps=QUICK, robots=False) as web:
        return await web.fetch(site.url(path))


async def page_of(reply: bytes) -> Page:
    async with Loopback({"/": reply}) as site:
        got = await read(site)
    assert isinstance(got, Page), got
    return got


async def failure_of(reply: bytes) -> FetchFailure:
    async with Loopback({"/": reply}) as site:
        got = await read(site)
    assert isinstance(got, FetchFailure), got
    return got


@pytest.mark.rule("R6")
async def test_a_page_is_read_with_where_it_ended_and_what_it_links_to() -> None:
    html = article().replace("carts", '<a href="/carts?utm_source=x">carts</a>')
    async with Loopback({"/old": moved("/new/?utm_source=feed#top"), "/new/?utm_source=feed": answer(html)}) as site:
        got = await read(site, "/old#part")
    assert isinstance(got, Page)
    assert (got.title, got.media_type) == ("Bridges", "text/html")
    assert got.text.startswith("The old bridge was built in 1905 by the town.")
    assert (got.url, got.final_url) == (site.url("/old#part"), site.url("/new/?utm_source=feed"))
    assert got.canonical == f"https://127.0.0.1:{site.port}/new"
    assert got.links == (site.url("/carts?utm_source=x"),)


async def test_a_request_says_who_asks_and_nothing_else() -> None:
    async with Loopback({"/": answer(article())}) as site:
        await read(site)
    names = [line.split(":")[0].lower() for line in site.heads[0].split("\r\n")[1:] if line]
    assert sorted(names) == ["accept", "accept-encoding", "host", "user-agent"]
    assert "user-agent: Mozilla/5.0 (compatible; zetetic/" in site.heads[0].replace("User-Agent", "user-agent")


async def test_cookies_live_for_one_fetch() -> None:
    routes = {"/": [moved("/check", set_cookie="seen=1; Path=/"), answer(article())], "/check": moved("/")}
    async with Loopback(routes) as site, WebFetcher(allow=site.allow, caps=QUICK, robots=False) as web:
        assert isinstance(await web.fetch(site.url()), Page)
        assert isinstance(await web.fetch(site.url()), Page)
    assert ["seen=1" in head for head in site.heads] == [False, True, True, False]


# statuses


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("404 Not Found", "not_found"),
        ("410 Gone", "not_found"),
        ("401 Unauthorized", "blocked"),
        ("402 Payment Required", "blocked"),
        ("403 Forbidden", "blocked"),
        ("429 Too Many Requests", "blocked"),
        ("451 Unavailable For Legal Reasons", "blocked"),
        ("999 Request denied", "blocked"),
        ("400 Bad Request", "unreadable"),
        ("418 I'm a Teapot", "unreadable"),
        ("204 No Content", "unreadable"),
        ("304 Not Modified", "unreadable"),
        ("500 Internal Server Error", "unreachable"),
        ("502 Bad Gateway", "unreachable"),
        ("503 Service Unavailable", "unreachable"),
        ("504 Gateway Timeout", "unreachable"),
    ],
)
async def test_a_status_that_is_no_page_says_which(status: str, kind: str) -> None:
    failure = await failure_of(answer("" if status[:3] in ("204", "304") else article(), status=status))
    assert failure.kind == kind
    assert status.split()[0] in failure.message


async def test_a_server_that_asks_to_wait_is_waited_for_once() -> None:
    busy = answer("later", status="429 Too Many Requests", retry_after="0")
    async with Loopback({"/": [busy, answer(article())], "/never": busy}) as site:
        assert isinstance(await read(site), Page)
        assert site.paths == ["/", "/"]
        got = await read(site, "/never")
    assert isinstance(got, FetchFailure)
    assert (got.kind, site.paths[2:]) == ("blocked", ["/never", "/never"])


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize("as_date", [False, True], ids=["in seconds", "until a date"])
async def test_a_long_wait_is_not_waited_for(status: str, as_date: bool) -> None:
    wait = format_datetime(datetime.now(UTC) + timedelta(hours=1)) if as_date else "3600"
    async with Loopback({"/": answer("later", status=status, retry_after=wait)}) as site:
        got = await read(site)
    assert isinstance(got, FetchFailure)
    assert (got.kind, got.message) == ("blocked", "The server asks to come back later: too many requests.")
    assert site.paths == ["/"]


async def test_a_date_gone_by_is_no_wait() -> None:
    past = answer("", status="503 Busy", retry_after=format_datetime(datetime.now(UTC) - timedelta(hours=1)))
    async with Loopback({"/": [past, answer(article())]}) as site:
        assert isinstance(await read(site), Page)


async def test_a_server_that_is_not_there_says_so() -> None:
    async with Loopback({}) as site:
        url, allow = site.url(), site.allow
    async with WebFetcher(allow=allow, robots=False) as web:
        got = await web.fetch(url)
    assert isinstance(got, FetchFailure)
    assert got.kind == "unreachable"
    assert got.message.startswith("127.0.0.1 could not be reached: ")


# case 25


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<title>Sign in</title><p>Log in to continue reading this article.</p>", "title says “Sign in”"),
        ("<title>News</title><p>Please log in to read the article.</p><p>Forgot your password?</p>", "login wall"),
        ("<title>x</title><p>We use cookies to improve this site. Accept all cookies?</p>", "cookie notice"),
        ("<title>Shop</title><p>Sorry, this page could not be found.</p>", "soft 404"),
        ("<title>App</title><div id=root></div><script src=a.js></script>", "drawn by JavaScript"),
        ("<title>App</title><p>You need to enable JavaScript to run this app.</p>", "plea for JavaScript"),
        ("<title>x</title><p>Checking your browser. Verify that you are a human.</p>", "check for robots"),
    ],
)
async def test_a_page_that_is_no_evidence_is_junk(body: str, words: str) -> None:
    title, _, rest = body.partition("</title>")
    failure = await failure_of(answer(f"<!doctype html><html><head>{title}</title></head><body>{rest}</body></html>"))
    assert failure.kind == "junk"
    assert words in failure.message


# case 26


@pytest.mark.parametrize(
    ("text", "codec", "kind", "meta"),
    [
        ("鉄道の歴史は長く、最初の線路は鉱山で使われた。", "cp932", "text/html", "shift_jis"),
        ("鉄道の歴史は長く、最初の線路は鉱山で使われた。", "cp932", "text/html; charset=Shift_JIS", ""),
        ("Старый мост был построен в 1905 году городом на реке.", "cp1251", "text/html; charset=windows-1251", ""),
        ("Старый мост был построен в 1905 году городом на реке.", "cp1251", "text/html", "windows-1251"),
        ("Старый мост был построен в 1905 году городом на реке.", "cp1251", "text/html", ""),
        ("The café in the old town was built in 1905.", "utf-16-le", "text/html", ""),
        ("The café in the old town was built in 1905.", "utf-16-be", "", ""),
        ("The café in the old town was built in 1905.", "utf-16", "text/html; charset=utf-8", ""),
        ("The café in the old town was built in 1905.", "cp1252", "text/html; charset=utf-8", ""),
    ],
)
async def test_a_page_in_any_charset_is_read_right(text: str, codec: str, kind: str, meta: str) -> None:
    head = f'<meta charset="{meta}">' if meta else ""
    html = f"<!doctype html><html><head>{head}<title>x</title></head><body><p>{text * 3}</p></body></html>"
    page = await page_of(answer(html.encode(codec), kind))
    assert page.text == text * 3


# case 27, and other documents


async def test_a_pdf_of_300_pages_is_read_by_its_bytes_whatever_it_is_called() -> None:
    lines = [
        [f"Page {number} says that bridge number {number} was built in 1905 by the town."] for number in range(300)
    ]
    page = await page_of(answer(pdf(lines, title="Bridges"), "text/html"))
    assert (page.media_type, page.title, page.note) == ("application/pdf", "Bridges", "")
    assert "bridge number 0 was" in page.text
    assert "bridge number 299 was" in page.text


async def test_a_pdf_over_the_bound_is_read_in_part_and_says_so() -> None:
    lines = [
        [f"Page {number} says that bridge number {number} was built in 1905 by the town."] for number in range(520)
    ]
    page = await page_of(answer(pdf(lines), "application/pdf"))
    assert page.note == "Only the first 500 of 520 pages were read."


def encrypted() -> bytes:
    writer = pypdf.PdfWriter(BytesIO(pdf([["Nobody is to read this."]])))
    writer.encrypt("secret", algorithm="AES-256")
    whole = BytesIO()
    writer.write(whole)
    return whole.getvalue()


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (pdf([[], []]), "unreadable", "holds no text in its 2 page(s): probably a scan"),
        (encrypted(), "unreadable", "encrypted and needs a password"),
        (b"%PDF-1.7\n" + b"nothing of a PDF follows\n" * 40, "unreadable", "broken"),
        (b"<html>no PDF</html>", "unsupported", ""),
    ],
)
async def test_a_pdf_that_cannot_be_read_says_why(data: bytes, kind: str, words: str) -> None:
    if not words:
        assert (await page_of(answer(article(), "application/pdf"))).media_type == "text/html"
        return
    failure = await failure_of(answer(data, "application/pdf"))
    assert failure.kind == kind
    assert words in failure.message


async def test_a_word_document_and_plain_text_are_read() -> None:
    whole = BytesIO()
    document = docx.Document()
    document.add_paragraph("The old bridge was built in 1905 by the town.")
    document.save(whole)
    assert "built in 1905" in (await page_of(answer(whole.getvalue(), "application/octet-stream"))).text
    assert (await page_of(answer("Built in 1905.\n", "text/plain"))).text == "Built in 1905."
    assert (await page_of(answer('{"built": 1905}', "application/json"))).text == '{"built": 1905}'


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(5000), "text/html", "a PNG image"),
        (b"\x00\x00\x00\x18ftypmp42" + bytes(range(256)) * 30, "video/mp4", "binary data"),
        (b"words " * 2000, "video/mp4", "of the type video/mp4"),
        (b"", "text/html", "an empty file"),
    ],
)
async def test_what_holds_no_text_is_named(data: bytes, kind: str, words: str) -> None:
    failure = await failure_of(answer(data, kind))
    assert failure.kind == "unsupported"
    assert words in failure.message


# codings


@pytest.mark.parametrize(
    ("coding", "coded"),
    [
        ("gzip", gzip.compress(article().encode())),
        ("GZIP", gzip.compress(article().encode())),
        ("x-gzip", gzip.compress(article()[:50].encode()) + gzip.compress(article()[50:].encode())),
        ("gzip", article().encode()),
        ("deflate", zlib.compress(article().encode())),
        ("deflate", zlib.compress(article().encode(), wbits=-15)),
        ("deflate, gzip", gzip.compress(zlib.compress(article().encode()))),
        ("identity", article().encode()),
        ("utf-8", article().encode()),
    ],
)
async def test_a_compressed_page_is_read(coding: str, coded: bytes) -> None:
    assert (await page_of(answer(coded, content_encoding=coding))).title == "Bridges"


@pytest.mark.parametrize(
    ("coding", "coded", "words"),
    [
        ("br", b"\x0b\x02\x80abc\x03", "'br', which was not asked for"),
        ("zstd", b"\x28\xb5\x2f\xfd", "'zstd', which was not asked for"),
        ("gzip", gzip.compress(article().encode())[:-20], "ends before its end"),
        ("gzip", b"\x1f\x8b\x08\x00" + b"x" * 50, "broken"),
        ("deflate", b"no deflate at all", "broken"),
        ("gzip, gzip, gzip", b"x", "more than twice"),
    ],
)
async def test_a_coding_that_cannot_be_undone_says_so(coding: str, coded: bytes, words: str) -> None:
    failure = await failure_of(answer(coded, content_encoding=coding))
    assert failure.kind == "unreadable"
    assert words in failure.message


# documents beside the web


async def test_the_folder_goes_before_the_web(tmp_path: Path) -> None:
    async with Loopback({"/a": answer(article()), "/b": answer(article())}) as site:
        (tmp_path / "a.md").write_text(f"---\nurl: {site.url('/a')}\n---\nThe copy in the folder.\n")
        folder = await DocumentFolder.open(tmp_path)
        async with WebFetcher(allow=site.allow, robots=False) as web:
            both = CombinedFetcher(folder, web)
            got = [
                await both.fetch(url) for url in (site.url("/a"), "a.md", site.url("/b"), "no.md", "file:/etc/hosts")
            ]
        folder.close()
    assert [page.text.split(".")[0] for page in got if isinstance(page, Page)] == [
        "The copy in the folder",
        "The copy in the folder",
        "The old bridge was built in 1905 by the town",
    ]
    assert [failure.kind for failure in got if isinstance(failure, FetchFailure)] == ["not_found", "not_found"]
    assert site.paths == ["/b"]


async def test_a_fetch_can_be_cancelled_at_any_moment() -> None:
    started = asyncio.Event()

    async def silent(_: asyncio.StreamWriter) -> None:
        started.set()
        await asyncio.Event().wait()

    async with Loopback({"/": silent}) as site, WebFetcher(allow=site.allow, robots=False) as web:
        work = asyncio.ensure_future(web.fetch(site.url()))
        await started.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
