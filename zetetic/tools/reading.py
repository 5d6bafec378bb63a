"""Tool calls that reach outside: searching and fetching, and what is observed of them (D10, D30, D37, R6, R8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from zetetic.sources import (
    Fetcher,
    FetchFailure,
    Page,
    SearchProvider,
    SearchResult,
    SearchStatus,
    canonical_url,
    merged_search,
)
from zetetic.state import events as ev
from zetetic.state.anchoring import without_citations
from zetetic.state.challenges import SEARCHED, where_logged
from zetetic.state.evolve import evolve
from zetetic.state.frontier import tried
from zetetic.state.guiding import is_guided
from zetetic.state.independence import sketch_similarity
from zetetic.state.research import Research, next_id
from zetetic.state.values import NOTHING_RELEVANT, PendingExtraction, QueryRecord, SearchOutcome, Source
from zetetic.state.wording import folded, one_line

from . import schemas as s
from .text import fenced, flat, hits_text, neutral

_SEARCH_MARKS = re.compile(r'["“”„«»+#*:]|(?<!\S)-(?=\S)')


class PageRead(BaseModel):
    """A fetched page without its text, which is stored under its hash."""

    model_config = ConfigDict(frozen=True)

    url: str
    final_url: str
    canonical: str
    title: str
    media_type: str
    published: str = ""
    domain: str
    work_id: str = ""
    sketch: tuple[int, ...] = ()
    sha256: str
    length: int
    location: str = ""
    links: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, page: Page) -> PageRead:
        """What is kept of a page beside its text."""
        return cls(
            url=page.url,
            final_url=page.final_url,
            canonical=page.canonical,
            title=page.title,
            media_type=page.media_type,
            published=page.published or "",
            domain=page.domain,
            work_id=page.work_id,
            sketch=page.sketch,
            sha256=page.sha256,
            length=len(page.text),
            location=page.location,
            links=page.links[:200],
            note=page.note,
        )


class ReadResult(BaseModel):
    """What one reading call brought, as stored before anything acts on it."""

    model_config = ConfigDict(frozen=True)

    call_id: str
    tool: Literal["web_search", "fetch_page", "query"]
    query: str
    canonical: str = ""
    """The identity of the address asked for (R6)."""
    challenge_id: str = ""
    search: SearchResult | None = None
    page: PageRead | None = None
    failure: FetchFailure | None = None
    refused: str = ""
    seen: str = ""
    """The source that this address was read as before; it is not fetched again (D30)."""
    shown: str = ""
    """An answer that is no source: how tables are laid out."""


def refusal(research: Research, args: s.WebSearch | s.FetchPage, canonical: str = "") -> str:
    """Why a reading call is not carried out, or ''. `canonical` is the identity of the address to fetch (R6)."""
    if args.challenge_id:
        challenge = research.challenges.get(args.challenge_id)
        if challenge is None:
            return f"There is no challenge {args.challenge_id!r}."
        if challenge.status == "closed":
            return f"{args.challenge_id} is closed."
        if isinstance(args, s.WebSearch) and folded(args.query) != folded(challenge.query):
            return f"{args.challenge_id} registered the query {challenge.query!r}: run that one, word for word."
    if isinstance(args, s.WebSearch):
        earlier = asked_before(research, args.query)
        if earlier is not None:
            return _earlier_outcome(research, earlier)
    if isinstance(args, s.FetchPage):
        if canonical in research.bad_urls:
            return f"{args.url} was tried before and cannot be used: {research.bad_urls[canonical]}"
        found = discovered_as(research, args.url)
        if not found:
            return (
                f"{args.url} was given by no search and no page: only addresses the research has found can be read. "
                "Search first."
            )
        if (hops := hops_to(research, found)) > research.thresholds.max_hops:
            return (
                f"{args.url} is {hops} links away from what a search found, more than {research.thresholds.max_hops}: "
                "search for what it should hold."
            )
    return ""


def asked_before(research: Research, query: str) -> QueryRecord | None:
    """The search on the question at hand that this query would repeat, or None (A16, D18).

    A search that failed may be run again, and so may a registered challenge that was not run. Words count as in D18,
    but marks that a search reads, such as quotation marks, make another query.
    """
    wanted = _search_text(query)
    if any(
        _search_text(c.query) == wanted and not (c.executed and c.search_status in SEARCHED)
        for c in research.open_challenges()
    ):
        return None
    return next(
        (
            record
            for record in reversed(tried(research, where_logged(research)))
            if record.tool == "web_search" and record.status in SEARCHED and _search_text(record.query) == wanted
        ),
        None,
    )


def _search_text(query: str) -> tuple[str, list[str]]:
    return folded(query), _SEARCH_MARKS.findall(query)


def _earlier_outcome(research: Research, earlier: QueryRecord) -> str:
    """What the query brought when it was run, so that nothing is lost by not running it again."""
    when = f" in attempt {earlier.attempt}" if earlier.attempt else ""
    read = {url: x.id for x in research.sources.values() if x.sha256 for url in (x.url, x.final_url, x.canonical)}
    known = {url: read.get(url) or read.get(canonical_url(url)) for url in earlier.urls}
    hits = "".join(f"\n- {url}" + (f" (read: {source})" if source else "") for url, source in known.items())
    open_ids = [c.id for c in research.open_challenges() if c.id == earlier.challenge_id]
    due = f" Its result is due: record_challenge_result for {open_ids[0]}." if open_ids else ""
    return (
        f'"{earlier.query}" was run on {earlier.question_id} before{when}, so it is spent and not run again: '
        f"{earlier.outcome or earlier.status}. Take what it found, or ask in other words.{due}{hits}"
    )


def discovered_as(research: Research, url: str) -> str:
    """The address as a search, a page or the user gave it, or '' where none did (an invented URL is refused).

    It is this spelling that is fetched: in one of the model's own, a parameter that makes no other page (R6) could
    carry to its server what the notes hold.
    """
    canonical = canonical_url(url)
    alike = ""
    for log in reversed(research.queries.values()):  # what is asked for was mostly found just before
        for record in reversed(log):
            if url in record.urls:
                return url
            alike = alike or next((known for known in record.urls if canonical_url(known) == canonical), "")
    if url in research.objective or any(url in d.text for d in research.directives):
        return url
    return alike


def hops_to(research: Research, url: str) -> int:
    """How many links lead from a search's hit to this address, by the shortest way known (D52)."""
    wanted = canonical_url(url)
    away: dict[str, int] = {}
    for record in sorted(research.all_queries(), key=lambda record: record.at):
        found = 0 if record.tool != "fetch_page" else away.get(canonical_url(record.query), 0) + 1
        for known in map(canonical_url, record.urls):
            away[known] = min(away.get(known, found), found)
    return away.get(wanted, 0)


