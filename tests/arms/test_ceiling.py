"""The ceiling cuts off whatever hangs, at once, keeps what was written, and the report comes from the reserve."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from arms.stage import lag
from graph.rig import (
    ANSWER,
    ARM_TOOLS,
    OFFICE,
    PAGES,
    SURVEY,
    Rig,
    arms,
    content_answer,
    fetch,
    plan,
    record,
    report,
    resolve,
    run_attacks,
    search,
    stage_of,
    worker,
)
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from zetetic import Context, ResearchResult, aresearch, open_store
from zetetic.state.events import AttemptEnded
from zetetic.state.research import Research
from zetetic.testing import Answer, ChatCompletionsServer, FixtureSearch, FixtureWeb, ScriptedModel, from_message

CUT_SHORT = f"## Summary\n\n{ANSWER}\n\n## Gaps\n\n- [q_001] The height was not settled.\n"
NOTHING = "## Summary\n\n## Gaps\n\n- [q_001] The height was not settled.\n"
OVERRUN = 0.5
WALL = 8.0
BOUNDS = {"max_wall_time_seconds": WALL, "synthesis_reserve": 0.5}


def ceiling_of(r: Research, share: float) -> datetime:
    assert r.opened_at is not None
    return r.opened_at + timedelta(seconds=r.thresholds.max_wall_time_seconds * share)


def overrun(r: Research, at: datetime, share: float = 0.5) -> float:
    """Seconds by which something came after the end of a share of the wall clock."""
    return (at - ceiling_of(r, share)).total_seconds()


async def cut_off_at(context: Context, run_id: str) -> datetime:
    """When the first attempt ended, as the log has it."""
    async with open_store(context) as store:
        return next(e.at for _, e in await store.events(run_id) if isinstance(e, AttemptEnded))


async def assert_reported_in_time(result: ResearchResult, context: Context, busy: float) -> None:
    r = result.research
    first = r.evaluations[0]
    assert (result.status, result.stop_reason) == ("reported", "breaker:wall_clock")
    assert first.routing.route == "Reported"
    assert first.routing.expired
    assert first.outcome == "ceiling"
    assert r.questions["q_001"].status == "pending"
    assert r.provider_errors == 0
    assert not r.report.rendered_by_code
    assert 0 <= overrun(r, await cut_off_at(context, result.run_id)) <= OVERRUN + 2 * busy


class Stalling(ScriptedModel):
    """Never answers a worker's prompt in one of the stages, nor an arm in `mute`."""

    stages: tuple[str, ...] = ()
    mute: tuple[str, ...] = ()

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        name = kwargs["tools"][0]["function"]["name"]
        arm = ARM_TOOLS.get(name, "")
        if arm in self.mute or (not arm and stage_of(messages) in self.stages):
            await asyncio.Event().wait()
        return await super()._agenerate(messages, *args, **kwargs)


@pytest.mark.rule("A21", "A22", "D46", "A12")
async def test_a_model_call_that_hangs(home: Path) -> None:
    script = worker([plan(), search()], report(NOTHING))

    def answer(body: dict[str, Any]) -> Answer:
        if body["tools"][0]["function"]["name"] in ARM_TOOLS:
            return from_message(content_answer(body["tools"]))
        messages = convert_to_messages(body["messages"])
        stalls = len(script.prompts) == 2 and stage_of(messages) == "acting"
        if stalls:
            return Answer(stall=60.0)
        return from_message(script.bind_tools(body["tools"]).invoke(messages))

    with ChatCompletionsServer(answer) as server:
        context = Context(
            model="test-model",
            base_url=server.base_url,
            search=[FixtureSearch(PAGES)],
            fetcher=FixtureWeb(PAGES),
            home=str(home),
            provider_error_limit=1,
            cancel_grace_seconds=0.1,
            **BOUNDS,
        )
        async with lag() as seen:
            result = await aresearch("How tall is the Ortel lighthouse?", context=context)
    await assert_reported_in_time(result, context, seen.worst)
    assert len(result.research.queries["q_001"]) == 1  # what was written before stays


class HangingWeb(FixtureWeb):
    """A web of which one page never comes."""

    async def fetch(self, url: str) -> Any:
        if url == SURVEY:
            await asyncio.Event().wait()
        return await super().fetch(url)


