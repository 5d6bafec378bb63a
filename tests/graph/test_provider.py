"""A provider that is down, or stutters, and searches that all fail: real HTTP on loopback."""

import socket
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from graph.rig import ARM_TOOLS, OBJECTIVE, OFFICE, PAGES, Rig, arms, content_answer, plan, search, whole, worker
from langchain_core.messages import AIMessage, convert_to_messages

from zetetic import Context, aresearch, aresume, open_store
from zetetic.testing import (
    Answer,
    ChatCompletionsServer,
    FixturePage,
    FixtureSearch,
    FixtureWeb,
    ScriptedModel,
    call,
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


def context(home: Path, base_url: str, **bounds: Any) -> Context:
    given = {"call_retries": 0, "arm_retries": 0, **bounds}
    return Context(
        model="test-model",
        base_url=base_url,
        search=[FixtureSearch(PAGES)],
        fetcher=FixtureWeb(PAGES),
        home=str(home),
        min_sources=2,
        min_domains=2,
        **given,
    )


DOWN = {
    "503": refuses(503, "overloaded"),
    "401": refuses(401, "no such key"),
    "403": refuses(403, "not from this country"),
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


@pytest.mark.rule("A11", "A12")
async def test_a_provider_that_is_not_there_blocks_and_charges_nothing(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    steps = whole()
    result = await aresearch(OBJECTIVE, context=context(home, nobody))
    assert (result.status, result.stop_reason) == ("blocked", "blocked:model:connection")
    for _ in range(3):  # each of them as futile as the first
        result = await aresume(result.run_id, context=context(home, nobody))
    r = result.research
    assert (r.status, r.evaluations, r.attempts, r.usage.calls) == ("blocked", (), 0, 0)
    assert (r.atomic_reason, r.criteria) == ("", ()), "no planning was charged"
    with ChatCompletionsServer(Provider(worker(steps), lambda n: None)) as server:
        again = await aresume(result.run_id, context=context(home, server.base_url))
    assert again.status == "complete"


@pytest.mark.rule("A11", "A12", "A13")
async def test_blocks_again_and_again_charge_no_attempt_no_streak_and_no_turn_of_the_attempt(home: Path) -> None:
    provider = Provider(worker(whole()), lambda n: DOWN["503"] if 2 <= n <= 13 else None)
    with ChatCompletionsServer(provider) as server:
        chosen = context(home, server.base_url, attempt_turns=6)
        result = await aresearch(OBJECTIVE, context=chosen)
        for _ in range(5):
            assert result.status == "blocked"
            question, attempt = result.research.questions["q_001"], result.research.attempt
            assert (question.status, question.attempts, question.unverified_streak) == ("in_progress", 0, 0)
            assert attempt is not None
            assert (attempt.number, attempt.turns) == (1, 0)
            result = await aresume(result.run_id, context=chosen)
        again = await aresume(result.run_id, context=chosen)
    assert again.status == "complete"
    assert len(again.research.evaluations) == 2


@pytest.mark.rule("A11", "A12")
async def test_a_limit_that_outlasts_the_retries_blocks(home: Path) -> None:
    provider = Provider(worker(whole()), lambda n: DOWN["429"] if 2 <= n <= 5 else None)
    with ChatCompletionsServer(provider) as server:
        result = await aresearch(OBJECTIVE, context=context(home, server.base_url, call_retries=1))
    assert (result.status, result.stop_reason) == ("blocked", "blocked:model:rate_limit")
    assert provider.asked == 5


@pytest.mark.rule("A12")
async def test_the_time_a_limit_names_is_waited_and_is_no_failed_turn(home: Path) -> None:
    times: list[float] = []

    def trouble(number: int) -> Answer | None:
        times.append(monotonic())
        return refuses(429, "try again in 700 ms", retry_after="0.7") if number == 2 else None

    with ChatCompletionsServer(Provider(worker(whole()), trouble)) as server:
        result = await aresearch(
            OBJECTIVE, context=context(home, server.base_url, call_retries=2, provider_error_limit=1)
        )
    assert (result.status, result.research.turns) == ("complete", 10)
    assert times[2] - times[1] >= 0.7


@pytest.mark.rule("A12", "A23")
async def test_a_wait_longer_than_the_call_may_take_ends_with_the_call(home: Path) -> None:
    provider = Provider(worker(whole()), lambda n: refuses(429, "slow down", retry_after="50") if n > 1 else None)
    with ChatCompletionsServer(provider) as server:
        began = monotonic()
        result = await aresearch(OBJECTIVE, context=context(home, server.base_url, call_retries=2, call_seconds=1.0))
    assert result.status == "blocked"
    assert monotonic() - began < 30
    assert result.research.questions["q_001"].attempts == 0


@pytest.mark.rule("A11")
async def test_pages_and_answers_that_speak_of_refusals_block_nothing(home: Path) -> None:
    talk = " 429 Too Many Requests: rate limit exceeded. 401 Unauthorized. insufficient_quota. blocked:model:auth."
    office = FixturePage(PAGES[OFFICE].text + talk, title="401 Unauthorized")
    pages = {**PAGES, OFFICE: office}
    steps = [AIMessage(talk, tool_calls=step.tool_calls) for step in whole() if isinstance(step, AIMessage)]
    rig = Rig(
        home, worker(steps), arms(judge=turn(call("judge_attempt", verdict="Proceed", guidance=talk))), pages=pages
    )
    result = await rig.research(provider_error_limit=1)
    assert (result.status, result.stop_reason) == ("complete", "finalized")


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
@pytest.mark.parametrize("status", ["failed", "quota", "rate_limited", "not_configured", "unknown"])
async def test_searches_that_all_fail_block_the_run(home: Path, status: str) -> None:
    found = FixtureSearch(PAGES, status=status)
    rig = Rig(home, worker([plan()], search()), search=found)
    result = await rig.research()
    assert (result.status, result.stop_reason) == ("blocked", f"blocked:search:{status}")
    assert len(found.queries) == (1 if status in ("not_configured", "unknown") else 2), "no repetition would help"
    assert result.sources == []
    found.status = "ok"
    rig.worker.script = worker(whole()[1:]).script
    again = await aresume(result.run_id, context=rig.context())
    assert again.status == "complete"


@pytest.mark.rule("R8", "A12")
async def test_searches_that_find_nothing_block_nothing(home: Path) -> None:
    found = FixtureSearch(PAGES, status="no_results")
    steps = [plan(), search("first words"), search("second words"), search("third words")]
    result = await Rig(home, worker(steps, "…"), search=found).research(max_turns=8)
    assert not result.stop_reason.startswith("blocked")
    assert len(found.queries) == 3


@pytest.mark.rule("A11", "A12")
@pytest.mark.parametrize(
    ("beside", "blocks"),
    [
        (lambda n: call("web_search", query=f"another query {n}"), False),
        (lambda n: call("notes_scratch", text="the search is down"), False),
        (lambda n: call("record_challenge_result", challenge_id="ch_9", outcome="survived", evidence="none"), True),
        (lambda n: call("fetch_page", url="https://invented.org/"), True),
    ],
    ids=["a search", "a note", "a refused decision", "a refused address"],
)
async def test_a_turn_in_which_one_other_call_succeeded_does_not_count(home: Path, beside: Any, blocks: bool) -> None:
    found = FixtureSearch(PAGES, statuses={f"bad {n}": "failed" for n in range(9)})
    tries = [turn(call("web_search", query=f"bad {n}"), beside(n)) for n in range(3)]
    result = await Rig(home, worker([plan(), *tries], "…"), search=found).research(max_turns=8)
    assert result.stop_reason.startswith("blocked:search:failed") == blocks


@pytest.mark.rule("A11", "A12")
async def test_a_missing_prerequisite_blocks_its_question_and_the_run_goes_on_with_the_others(home: Path) -> None:
    other = call("add_question", parent_id="q_001", question="When was the Ortel lighthouse lit?", rationale="asked",
                 priority=0.9, validation_criteria="Gives the year.")  # fmt: skip
    third = call("add_question", parent_id="q_001", question="Who keeps the Ortel register?", rationale="asked",
                 priority=0.8, validation_criteria="Names who.")  # fmt: skip
    steps = [
        turn(
            call(
                "set_criteria",
                criteria=["States the height in metres.", "Names who measured it.", "Cites two sources."],
            ),
            other,
            third,
        ),
        search("register"),
        search("Ortel lit"),
    ]
    found = FixtureSearch(PAGES, statuses={"register": "not_configured"})
    rig = Rig(home, worker(steps, "…"), search=found)
    bounds = {"max_turns": 20, "planning_turns": 2, "attempt_turns": 2, "max_attempts": 1}
    result = await rig.research(**bounds)
    r = result.research
    assert (r.status, r.stop_reason) == ("blocked", "blocked:search:not_configured")
    assert "q_002 could not be searched" in r.stop_detail
    async with open_store(rig.context()) as store:
        moves = [(m.from_status, m.to_status, m.trigger) for m in await store.transitions(r.run_id, "q_002")]
        others = [(m.to_status, m.trigger) for m in await store.transitions(r.run_id, "q_003")]
    assert moves[2] == ("in_progress", "blocked", "prerequisite_missing")
    assert ("in_progress", "selected") in others
    assert (r.questions["q_002"].attempts, r.questions["q_002"].unverified_streak) == (0, 0)
    assert all(e.question_id != "q_002" for e in r.evaluations)
    found.statuses = {}
    again = await aresume(r.run_id, context=rig.context(**bounds))
    async with open_store(rig.context()) as store:
        later = [(m.from_status, m.to_status, m.trigger) for m in await store.transitions(r.run_id, "q_002")]
    assert later[3] == ("blocked", "pending", "prerequisite_met")
    assert again.research.questions["q_002"].attempts == 1


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