def seen_before(research: Research, canonical: str) -> Source | None:
    """The source this page was read as, if its text was read."""
    source = research.source_of(canonical)
    return source if source is not None and source.sha256 else None


async def search(args: s.WebSearch, call_id: str, providers: Sequence[SearchProvider], limit: int) -> ReadResult:
    """Runs one search over all providers; never raises for a provider's trouble (R7)."""
    if len(providers) == 1:
        try:
            found = await providers[0].search(args.query, limit=limit)
        except Exception as error:  # a provider of the host's own may raise; a round survives it (R7)
            found = SearchResult(
                provider=providers[0].name, status=SearchStatus.FAILED, hits=(), detail=f"{type(error).__name__}"
            )
    else:
        found = await merged_search(providers, args.query, limit=limit)
    return ReadResult(
        call_id=call_id, tool="web_search", query=args.query, challenge_id=args.challenge_id, search=found
    )


async def fetch(args: s.FetchPage, call_id: str, fetcher: Fetcher, canonical: str) -> tuple[ReadResult, str]:
    """Fetches one page; the result without its text, and the text."""
    try:
        got = await fetcher.fetch(args.url)
    except Exception as error:  # a fetcher of the host's own may raise; a round survives it (R7)
        late = isinstance(error, TimeoutError)
        what = f"The fetcher raised {type(error).__name__}."
        got = FetchFailure(url=args.url, kind="timeout" if late else "unreadable", message=what)
    base = {
        "call_id": call_id,
        "tool": "fetch_page",
        "query": args.url,
        "canonical": canonical,
        "challenge_id": args.challenge_id,
    }
    if isinstance(got, FetchFailure):
        return ReadResult.model_validate({**base, "failure": got}), ""
    return ReadResult.model_validate({**base, "page": PageRead.of(got)}), got.text


