"""ACT: runs each tool call once: readings side by side, decisions in order, every result stored."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.runtime import Runtime

from zetetic.sources import FetchFailure, SearchResult, SearchStatus
from zetetic.sources.tables import query_digest, quotable
from zetetic.state.breakers import work_seconds
from zetetic.state.research import Research
from zetetic.state.turns import allowed_tools
from zetetic.tools import READS, TOOLS, Call, decide_call, quoted_sources, read_args
from zetetic.tools.querying import ask_tables, earlier_answer, earlier_failure, failed
from zetetic.tools.reading import ReadResult, discovered_as, fetch, refusal, search, seen_before
from zetetic.tools.schemas import FetchPage, Query, WebSearch

from .channels import Channels
from .context import Context
from .keys import step_key, task_key
from .past_turns import kept_answer
from .workbench import Workbench, bench_of, known


async def act(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Executes the answer's calls; a call that was executed before a crash is not executed again."""
    bench = await bench_of(runtime)
    run_id = channels["run_id"]
    turn = channels.get("turn")
    if turn is None or not turn.answer:
        return {}
    key = task_key(runtime)
    kept = await kept_answer(bench, turn.answer)
    worker = channels.get("worker") or ""
    r = await known(bench, channels)
    done = await bench.store.effects(key)
    calls = kept["calls"][: r.thresholds.max_calls_per_turn]
    too_many = f"Not executed: at most {r.thresholds.max_calls_per_turn} calls are executed in one turn."
    untold = {extra["id"]: (too_many, "") for extra in kept["calls"][r.thresholds.max_calls_per_turn :]}
    await bench.store.put_effects(run_id, key, untold)
    reads = [call for call in calls if call["name"] in READS and call["id"] not in done]
    first: dict[str, str] = {}
    again = []
    for call in calls:
        if call["name"] in READS:
            again += [call] if first.setdefault(_what(bench, call), call["id"]) != call["id"] else []
    await asyncio.gather(*(_read(bench, r, key, call) for call in reads if call not in again))
    same = "Not executed: the same as {} before it in this answer; its result stands there."
    await bench.store.put_effects(run_id, key, {call["id"]: (same.format(call["name"]), "") for call in again})
    for call in calls:
        if call["name"] not in READS and call["id"] not in done:
            await _decide(bench, run_id, key, call, step_key(runtime), worker)
    return {"turn": turn.model_copy(update={"act": key})}


def _what(bench: Workbench, call: dict[str, Any]) -> str:
    """What a reading call asks for: two that ask for the same in one answer are carried out once (D10, R6)."""
    if call["name"] == "web_search":
        query = str(call["args"].get("query") or "")
        challenge = call["args"].get("challenge_id") or ""
        return f"search {challenge} {' '.join(query.casefold().split())}"
    if call["name"] == "query":
        return f"query {query_digest(str(call['args'].get('sql') or ''))}"
    url = str(call["args"].get("url") or "")
    return f"fetch {bench.identity(url)}" if url else f"fetch {call['id']}"


async def _decide(bench: Workbench, run_id: str, key: str, call: dict[str, Any], step: str, worker: str) -> None:
    name, call_id = call["name"], call["id"]
    args = read_args(name, call["args"]) if name in TOOLS else f"There is no tool {name!r}."
    if isinstance(args, str):
        await bench.store.put_effect(run_id, key, call_id, args)
        return
    r = await bench.store.load(run_id, worker=worker, at_least=0)
    pages: dict[str, str] = {}
    for source_id in quoted_sources(args):
        source = r.sources.get(source_id)
        page = await bench.store.page(source.sha256) if source is not None and source.sha256 else None
        if page is not None:
            assert source is not None
            pages[source_id] = quotable(source.url, page.text)
    made = Call(args=args, at=bench.clock(), question_id=r.turn.question_id or "q_001", pages=pages)
    await bench.store.execute(
        run_id,
        lambda now: decide_call(now, name, made),
        effect=(key, call_id),
        worker=worker,
        step_key=step,
        reason=name,
    )


