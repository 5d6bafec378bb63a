"""The core as a whole: pure, total, one place for bounds, and values that survive being written down."""

import ast
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from state.build import START, Run, bounds

import zetetic.state
from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Refusal, in_turn, refuse
from zetetic.state.evolve import evolve, fold
from zetetic.state.frontier_commands import decide_add_question, decide_select
from zetetic.state.research import Research, next_id
from zetetic.state.thresholds import MODES, Thresholds, thresholds_for
from zetetic.state.values import (
    Challenge,
    Claim,
    Evaluation,
    Evidence,
    Gap,
    PendingExtraction,
    QueryRecord,
    Question,
    Routing,
    Source,
)

CORE = Path(zetetic.state.__file__).parent
ROUTING = Routing(
    blocked=False,
    expired=False,
    verified=False,
    complete=False,
    attempts=1,
    unverified_streak=1,
    unproductive_streak=0,
    thresholds={},
    route="Retry",
)
AT: dict[str, Any] = {"at": START}
ONE_OF_EACH: list[ev.Event] = [
    ev.RunOpened(**AT, run_id="r", objective="How much?", notes_id="n"),
    ev.RunResumed(**AT, paused_seconds=5.0),
    ev.CriteriaSet(**AT, criteria=("a",)),
    ev.StateRecorded(**AT, seq=1, stage="acting"),
    ev.TurnClosed(**AT),
    ev.QuestionAdded(
        **AT, question=Question(id="q_009", question="?", created_at=START, updated_at=START), actor="agent"
    ),
    ev.QuestionMoved(
        **AT,
        question_id="q_077",
        from_status="pending",
        to_status="pruned",
        trigger="pruned_branch",
        actor="code",
        priority=0.5,
        attempts=0,
    ),
    ev.QuestionRewritten(**AT, question_id="q_077", question="?", validation_criteria="c", why="w"),
    ev.QuestionAnswered(**AT, question_id="q_077", answer="a"),
    ev.DependencyAdded(**AT, question_id="q_077", depends_on_id="q_078"),
    ev.DependencyDropped(**AT, question_id="q_077", depends_on_id="q_078"),
    ev.AtomicDeclared(**AT, reason="r"),
    ev.QueryLogged(**AT, record=QueryRecord(question_id="q_077", seq=1, query="q", tool="t", at=START)),
    ev.SourceRegistered(**AT, source=Source(id="s_001", url="u", canonical="u", domain="d", sha256="x", at=START)),
    ev.SourceNoted(**AT, source_id="s_099", note="n"),
    ev.UrlRejected(**AT, canonical="u", reason="404"),
    ev.ExtractionDue(**AT, items=(PendingExtraction(key="k", sha256="x"),)),
    ev.ExtractionTried(**AT, done=("z",), again=("k",)),
    ev.ClaimRecorded(**AT, claim=Claim(id="c_001", text="t", at=START)),
    ev.EvidenceAdded(**AT, claim_id="c_099", evidence=Evidence(source_id="s_099", quote="q")),
    ev.ClaimMoved(**AT, claim_id="c_099", status="VERIFIED", actor="agent"),
    ev.ClaimAmended(**AT, claim_id="c_099", text="t"),
    ev.ClaimsLinked(**AT, claim_id="c_099", other_id="c_098", relation="supports"),
    ev.ClaimsLinked(**AT, claim_id="c_099", other_id="c_098", relation="contradicts", question_id="q_077"),
    ev.GapNoted(**AT, gap=Gap(text="g")),
    ev.ScratchWritten(**AT, text="s"),
    ev.ConclusionStated(**AT, text="c"),
    ev.ConclusionExplained(**AT, why="w"),
    ev.ChallengeRegistered(
        **AT,
        challenge=Challenge(
            id="ch_001",
            question_id="q_077",
            target_type="conclusion",
            target_text="t",
            negation="n",
            strategy="negation",
            expected_if_false="e",
            query="q",
            at=START,
        ),
    ),
    ev.ChallengeExecuted(**AT, challenge_id="ch_099", status="ok"),
    ev.ChallengeClosed(**AT, challenge_id="ch_099", outcome="survived", evidence="e"),
    ev.AttemptStarted(**AT, number=1, kind="question", question_id="q_077"),
    ev.AttemptEnded(**AT, outcome="turns"),
    ev.AttemptEvaluated(**AT, evaluation=Evaluation(number=1, question_id="q_077", routing=ROUTING, at=START)),
    ev.AttemptClosed(**AT, reason="r"),
    ev.DirectiveGiven(**AT, number=1, text="t"),
    ev.DirectiveDelivered(**AT, number=9, attempt=1),
    ev.UsageRecorded(**AT, role="worker", input_tokens=1),
    ev.PhaseChanged(**AT, phase="synthesis", reason="finalized"),
    ev.PhaseChanged(**AT, phase="exploration", reason="reopened"),
    ev.ReportDrafted(**AT, text="t"),
    ev.ReportPlanned(**AT, plan=(("q_001",),)),
    ev.ReportPartWritten(**AT, text="t"),
    ev.RunEnded(**AT, status="reported", stop_reason="finalized"),
    ev.AbortRecorded(**AT, reason="r"),
    ev.BudgetAsked(**AT, reason="r"),
]


@pytest.mark.rule("D1")
@pytest.mark.parametrize("before", ["nothing", "a run", "a run with an attempt"])
@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda e: e.event)
def test_evolve_is_total(before: str, event: ev.Event) -> None:
    research = Research() if before == "nothing" else Run().research
    if before == "a run with an attempt":
        research = fold(research, [ONE_OF_EACH[5], *[e for e in ONE_OF_EACH if e.event == "attempt_started"]])
    after = evolve(research, event)
    assert after.version == research.version + 1
    assert evolve(research, event) == after
    assert Research.model_validate_json(after.model_dump_json()) == after