@pytest.mark.rule("A21", "D46", "A12")
async def test_a_tool_that_hangs(home: Path) -> None:
    rig = Rig(home, worker([plan(), search(), fetch()], report(NOTHING)), web=HangingWeb(PAGES))
    async with lag() as seen:
        result = await rig.research(provider_error_limit=1, **BOUNDS)
    await assert_reported_in_time(result, rig.context(), seen.worst)
    assert [s.url for s in result.research.sources.values()] == [OFFICE]  # the page that came stays
    assert result.research.bad_urls == {}  # the other may be fetched again


class DeafWeb(FixtureWeb):
    """A web of which one page never comes, from a fetcher that pays no heed to being cancelled."""

    async def fetch(self, url: str) -> Any:
        while url == SURVEY and not self.failures:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return await super().fetch(url)


@pytest.mark.rule("A21")
async def test_a_tool_that_pays_no_heed_to_being_cancelled(home: Path) -> None:
    web = DeafWeb(PAGES, failures={})
    rig = Rig(home, worker([plan(), search(), fetch()], report(NOTHING)), web=web)
    try:
        async with lag() as seen:
            result = await rig.research(provider_error_limit=1, **BOUNDS)
        await assert_reported_in_time(result, rig.context(), seen.worst)
        assert [s.url for s in result.research.sources.values()] == [OFFICE]
    finally:
        web.failures = {"over": "timeout"}  # lets it go
        await asyncio.sleep(0.1)


@pytest.mark.rule("R7")
async def test_a_fetcher_that_raises_costs_its_page_and_not_the_run(home: Path) -> None:
    class Raising(FixtureWeb):
        async def fetch(self, url: str) -> Any:
            if url == SURVEY:
                raise RuntimeError("a fault of the host's")
            return await super().fetch(url)

    rig = Rig(home, worker([plan(), search(), fetch()], "…"), web=Raising(PAGES))
    result = await rig.research(max_turns=6)
    assert [s.url for s in result.research.sources.values()] == [OFFICE]
    assert result.research.bad_urls == {SURVEY: "unreadable: The fetcher raised RuntimeError."}


class HangingSearch(FixtureSearch):
    """A search that never ends."""

    async def search(self, query: str, *, limit: int) -> Any:
        await asyncio.Event().wait()


@pytest.mark.rule("A21", "A12", "D38")
async def test_a_search_that_hangs_blames_no_provider(home: Path) -> None:
    rig = Rig(home, worker([plan(), search()], report(NOTHING)), search=HangingSearch(PAGES))
    async with lag() as seen:
        result = await rig.research(provider_error_limit=1, **BOUNDS)
    await assert_reported_in_time(result, rig.context(), seen.worst)


@pytest.mark.rule("A21", "A9", "A3")
@pytest.mark.parametrize("mute", [("verify",), ("judge", "verify", "critique", "completeness")], ids=["one", "all"])
async def test_arms_that_hang(home: Path, mute: tuple[str, ...]) -> None:
    steps = [plan(), search(), fetch(), record(), run_attacks(), resolve()]
    evaluator = Stalling(script=lambda messages, tools: content_answer(tools), mute=mute)
    rig = Rig(home, worker(steps, report(CUT_SHORT)), evaluator)
    async with lag() as seen:
        result = await rig.research(**BOUNDS)
    r = result.research
    first = r.evaluations[0]
    assert (result.status, result.stop_reason) == ("reported", "breaker:wall_clock")
    assert set(mute) == set(first.unavailable)
    assert first.routing.route != "Answered"
    assert r.questions["q_001"].status == "pending"
    # In exploration they have its time, and where that is over a part of the reserve; the report's have the rest.
    assert overrun(r, first.at) <= WALL / 2 / 3 + OVERRUN + 2 * seen.worst
    assert overrun(r, r.evaluations[-1].at, share=1.0) <= OVERRUN + 2 * seen.worst


