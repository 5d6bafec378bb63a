"""The reflective loop's state, computed from the research (R1 to R6)."""

import json

import pytest
from state.build import Run

from zetetic.state import events as ev
from zetetic.state.frontier_commands import decide_prune
from zetetic.state.loop_view import evaluator_failures, is_complete, loop_view
from zetetic.state.runs import decide_finalize
from zetetic.state.turns import action_of


@pytest.mark.rule("R1", "R2")
def test_a_run_that_was_just_opened() -> None:
    run = Run(max_iterations=10, max_cost_usd=2.0, max_wall_time_seconds=600.0)
    assert loop_view(run.research, run.research.opened_at or run.now) == {
        "round": 0,
        "budget_remaining": {"rounds": 10, "cost_usd": 2.0, "latency_seconds": 600},
        "context": {
            "query": "How much power does the plant give?",
            "rubrics": ["The report names the output."],
        },
        "progress": {
            "gaps": ["How much power does the plant give?"],
            "answered_gaps": [],
            "all_questions": ["How much power does the plant give?"],
            "visited_urls": [],
            "bad_urls": [],
            "evidence": [],
            "evaluator_failures": [],
        },
        "decision": {
            "next_action": "search_more",
            "next_queries": None,
            "next_urls_to_fetch": None,
            "stop_reason": None,
        },
    }


@pytest.mark.rule("R1")
def test_it_is_plain_json() -> None:
    run = Run().synthesis()
    view = loop_view(run.research, run.now)
    assert json.loads(json.dumps(view)) == view


@pytest.mark.rule("R2")
def test_a_round_is_a_record_and_what_is_left_is_told() -> None:
    run = Run(max_iterations=3)
    run.add()
    run.add()
    run.answer()
    run.answer()
    view = loop_view(run.research, run.now)
    assert (view["round"], view["budget_remaining"]["rounds"]) == (2, 1)


@pytest.mark.rule("R5")
def test_gaps_shrink_and_all_questions_stay() -> None:
    run = Run()
    run.add("Who built the plant?")
    run.add("Who paid for it?", priority=0.4)
    run.answer()
    run.do(decide_prune, "q_003", "it does not matter")
    progress = loop_view(run.research, run.now)["progress"]
    assert progress["gaps"] == ["How much power does the plant give?"]
    assert progress["answered_gaps"] == ["Who built the plant?"]
    assert len(progress["all_questions"]) == 3


@pytest.mark.rule("R5")
def test_answered_gaps_are_this_rounds_only() -> None:
    run = Run().synthesis()
    assert loop_view(run.research, run.now)["progress"]["answered_gaps"] == ["How much power does the plant give?"]
    run.do(decide_finalize, "# Answer\n\nThe plant gives 240 MW. [c_001]\n")
    run.route(passed=False)
    assert loop_view(run.research, run.now)["progress"]["answered_gaps"] == []


@pytest.mark.rule("R5")
def test_the_evaluators_failures_are_the_last_rounds() -> None:
    run = Run()
    run.add()
    run.start()
    run.resolve()
    run.route(passed=False, complete=False, verify=["no source"], critique=["weak"], completeness=["the year"])
    assert evaluator_failures(run.research) == ["the year", "no source", "weak"]
    run.answer()
    assert evaluator_failures(run.research) == []


@pytest.mark.rule("R6")
def test_visited_and_bad_addresses() -> None:
    run = Run()
    run.source("page", "a.org")
    run.happen(ev.UrlRejected(at=run.now, canonical="https://b.org/x", reason="404"))
    progress = loop_view(run.research, run.now)["progress"]
    assert progress["visited_urls"] == ["https://a.org/s_001"]
    assert progress["bad_urls"] == ["https://b.org/x (404)"]


@pytest.mark.rule("R1")
def test_evidence_is_claims_with_their_quotes() -> None:
    run = Run()
    run.claim("The plant gives 240 MW.")
    assert loop_view(run.research, run.now)["progress"]["evidence"] == [
        {
            "claim_id": "c_001",
            "text": "The plant gives 240 MW.",
            "status": "UNVERIFIED",
            "source_id": "s_001",
            "url": "https://site001.org/s_001",
            "quote": "The plant gives 240 MW.",
            "stance": "supports",
        }
    ]


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    ("called", "action", "queries", "urls"),
    [
        (["web_search"], "search_more", ("q",), None),
        (["notes_append"], "search_more", ("q",), None),
        (["web_search", "fetch_page"], "fetch_more", None, ("u",)),
        (["finish_exploration"], "finalize", None, None),
        (["finalize_report"], "finalize", None, None),
        (["escalate_budget", "web_search"], "escalate_budget", None, None),
        (["abort", "finish_exploration"], "abort", None, None),
    ],
)
def test_the_action_follows_from_the_tools_called(
    called: list[str], action: str, queries: tuple[str, ...] | None, urls: tuple[str, ...] | None
) -> None:
    taken = action_of(called, ("q",), ("u",))
    assert taken is not None
    assert (taken.next_action, taken.next_queries, taken.next_urls_to_fetch) == (action, queries, urls)


@pytest.mark.rule("R3")
def test_without_a_tool_the_last_action_stands() -> None:
    assert action_of([], (), ()) is None
    run = Run()
    run.close_turn("fetch_page")
    run.close_turn()
    assert run.research.action.next_action == "fetch_more"


@pytest.mark.rule("R10")
def test_complete_is_no_gap_and_no_failure() -> None:
    run = Run()
    assert not is_complete(run.research)
    assert is_complete(run.explored().research)
