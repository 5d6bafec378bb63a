"""Answers that cannot be used, from every service: a status with what was wrong, never an exception (R7)."""

from __future__ import annotations

import contextlib
import gzip
import json
from time import monotonic
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.providers.service import Reply, Service, told
from sources.providers.services import QUERY, SERVICES, Known, searched, status_of

from zetetic.sources import SearchStatus
from zetetic.sources.providers.calling import Trouble
from zetetic.sources.providers.found import found_in
from zetetic.sources.providers.readings import MalformedError

pytestmark = pytest.mark.rule("R7", "R8")


MALFORMED = {
    "nothing": b"",
    "cut off": b"{",
    "bytes": b"\xff\xfe\x00\x01",
    "null": b"null",
    "a list": b"[]",
    "a text": b'"results"',
    "no fields": b"{}",
    "nulls": b'{"results": null, "web": null, "organic": null, "query": 3, "esearchresult": null}',
    "wrong types": b'{"results": {"a": 1}, "web": [1], "organic": 7, "query": {"search": {}}, "esearchresult": [1]}',
    "nested": b"[" * 200_000,
    "a long number": b'{"results": ' + b"9" * 10_000 + b"}",
    "a page": b"<!doctype html><html><title>Log in</title></html>",
    "broken XML": b"<feed><entry></feed>",
    "other XML": b"<rss><channel/></rss>",
}


async def test_a_malformed_answer_is_a_failure_that_says_what_is_wrong(known: Known) -> None:
    with Service([Reply(body) for body in MALFORMED.values()]) as service:
        provider = known.at(service.url)
        results = {kind: await provider.search(QUERY, limit=3) for kind in MALFORMED}
        await provider.aclose()
    assert {kind for kind, result in results.items() if result.status is not SearchStatus.FAILED} == set()
    assert {kind for kind, result in results.items() if "cannot be used: " not in result.detail} == set()


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ("arxiv", "pubmed", "wikipedia")])
@pytest.mark.parametrize("rows", [[{}], [None, 3, "x", []], [{"url": 3}], [{"url": "nowhere", "link": "nowhere"}]])
async def test_results_without_an_address_are_no_empty_result(name: str, rows: list[Any]) -> None:
    body = {"results": rows, "web": {"results": rows}, "organic": rows}
    status, detail = await status_of(SERVICES[name], told(body))
    assert status is SearchStatus.FAILED
    assert f"none of its {len(rows)} results has a web address" in detail


@pytest.mark.parametrize("name", ["tavily", "brave", "exa", "serper", "searxng", "openalex"])
async def test_fields_of_wrong_types_cost_the_field_and_not_the_hit(name: str) -> None:
    addresses = ("url", "link", "doi")
    numbers = ("title", "display_name", "published_date", "publishedDate", "page_age", "date", "publication_date")
    tables = ("content", "description", "snippet", "highlights", "abstract_inverted_index", "primary_location")
    row: dict[str, Any] = dict.fromkeys(addresses, "https://a.example/x")
    row |= dict.fromkeys(numbers, 3) | {name: {"a": "b"} for name in tables} | {"publication_year": None}
    with Service(told({"results": [row], "web": {"results": [row]}, "organic": [row]})) as service:
        result = await searched(SERVICES[name].at(service.url))
    assert [(hit.url, hit.title, hit.snippet, hit.date) for hit in result.hits] == [
        ("https://a.example/x", "", "", None)
    ]


async def test_a_large_answer_is_refused(known: Known) -> None:
    status, detail = await status_of(known, Reply(b'{"results": "' + b"x" * 10_000_000 + b'"}'))
    assert status is SearchStatus.FAILED
    assert "larger than 5,000,000 bytes" in detail


@pytest.mark.parametrize("kind", ["bomb", "cut off", "no gzip"])
async def test_a_gzip_bomb_or_broken_packing_is_refused(kind: str) -> None:
    packed = {
        "bomb": gzip.compress(bytes(30_000_000)),
        "cut off": gzip.compress(b"{}" * 99)[:-9],
        "no gzip": b"\x1f\x8b nothing of the kind",
    }[kind]
    began = monotonic()
    status, detail = await status_of(SERVICES["tavily"], Reply(packed, headers={"content-encoding": "gzip"}))
    assert status is SearchStatus.FAILED
    assert "cannot be used" in detail
    assert monotonic() - began < 5


@pytest.mark.parametrize(
    "declared",
    [
        b'<!DOCTYPE f [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        b'<!DOCTYPE f [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
    ],
)
@pytest.mark.parametrize("name", ["arxiv", "pubmed"])
async def test_xml_that_declares_entities_is_refused(name: str, declared: bytes) -> None:
    bomb = b"<?xml version='1.0'?>" + declared + b"<feed>&a;</feed>"
    ids = told({"esearchresult": {"idlist": ["1"]}})
    status, detail = await status_of(SERVICES[name], [ids, Reply(bomb)] if name == "pubmed" else Reply(bomb))
    assert status is SearchStatus.FAILED
    assert "declares XML entities" in detail


NAMES = st.sampled_from(
    [
        *("results", "web", "organic", "query", "search", "error", "code", "info", "esearchresult", "idlist", "url"),
        *("link", "title", "doi", "id", "abstract_inverted_index", "highlights", "primary_location", "x"),
        "unresponsive_engines",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("https://a.example/x")
ANSWERS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=30
)


@given(answer=ANSWERS)
def test_no_answer_raises_anything_but_what_is_wrong_with_it(answer: object) -> None:
    body = json.dumps(answer).encode()
    for known in SERVICES.values():
        with contextlib.suppress(MalformedError, Trouble):
            assert all(hit.url.startswith("http") for hit in known.at("http://127.0.0.1:1").hits(body))


@given(body=st.binary(max_size=200))
def test_no_error_page_raises(body: bytes) -> None:
    for code in (400, 403, 429, 503):
        for known in SERVICES.values():
            trouble = known.at("http://127.0.0.1:1").trouble(httpx.Response(code), body)
            assert trouble is not None
            assert not trouble.status.executed


@given(tool_result=ANSWERS)
def test_nothing_that_a_tool_gives_raises(tool_result: object) -> None:
    assert all(one.url or one.text for one in found_in(tool_result))
