"""A provider that is down, or stutters, and searches that all fail: real HTTP on loopback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph.rig import ARM_TOOLS, OBJECTIVE, PAGES, Rig, arms, content_answer, plan, search, whole, worker
from langchain_core.messages import AIMessage, convert_to_messages

from zetetic import Context, aresearch, aresume
from zetetic.testing import (
    Answer,
    ChatCompletionsServer,
    FixtureSearch,
    FixtureWeb,
    ScriptedModel,
    from_message,
    garbles,
    hangs_up,
    refuses,
    turn,
)


class Provider:
    """Answers as the script does, but for the requests that `trouble` names by number."""

    def __init__(self, script: ScriptedModel, trouble: Callable[[int], Answer | None]) -> None:
        self.script = script
        self.trouble = trouble
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        if body["tools"][0]["function"]["name"] in ARM_TOOLS:
            return from_message(content_answer(body["tools"]))
        self.asked += 1
        answer = self.trouble(self.asked)
        if answer is not None:
            return answer
        return from_message(self.script.bind_tools(body["tools"]).invoke(convert_to_messages(body["messages"])))


def context(home: Path, base_url: str) -> Context:
    return Context(
        model="test-model",
        base_url=base_url,
        search=[FixtureSearch(PAGES)],
        fetcher=FixtureWeb(PAGES),
        home=str(home),
        min_sources=2,
        min_domains=2,
        call_retries=0,
        arm_retries=0,
    )


DOWN = {
    "503": refuses(503, "overloaded"),
    "401": refuses(401, "no such key"),
    "429": refuses(429, "slow down", retry_after="0"),
    "hung up": hangs_up(),
    "garbled": garbles(),
}


@pytest.mark.rule("A11", "A12", "D54")
@pytest.mark.parametrize("how", DOWN)
async def test_a_provider_that_is_down_blocks_after_two_turns_and_the_run_goes_on_when_it_is_back(
    home: Path, how: str
) -> None:
    provider = Provider(worker(whole()), lambda n: DOWN[how] if n in (2, 3) else None)
    with ChatCompletionsServer(provider) as server:
        chosen = context(home, server.base_url)
        result = await aresearch(OBJECTIVE, context=chosen)
        assert result.status == "blocked"
        assert result.stop_reason.startswith("blocked:model:")
        assert provider.asked == 3
        assert result.research.questions["q_001"].attempts == 0
        again = await aresume(result.run_id, context=chosen)
    assert (again.status, again.stop_reason) == ("complete", "finalized")
    assert provider.asked == 12  # each of the ten answers once
    assert len(again.research.evaluations) == 2


@pytest.mark.rule("A12", "D30")
async def test_pages_that_were_read_before_the_block_are_not_lost(home: Path) -> None:
    steps = whole()
    noted = steps[3]
    assert isinstance(noted, AIMessage)
    first, *others = noted.tool_calls
    steps[3:4] = [turn(first), turn(*others)]  # the first on its own, since the pages come in an extraction turn
    provider = Provider(worker(steps), lambda n: DOWN["503"] if n in (4, 5) else None)
    with ChatCompletionsServer(provider) as server:
        chosen = context(home, server.base_url)
        result = await aresearch(OBJECTIVE, context=chosen)
        assert (result.status, len(result.sources)) == ("blocked", 2)
        again = await aresume(result.run_id, context=chosen)
    assert again.status == "complete"
    assert provider.asked == 13


@pytest.mark.rule("A12")
async def test_one_stutter_does_not_block(home: Path) -> None:
    provider = Provider(worker(whole()), lambda n: DOWN["503"] if n in (2, 7, 11, 13) else None)
    with ChatCompletionsServer(provider) as server:
        result = await aresearch(OBJECTIVE, context=context(home, server.base_url))
    assert result.status == "complete"


@pytest.mark.rule("A12", "A11")
@pytest.mark.parametrize("first", [1, 7, 10], ids=["planning", "conclusion", "report"])
async def test_a_provider_may_go_down_in_any_phase(home: Path, first: int) -> None:
    provider = Provider(worker(whole()), lambda n: DOWN["503"] if n in (first, first + 1) else None)
    with ChatCompletionsServer(provider) as server:
        chosen = context(home, server.base_url)
        result = await aresearch(OBJECTIVE, context=chosen)
        assert result.status == "blocked"
        again = await aresume(result.run_id, context=chosen)
    assert again.status == "complete"


@pytest.mark.rule("A9", "A12")
async def test_an_evaluator_that_is_down_costs_the_attempt_and_not_the_run(home: Path) -> None:
    rig = Rig(home, worker(whole(), "…"), arms(**{a: ConnectionError("refused") for a in ("judge", "verify")}))
    result = await rig.research(max_attempts=1, max_turns=12)
    assert result.status == "reported"


@pytest.mark.rule("R8", "D54")
@pytest.mark.parametrize("status", ["failed", "quota", "rate_limited", "not_configured"])
async def test_searches_that_all_fail_block_the_run(home: Path, status: str) -> None:
    found = FixtureSearch(PAGES, status=status)
    rig = Rig(home, worker([plan()], search()), search=found)
    result = await rig.research()
    assert (result.status, result.stop_reason) == ("blocked", f"blocked:search:{status}")
    assert len(found.queries) == 2
    assert result.sources == []
    found.status = "ok"
    rig.worker.script = worker(whole()[1:]).script
    again = await aresume(result.run_id, context=rig.context())
    assert again.status == "complete"


@pytest.mark.rule("D54", "D44", "D45")
@pytest.mark.parametrize("status", ["failed", "no_results"])
async def test_where_nothing_is_found_no_source_is_invented(home: Path, status: str) -> None:
    found = FixtureSearch(PAGES, status=status)
    chosen = Context(search=[found], fetcher=FixtureWeb(PAGES), home=str(home))
    result = await aresearch(OBJECTIVE, context=chosen)
    assert result.status in ("blocked", "reported")
    assert (result.sources, result.claims) == ([], [])
    assert "http" not in result.report
    assert "42" not in result.report
    assert result.gaps
