"""A Diversify changes the approach: what the next attempt is told, and what it cannot do again (A16, A28)."""

from pathlib import Path
from typing import Any

import pytest
from direction.scenes import answer, attempts_at, plan_with_question, retry, steer_in
from graph.rig import (
    ANSWER,
    CONTENT,
    OFFICE,
    PAGES,
    REPORT,
    SURVEY,
    Rig,
    Step,
    arms,
    attack,
    fetch,
    report,
    search,
    survived,
    text_of,
    whole,
    worker,
)
from langchain_core.messages import AIMessage, ToolMessage

from zetetic.testing import FixturePage, ScriptedModel, call, turn

UNBOUNDED = {"barren_rounds_limit": 9, "plateau_records": 20, "max_turns": 24}


def judged(verdict: str, guidance: str = "") -> AIMessage:
    return turn(call("judge_attempt", verdict=verdict, guidance=guidance))


def unverified() -> AIMessage:
    return turn(call("verify_answer", passed=False, failures=["no page says so"]))


def partial(missing: str) -> AIMessage:
    return turn(call("judge_completeness", criteria=[{"number": 1, "met": False, "missing": missing}]))


@pytest.mark.rule("A16", "D10", "D18")
async def test_repeated_queries_that_bring_nothing_are_spent_and_not_run_again(home: Path) -> None:
    criticism = {"strategy": "criticism", "query": "Ortel lighthouse height disputed"}
    challenge = attack("question_answer", target_id="q_002", target_text="It is 42 metres.", **criticism)
    again = turn(
        call("web_search", query="ortel lighthouse, survey HEIGHT?"),
        call("web_search", query="Ortel lighthouse height disputed"),
        call("web_search", query='"Ortel lighthouse" survey height'),
    )
    steps: list[Step] = [
        plan_with_question(),
        turn(call("web_search", query="Ortel lighthouse survey height"), challenge),
        search("Ortel lighthouse height disputed", challenge_id="ch_001"),
        retry("Ortel tower levelling"),
        search("Ortel tower levelling"),
        retry("Ortel tower metres above base"),
        again,
    ]
    model = worker(steps, "…")
    rig = Rig(home, model, arms(verify=unverified(), judge=judged("Steer", "Ask the land survey itself.")))
    rig.search.pages = {SURVEY: PAGES[SURVEY]}  # type: ignore[union-attr]
    result = await rig.research(**UNBOUNDED)
    routes = [e.routing.route for e in result.research.evaluations[:2]]
    assert routes == ["Retry", "Diversify"]

    _, second, third = attempts_at(model)[:3]
    assert "Keep the approach" in steer_in(second)
    assert "Ask the land survey itself." in steer_in(second)
    assert "spent" not in steer_in(second)

    told = steer_in(third)
    assert told.startswith("Ask the land survey itself. ")
    assert "Change the approach: other sources, another strategy, rewrite_question" in told
    assert "add_question for the missing part" in told
    for query in ("Ortel lighthouse survey height", "Ortel lighthouse height disputed", "Ortel tower levelling"):
        assert f'"{query}"' in told.split("These queries are spent: ")[1]

    asked = rig.search.queries  # type: ignore[union-attr]
    assert asked[:3] == ["Ortel lighthouse survey height", "Ortel lighthouse height disputed", "Ortel tower levelling"]
    assert asked[3:] == ['"Ortel lighthouse" survey height'], "quotation marks make another search"
    after = next(p for n, p in enumerate(model.prompts) if model.prompts[n - 1] is third)
    tools = [m.text for m in after if isinstance(m, ToolMessage)]
    assert '"Ortel lighthouse survey height" was run on q_002 before in attempt 1' in tools[-3]
    assert f"1 hits. Take what it found, or ask in other words.\n- {SURVEY}" in tools[-3]
    assert "Its result is due: record_challenge_result for ch_001." in tools[-2]


@pytest.mark.rule("A16", "R8")
async def test_a_search_that_failed_may_be_run_again(home: Path) -> None:
    rig = Rig(home, worker([]))
    assert rig.search is not None
    rig.search.statuses = {"Ortel height": "rate_limited"}

    def recovered(messages: Any) -> AIMessage:
        assert rig.search is not None
        rig.search.statuses = {}
        return search("Ortel height")

    steps_left: list[Step] = [plan_with_question(), search("Ortel height"), recovered, search("Ortel height")]
    rig.worker.script = worker(steps_left, "…").script
    await rig.research(max_turns=8)
    assert rig.search.queries == ["Ortel height", "Ortel height"]