async def _read(bench: Workbench, r: Research, key: str, call: dict[str, Any]) -> None:
    result, text, page_meta = await _carried_out(bench, r, call)
    if result.page is not None:
        await bench.store.put_page(
            text,
            url=result.page.url,
            final_url=result.page.final_url,
            title=result.page.title,
            media_type=result.page.media_type,
            fetched_at=bench.clock(),
        )
    for found in bench.fetcher.pages(result.search.hits) if result.search is not None else ():
        await bench.store.put_page(
            found.text,
            url=found.url,
            final_url=found.final_url,
            title=found.title,
            media_type=found.media_type,
            fetched_at=bench.clock(),
        )
    await bench.store.put_effect(r.run_id, key, call["id"], page_meta, result.model_dump_json())


async def _carried_out(bench: Workbench, r: Research, call: dict[str, Any]) -> tuple[ReadResult, str, str]:
    name, call_id = call["name"], call["id"]
    query = str(call["args"].get("query") or call["args"].get("url") or call["args"].get("sql") or "")
    args = read_args(name, call["args"])
    why = args if isinstance(args, str) else ""
    if not why and name not in allowed_tools(r):
        why = f"{name} is not allowed while {r.turn.stage}; allowed now: {', '.join(sorted(allowed_tools(r)))}."
    canonical = bench.identity(args.url) if isinstance(args, FetchPage) else ""
    if not why and isinstance(args, WebSearch | FetchPage):
        why = refusal(r, args, canonical)
    if not why and isinstance(args, Query):
        why = earlier_failure(r, args.sql)
    if why or not isinstance(args, WebSearch | FetchPage | Query):
        refused = ReadResult.model_validate({"call_id": call_id, "tool": name, "query": query, "refused": why})
        return refused, "", ""
    known = None
    if not isinstance(args, WebSearch):
        known = earlier_answer(r, args.sql) if isinstance(args, Query) else seen_before(r, canonical)
    if known is not None:
        read = {"call_id": call_id, "tool": name, "query": query, "canonical": canonical, "seen": known.id}
        return ReadResult.model_validate(read), "", ""
    if isinstance(args, FetchPage):
        args = args.model_copy(update={"url": discovered_as(r, args.url)})
    left, seconds = work_seconds(r, bench.clock()), r.thresholds.tool_seconds
    try:
        if isinstance(args, Query):
            return *await bench.at_most(min(left, seconds), ask_tables(args, call_id, bench.tables)), ""
        if isinstance(args, FetchPage):
            return *await bench.at_most(min(left, seconds), fetch(args, call_id, bench.fetcher, canonical)), ""
        looked = search(args, call_id, bench.providers, r.thresholds.search_limit)
        return await bench.at_most(min(left, seconds), looked), "", ""
    except TimeoutError:
        return (_cut_off(args, call_id) if left < seconds else _too_slow(args, call_id, canonical, seconds)), "", ""


def _cut_off(args: WebSearch | FetchPage | Query, call_id: str) -> ReadResult:
    """A reading that the attempt's deadline cut off: it says nothing of the page or the provider (A21)."""
    why = "Not carried out to its end: the time for this attempt was up."
    if isinstance(args, Query):
        return ReadResult(call_id=call_id, tool="query", query=args.sql, refused=why)
    if isinstance(args, FetchPage):
        return ReadResult(call_id=call_id, tool="fetch_page", query=args.url, refused=why)
    return ReadResult(call_id=call_id, tool="web_search", query=args.query, refused=why)


def _too_slow(args: WebSearch | FetchPage | Query, call_id: str, canonical: str, seconds: float) -> ReadResult:
    """A reading that took longer than one may."""
    why = f"It took longer than {seconds:g} seconds."
    if isinstance(args, Query):
        return ReadResult(call_id=call_id, tool="query", query=args.sql, failure=failed(args.sql, why))
    if isinstance(args, FetchPage):
        late = FetchFailure(url=args.url, kind="timeout", message=why)
        return ReadResult(call_id=call_id, tool="fetch_page", query=args.url, canonical=canonical, failure=late)
    found = SearchResult(provider="search", status=SearchStatus.FAILED, hits=(), detail=why)
    return ReadResult(
        call_id=call_id, tool="web_search", query=args.query, challenge_id=args.challenge_id, search=found
    )
