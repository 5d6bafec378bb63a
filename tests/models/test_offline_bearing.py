"""The offline model and what sets a question apart: a figure about something else is no answer (A6)."""

import re
from pathlib import Path

import pytest

from zetetic import Context, aresearch
from zetetic.models.offline.answering import statement
from zetetic.models.offline.bearing import bears_on
from zetetic.models.offline.challenging import why_unverified
from zetetic.models.offline.evaluating import completeness
from zetetic.models.offline.reading import ClaimSeen, Seen, SourceSeen

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
BUILT = "Building the Kestrow tidal barrage cost 1,180 million crowns."
MADE = "The Kestrow tidal barrage generates about 410 gigawatt-hours of electricity a year."
HOMES = "The Kestrow tidal barrage supplies about 92,000 homes with electricity."


@pytest.mark.rule("A6")
@pytest.mark.parametrize(
    ("question", "bearing", "others"),
    [
        (
            "What does the barrage cost to run?",
            ["Running the barrage costs 12 million crowns a year.", "It is operated for 12 million crowns a year."],
            [BUILT, MADE, "The barrage cost 1,900 million crowns to build."],
        ),
        (
            "What is the running cost of the barrage?",
            ["Its maintenance costs 12 million crowns a year."],
            [BUILT, "Its capacity is 240 megawatts."],
        ),
        (
            "How much did the barrage cost to build?",
            [BUILT, "The barrage was built for 1,180 million crowns.", "Its construction was paid with 9 million."],
            ["The barrage costs 12 million crowns a year to run.", MADE],
        ),
        ("How much did the barrage cost?", [BUILT, "The price was 3 million."], [MADE]),
        ("How much electricity does the barrage use?", ["It uses 9 gigawatt-hours of electricity."], [MADE]),
        ("How much electricity does the barrage generate?", [MADE], ["It consumes 9 gigawatt-hours of electricity."]),
        ("How many homes does the barrage supply?", [HOMES], [MADE]),
        ("When was the museum opened?", ["It was inaugurated in 1902."], ["It was closed in 1950."]),
        ("When was the poet born?", ["She was born in 1902.", "1902 is given as her year."], ["She died in 1950."]),
        ("Who runs the barrage?", ["Kestrow Tidal Power.", BUILT], []),  # of what it asks no words are known
    ],
)
def test_what_bears_on_a_question(question: str, bearing: list[str], others: list[str]) -> None:
    assert [text for text in bearing if not bears_on(question, text)] == []
    assert [text for text in others if bears_on(question, text)] == []


def judged(question: str, criterion: str, result: str) -> list[bool]:
    told = completeness(f"Question: {question}\nResult: {result}\nCriteria:\n1. {criterion}")
    return [verdict["met"] for verdict in told["criteria"]]


@pytest.mark.rule("A6")
@pytest.mark.parametrize(
    ("result", "met"),
    [
        (f"{BUILT[:-1]} [c_001].", False),
        (f"{MADE[:-1]} [c_001].", False),
        ("The Kestrow tidal barrage costs 12 million crowns a year to run [c_001].", True),
    ],
)
def test_the_completeness_of_an_answer_asks_for_what_was_asked(result: str, met: bool) -> None:
    question = "What does the Kestrow tidal barrage cost to run?"
    about = "States a figure with its unit and a quoted source, about: cost kestrow tidal barrage run"
    assert judged(question, about, result) == [met]
    assert judged(question, f"Answers, or names as a gap: {question}", f"## Summary\n\n- {result}\n") == [met]
    named = f"## Summary\n\n- {result}\n\n## Gaps\n\n- No answer was established: {question} [q_001]\n"
    assert judged(question, f"Answers, or names as a gap: {question}", named) == [True]


@pytest.mark.rule("A6", "D44")
async def test_what_the_documents_do_not_say_is_a_gap_and_what_was_found_is_told_once(tmp_path: Path) -> None:
    question = "What does the Kestrow tidal barrage cost to run?"
    result = await aresearch(question, context=Context(documents=str(CORPUS), home=str(tmp_path)))
    assert result.status == "reported"
    assert f"| {question} | – | not answered | see the gaps |" in result.report
    body, _, rest = result.report.partition("## Verification status")
    assert question in rest.partition("## Gaps and assumptions")[2].partition("## Sources")[0]
    assert "## Summary" not in body
    stated = re.findall(r"^- (.*) \[\d.*$", body, re.MULTILINE)
    assert BUILT[:-1] in stated
    assert len(stated) == len(set(stated))


@pytest.mark.rule("D17", "D33")
def test_what_one_site_states_is_told_as_what_was_found() -> None:
    source = SourceSeen("s_001", "https://one.example/", "One", "one.example", "")
    claim = ClaimSeen("c_001", "UNVERIFIED", HOMES, ("s_001",))
    seen = Seen(claims={"c_001": claim}, sources={"s_001": source})
    assert why_unverified(seen, ["c_001"]) == "no second, independent source was found that states all of it"


async def test_a_figure_is_found_in_a_sentence_that_leaves_the_subject_to_the_one_before(tmp_path: Path) -> None:
    """ "The power house holds 16 turbines" names no barrage; told with the sentence before it, it answers."""
    context = Context(model="offline", documents=str(CORPUS), home=str(tmp_path))
    result = await aresearch("How many turbines has the Kestrow tidal barrage?", context=context)
    assert result.status == "complete"
    summary = result.report.partition("## Summary")[2].partition("## Details")[0]
    assert "holds 16 turbines" in summary
    cited = next(claim for claim in result.claims if "holds 16 turbines" in claim["text"])
    assert "Kestrow tidal barrage" in cited["text"]


def test_a_claim_of_two_sentences_is_told_as_one() -> None:
    two = ClaimSeen("c_001", "UNVERIFIED", "The barrage has a lock. It holds one ship. Ada runs it!", ("s_001",))
    assert statement(two) == "The barrage has a lock; it holds one ship; Ada runs it [c_001]."
