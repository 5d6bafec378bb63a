"""Several workers on one frontier: each sees its own lane, no question is held twice, none is lost (D14, D51)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from state.build import CRITERIA, ROOT, START, bounds, judged

from zetetic.state import answers, frontier_commands, runs, turns
from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision
from zetetic.state.evaluation import decide_route
from zetetic.state.evolve import evolve
from zetetic.state.research import Lane, Research
from zetetic.state.values import Holdings, PendingExtraction

WORKERS = ("w1", "w2", "w3")


class Fleet:
    """One log that several workers write, each deciding on the research as it sees it."""

    def __init__(self, questions: int = 5, **changed: Any) -> None:
        self.log: list[tuple[str, ev.Event]] = []
        self.research = Research()
        self.now = START
        given = {"max_parallel": 3, "min_sources": 0, "min_domains": 0, "barren_rounds_limit": 99, **changed}
        self.do("", runs.decide_open, run_id="fleet", objective="How much?", notes_id="0" * 32, criteria=CRITERIA,
                thresholds=bounds(**given), holdings=Holdings())  # fmt: skip
        for number in range(questions):
            self.do(
                "", frontier_commands.decide_add_question, parent_id=ROOT,
                question=f"What does gauge {'abcdefghij'[number]} at post {number} show?", rationale="asked",
                priority=0.6, validation_criteria="A figure.",
            )  # fmt: skip

    def decide(self, worker: str, decide: Any, *args: Any, **kwargs: Any) -> Decision:
        return decide(self.research.seen_by(worker), *args, at=self.now, **kwargs)

    def do(self, worker: str, decide: Any, *args: Any, **kwargs: Any) -> str:
        decision = self.decide(worker, decide, *args, **kwargs)
        assert isinstance(decision, Accepted), decision.message
        for event in decision.events:
            self.log.append((worker, event))
            self.research = evolve(self.research.seen_by(worker), event)
        self.now += timedelta(seconds=1)
        return decision.message

    def turn(self, worker: str, **given: Any) -> str:
        return self.do(worker, turns.decide_turn, render=lambda _: "report", **given)

    def attempt(self, worker: str) -> Any:
        return self.research.seen_by(worker).attempt

    def route(self, worker: str, **given: Any) -> str:
        return self.do(worker, decide_route, judged(self.attempt(worker).number, **given))

    def resolve(self, worker: str) -> None:
        held = self.attempt(worker).question_id
        self.do(worker, answers.decide_resolve, held, f"It shows {held}.", why_unverified="x", why_unchallenged="y")


@pytest.mark.rule("D51")
def test_a_lane_is_ones_own_and_all_else_is_shared() -> None:
    fleet = Fleet()
    assert [fleet.turn(w) for w in WORKERS] == ["acting"] * 3
    held = [fleet.attempt(w).question_id for w in WORKERS]
    assert len(set(held)) == 3
    views = [fleet.research.seen_by(w) for w in ("", *WORKERS)]
    assert all(v.seen_by("") == views[0] for v in views)
    shared = [v.model_dump(exclude={"worker", "lanes", *Lane.model_fields}) for v in views]
    assert all(s == shared[0] for s in shared)
    assert views[0].attempt is None
    assert {q.worker for q in views[0].questions.values() if q.status == "in_progress"} == set(WORKERS)


@pytest.mark.rule("D51", "D30")
def test_what_one_has_to_read_keeps_no_other_from_working() -> None:
    fleet = Fleet()
    fleet.turn("w1")
    due = PendingExtraction(key="s_001:0", source_id="s_001", sha256="x", start=0, end=9, question_id=ROOT)
    fleet.research = evolve(fleet.research.seen_by("w1"), ev.ExtractionDue(at=fleet.now, items=(due,)))
    assert fleet.turn("w2") == "acting"
    assert fleet.turn("w1") == "extracting"


@pytest.mark.rule("D14", "D51")
def test_no_more_are_in_progress_than_max_parallel_and_the_next_waits() -> None:
    fleet = Fleet(max_parallel=2)
    assert [fleet.turn(w) for w in WORKERS] == ["acting", "acting", turns.WAIT]
    fleet.resolve("w1")
    assert fleet.route("w1") == "Answered"
    assert fleet.turn("w3") == "acting"


@pytest.mark.rule("D51", "D24")
def test_planning_root_and_conclusion_are_the_leads() -> None:
    fleet = Fleet(questions=2)
    assert fleet.turn("", fleet=True) == turns.FAN_OUT
    for worker in WORKERS[:2]:
        fleet.turn(worker)
    assert fleet.turn("w3") == turns.WAIT
    assert fleet.turn("") == turns.WAIT
    for worker in WORKERS[:2]:
        fleet.resolve(worker)
        fleet.route(worker)
    assert [fleet.turn(w) for w in WORKERS] == [turns.IDLE] * 3
    assert fleet.turn("") == "acting"
    assert fleet.research.seen_by("").attempt.question_id == ROOT  # type: ignore[union-attr]


@pytest.mark.rule("D15", "D51", "A21")
def test_a_question_whose_worker_is_gone_returns_uncharged_and_is_taken_by_another() -> None:
    fleet = Fleet()
    fleet.turn("w1")
    held = fleet.attempt("w1").question_id
    fleet.do("w1", turns.decide_release, "its worker is gone")
    question = fleet.research.questions[held]
    assert (question.status, question.attempts, question.worker) == ("pending", 0, "")
    assert fleet.attempt("w1") is None
    assert fleet.turn("w2") == "acting"
    assert fleet.attempt("w2").question_id == held


@pytest.mark.rule("D46", "D51")
def test_when_exploration_ends_each_worker_gives_its_question_back() -> None:
    fleet = Fleet()
    for worker in WORKERS:
        fleet.turn(worker)
    fleet.do("", runs.decide_abort, "enough")
    assert fleet.research.phase == "synthesis"
    assert [fleet.turn(w) for w in WORKERS] == [turns.IDLE] * 3
    assert not [q for q in fleet.research.questions.values() if q.status == "in_progress"]
    assert fleet.turn("") == "synthesizing"


@pytest.mark.rule("D54", "D51")
def test_time_in_which_nobody_worked_counts_for_no_workers_attempt() -> None:
    fleet = Fleet()
    fleet.turn("w1")
    fleet.do("", runs.decide_stop)
    fleet.now += timedelta(hours=5)
    fleet.do("", runs.decide_resume)
    assert fleet.attempt("w1").paused_seconds >= 5 * 3600


class Workers(RuleBasedStateMachine):
    """Three workers and their lead in any order, any of them dying at any time."""

    @initialize(size=st.integers(1, 6), parallel=st.integers(1, 3), attempts=st.integers(1, 3))
    def opened(self, size: int, parallel: int, attempts: int) -> None:
        self.fleet = Fleet(questions=size, max_parallel=parallel, max_attempts=attempts, max_questions=9)

    def running(self) -> bool:
        return hasattr(self, "fleet") and self.fleet.research.status == "running"

    @precondition(running)
    @rule(worker=st.sampled_from(WORKERS))
    def turn(self, worker: str) -> None:
        self.fleet.turn(worker)

    @precondition(running)
    @rule()
    def lead(self) -> None:
        self.fleet.turn("", fleet=True)

    @precondition(running)
    @rule(worker=st.sampled_from(("", *WORKERS)), how=st.sampled_from(["resolve", "bound", "retry", "prune"]))
    def end(self, worker: str, how: str) -> None:
        attempt = self.fleet.attempt(worker)
        if attempt is None or attempt.ended or attempt.kind == "report":
            return
        if how == "resolve":
            self.fleet.resolve(worker)
        elif how == "retry":
            self.fleet.do(worker, answers.decide_retry, attempt.question_id, f"words {len(self.fleet.log)}", "nothing")
        elif how == "prune" and attempt.question_id != ROOT:
            self.fleet.do(worker, frontier_commands.decide_prune, attempt.question_id, "no matter")
        else:
            self.fleet.do(worker, answers.decide_bound, "turns")

    @precondition(running)
    @rule(worker=st.sampled_from(("", *WORKERS)), passed=st.booleans(), complete=st.booleans())
    def route(self, worker: str, passed: bool, complete: bool) -> None:
        attempt = self.fleet.attempt(worker)
        if attempt is not None and attempt.ended:
            self.fleet.route(worker, passed=passed, complete=complete)

    @precondition(running)
    @rule(worker=st.sampled_from(WORKERS))
    def die(self, worker: str) -> None:
        attempt = self.fleet.attempt(worker)
        if attempt is not None and not attempt.ended:
            self.fleet.do(worker, turns.decide_release, "its worker is gone")

    @precondition(running)
    @rule(worker=st.sampled_from(WORKERS), other=st.integers(0, 8), priority=st.floats(0, 1))
    def add(self, worker: str, other: int, priority: float) -> None:
        parents = list(self.fleet.research.questions)
        given = {
            "parent_id": parents[other % len(parents)], "question": f"Why {other} and {priority}?", "rationale": "r",
            "priority": priority, "validation_criteria": "c",
        }  # fmt: skip
        if isinstance(self.fleet.decide(worker, frontier_commands.decide_add_question, **given), Accepted):
            self.fleet.do(worker, frontier_commands.decide_add_question, **given)

    @invariant()
    def each_question_in_progress_has_exactly_one_worker(self) -> None:
        if not hasattr(self, "fleet"):
            return
        r = self.fleet.research
        held = [a.question_id for a in r.attempts_under_way().values() if a.kind == "question"]
        assert len(held) == len(set(held))
        busy = {q.id for q in r.questions.values() if q.status == "in_progress"}
        assert busy <= set(held)
        assert len(busy) <= r.thresholds.max_parallel
        assert all(r.questions[q].worker in ("", *WORKERS) for q in busy)
        assert {q: r.questions[q].worker for q in busy} == {
            a.question_id: w for w, a in r.attempts_under_way().items() if a.question_id in busy
        }

    @invariant()
    def attempts_are_numbered_once(self) -> None:
        if hasattr(self, "fleet"):
            started = [e.number for _, e in self.fleet.log if isinstance(e, ev.AttemptStarted)]
            assert started == list(range(1, len(started) + 1))
            states = [e.seq for _, e in self.fleet.log if isinstance(e, ev.StateRecorded)]
            assert states == list(range(1, len(states) + 1))

    def teardown(self) -> None:
        if not hasattr(self, "fleet"):
            return
        r = Research()
        for number, (worker, event) in enumerate(self.fleet.log):
            r = evolve(r.seen_by(worker), ev.EVENT.validate_json(ev.EVENT.dump_json(event)))
            if number % 7 == 0:
                r = Research.model_validate_json(r.seen_by(WORKERS[number % 3]).model_dump_json())
        assert r.seen_by("") == self.fleet.research.seen_by("")
        self.come_to_an_end()

    def come_to_an_end(self) -> None:
        """Whatever happened, diligent workers and their lead end the run."""
        for _ in range(60):
            for worker in ("", *WORKERS):
                if self.fleet.research.status != "running":
                    return
                attempt = self.fleet.attempt(worker)
                if attempt is not None and attempt.ended:
                    self.fleet.route(worker)
                    continue
                said = self.fleet.turn(worker)
                attempt = self.fleet.attempt(worker)
                if said in ("acting", "challenging") and attempt is not None:
                    self.fleet.resolve(worker)
                elif said in ("verifying", "challenging", "synthesizing"):
                    self.fleet.do(worker, runs.decide_abort, "enough")
                    return
        raise AssertionError(f"no end: {self.fleet.research.questions}")


TestWorkers = pytest.mark.rule("D14", "D51", "D15")(Workers.TestCase)
TestWorkers.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