@pytest.mark.rule("A16")
async def test_the_wrong_kind_of_source_is_named_and_another_asked_for(home: Path) -> None:
    texts = {n: f"Ortel lighthouse survey trivia, part {n}." for n in range(4)}
    pages = {f"https://fan-pages.com/ortel-{n}": FixturePage(text) for n, text in texts.items()}
    first, second, third, fourth = pages
    steps: list[Step] = [
        plan_with_question(target_sources=["land survey", "official register"]),
        search("Ortel lighthouse survey"),
        fetch(first, second),
        retry("Ortel survey trivia"),
        search("Ortel survey trivia"),
        fetch(third, fourth),
        retry("Ortel survey register"),
    ]
    model = worker(steps, "…")
    sentence = "Fan pages prove nothing: read the register."
    nothing = ScriptedModel(script=lambda messages, tools: "Nothing to say.")
    rig = Rig(home, model, arms(judge=judged("Restart", sentence)), extractor=nothing, pages=dict(pages))
    result = await rig.research(unverified_streak_limit=9, **UNBOUNDED)
    assert [e.routing.route for e in result.research.evaluations[:2]] == ["Retry", "Diversify"]
    assert result.research.evaluations[1].routing.unproductive_streak == 2
    third_prompt = attempts_at(model)[2]
    told = steer_in(third_prompt)
    assert told.startswith(f"Start afresh: the last direction is discarded. {sentence} ")
    assert "Read so far: fan-pages.com (4 pages" in told
    assert 'These queries are spent: "Ortel survey trivia", "Ortel lighthouse survey".' in told
    assert "Look for: land survey, official register" in text_of(third_prompt)


@pytest.mark.rule("A16", "A6")
@pytest.mark.parametrize("way", ["rewrite", "add"])
async def test_a_question_that_cannot_be_answered_as_put_is_rewritten_or_split(home: Path, way: str) -> None:
    rewritten = "Which height do the pages on the Ortel lighthouse give?"
    if way == "rewrite":
        other = call(
            "rewrite_question", id="q_002", question=rewritten, validation_criteria="The height.", why="no year"
        )
    else:
        other = call(
            "add_question",
            parent_id="q_002",
            question="In which year was the tower levelled?",
            rationale="the year is missing",
            priority=0.9,
            validation_criteria="Gives the year.",
            blocks_current=True,
        )
    again = answer(ANSWER, "q_002" if way == "rewrite" else "q_003", claim_ids=["c_001"])
    verdicts = turn(
        survived("ch_001"),
        survived("ch_002"),
        call("notes_update", id="c_001", status="VERIFIED"),
        call("resolve_question", id="q_002", answer=ANSWER, claim_ids=["c_001"]),
    )
    steps: list[Step] = [plan_with_question(), *whole()[1:5], verdicts, turn(other), again]
    replies = [partial("the year of the survey"), turn(call("judge_completeness", **CONTENT["completeness"]))]
    model = worker(steps, "…")
    rig = Rig(home, model, arms(completeness=lambda: replies.pop(0) if len(replies) > 1 else replies[0]))
    result = await rig.research(**UNBOUNDED)
    first, second = result.research.evaluations[:2]
    assert (first.routing.route, first.verified, first.missing) == ("Diversify", True, "the year of the survey")
    told = steer_in(attempts_at(model)[1])
    assert "Missing: the year of the survey." in told
    assert "rewrite_question if it cannot be answered as put, or add_question for the missing part" in told
    if way == "rewrite":
        assert (second.question_id, second.routing.route) == ("q_002", "Answered")
        assert result.research.questions["q_002"].question == rewritten
    else:
        assert result.research.dependencies["q_002"] == ("q_003",)
        assert (second.question_id, second.routing.route) == ("q_003", "Answered")
        assert result.research.questions["q_003"].status == "resolved"


@pytest.mark.rule("A28", "D41", "A16")
async def test_a_report_with_a_hole_reopens_exploration_once_and_is_then_rewritten_with_the_gap(home: Path) -> None:
    hole = "the year of the survey"
    steps: list[Step] = whole()
    gap = REPORT.replace("Nothing asked for is missing.", f"It was not found: {hole}.")
    steps += [
        search("Ortel lighthouse survey year"),
        answer(f"No page gives it {ANSWER}"),
        turn(call("finish_exploration")),
        report(),
        report(gap),
    ]
    content = turn(call("judge_completeness", **CONTENT["completeness"]))
    replies = [content, partial(hole), content, partial(hole), content]
    model = worker(steps)
    result = await Rig(home, model, arms(completeness=lambda: replies.pop(0))).research()
    kinds = [(e.kind, e.question_id, e.routing.route) for e in result.research.evaluations]
    assert kinds == [
        ("question", "q_001", "Answered"),
        ("report", "q_001", "Diversify"),
        ("question", "q_002", "Answered"),
        ("report", "q_001", "Diversify"),
        ("report", "q_001", "Answered"),
    ]
    (reopened,) = attempts_at(model)
    told = steer_in(reopened)
    assert f"What is still missing for the objective: {hole}" in text_of(reopened)
    assert "Exploration is reopened for what is missing" in told
    assert f"Missing: {hole}." in told
    assert "Read so far: " in told
    for query in ("Ortel lighthouse height", "Ortel lighthouse height disputed", "Ortel lighthouse raised rebuilt"):
        assert f'"{query}"' in told
    rewrite = model.prompts[-1]
    assert "rewrite the report, and state under '## Gaps' what is missing" in steer_in(rewrite)
    assert f"Gaps noted:\n- {hole}" in text_of(rewrite)
    assert result.research.reopens == 1
    assert result.status == "complete"
    assert hole in result.report.split("Gaps", 1)[1]
    assert OFFICE in result.report
