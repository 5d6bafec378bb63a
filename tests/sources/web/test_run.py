"""A whole run that reads its pages from a real server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from graph.rig import OBJECTIVE, PAGES, arms, record, whole, worker
from pydantic import ValidationError
from sources.web.loopback import Loopback, answer, moved

from zetetic import Context, aresearch
from zetetic.nodes.workbench import workbench
from zetetic.sources import FetchFailure, Page
from zetetic.testing import FixturePage, FixtureSearch, call, turn

OFFICE, SURVEY = PAGES.values()


def html(page: FixturePage) -> bytes:
    head = f"<!doctype html><html><head><title>{page.title}</title></head>"
    return answer(f"{head}<body><p>{page.text}</p></body></html>")


LOGIN = answer("<html><head><title>Sign in</title></head><body><p>Log in to continue reading.</p></body></html>")
ROUTES = {
    "/tower": moved("/the-tower"),
    "/the-tower": html(OFFICE),
    "/heights": html(SURVEY),
    "/login": LOGIN,
    "/inside": moved("http://169.254.169.254/latest/meta-data/"),
    "/busy": answer("", status="503 Service Unavailable"),
}


@pytest.mark.rule("R6", "R7", "D30")
async def test_a_run_reads_its_pages_from_the_web_and_keeps_the_bad_ones_with_the_reason(tmp_path: Path) -> None:
    async with Loopback(ROUTES) as site:
        good = [site.url("/tower"), f"http://localhost:{site.port}/heights"]
        bad = {
            site.url("/gone"): "not_found: There is no such page: the server answers 404 Not Found.",
            site.url("/login"): "junk: The page is no evidence: its title says “Sign in”.",
            site.url("/inside"): "refused: 169.254.169.254 is a link-local address",
            "http://127.0.0.1:9/": "refused: 127.0.0.1 is a loopback address, not one of the public web.",
        }
        hits = {**dict(zip(good, (OFFICE, SURVEY), strict=True)), site.url("/busy"): "Ortel lighthouse"}
        hits |= dict.fromkeys(bad, "Ortel lighthouse")
        invented = site.url("/the-tower?secret=what+the+notes+say")
        first = turn(*(call("fetch_page", url=url) for url in [*good, invented]))
        second = turn(*(call("fetch_page", url=url) for url in [*bad, site.url("/busy")]))
        plan, search, _, *rest = whole()
        told: list[str] = []

        def after(messages: list) -> object:
            told.append("\n".join(str(message.text) for message in messages))
            return record()

        context = Context(
            model=worker([plan, search, first, second, after, *rest[1:]]),
            evaluator=arms(),
            search=[FixtureSearch(hits)],
            fetch=True,
            fetch_allow=[f"127.0.0.1:{site.port}", f"localhost:{site.port}"],
            home=str(tmp_path),
            min_sources=2,
            min_domains=2,
            search_limit=10,
        )
        result = await aresearch(OBJECTIVE, context=context)
    assert result.status == "complete", result.stop_reason
    assert [source["url"] for source in result.sources] == good
    assert [source["final_url"] for source in result.sources] == [site.url("/the-tower"), good[1]]
    progress = result.loop["progress"]
    assert len(progress["bad_urls"]) == len(bad)
    for url, reason in bad.items():
        kept = next(kept for kept in progress["bad_urls"] if url.removeprefix("http://").rstrip("/") in str(kept))
        assert reason in str(kept)
    assert not any("secret" in path for path in site.paths)
    assert "given by no search and no page" in told[0]
    assert "could not be read (unreachable): The server has trouble of its own" in told[0]


# what a configuration reads pages with


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        ({}, False),
        ({"search": ["documents"]}, False),
        ({"search": [FixtureSearch({})]}, False),
        ({"search": ["documents", "somewhere"]}, True),
        ({"search": "somewhere"}, True),
        ({"search": "somewhere", "fetch": False}, False),
        ({"fetch": True}, True),
    ],
)
def test_the_web_is_read_where_a_search_provider_is_named_or_the_user_says_so(given: dict, reads: bool) -> None:
    assert Context(**given).reads_web is reads


def kind(got: Page | FetchFailure) -> str:
    return got.kind if isinstance(got, FetchFailure) else "page"


async def test_documents_alone_read_nothing_of_the_web(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The old bridge was built in 1905.\n")
    alone = Context(documents=str(tmp_path), home=str(tmp_path / "home"))
    async with workbench(alone) as bench:
        assert bench.web is None
        assert kind(await bench.fetcher.fetch("http://10.0.0.1/")) == "not_found"  # the folder's answer
    both = Context(documents=str(tmp_path), fetch=True, home=str(tmp_path / "home"))
    async with workbench(both) as bench:
        assert isinstance(await bench.fetcher.fetch("a.md"), Page)
        assert kind(await bench.fetcher.fetch("http://10.0.0.1/")) == "refused"
        assert bench.identity("a.md") == "file:a.md"
        assert bench.identity("HTTP://Site.example/x/?utm_source=y") == "https://site.example/x"
    web = Context(search=[FixtureSearch({})], fetch=True, home=str(tmp_path / "home"))
    async with workbench(web) as bench:
        assert kind(await bench.fetcher.fetch("http://10.0.0.1/")) == "refused"
    none = Context(search=[FixtureSearch({})], home=str(tmp_path / "home"))
    async with workbench(none) as bench:
        assert kind(await bench.fetcher.fetch("http://10.0.0.1/")) == "unsupported"


@pytest.mark.parametrize("given", ["http://127.0.0.1:80", ["0x7f.1"]])
def test_an_allowed_address_that_is_none_is_said_at_once(given: object) -> None:
    with pytest.raises(ValidationError, match="no address that can be allowed"):
        Context(fetch_allow=given)


def test_the_settings_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZETETIC_FETCH", "yes")
    monkeypatch.setenv("ZETETIC_FETCH_ALLOW", "10.0.0.0/8, wiki.corp:8080")
    assert Context().fetch is True
    assert Context().fetch_allow == ["10.0.0.0/8", "wiki.corp:8080"]


def test_the_terminal_takes_and_keeps_the_choice(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("The old bridge was built in 1905 by the town.\n")
    home = tmp_path / "home"
    command = [sys.executable, "-m", "zetetic", "research", "When was the old bridge built?"]
    command += ["--documents", str(tmp_path / "docs"), "--home", str(home), "--fetch", "--max-turns", "12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    kept = [json.loads(path.read_text()) for path in home.glob("*/context.json")]
    assert [one["fetch"] for one in kept] == [True]