def test_there_is_one_of_each_event() -> None:
    known = {
        kind.model_fields["event"].default
        for kind in vars(ev).values()
        if isinstance(kind, type) and issubclass(kind, ev.Base) and kind is not ev.Base
    }
    assert {event.event for event in ONE_OF_EACH} == known


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda e: e.event)
def test_an_event_survives_being_written_down(event: ev.Event) -> None:
    assert ev.EVENT.validate_json(ev.EVENT.dump_json(event)) == event


@pytest.mark.rule("D1")
def test_a_value_is_never_edited() -> None:
    run = Run()
    with pytest.raises(ValueError, match="frozen"):
        run.research.status = "complete"
    before = run.research.model_dump_json()
    held = run.research
    run.add()
    run.start()
    assert held.model_dump_json() == before


@pytest.mark.rule("D1")
def test_a_decision_given_the_same_gives_the_same() -> None:
    run = Run()
    run.add()
    at = START + timedelta(hours=1)
    assert decide_select(run.research, at=at) == decide_select(run.research, at=at)


@pytest.mark.rule("D1")
def test_several_decisions_see_each_other_and_give_ids_that_do_not_clash() -> None:
    run = Run()

    def add(text: str) -> Any:
        return lambda now: decide_add_question(
            now, parent_id="q_001", question=text, rationale="r", priority=0.5, validation_criteria="c", at=START
        )

    decision = in_turn(run.research, add("Who built it?"), add("Who paid for it?"))
    assert isinstance(decision, Accepted)
    assert [e.question.id for e in decision.events if isinstance(e, ev.QuestionAdded)] == ["q_002", "q_003"]
    refused = in_turn(run.research, add("Who built it?"), lambda now: refuse("no"))
    assert refused == Refusal(("no",))


@pytest.mark.rule("D7")
def test_the_next_id_is_the_highest_plus_one() -> None:
    assert next_id("q", []) == "q_001"
    assert next_id("c", ["c_001", "d_009", "c_003"]) == "c_004"
    assert next_id("c", ["c_999"], 1) == "c_1001"


# Bounds.


@pytest.mark.rule("A17", "A18")
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_has_bounds_that_can_be_overridden(mode: Any) -> None:
    assert isinstance(thresholds_for(mode), Thresholds)
    assert thresholds_for(mode, max_turns=7, max_attempts=None).max_turns == 7
    assert thresholds_for(mode, max_attempts=None) == thresholds_for(mode)


@pytest.mark.rule("A17")
def test_a_bound_out_of_range_or_unknown_is_an_error() -> None:
    with pytest.raises(ValueError, match="max_turns"):
        bounds(max_turns=0)
    with pytest.raises(ValueError, match="max_turnz"):
        bounds(max_turnz=5)


# Numbers that bound no loop: what a text comparison needs, and how much of a list or line is shown.
NOT_BOUNDS = {
    ("anchoring.py", 2),
    ("anchoring.py", 4),
    ("figures.py", 10),
    ("frontier.py", 8),
    ("frontier_commands.py", 8),
    ("gates.py", 5),
    ("independence.py", 2),
    ("quotes.py", 2),
    ("quotes.py", 4),
}
NAMED = {
    *(
        ("anchoring.py", name) for name in ("SHORTEST_QUOTE", "LONGEST_QUOTE", "SAME_STEM", "SHORT_LINE")
    ),  # shapes of texts
    ("independence.py", "SMALL_TEXT"),
    ("quotes.py", "MIN_QUOTE"),
    ("frontier.py", "_WAITS_SHOWN"),
    ("breakers.py", "ARM_CALLS"),
    ("independence.py", "SAME_WORDS"),
    ("memo.py", "KEPT"),
    ("frontier_commands.py", "MIN_CRITERIA"),
    ("frontier_commands.py", "MAX_CRITERIA"),
    ("sections.py", "TURNS_BESIDE"),
    ("guiding.py", "ANSWER_TURNS"),
    ("guiding.py", "CLAIMS"),
    ("guiding.py", "SHARED"),
}


def modules() -> list[Path]:
    grammar = {
        "notes.py",
        "prompt_notes.py",
        "citations.py",
        "thresholds.py",
    }  # texts are parsed there, nothing is decided
    return [path for path in sorted(CORE.glob("*.py")) if path.name not in grammar]


@pytest.mark.rule("A17")
def test_no_number_is_compared_with_outside_the_thresholds() -> None:
    found = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                for constant in ast.walk(node):
                    if isinstance(constant, ast.Constant) and type(constant.value) in (int, float):
                        found.add((path.name, constant.value))
    assert {(name, value) for name, value in found if value not in (0, 1)} <= NOT_BOUNDS


@pytest.mark.rule("A17")
def test_no_module_names_a_number_of_its_own() -> None:
    found = set()
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if type(node.value.value) in (int, float):
                    found |= {(path.name, t.id) for t in targets if isinstance(t, ast.Name)}
    assert found <= NAMED


@pytest.mark.rule("A17")
def test_every_bound_is_described_with_its_unit() -> None:
    for name, field in Thresholds.model_fields.items():
        assert field.description, name


def test_every_bound_of_the_core_is_read_somewhere() -> None:
    text = "".join(
        path.read_text(encoding="utf-8") for path in CORE.parent.rglob("*.py") if path.name != "thresholds.py"
    )
    used_by_itself = {"synthesis_reserve"}
    unread = {name for name in Thresholds.model_fields if f".{name}" not in text and f'"{name}"' not in text}
    assert unread <= used_by_itself
