"""The notes: one grammar, one renderer and one parser that are inverse to each other, and the prompt's view."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.state import events as ev
from zetetic.state.evolve import fold
from zetetic.state.notes import (
    ClaimLine,
    ContradictionLine,
    DatapointLine,
    GapLine,
    Notes,
    NotesError,
    SourceLine,
    cut_short,
    notes_of,
    parse_notes,
    render_notes,
)
from zetetic.state.prompt_notes import notes_tokens, prompt_notes
from zetetic.state.research import Research
from zetetic.state.values import Claim, Evidence, Gap, Question, Source

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def at(minute: int) -> datetime:
    return T0 + timedelta(minutes=minute)


def source(number: int, minute: int, **fields: str) -> ev.Event:
    page = Source(
        id=f"s_{number:03d}",
        url=f"https://site{number}.org/page",
        canonical=f"https://site{number}.org/page",
        domain=f"site{number}.org",
        at=at(minute),
        **fields,
    )
    return ev.SourceRegistered(at=at(minute), source=page)


def claim(claim_id: str, text: str, minute: int, *source_ids: str, **fields: str) -> ev.Event:
    evidence = tuple(Evidence(source_id=s, quote=text) for s in source_ids)
    record = Claim(id=claim_id, text=text, evidence=evidence, at=at(minute), **fields)
    return ev.ClaimRecorded(at=at(minute), claim=record)


def moved(claim_id: str, status: str, minute: int, why: str = "") -> ev.Event:
    return ev.ClaimMoved(at=at(minute), claim_id=claim_id, status=status, actor="code", why=why)


def question(number: int, minute: int, text: str, parent: str = "q_001") -> ev.Event:
    asked = Question(
        id=f"q_{number:03d}", parent_id=parent, depth=1, question=text, created_at=at(minute), updated_at=at(minute)
    )
    return ev.QuestionAdded(at=at(minute), question=asked, actor="agent")


def opened(objective: str = "How big is the plant?") -> ev.Event:
    return ev.RunOpened(at=T0, run_id="run", objective=objective, notes_id="0" * 32)


def unresolvable(question_id: str, assumption: str, minute: int) -> list[ev.Event]:
    return [
        ev.QuestionAnswered(at=at(minute), question_id=question_id, answer=assumption),
        ev.QuestionMoved(
            at=at(minute),
            question_id=question_id,
            from_status="in_progress",
            to_status="unresolvable",
            trigger="attempts_exhausted",
            actor="code",
            priority=0.5,
            attempts=4,
        ),
    ]


COST = {"kind": "datapoint", "value": "5", "unit": "M€", "context": "cost"}


def everything() -> Research:
    return fold(
        Research(),
        [
            opened(),
            question(2, 1, "Who built it?"),
            source(1, 2, title='The "big" plant', published="2016-05-01"),
            claim("c_001", "The plant gives 240 MW.", 3, "s_001", check="a second source"),
            source(2, 4, note="read, nothing relevant"),
            claim(
                "d_001", "It cost 5 million euros.", 5, "s_001", kind="datapoint", value="5", unit="M€", context="cost"
            ),
            claim("c_002", "The plant gives 90 MW.", 6, "s_002"),
            ev.EvidenceAdded(at=at(7), claim_id="c_001", evidence=Evidence(source_id="s_002", quote="240 MW")),
            question(3, 8, "Which figure holds?"),
            ev.ClaimsLinked(at=at(8), claim_id="c_001", other_id="c_002", relation="contradicts", question_id="q_003"),
            moved("c_001", "VERIFIED", 9),
            moved("c_002", "REFUTED", 10, why="an older design"),
            moved("d_001", "RETRACTED", 11),
            ev.GapNoted(at=at(12), gap=Gap(text="no price list", question_id="q_002")),
            ev.GapNoted(at=at(12), gap=Gap(text="cut by depth")),
            *unresolvable("q_002", "a local firm, we assume", 13),
            ev.ScratchWritten(at=at(14), text="look at the report\n## of 2016"),
        ],
    )


FILE = r"""# Notes: How big is the plant?
## Verified
- [c_001] VERIFIED  The plant gives 240 MW.  src: s_001, s_002
## Unverified
## Contradictions
- c_001 vs c_002 -> q_003
- [c_002] REFUTED  The plant gives 90 MW.  src: s_002  | check: an older design
## Datapoints
- [d_001] RETRACTED  5 | M€ | cost | s_001
## Sources
- [s_001] https://site1.org/page "The \"big\" plant" (site1.org) published 2016-05-01
- [s_002] https://site2.org/page "" (site2.org) read, nothing relevant
## Assumptions & gaps
- q_002 unresolvable: a local firm, we assume
- q_002 gap: no price list
- gap: cut by depth
## Scratch
look at the report
\## of 2016
"""


@pytest.mark.rule("D26")
def test_the_file_has_fixed_sections_and_one_line_a_record() -> None:
    assert render_notes(notes_of(everything())) == FILE


@pytest.mark.rule("D26")
def test_the_file_is_read_back() -> None:
    assert parse_notes(FILE) == notes_of(everything())


@pytest.mark.rule("D26")
def test_empty_notes_have_every_section() -> None:
    assert render_notes(Notes(objective="")) == (
        "# Notes: \n## Verified\n## Unverified\n## Contradictions\n## Datapoints\n## Sources\n"
        "## Assumptions & gaps\n## Scratch\n"
    )


ID = st.from_regex(r"(c|d|s|q)_[0-9]{1,4}", fullmatch=True)
AWKWARD = [
    "  src: ",
    "src:",
    " | ",
    "|",
    "  | check: ",
    "\\",
    "\\n",
    '"',
    "[c_1]",
    "## ",
    "\n## Scratch\n",
    ")",
    " -> ",
]
AWKWARD += [
    "\n",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    "\t",
    " ",
    "\x00",
    "-",
    "\\u",
]
TEXT = st.one_of(st.text(), st.lists(st.sampled_from(AWKWARD) | st.text(max_size=3), max_size=8).map("".join))
STATUS = st.sampled_from(["UNVERIFIED", "VERIFIED", "REFUTED", "RETRACTED"])
IDS = st.lists(ID, max_size=3).map(tuple)
CLAIM = st.builds(ClaimLine, id=ID, status=STATUS, text=TEXT, sources=IDS, check=TEXT)
PAIR = st.builds(ContradictionLine, claim_id=ID, other_id=ID, question_id=st.none() | ID)
NUMBER = st.builds(DatapointLine, id=ID, status=STATUS, value=TEXT, unit=TEXT, context=TEXT, sources=IDS)
SOURCE = st.builds(SourceLine, id=ID, url=TEXT, title=TEXT, domain=TEXT, note=TEXT)
GAP = st.builds(
    GapLine, question_id=st.none() | ID, kind=st.sampled_from(["gap", "unresolvable", "breaker"]), text=TEXT
)


def many(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(strategy, max_size=3).map(tuple)


NOTES = st.builds(
    Notes,
    objective=TEXT,
    verified=many(CLAIM),
    unverified=many(CLAIM),
    contradictions=many(PAIR | CLAIM),
    datapoints=many(NUMBER),
    sources=many(SOURCE),
    gaps=many(GAP),
    scratch=TEXT,
)


@pytest.mark.rule("D26")
@given(NOTES)
def test_any_text_survives_rendering_and_parsing(notes: Notes) -> None:
    text = render_notes(notes)
    assert parse_notes(text) == notes
    assert len(text.split("\n")) == len(text.splitlines()) + 1  # no line break of another kind is left
    text.encode()


@pytest.mark.rule("D26")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begin with"),
        (FILE.replace("## Datapoints", "## Numbers"), "'Numbers' stands where 'Datapoints' belongs"),
        (FILE.replace("## Sources\n", ""), "not a record of this section"),
        (FILE.replace("## Unverified\n", ""), "'Contradictions' stands where 'Unverified' belongs"),
        (FILE.replace("src: s_001, s_002", "src: s_001 s_002"), "not a record of this section"),
        (FILE.replace("  src: s_001, s_002", ""), "a claim without"),
        (FILE.replace(" | s_001\n", "\n"), "four cells"),
        (FILE.replace("c_001 vs c_002", "c_001 or c_002"), "not a record of this section"),
        (FILE.replace("## Verified", "hello\n## Verified"), "before the first section"),
        ("# Notes: x\n## Verified\n## Scratch\n", "'Unverified' is missing"),
    ],
)
def test_what_is_not_in_the_grammar_is_named(text: str, words: str) -> None:
    with pytest.raises(NotesError, match=words):
        parse_notes(text)


@pytest.mark.rule("D46")
def test_a_breaker_and_the_questions_it_left_are_gaps() -> None:
    cut = fold(
        everything(),
        [ev.PhaseChanged(at=at(20), phase="synthesis", reason="breaker:cost", detail="0.50 of 0.50 US dollars")],
    )
    assert cut_short(cut) == "breaker:cost"
    assert notes_of(cut).gaps[3:] == (
        GapLine(kind="breaker", text="exploration was cut short by breaker:cost: 0.50 of 0.50 US dollars"),
        GapLine(question_id="q_001", kind="pending", text="How big is the plant?"),
        GapLine(question_id="q_003", kind="pending", text="Which figure holds?"),
    )


@pytest.mark.rule("D43")
def test_a_frontier_that_was_worked_to_its_end_is_no_gap() -> None:
    done = fold(everything(), [ev.PhaseChanged(at=at(20), phase="synthesis", reason="frontier_exhausted")])
    assert cut_short(done) == ""
    assert notes_of(done).gaps == notes_of(everything()).gaps


@pytest.mark.rule("D40")
def test_the_conclusion_ends_the_scratch() -> None:
    stated = fold(everything(), [ev.ConclusionStated(at=at(20), text="It gives 240 MW.")])
    assert notes_of(stated).scratch == "look at the report\n## of 2016\nConclusion (version 1): It gives 240 MW."


@pytest.mark.rule("D40")
def test_a_conclusion_that_stands_in_the_scratch_is_not_repeated() -> None:
    stated = fold(
        Research(), [opened(), ev.ScratchWritten(at=at(1), text="So: X."), ev.ConclusionStated(at=at(1), text="X.")]
    )
    assert notes_of(stated).scratch == "So: X."


@pytest.mark.rule("D55")
def test_the_prompt_has_the_records_in_order_of_creation() -> None:
    assert prompt_notes(everything(), 6000).split("\n") == [
        "[s_001] https://site1.org/page \"The 'big' plant\" (site1.org) published 2016-05-01",
        "[c_001] VERIFIED The plant gives 240 MW.  src: s_001, s_002",
        '[s_002] https://site2.org/page "" (site2.org) read, nothing relevant',
        "[d_001] RETRACTED 5 | M€ | cost  src: s_001",
        "[c_002] REFUTED The plant gives 90 MW. (check: an older design)  src: s_002",
        "c_001 vs c_002 -> q_003",
        "q_002 unresolvable: a local firm, we assume",
        "q_002 gap: no price list",
        "gap: cut by depth",
        "Scratch:",
        "look at the report",
        "## of 2016",
    ]


@pytest.mark.rule("D55")
def test_a_new_record_is_a_new_last_line() -> None:
    before = fold(Research(), [opened(), source(1, 1), claim("c_001", "One.", 2, "s_001"), source(2, 3)])
    after = fold(before, [claim("c_002", "Two.", 4, "s_002"), source(3, 5)])
    assert prompt_notes(after, 6000).startswith(prompt_notes(before, 6000) + "\n[c_002] UNVERIFIED Two.")


@pytest.mark.rule("D55")
def test_a_record_is_one_line_whatever_its_text() -> None:
    text = "one\n[c_009] VERIFIED two\u2028three\x0bfour  src: s_9"
    odd = fold(Research(), [opened(), source(1, 1), claim("c_001", text, 2, "s_001")])
    assert prompt_notes(odd, 6000).split("\n")[1:] == [
        "[c_001] UNVERIFIED one [c_009] VERIFIED two three four src: s_9  src: s_001"
    ]


@pytest.mark.rule("D29")
def test_the_oldest_scratch_goes_first() -> None:
    full = fold(Research(), [opened(), source(1, 1), ev.ScratchWritten(at=at(2), text="old " * 50 + "\nmiddle\nnew")])
    assert prompt_notes(full, 40).split("\n") == [
        '[s_001] https://site1.org/page "" (site1.org)',
        "Scratch (+1 more lines):",
        "middle",
        "new",
    ]


@pytest.mark.rule("D29")
def test_long_texts_are_shortened_and_their_sources_counted() -> None:
    sources = [source(n, n) for n in range(1, 9)]
    ids = [f"s_{n:03d}" for n in range(1, 9)]
    long = fold(Research(), [opened(), *sources, claim("c_001", "word " * 200, 20, *ids)])
    lines = prompt_notes(long, 160).split("\n")
    assert len(lines) == 9
    assert lines[-1].startswith("[c_001] UNVERIFIED word word")
    assert lines[-1].endswith("…  src: s_001, s_002, s_003, s_004, s_005 (+3 more)")


@pytest.mark.rule("D29")
def test_the_oldest_records_become_ranges_when_nothing_else_fits() -> None:
    many_claims = [claim(f"c_{n:03d}", f"Claim number {n} says something.", n + 1, "s_001") for n in range(1, 41)]
    big = fold(Research(), [opened(), source(1, 1), *many_claims])
    lines = prompt_notes(big, 50).split("\n")
    assert lines == [
        "c_001..c_038, s_001 (+39 more)",
        "[c_039] UNVERIFIED Claim number 39 says something…  src: s_001",
        "[c_040] UNVERIFIED Claim number 40 says something…  src: s_001",
    ]


@pytest.mark.rule("D29")
@given(st.integers(min_value=60, max_value=2000), st.integers(min_value=1, max_value=40), TEXT)
def test_the_view_is_bounded(max_tokens: int, count: int, text: str) -> None:
    facts = [claim(f"c_{n:03d}", text, n + 1, "s_001") for n in range(1, count + 1)]
    big = fold(Research(), [opened(), source(1, 1), *facts, ev.ScratchWritten(at=at(90), text=text)])
    assert len(prompt_notes(big, max_tokens)) <= max_tokens * 4


@pytest.mark.rule("D29")
def test_the_parsed_file_gives_the_same_lines_as_the_research() -> None:
    parsed = parse_notes(FILE)
    assert sorted(prompt_notes(parsed, 6000).split("\n")) == sorted(prompt_notes(everything(), 6000).split("\n"))
    assert notes_tokens(parsed) == notes_tokens(everything()) == 118
