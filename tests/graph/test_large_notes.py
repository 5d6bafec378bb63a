"""Notes that outgrow a prompt: a consolidation turn of its own, and a report written in sections (CASES 14)."""

from pathlib import Path

import pytest
from graph.rig import Reply, Rig, whole, worker
from langchain_core.messages import BaseMessage

from zetetic import Context, aresearch, open_store
from zetetic.nodes.small_prompts import CONSOLIDATE_SYSTEM, section_text
from zetetic.state.citations import sections
from zetetic.testing import call, turn

ROOT = Path(__file__).parents[2]


@pytest.mark.rule("D29", "D55", "A26")
async def test_the_consolidation_turn_has_a_small_prompt_and_no_part_in_the_window(home: Path) -> None:
    steps = iter(whole())
    seen: list[list[BaseMessage]] = []

    def answer(messages: list[BaseMessage]) -> Reply:
        if "Stage: consolidating" not in messages[-1].text:
            return next(steps)
        seen.append(messages)
        return turn(call("notes_scratch", text="the height is what matters"))

    result = await Rig(home, worker([answer] * 20)).research(notes_max_tokens=70)
    assert result.status == "complete"
    prompt = seen[0]
    assert [m.text for m in prompt[:1]] == [CONSOLIDATE_SYSTEM]
    assert len(prompt) == 2
    assert "[c_001]" in prompt[1].text
    assert result.research.scratch == "the height is what matters"
    attempt = result.research.evaluations[0]
    assert attempt.outcome == "resolved"


@pytest.mark.rule("D45", "D44", "D46")
async def test_a_large_report_of_the_example_is_written_in_sections_and_stands_complete(home: Path) -> None:
    context = Context(documents=str(ROOT / "examples" / "corpus"), home=str(home), notes_max_tokens=500)
    objective = (ROOT / "examples" / "question.txt").read_text(encoding="utf-8")
    stages: list[str] = []

    def progress(update: dict[str, object], research: object) -> None:
        stages.append(f"{update.get('stage')}")

    result = await aresearch(objective, context=context, progress=progress)
    r = result.research
    assert result.status == "complete"
    assert "consolidating" in stages
    assert len(r.report.plan) > 1
    assert len(r.report.parts) == len(r.report.plan)
    told = [s.title for s in sections(r.report.draft) if s.level == 2]
    assert told == ["Summary", "Details", "Gaps"]
    for number, question in enumerate(list(r.questions.values())[1:5]):
        assert r.report.draft.count(f"### {question.question}") == 1, number
    merged = [c for c in r.claims.values() if c.status == "RETRACTED"]
    assert merged, "what the sources repeat word for word was merged"
    assert all(c.check.startswith("merged into c_") for c in merged)


@pytest.mark.rule("D2", "D55")
async def test_a_section_is_asked_for_with_what_it_needs_and_no_more(home: Path) -> None:
    context = Context(documents=str(ROOT / "examples" / "corpus"), home=str(home), notes_max_tokens=500)
    objective = (ROOT / "examples" / "question.txt").read_text(encoding="utf-8")
    async with open_store(context):
        result = await aresearch(objective, context=context)
    r = result.research
    parts = [r.model_copy(update={"report": r.report.model_copy(update={"parts": r.report.parts[:n]})}) for n in (0, 1)]
    first, second = (section_text(part) for part in parts)
    ones, twos = r.report.plan[:2]
    assert ones
    assert twos
    assert not set(ones) & set(twos)
    for mine, others, text in ((ones, twos, first), (twos, ones, second)):
        assert all(f"- [{name}]" in text for name in mine)
        assert not any(f"- [{name}]" in text for name in others)
    assert all(f"[{c}]" in first for one in ones for c in r.questions[one].claim_ids)
    assert "quotes: s_" in first
    assert max(len(first), len(second)) < 6 * 4 * 500