def observed(
    research: Research, results: Sequence[ReadResult], *, at: datetime
) -> tuple[tuple[ev.Event, ...], dict[str, str]]:
    """What reading results add to the research, and what the model is told of each call.

    Logs every query that was executed, links challenges to their query, registers sources, records bad addresses, and
    marks what must be extracted before anything else.
    """
    happened: list[ev.Event] = []
    told: dict[str, str] = {}

    def add(event: ev.Event) -> None:
        nonlocal research
        happened.append(event)
        research = evolve(research, event)

    for result in results:
        if result.refused:
            told[result.call_id] = f"Refused. {neutral(result.refused)}"
        elif result.search is not None:
            told[result.call_id] = _search_observed(research, result, result.search, add, at)
        elif result.failure is not None:
            told[result.call_id] = _failure_observed(research, result, result.failure, add, at)
        elif result.page is not None:
            told[result.call_id] = _page_observed(research, result, result.page, add, at)
        elif result.shown:
            told[result.call_id] = _shown(research, result, add, at)
        elif result.seen:
            if is_guided(research):  # it was read for another question, by a reader that looks for one thing at a time
                add(_log(research, result, f"{result.seen}, read once more for this question", "ok", at))
            told[result.call_id] = f"{result.seen} is this page and was read already; its claims stand in the notes."
    return tuple(happened), told


def _log(
    research: Research,
    result: ReadResult,
    outcome: str,
    status: SearchOutcome,
    at: datetime,
    urls: tuple[str, ...] = (),
) -> ev.QueryLogged:
    question_id = where_logged(research)
    record = QueryRecord(
        question_id=question_id,
        seq=len(research.queries.get(question_id, ())) + 1,
        query=one_line(result.query),
        tool=result.tool,
        outcome=outcome,
        status=status,
        challenge_id=result.challenge_id,
        attempt=research.attempt.number if research.attempt else 0,
        urls=urls,
        at=at,
    )
    return ev.QueryLogged(at=at, record=record)


def _search_observed(research: Research, result: ReadResult, found: SearchResult, add: object, at: datetime) -> str:
    assert callable(add)
    status: SearchOutcome = found.status.value
    outcome = f"{len(found.hits)} hits" if found.hits else status
    # A challenge's query may be run without naming the challenge: it counts all the same (D37).
    challenge_id = result.challenge_id or next(
        (c.id for c in research.open_challenges() if folded(c.query) == folded(result.query)), ""
    )
    linked = result.model_copy(update={"challenge_id": challenge_id})
    add(_log(research, linked, outcome, status, at, tuple(h.url for h in found.hits)))
    if challenge_id:
        add(ev.ChallengeExecuted(at=at, challenge_id=challenge_id, status=status))
    asked = {name: hit.url for hit in found.hits for name in (hit.key, hit.url)}
    known = {
        asked[name]: source.id
        for source in research.sources.values()
        if source.sha256
        for name in (source.canonical, source.url)
        if name in asked
    }
    prefix = f"[{challenge_id}] " if challenge_id else ""
    return f"{prefix}{outcome} for {one_line(result.query, 160)!r}\n" + hits_text(
        found, known, research.thresholds.extraction_threshold
    )


def _shown(research: Research, result: ReadResult, add: object, at: datetime) -> str:
    assert callable(add)
    add(_log(research, result, "told how the tables are laid out", "ok", at))
    room = research.thresholds.extraction_threshold
    return neutral(result.shown if len(result.shown) <= room else result.shown[: room - 1] + "…")


def _failure_observed(research: Research, result: ReadResult, failure: FetchFailure, add: object, at: datetime) -> str:
    assert callable(add)
    if result.tool == "query":
        add(_log(research, result, f"{failure.kind}: {one_line(failure.message, 200)}", "failed", at))
        return f"The query gave no answer ({failure.kind}). {flat(failure.message)}"
    add(_log(research, result, failure.kind, "failed", at))
    if failure.kind not in ("timeout", "unreachable"):  # those may pass; the others say what the page is
        add(ev.UrlRejected(at=at, canonical=result.canonical, reason=f"{failure.kind}: {failure.message}"))
    return f"{result.query} could not be read ({failure.kind}): {flat(failure.message)}"


