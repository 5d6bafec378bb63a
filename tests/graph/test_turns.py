"""One turn: what its prompt holds, what its tools may do, and what plain text does."""

from itertools import pairwise
from pathlib import Path

import pytest
from graph.rig import (
    OFFICE,
    PAGES,
    REPORT,
    SURVEY,
    Rig,
    Step,
    arms,
    fetch,
    plan,
    report,
    search,
    stage_of,
    text_of,
    whole,
    worker,
)
from langchain_core.messages import BaseMessage, ToolMessage

from zetetic.nodes.prompts import SYSTEM
from zetetic.nodes.small_prompts import EXTRACT_SYSTEM
from zetetic.testing import FixturePage, ScriptedModel, call, turn

FILLER = "Its lamp room has been painted every spring by the keepers and their families. "
END = "The stair has 211 steps."
LARGE = f"{PAGES[OFFICE].text} {FILLER * 60} {END}"


def told(messages: list[BaseMessage]) -> str:
    """What the last turn's tools answered."""
    return text_of(m for m in messages if isinstance(m, ToolMessage))


@pytest.mark.rule("D4", "D5")
async def test_plain_text_is_no_end_and_the_next_prompt_reminds(home: Path) -> None:
    steps: list[Step] = whole()
    steps.insert(1, "It is 42 metres tall, I am sure. FINAL ANSWER: 42")
    model = worker(steps)
    result = await Rig(home, model).research()
    assert (result.status, result.research.turns) == ("complete", 11)
    assert "called no tool" not in text_of(model.prompts[1])
    assert "called no tool" in text_of(model.prompts[2][-1:])
    assert "[q_001]" in text_of(model.prompts[2][-1:])
    assert "called no tool" not in text_of(model.prompts[3][-1:])


@pytest.mark.rule("D2", "D6", "D55")
async def test_the_prompt_starts_the_same_from_turn_to_turn_within_an_attempt(home: Path) -> None:
    model = worker(whole())
    await Rig(home, model).research()
    attempt = model.prompts[1:6]
    assert {stage_of(p) for p in attempt} == {"acting", "challenging"}
    assert {p[0].text for p in attempt} == {SYSTEM}
    assert len({p[1].text for p in attempt}) == 1
    assert all(tools == model.offered[0] for tools in model.offered)
    for before, after in pairwise(attempt):
        assert [m.model_dump() for m in after[: len(before) - 1]] == [m.model_dump() for m in before[:-1]]
    for before, after in pairwise(attempt):  # what is told of new records stays where it was told
        told, _, _ = before[-1].text.rpartition("\n\n# Now\n")
        assert not told or after[len(before) - 1].text == told
    assert ["# Since then" in p[-1].text for p in attempt] == [False, False, True, True, False]
    assert [len(p) for p in attempt] == [3, 5, 8, 14, 18]


@pytest.mark.rule("D2", "D55")
async def test_the_window_is_bounded_and_keeps_the_last_turns_whole(home: Path) -> None:
    pages = {
        f"https://tower-{n}.org/": FixturePage(f"The Ortel lighthouse, page {n}. " + FILLER * 3) for n in range(12)
    }
    queries = [f"Ortel lighthouse height {n}" for n in range(11)]
    model = worker([plan(), *(search(q) for q in queries)], "…")
    await Rig(home, model, pages=pages).research(window_max_tokens=4000, max_turns=14, attempt_turns=12)
    attempt = [p for p in model.prompts if stage_of(p) == "acting"][:12]
    sizes = [sum(len(m.text) for m in p if isinstance(m, ToolMessage)) for p in attempt]
    one = max(sizes[1:2])
    assert max(sizes) <= 4 * 4000 + one
    shown = [[m.tool_calls[0]["args"]["query"] for m in p if m.type == "ai" and m.tool_calls] for p in attempt]
    for number, window in enumerate(shown[2:], start=2):
        assert window[-2:] == queries[number - 2 : number]
    cuts = [n for n, (before, after) in enumerate(pairwise(shown)) if after[: len(before)] != before]
    assert cuts  # it was cut,
    assert len(cuts) < len(shown) / 2  # and not at every turn


@pytest.mark.rule("D30")
async def test_a_large_page_is_read_in_a_turn_of_its_own_and_then_leaves_the_prompt(home: Path) -> None:
    steps = whole()
    noted = steps[3]
    assert not isinstance(noted, str | Exception)
    assert not callable(noted)
    first, *others = noted.tool_calls
    steps[3] = turn(*others)
    model, extractor = worker(steps), ScriptedModel(script=[turn(first)])
    rig = Rig(home, model, extractor=extractor, pages={**PAGES, OFFICE: FixturePage(LARGE, title="The tower")})
    result = await rig.research()
    assert (result.status, result.research.turns) == ("complete", 11)
    assert [[t["function"]["name"] for t in tools] for tools in extractor.offered] == [["notes_append"]]
    (prompt,) = extractor.prompts
    assert prompt[0].text == EXTRACT_SYSTEM
    assert "Question: [q_001] How tall is the Ortel lighthouse?" in prompt[1].text
    assert END in prompt[1].text
    assert all(END not in text_of(p) for p in model.prompts)
    assert "[c_001]" in text_of(model.prompts[3])


