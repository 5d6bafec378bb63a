"""UPDATE: closes the turn: extraction, stall and bounds, what leaves the window, where the loop goes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from langgraph.runtime import Runtime

from zetetic.export import render_report
from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision
from zetetic.state.evolve import fold
from zetetic.state.prompt_notes import CHARACTERS_PER_TOKEN
from zetetic.state.research import Research
from zetetic.state.turns import VIEW_TOOLS, decide_update
from zetetic.tools.reading import ReadResult, due_for_extraction, uncommitted

from .channels import Channels, TurnKeys
from .context import Context
from .decide import OVER_BUDGET
from .keys import step_key, task_key
from .past_turns import is_refusal, kept_answer, read_results, result_texts
from .workbench import Workbench, bench_of, known


async def update(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """The mechanical part of a turn (D3), in one transaction."""
    bench = await bench_of(runtime)
    run_id = channels["run_id"]
    turn = channels.get("turn") or TurnKeys(answer="")
    kept = await kept_answer(bench, turn.answer)
    names = [call["name"] for call in kept["calls"]]
    results = await read_results(bench, turn)
    told = await result_texts(bench, turn)
    trouble = channels.get("trouble") or ""
    window, evicted = await _window(bench, channels, turn, kept["stage"])
    in_window = [x for past in [*(channels.get("window") or []), turn] for x in await read_results(bench, past)]
    unaffordable = trouble.startswith(OVER_BUDGET)
    failed = trouble.split(": ", 1)[0] if trouble and not unaffordable else all_failed(kept["calls"], results, told)

    def decision(r: Research) -> Decision:
        at = bench.clock()
        happened: tuple[ev.Event, ...] = ()
        if kept["stage"] == "extracting":
            happened += _extraction(r, kept["shown"], [] if kept.get("truncated") else names, told, at)
        r = fold(r, happened)
        closed = decide_update(
            r,
            called=names,
            queries=tuple(x.query for x in results if x.tool == "web_search"),
            urls=tuple(x.query for x in results if x.tool == "fetch_page"),
            provider_failed=failed,
            unaffordable=unaffordable,
            wasted=kept.get("free", False) and not trouble and came_to_nothing(kept["calls"], results, told),
            at=at,
            render=render_report,
        )
        assert isinstance(closed, Accepted)
        happened += closed.events
        r = fold(r, closed.events)
        over = r.attempt is None or r.attempt.ended
        left = [*evicted, *_sources_in(in_window, r)] if over else evicted
        waiting = uncommitted(r, left)
        if waiting and r.phase == "exploration" and r.status == "running":
            items = tuple(
                item
                for source in waiting
                for item in due_for_extraction(source, source.length, source.question_id, source.length, ())
            )
            happened += (ev.ExtractionDue(at=at, items=items),)
        return Accepted(happened, closed.message)

    done = await bench.store.execute(
        run_id,
        decision,
        effect=(task_key(runtime), "update"),
        worker=channels.get("worker") or "",
        step_key=step_key(runtime),
        reason="update",
    )
    r = done.research
    refusals = [text for text in told.values() if "not recorded" in text or text.startswith("Refused")]
    return {
        "next": _next(r),
        "window": window,
        "log_head": r.version,
        "account": account_of(r, names, results, trouble),
        "refusals": refusals[:6] if kept.get("own_prompt") else [],
        "usage": r.usage.totals(),
    }


def _next(r: Research) -> str:
    if r.status != "running":
        return "route"
    if r.attempt is not None and r.attempt.ended:
        return "route" if r.attempt.blocked else "arms"
    return "state"


def all_failed(calls: list[dict[str, Any]], results: list[ReadResult], told: Mapping[str, str]) -> str:
    """How the searches failed in a turn in which no call succeeded, or '' (A12). What was refused is no success."""
    read = {x.call_id: x for x in results}
    failed = [x.search.status.value for x in results if x.search is not None and not x.search.status.executed]
    idle = sum(
        bool(read[c["id"]].refused or read[c["id"]].failure)
        if c["id"] in read
        else told.get(c["id"], "").startswith(("Refused", "Not executed"))
        for c in calls
    )
    return f"search:{failed[0]}" if failed and len(failed) + idle == len(calls) else ""


def came_to_nothing(calls: list[dict[str, Any]], results: list[ReadResult], told: Mapping[str, str]) -> bool:
    """Whether a turn changed nothing: no call, or all of them refused or mere looks at what is known."""
    refused = {x.call_id for x in results if x.refused or x.seen}
    return all(c["id"] in refused or c["name"] in VIEW_TOOLS or is_refusal(told.get(c["id"], "")) for c in calls)


def _extraction(
    r: Research, shown: list[str], names: list[str], told: dict[str, str], at: datetime
) -> tuple[ev.Event, ...]:
    """Which texts are read now; a page that gave nothing is recorded as read (D30)."""
    taken = any(not is_refusal(text) for text in told.values())
    answered = bool(names) and taken
    items = [item for item in r.pending if item.key in shown]
    done = [i.key for i in items if answered or i.tries + 1 >= r.thresholds.extraction_turns]
    again = [i.key for i in items if i.key not in done]
    happened: list[ev.Event] = [ev.ExtractionTried(at=at, done=tuple(done), again=tuple(again))]
    after = fold(r, happened)
    for source in uncommitted(after, [i.source_id for i in items if i.key in done]):
        happened.append(ev.SourceNoted(at=at, source_id=source.id, note=source.with_nothing()))
    return tuple(happened)


def _sources_in(results: list[ReadResult], r: Research) -> list[str]:
    hashes = {x.page.sha256 for x in results if x.page is not None}
    return [s.id for s in r.sources.values() if s.sha256 in hashes]


async def _window(bench: Workbench, channels: Channels, turn: TurnKeys, stage: str) -> tuple[list[TurnKeys], list[str]]:
    """The window after this turn, and the sources whose raw text leaves it.

    It grows until it is over its size and is then cut to the last turns at once, so that the prompt's start stays the
    same in between (D55). Extraction turns have a prompt of their own and are not part of it.
    """
    window = list(channels.get("window") or [])
    if turn.answer and stage not in ("extracting", "consolidating"):
        window.append(turn)
    r = await known(bench, channels)
    t = r.thresholds
    if len(window) <= t.keep_turns:
        return window, []
    size = 0
    for past in window:
        size += sum(len(text) for text in (await result_texts(bench, past)).values())
    if size // CHARACTERS_PER_TOKEN <= t.window_max_tokens:
        return window, []
    evicted: list[str] = []
    for past in window[: -t.keep_turns]:
        evicted += _sources_in(await read_results(bench, past), r)
    return window[-t.keep_turns :], evicted


def account_of(r: Research, names: list[str], results: list[ReadResult], trouble: str) -> str:
    """One line about the turn for whoever looks on."""
    if trouble:
        return f"turn {r.turns} {r.turn.stage} {r.turn.question_id}: {trouble}"
    counted = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in Counter(names).items()) or "no tool called"
    hits = sum(len(x.search.hits) for x in results if x.search is not None)
    pages = sum(x.page is not None for x in results)
    found = (f", {hits} hits" if hits else "") + (f", {pages} pages" if pages else "")
    return f"turn {r.turns} {r.turn.stage} {r.turn.question_id}: {counted}{found}"