@pytest.mark.rule("A21", "D46", "D54")
async def test_where_everything_hangs_code_writes_the_report_in_time(home: Path) -> None:
    model = Stalling(script=[plan()], stages=("synthesizing", "acting"))
    evaluator = Stalling(script=lambda messages, tools: content_answer(tools), mute=("judge",))
    began = perf_counter()
    async with lag() as seen:
        result = await Rig(home, model, evaluator).research(cancel_grace_seconds=0.1, max_wall_time_seconds=3.0)
    took = perf_counter() - began
    assert (result.status, result.stop_reason) == ("failed", "breaker:wall_clock")
    assert result.research.report.rendered_by_code
    assert "breaker:wall_clock" in result.report
    assert result.research.updated_at is not None
    assert overrun(result.research, result.research.updated_at, share=1.0) <= OVERRUN + 2 * seen.worst
    assert took < 60


class Late(ScriptedModel):
    """Answers one call only when another one has been made since: after its time was up."""

    asked: int = 0
    late: int = 3
    answered: Any = None

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        if self.asked == self.late:
            await self.answered.wait()
        elif self.asked > self.late:
            self.answered.set()
        return await super()._agenerate(*args, **kwargs)


@pytest.mark.rule("A21", "D47")
async def test_a_paid_answer_that_comes_in_the_grace_is_stored_and_counted(home: Path) -> None:
    def script(messages: list[BaseMessage], tools: Any) -> AIMessage:
        return next(left) if stage_of(messages) != "synthesizing" else report(NOTHING)

    left = iter([plan(), search(), fetch()])
    model = Late(script=script, answered=asyncio.Event())
    rig = Rig(home, model)
    result = await rig.research(cancel_grace_seconds=30.0, **BOUNDS)
    assert (result.status, result.stop_reason) == ("reported", "breaker:wall_clock")
    async with open_store(rig.context()) as store:
        calls = [c for c in await store.calls(result.run_id) if c.role == "worker"]
        late = await store.load(result.run_id)
    assert sum("fetch_page" in c.answer for c in calls) == 1
    assert result.sources == []  # nothing acted on it
    assert late.usage.calls == len(calls) + len(rig.evaluator.prompts)


@pytest.mark.rule("A21", "A12", "A26")
async def test_an_attempts_own_time_cuts_a_call_off_and_is_no_providers_error(home: Path) -> None:
    class Once(Stalling):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            self.stages = ("acting",) if len(self.prompts) == 2 else ()
            if self.stages:
                self.prompts.append(messages)
            return await super()._agenerate(messages, *args, **kwargs)

    left = iter([plan(), search()])
    model = Once(script=lambda messages, tools: next(left, report(NOTHING)))
    result = await Rig(home, model).research(attempt_seconds=1.0, max_attempts=1, provider_error_limit=1, max_turns=6)
    first = result.research.evaluations[0]
    assert (first.outcome, first.routing.route, first.routing.expired) == ("time", "Reported", False)
    assert result.status == "reported"


@pytest.mark.rule("A20", "A7")
async def test_an_attempt_that_ran_out_of_time_is_judged_from_its_briefing(home: Path) -> None:
    steps = [plan(), search(), fetch(), record()]
    left = iter(steps)
    evaluator = arms()

    class Stops(Stalling):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            self.stages = ("acting", "challenging") if len(self.prompts) >= len(steps) else ()
            return await super()._agenerate(messages, *args, **kwargs)

    model = Stops(script=lambda messages, tools: next(left, report(CUT_SHORT)))
    result = await Rig(home, model, evaluator).research(**BOUNDS)
    first = result.research.evaluations[0]
    assert first.outcome == "ceiling"
    assert first.verdict == "Proceed"
    assert "judge" not in first.unavailable
    prompts = ["\n".join(str(m.text) for m in p) for p in evaluator.prompts]
    judged = next(p for p in prompts if "Stage: judge" in p)
    for line in (
        "outcome: ceiling",
        "queries: 1",
        "pages fetched: 2",
        "claims unverified: 1",
        "quotes anchored: 2",
        "challenges open: 2",
        "files written: 1",
        "fault: ended by a bound without a report",
        "(the attempt ended without a result)",
    ):
        assert line in judged.splitlines(), line
    asked = ["judge" if "Stage: judge" in p else "verify" if "Stage: verify" in p else "" for p in prompts]
    assert asked[0] == "judge"  # of this attempt nobody else asked a model; all four did of the report
    assert (len(asked), asked.count("judge"), asked.count("verify")) == (5, 2, 1)
