"""Versions of the notes as differences: each comes back as it was, and what one costs does not grow."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store.stories import RUN, START, giving, opened, question, rows, scratch, story

from zetetic.state import events as ev
from zetetic.state.evolve import evolve
from zetetic.state.research import Research
from zetetic.state.values import Gap
from zetetic.store import Store, StoreError
from zetetic.store.notes_versions import changed, difference, rendered
from zetetic.store.projection import TOUCHES_NOTES

LINES = st.lists(st.sampled_from(["", "a", "- [c_001] so", "- [c_002] größer \u2028 x", "b" * 40]), max_size=12)
TEXTS = LINES.map("\n".join) | st.text(alphabet="ab\n\u2028é😀", max_size=40)


@given(before=TEXTS, after=TEXTS)
def test_a_difference_makes_the_text_it_was_taken_from(before: str, after: str) -> None:
    assert changed(before, difference(before, after)) == after


def test_a_difference_holds_what_changed_and_no_more() -> None:
    notes = "".join(f"- [c_{n:03d}] Claim number {n} holds. UNVERIFIED\n" for n in range(400))
    edited = notes.replace("[c_007] Claim number 7 holds. UNVERIFIED", "[c_007] Claim number 7 holds. VERIFIED")
    edited = edited.replace("- [c_300]", "- new\n- [c_300]") + "- [c_400] last\n"
    change = difference(notes, edited)
    assert len(change) < 120
    assert changed(notes, change) == edited


def test_a_long_stretch_without_a_line_in_common_is_replaced() -> None:
    before, after = ("".join(f"{letter}{n}\n" for n in range(5000)) for letter in "ab")
    assert changed(before, difference(before, after)) == after


@pytest.mark.rule("D28")
async def test_every_version_comes_back_as_it_was_also_to_another_store(store: Store, database: str) -> None:
    texts = []
    for event in story(random.Random(3), 200):
        done = await store.execute(RUN, giving(event))
        text = rendered(done.research)
        if not texts or texts[-1] != text:
            texts.append(text)
    assert len(texts) > 40
    assert [version.text for version in await store.notes_versions(RUN)] == texts
    kinds = [bool(row["whole"]) for row in rows(database, "SELECT whole FROM notes_versions ORDER BY seq")]
    assert kinds[0]
    assert kinds.count(False) > 3
    async with await Store.open(database) as other:
        assert [version.text for version in await other.notes_versions(RUN)] == texts
        await other.execute(RUN, giving(scratch("from the other")))
        await store.execute(RUN, giving(scratch("and from this one")))
        assert await store.notes_versions(RUN) == await other.notes_versions(RUN)
        latest = (await other.notes_versions(RUN))[-1].text
        assert latest == rendered(await store.load(RUN))
        assert "from the other" in latest


@pytest.mark.rule("D28")
@pytest.mark.parametrize("seed", range(5))
def test_no_event_changes_the_notes_unnoticed(seed: int) -> None:
    research, before = Research(), ""
    for event in story(random.Random(seed), 200):
        research = evolve(research, event)
        text = rendered(research)
        assert text == before or isinstance(event, TOUCHES_NOTES), event.event
        before = text


@pytest.mark.rule("D28")
async def test_what_a_version_takes_does_not_grow_with_the_notes(store: Store, database: str) -> None:
    await store.execute(RUN, giving(opened()))
    for n in range(2, 400):
        gap = ev.GapNoted(at=START, gap=Gap(text=f"What question {n} asks is not said anywhere in what was read."))
        added = ev.QuestionAdded(at=START, question=question(f"q_{n:03d}"), actor="agent")
        await store.execute(RUN, giving(added, gap))
    versions = await store.notes_versions(RUN)
    sizes = [row["size"] for row in rows(database, "SELECT length(text) AS size FROM notes_versions ORDER BY seq")]
    assert len(sizes) == len(versions) > 350
    early, late = sum(sizes[50:150]), sum(sizes[-100:])
    assert late < 1.5 * early
    assert sum(sizes) < 4 * len(versions[-1].text)


async def test_a_version_that_is_gone_is_told(store: Store, database: str) -> None:
    for n in range(30):
        await store.execute(RUN, giving(opened() if n == 0 else scratch(f"thought {n} of many, of which each is kept")))
    seqs = [row["seq"] for row in rows(database, "SELECT seq FROM notes_versions WHERE NOT whole ORDER BY seq")]
    rows(database, "DELETE FROM notes_versions WHERE seq = ?", seqs[0] - 1)
    with pytest.raises(StoreError, match="lacks the one before it"):
        await store.notes_versions(RUN)