@pytest.mark.rule("D30")
async def test_an_extraction_that_records_nothing_is_tried_again_and_the_page_counts_as_read(home: Path) -> None:
    extractor = ScriptedModel(script=lambda messages, tools: "Nothing to say.")
    rig = Rig(
        home,
        worker([plan(), search(), fetch(OFFICE), fetch(OFFICE)], "…"),
        extractor=extractor,
        pages={OFFICE: FixturePage(LARGE)},
    )
    result = await rig.research(max_turns=8)
    (source,) = result.research.sources.values()
    assert source.note == "read, nothing relevant"
    assert rig.web is not None
    assert rig.web.fetched == [OFFICE]
    assert len(extractor.prompts) == 4  # two turns, each with its repair


@pytest.mark.rule("D41")
async def test_exploration_cannot_write_the_report(home: Path) -> None:
    steps: list[Step] = whole()
    steps.insert(2, report())
    model = worker(steps)
    rig = Rig(home, model)
    result = await rig.research()
    assert result.status == "complete"
    assert "finalize_report is not allowed now" in told(model.prompts[3])
    assert "Nothing was executed" in text_of(model.prompts[3][-1:])
    assert result.research.turns == 10  # the repair belongs to its turn


@pytest.mark.rule("D41")
async def test_a_refused_call_does_not_take_the_allowed_ones_with_it(home: Path) -> None:
    steps = whole()
    steps[1] = turn(call("web_search", query="Ortel lighthouse height"), call("finalize_report", report=REPORT))
    model = worker(steps)
    result = await Rig(home, model).research()
    assert result.status == "complete"
    assert "The tool finalize_report is not allowed now" in told(model.prompts[2])
    assert "2 hits" in told(model.prompts[2])


@pytest.mark.rule("D41")
async def test_synthesis_cannot_search(home: Path) -> None:
    steps: list[Step] = whole()
    steps.insert(9, search("Ortel lighthouse one more look"))
    steps.insert(10, fetch("https://land-survey.net/other"))
    model = worker(steps)
    rig = Rig(home, model)
    result = await rig.research()
    assert result.status == "complete"
    assert rig.search is not None
    assert rig.web is not None
    assert "Ortel lighthouse one more look" not in rig.search.queries
    assert len(rig.web.fetched) == 2
    assert "web_search is not allowed now" in told(model.prompts[10])


@pytest.mark.rule("D41")
async def test_what_stands_behind_finish_exploration_in_one_answer_is_not_executed(home: Path) -> None:
    steps = whole()
    last = steps[8]
    assert not isinstance(last, str | Exception)
    assert not callable(last)
    steps[8] = turn(*last.tool_calls, call("add_question", parent_id="q_001", question="And how wide is the tower?",
                    rationale="more", priority=0.9, validation_criteria="States the width."))  # fmt: skip
    result = await Rig(home, worker(steps)).research()
    assert result.status == "complete"
    assert list(result.research.questions) == ["q_001"]


@pytest.mark.rule("D55")
async def test_an_address_that_nothing_gave_is_refused(home: Path) -> None:
    invented = "https://tallest-towers.example.com/ortel"
    steps: list[Step] = whole()
    steps.insert(2, fetch(invented))
    model = worker(steps)
    rig = Rig(home, model, pages={**PAGES, invented: "The Ortel lighthouse is 99 metres tall."})
    # only the two pages are found by the search, the third is there all the same
    assert rig.search is not None
    rig.search.pages = PAGES
    result = await rig.research()
    assert result.status == "complete"
    assert rig.web is not None
    assert invented not in rig.web.fetched
    assert "was given by no search and no page" in told(model.prompts[3])
    assert all("example.com" not in source["url"] for source in result.sources)


async def test_every_tool_that_a_prompt_allows_or_refuses_by_name_is_offered(home: Path) -> None:
    model = worker(whole())
    await Rig(home, model).research()
    for prompt, tools in zip(model.prompts, model.offered, strict=True):
        named = text_of(prompt[-1:]).rsplit("llowed now: ", 1)[1].rstrip(".").split(", ")
        assert set(named) <= {tool["function"]["name"] for tool in tools}


@pytest.mark.rule("D30", "D41")
async def test_a_call_of_an_arm_s_tool_by_the_worker_changes_nothing(home: Path) -> None:
    steps: list[Step] = whole()
    steps.insert(2, turn(call("verify_answer", passed=True)))
    evaluator = arms()
    result = await Rig(home, worker(steps), evaluator).research()
    assert result.status == "complete"
    assert len(evaluator.prompts) == 8


@pytest.mark.rule("D10", "R6")
async def test_what_one_answer_asks_for_twice_is_carried_out_once(home: Path) -> None:
    steps = whole()
    twice = [call("web_search", query=q) for q in ("Ortel lighthouse height", "ortel  Lighthouse HEIGHT")]
    steps[1] = turn(*twice)
    steps[2] = turn(*(call("fetch_page", url=url) for url in (OFFICE, f"{OFFICE}#top", SURVEY)))
    model = worker(steps)
    rig = Rig(home, model)
    result = await rig.research()
    assert result.status == "complete"
    log = result.research.queries["q_001"]
    assert [(r.tool, r.query) for r in log[:3]] == [
        ("web_search", "Ortel lighthouse height"),
        ("fetch_page", OFFICE),
        ("fetch_page", SURVEY),
    ]
    assert "the same as web_search before it in this answer" in told(model.prompts[2])
    assert rig.web.fetched == [OFFICE, SURVEY]