def _page_observed(research: Research, result: ReadResult, page: PageRead, add: object, at: datetime) -> str:
    assert callable(add)
    known = seen_before(research, page.canonical)
    if known is not None:
        return f"{known.id} is this page and was read already; its claims stand in the notes."
    hashes = frozenset(
        page.sketch[1:]
    )  # the first is its scale; what shares none of them is no copy, and costs no comparison
    alike = (o for o in research.sources.values() if o.sha256 == page.sha256 or not hashes.isdisjoint(o.sketch))
    copied = next((o.id for o in alike if is_copy(o, page.sha256, page.sketch, research)), "")
    note = "; ".join(part for part in (page.note, f"nearly the same text as {copied}" if copied else "") if part)
    source = Source(
        id=next_id("s", research.sources),
        url=page.url,
        canonical=page.canonical,
        final_url=page.final_url,
        domain=page.domain,
        title=without_citations(one_line(page.title, 200)),
        published=page.published,
        note=note,
        sha256=page.sha256,
        length=page.length,
        work_id=page.work_id,
        sketch=page.sketch,
        location=page.location,
        question_id=where_logged(research),
        at=at,
    )
    add(ev.SourceRegistered(at=at, source=source))
    add(_log(research, result, f"read as {source.id}", "ok", at, page.links))
    facts = (
        f'{source.id} "{one_line(flat(page.title), 120)}" ({flat(page.domain)}'
        f"{', ' + page.published if page.published else ''})"
    )
    if page.length > research.thresholds.extraction_threshold:
        return f"{facts}: {page.length} characters, shown in the next turn for extraction"
    return facts + "\n@text"


def is_copy(known: Source, sha256: str, sketch: tuple[int, ...], research: Research) -> bool:
    """Whether a page is, nearly word for word, one that was read before (D33)."""
    if not known.sha256:
        return False
    alike = sketch_similarity(known.sketch, sketch) >= research.thresholds.near_duplicate_share
    return known.sha256 == sha256 or alike


def with_text(told: str, source_id: str, text: str) -> str:
    """What the model is told of a small page: its facts and its fenced text."""
    return told.replace("\n@text", "\n" + fenced(source_id, text), 1)


def due_for_extraction(
    source: Source, text_length: int, question_id: str, part_chars: int, parts: Sequence[tuple[int, int]]
) -> tuple[PendingExtraction, ...]:
    """The extraction items of one page: the whole of it, or its chosen parts (D30)."""
    chosen = parts if text_length > part_chars else [(0, text_length)]
    return tuple(
        PendingExtraction(
            key=f"{source.id}:{start}",
            source_id=source.id,
            sha256=source.sha256,
            start=start,
            end=end,
            question_id=question_id,
        )
        for start, end in chosen
    )


def best_parts(text: str, wanted: frozenset[str], part_chars: int, most: int) -> list[tuple[int, int]]:
    """The parts of a long page that share most words with the question, in the order of the page.

    Parts are cut at line or sentence ends; the first part always counts, since it says what the page is.
    """
    cuts: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = min(len(text), start + part_chars)
        if end < len(text):
            for mark in ("\n\n", "\n", ". "):
                at = text.rfind(mark, start + part_chars // 2, end)
                if at > 0:
                    end = at + len(mark)
                    break
        cuts.append((start, end))
        start = end
    if len(cuts) <= most:
        return cuts

    def score(cut: tuple[int, int]) -> int:
        inside = folded(text[cut[0] : cut[1]]).split()
        return sum(word in wanted for word in inside)

    ranked = sorted(cuts[1:], key=score, reverse=True)[: most - 1]
    return sorted([cuts[0], *ranked])


def uncommitted(research: Research, source_ids: Sequence[str]) -> tuple[Source, ...]:
    """Read sources that neither gave a claim nor were found irrelevant: their texts may not leave the prompt (D30)."""
    used = {link.source_id for claim in research.claims.values() for link in claim.evidence}
    waiting = {item.source_id for item in research.pending}
    found = []
    for source_id in source_ids:
        source = research.sources.get(source_id)
        read = source is not None and NOTHING_RELEVANT in source.note
        if source is not None and source.sha256 and not read and source_id not in used | waiting:
            found.append(source)
    return tuple(found)
