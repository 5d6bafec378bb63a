"""Any sequence of decisions: what holds after each, whatever was asked for in whatever order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from state.build import ROOT, Run, bounds, judged
from state.test_frontier import by_the_book

from zetetic.state import answers, challenges, claims, evaluation, frontier_commands, runs
from zetetic.state import events as ev
from zetetic.state.claims import verification_missing
from zetetic.state.decision import Accepted, Refusal
from zetetic.state.evolve import evolve, fold
from zetetic.state.frontier import frontier_summary, select_next
from zetetic.state.gates import is_addressed
from zetetic.state.independence import independent_support
from zetetic.state.research import Research
from zetetic.state.turns import decide_turn, decide_update
from zetetic.state.values import OPEN, Question
from zetetic.state.wording import folded

pytestmark = pytest.mark.rule(
    "D1", "D7", "D8", "D11", "D12", "D13", "D14", "D15", "D16", "D17", "D32", "D34", "D38", "A13", "A19"
)  # fmt: skip

ALLOWED = {
    ("pending", "in_progress"): {"selected"},
    ("pending", "blocked"): {"dependency_failed"},
    ("pending", "pruned"): {"pruned_branch", "pruned_scope"},
    ("in_progress", "pending"): {"retried", "released", "dependency_added"},
    ("in_progress", "resolved"): {"resolved"},
    ("in_progress", "unresolvable"): {"attempts_exhausted"},
    ("in_progress", "blocked"): {"prerequisite_missing"},
    ("in_progress", "pruned"): {"pruned_branch"},
    ("blocked", "pending"): {"rewritten", "dependency_met", "prerequisite_met"},
    ("blocked", "pruned"): {"pruned_branch", "pruned_scope"},
    ("resolved", "pending"): {"reopened", "contradiction"},
    ("unresolvable", "pending"): {"reopened", "contradiction"},
}
VERBS = ("build", "pay", "run", "close", "measure", "sell", "own", "plan", "paint", "insure", "move", "heat")
WHAT = ("tower", "pump", "grid", "dam", "river", "bridge", "office", "meter", "turbine", "roof")
PRIORITIES = st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0])
FEW = st.integers(0, 40)


class Sequences(RuleBasedStateMachine):
    """Decisions in any order, each applied if it was accepted."""

    run: Run
    before: Research
    texts: itertools.count[int]

    @initialize(
        attempts=st.integers(1, 3),
        depth=st.integers(1, 3),
        size=st.integers(3, 12),
        reopens=st.integers(0, 1),
        needed=st.integers(1, 2),
        turns=st.sampled_from([6, 60]),
    )
    def opened(self, attempts: int, depth: int, size: int, reopens: int, needed: int, turns: int) -> None:
        self.run = Run(
            max_attempts=attempts,
            max_depth=depth,
            max_questions=size,
            max_reopens=reopens,
            min_independent_sources=needed,
            max_turns=turns,
            min_sources=1,
            min_domains=1,
            planning_turns=1,
            conclusion_turns=2,
        )
        self.texts = itertools.count()
        self.history: dict[str, str] = {ROOT: "pending"}
        self.seen = len(self.run.events)

    # Help.

    def pick(self, among: Any, n: int, none: str) -> str:
        names = list(among)
        return names[n % len(names)] if names else none

    def question(self, n: int) -> str:
        return self.pick(self.run.research.questions, n, ROOT)

    def claim(self, n: int) -> str:
        return self.pick(self.run.research.claims, n, "c_001")

    def text(self) -> str:
        n = next(self.texts)
        return f"who will {VERBS[n % 12]} {WHAT[(n // 12) % 10]} x{n}"

    def try_(self, decide: Any, *args: Any, **kwargs: Any) -> None:
        """Decides twice on the same and lets it happen once."""
        r = self.run.research
        before = r.model_dump_json()
        first = self.run.decide(decide, *args, **kwargs)
        assert self.run.decide(decide, *args, **kwargs) == first
        assert self.run.research is r
        assert r.model_dump_json() == before
        if isinstance(first, Refusal):
            assert all(first.missing)
            return
        at_the_change(r, first)
        self.run.happen(*first.events)

    # The frontier.

    @rule(
        parent=FEW,
        priority=PRIORITIES,
        deps=st.lists(FEW, max_size=2),
        blocks=st.booleans(),
        kind=st.sampled_from(["question", "hypothesis"]),
    )
    def add(self, parent: int, priority: float, deps: list[int], blocks: bool, kind: Any) -> None:
        self.try_(
            frontier_commands.decide_add_question,
            parent_id=self.question(parent),
            question=self.text(),
            rationale="r",
            priority=priority,
            validation_criteria="c",
            depends_on=[self.question(d) for d in deps],
            kind=kind,
            blocks_current=blocks,
        )

    @rule()
    def select(self) -> None:
        r = self.run.research
        chosen = select_next(r)
        assert chosen == by_the_book(r)
        if r.phase == "exploration" and r.status == "running":
            self.try_(frontier_commands.decide_select)

    @rule()
    def atomic(self) -> None:
        self.try_(frontier_commands.decide_atomic, "one figure")

    @rule(n=FEW, priority=PRIORITIES)
    def set_priority(self, n: int, priority: float) -> None:
        self.try_(frontier_commands.decide_set_priority, self.question(n), priority, "why")

    @rule(n=FEW)
    def prune(self, n: int) -> None:
        self.try_(frontier_commands.decide_prune, self.question(n), "why")

    @rule(n=FEW)
    def rewrite(self, n: int) -> None:
        self.try_(frontier_commands.decide_rewrite, self.question(n), self.text(), "c", "why")

    @rule(n=FEW, d=FEW)
    def drop_dependency(self, n: int, d: int) -> None:
        question_id = self.question(n)
        needed = self.pick(self.run.research.dependencies.get(question_id, ()), d, ROOT)
        self.try_(frontier_commands.decide_drop_dependency, question_id, needed, "why")

    @rule(n=FEW, actor=st.sampled_from(["agent", "agent", "person"]), priority=st.none() | PRIORITIES)
    def reopen(self, n: int, actor: Any, priority: float | None) -> None:
        self.try_(frontier_commands.decide_reopen, self.question(n), "why", actor=actor, priority=priority)

    # Attempts.

    def at_work(self) -> bool:
        attempt = self.run.research.attempt
        return attempt is not None and attempt.kind == "question" and not attempt.ended

    @precondition(at_work)
    @rule(cited=st.lists(FEW, max_size=2), reasons=st.booleans())
    def resolve(self, cited: list[int], reasons: bool) -> None:
        current = self.run.research.current
        assert current is not None
        given = {"why_unverified": "w", "why_unchallenged": "w", "why_no_refuting": "w"} if reasons else {}
        self.try_(answers.decide_resolve, current.id, "It is so.", [self.claim(c) for c in cited], **given)

    @precondition(at_work)
    @rule(assumption=st.sampled_from(["", "about 200"]))
    def retry(self, assumption: str) -> None:
        current = self.run.research.current
        assert current is not None
        self.try_(answers.decide_retry, current.id, self.text(), "why", assumption)

    @precondition(at_work)
    @rule(outcome=st.sampled_from(["turns", "time", "ceiling", "breaker"]))
    def bound(self, outcome: Any) -> None:
        self.try_(answers.decide_bound, outcome, expired=outcome == "ceiling")

    @precondition(at_work)
    @rule(what=st.sampled_from(["quota", "prerequisite:no documents"]))
    def blocked(self, what: str) -> None:
        self.try_(answers.decide_blocked, what)

    @rule(
        verdict=st.sampled_from(["Proceed", "Steer", "Restart", "?"]),
        passed=st.booleans(),
        complete=st.booleans(),
        absent=st.sets(st.sampled_from(evaluation.ARMS), max_size=2),
    )
    def route(self, verdict: str, passed: bool, complete: bool, absent: set[str]) -> None:
        attempt = self.run.research.attempt
        if attempt is None or not attempt.ended or self.run.research.status != "running":
            return
        arms = judged(attempt.number, verdict=verdict, passed=passed, complete=complete)
        self.try_(evaluation.decide_route, {a: v for a, v in arms.items() if a not in absent})
        r = self.run.research
        assert r.attempt is None or r.status == "blocked"

    # Evidence.

    @rule(contradicting=st.booleans())
    def record_claim(self, contradicting: bool) -> None:
        text = f"Statement {next(self.texts)} holds."
        source_id = self.run.source(text)
        entry = claims.Entry(text=text, quote=text, source_id=source_id)
        where = challenges.where_logged(self.run.research)
        self.try_(claims.decide_append, [entry], pages=self.run.pages, question_id=where)
        if contradicting:
            self.try_(claims.decide_link, self.claim(-1), "contradicts", self.claim(0))

    @rule(n=FEW, stance=st.sampled_from(["supports", "contradicts"]), domain=st.sampled_from(["", "site001.org"]))
    def add_source(self, n: int, stance: Any, domain: str) -> None:
        known = self.run.research.claims.get(self.claim(n))
        if known is not None:
            source_id = self.run.source(known.text, domain)
            self.try_(claims.decide_add_source, known.id, source_id, stance, known.text, "reason", pages=self.run.pages)

    @rule(n=FEW, status=st.sampled_from(["VERIFIED", "VERIFIED", "UNVERIFIED", "REFUTED"]))
    def set_status(self, n: int, status: Any) -> None:
        self.try_(claims.decide_set_status, self.claim(n), status, "why")

    @rule(n=FEW)
    def retract(self, n: int) -> None:
        self.try_(claims.decide_retract, self.claim(n), "why")

    @rule(n=FEW)
    def amend(self, n: int) -> None:
        self.try_(claims.decide_amend, self.claim(n), f"Statement {next(self.texts)} holds.", "why")

    @rule(n=FEW, kind=st.sampled_from(["claim", "claim", "question_answer", "conclusion"]), k=st.integers(0, 6))
    def challenge(self, n: int, kind: Any, k: int) -> None:
        strategy = challenges.STRATEGIES[k]
        target_id = {"claim": self.claim(n), "question_answer": self.question(n), "conclusion": ""}[kind]
        self.try_(
            challenges.decide_challenge,
            target_type=kind,
            target_id=target_id,
            target_text="" if kind == "claim" else "It is so.",
            negation="n",
            strategy=strategy,
            expected_if_false="e",
            query=self.text(),
            question_id=challenges.where_logged(self.run.research),
        )

    @rule(n=FEW, status=st.sampled_from(["ok", "ok", "no_results", "failed"]))
    def execute(self, n: int, status: Any) -> None:
        unrun = [c.id for c in self.run.research.open_challenges() if not c.executed]
        if unrun:
            self.run.run_challenge(unrun[n % len(unrun)], status)

    @rule(n=FEW, outcome=st.sampled_from(["survived", "survived", "weakened", "refuted", "inconclusive"]))
    def record(self, n: int, outcome: Any) -> None:
        challenge_id = self.pick([c.id for c in self.run.research.open_challenges()], n, "ch_001")
        sources = list(self.run.research.sources)[:1]
        self.try_(
            challenges.decide_record_result,
            challenge_id,
            outcome,
            "evidence",
            sources,
            amended_text=f"Statement {next(self.texts)} holds.",
        )

    # Longer steps, so that sequences get somewhere.

    @rule(cited=st.lists(FEW, max_size=2), passed=st.booleans(), complete=st.booleans())
    def work_through(self, cited: list[int], passed: bool, complete: bool) -> None:
        self.turn(0)
        if self.at_work():
            self.resolve(cited, True)
            self.route("Proceed", passed, complete, set())

    @rule(n=FEW)
    def fail_a_dependency(self, n: int) -> None:
        self.add(n, 0.5, [], False, "question")
        needed = self.question(-1)
        self.add(n, 0.7, [-1], False, "question")
        self.add(n, 0.2, [-1], False, "question")
        if self.run.question(needed).status == "pending":
            self.try_(frontier_commands.decide_prune, needed, "why")

    @rule()
    def verify_through(self) -> None:
        self.record_claim(False)
        claim_id = self.claim(-1)
        self.add_source(-1, "supports", "")
        self.challenge(-1, "claim", 0)
        self.challenge_through(-1, "survived")
        self.set_status(-1, "VERIFIED")
        assert self.run.research.claims[claim_id].status in ("VERIFIED", "UNVERIFIED")

    @rule(n=FEW, outcome=st.sampled_from(["survived", "weakened", "refuted", "inconclusive"]))
    def challenge_through(self, n: int, outcome: str) -> None:
        self.execute(n, "ok")
        run = [i for i, c in enumerate(self.run.research.open_challenges()) if c.executed]
        if run:
            self.record(run[n % len(run)], outcome)

    @rule(passed=st.booleans(), complete=st.booleans())
    def report_through(self, passed: bool, complete: bool) -> None:
        if self.run.research.phase == "synthesis":
            self.turn(0)
            self.finalize(0, False)
            self.route("Proceed", passed, complete, set())

    # The run.

    @rule(wait=st.sampled_from([0, 0, 0, 0, 1000, 7000]))
    def turn(self, wait: float) -> None:
        self.run.wait(wait)
        before = self.run.research
        self.try_(decide_turn, render=lambda _: "rendered")
        after = self.run.research
        idle = before.status != "running" or (before.attempt is not None and before.attempt.ended)
        assert idle or after.version > before.version, "a turn begins, an attempt ends, or the run does"

    @rule(failed=st.sampled_from(["", "", "quota"]))
    def close_turn(self, failed: str) -> None:
        if self.run.research.status == "running" and self.run.research.turns:
            self.try_(decide_update, called=["web_search"], provider_failed=failed, render=lambda _: "rendered")

    @rule()
    def finish(self) -> None:
        if self.run.research.status == "running":
            self.try_(runs.decide_finish, "because")

    @rule(n=FEW, reopen=st.booleans())
    def finalize(self, n: int, reopen: bool) -> None:
        r = self.run.research
        if r.status == "running":
            gaps = "".join(f"- Not answered [{q.id}].\n" for q in r.questions.values())
            report = f"# Answer\n\n## Gaps\n\n{gaps}" + "".join(f"- {c} [{c}]\n" for c in list(r.claims)[:1])
            self.try_(runs.decide_finalize, report, (self.question(n), "why") if reopen else None)

    @rule(chance=FEW)
    def abort_or_stop(self, chance: int) -> None:
        if self.run.research.status == "running" and chance == 0:
            self.try_(runs.decide_abort, "why")
        elif chance == 1:
            self.try_(runs.decide_stop)

    @rule(turns=st.sampled_from([0, 20]))
    def resume(self, turns: int) -> None:
        if self.run.research.status != "running":
            self.try_(runs.decide_resume, turns=turns, seconds=float(turns * 1000))

    # What holds.

    @invariant()
    def every_row_goes_on_from_the_one_before(self) -> None:
        for event in self.run.events[self.seen :]:
            if isinstance(event, ev.QuestionAdded):
                assert event.question.id not in self.history
                self.history[event.question.id] = event.question.status
            if isinstance(event, ev.QuestionMoved):
                assert self.history[event.question_id] == event.from_status
                if event.from_status == event.to_status:
                    assert event.trigger == "reprioritized"
                else:
                    assert event.trigger in ALLOWED[event.from_status, event.to_status]
                self.history[event.question_id] = event.to_status
        self.seen = len(self.run.events)
        assert {q.id: q.status for q in self.run.research.questions.values()} == self.history

    @invariant()
    def ids_are_dense(self) -> None:
        r = self.run.research
        for prefix, names in (("q", r.questions), ("s", r.sources), ("c", r.claims), ("ch", r.challenges)):
            assert list(names) == [f"{prefix}_{n:03d}" for n in range(1, len(names) + 1)]

    @invariant()
    def one_root_and_no_cycle(self) -> None:
        r = self.run.research
        for question in r.questions.values():
            if question.id == ROOT:
                assert (question.parent_id, question.depth) == (None, 0)
                continue
            assert question.parent_id is not None
            assert question.depth == r.questions[question.parent_id].depth + 1
            assert question.depth <= max(1, r.thresholds.max_depth)
        left = {q: set(r.dependencies.get(q, ())) for q in r.questions}
        while free := [q for q, needs in left.items() if not needs & left.keys()]:
            for question_id in free:
                del left[question_id]
        assert left == {}
        assert all(ROOT not in needs for needs in r.dependencies.values())

    @invariant()
    def bounds_are_kept(self) -> None:
        r, t = self.run.research, self.run.research.thresholds
        busy = [q for q in r.questions.values() if q.status == "in_progress"]
        assert len(busy) <= t.max_parallel
        assert sum(q.spawned_by != "code" for q in r.questions.values()) <= t.max_questions
        assert all(0.0 <= q.priority <= 1.0 for q in r.questions.values())
        assert len(r.evaluations) <= t.max_iterations
        assert r.reopens <= t.max_reopens
        if r.attempt is not None and r.attempt.kind == "question" and r.status == "running":
            assert [q.id for q in busy] == [r.attempt.question_id] or r.attempt.outcome == "pruned"
        elif r.attempt is None:
            assert busy == [], "nothing is in progress without an attempt"

    @invariant()
    def nothing_pending_waits_on_what_was_pruned(self) -> None:
        r = self.run.research
        for question in r.questions.values():
            if question.status == "pending":
                assert all(r.questions[d].status != "pruned" for d in r.dependencies.get(question.id, ()))

    @invariant()
    def no_answer_rests_on_a_refuted_claim(self) -> None:
        r = self.run.research
        for question in r.questions.values():
            if question.status in ("resolved", "unresolvable"):
                assert all(r.claims[c].status != "REFUTED" for c in question.claim_ids)

    @invariant()
    def a_verified_claim_has_its_support(self) -> None:
        r = self.run.research
        for claim in r.claims.values():
            if claim.status == "VERIFIED":
                assert independent_support(r, claim) >= r.thresholds.min_independent_sources
                survived = [c for c in r.challenges_on("claim", claim.id) if c.outcome == "survived"]
                assert any(folded(c.target_text) == folded(claim.text) for c in survived)

    @invariant()
    def a_contradiction_has_one_question(self) -> None:
        r = self.run.research
        pairs = [frozenset(q.pair) for q in r.questions.values() if q.pair]
        assert len(set(pairs)) == len(pairs)
        assert all(c.question_id in r.questions for c in r.contradictions)

    @invariant()
    def the_exploration_that_goes_on_can_go_on(self) -> None:
        """Where something that matters is open, there is something to select, to unblock, or an attempt under way."""
        r = self.run.research
        if r.phase == "exploration" and r.attempt is None and select_next(r) is None:
            matter = [q for q in r.questions.values() if q.status in OPEN]
            assert all(q.status == "blocked" or waits_on_blocked(r, q) for q in matter)

    @invariant()
    def the_summary_is_bounded(self) -> None:
        assert len(frontier_summary(self.run.research)) < 9_000

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        r = Research()
        half = len(self.run.events) // 2
        for number, event in enumerate(self.run.events):
            r = evolve(r, ev.EVENT.validate_json(ev.EVENT.dump_json(event)))
            if number == half:
                r = Research.model_validate_json(r.model_dump_json())
        assert r == self.run.research == fold(Research(), self.run.events)
        finish(self.run)


def finish(run: Run) -> None:
    """A diligent worker with room brings any run to an accepted report: no state is a dead end."""
    room = bounds(
        max_turns=10_000, max_iterations=10_000, barren_rounds_limit=1000, plateau_records=1000, min_sources=1
    )
    room = room.model_copy(update={"min_domains": 1, "max_wall_time_seconds": 1e9, "max_reopens": 9})
    run.research = run.research.model_copy(update={"thresholds": room})
    for _ in range(200):
        r = run.research
        if r.status == "complete":
            return
        if r.status != "running":
            run.do(runs.decide_resume, turns=1)
            if r.status in ("reported", "failed"):
                run.research = run.research.model_copy(update={"thresholds": room})
        elif r.attempt is not None and r.attempt.ended:
            run.do(evaluation.decide_route, judged(r.attempt.number))
        else:
            stage = run.turn()
            if run.research.status == "running":  # else what is missing blocks it, and a person provides that
                work(run, stage)
    raise AssertionError(f"no end in 200 steps: {frontier_summary(run.research)}")


def work(run: Run, stage: str) -> None:
    """One turn of a diligent worker."""
    r = run.research
    for challenge in r.open_challenges():
        if not challenge.executed:
            run.run_challenge(challenge.id)
        run.record(challenge.id, "inconclusive")
    if stage == "planning":
        for question in [q for q in r.questions.values() if q.status == "blocked"]:
            if question.id != ROOT:
                run.do(frontier_commands.decide_rewrite, question.id, f"what of {question.id}x", "c", "freed")
            for needed in r.dependencies.get(ROOT, ()) if question.id == ROOT else ():
                run.do(frontier_commands.decide_drop_dependency, ROOT, needed, "freed")
        if len(r.questions) == 1 and not r.atomic_reason:
            run.do(frontier_commands.decide_atomic, "one figure")
    elif r.current is not None:
        run.resolve(f"An answer of version {r.version}.", why_no_refuting="none needed")
    elif stage == "synthesizing":
        gaps = "".join(f"- Not answered [{q.id}].\n" for q in r.questions.values() if q.status != "resolved")
        cited = "".join(f"- A statement [{c}].\n" for c in list(r.claims)[:1])
        run.do(runs.decide_finalize, f"# Answer\n\n## Gaps\n\n{gaps}{cited}")
    else:
        conclude(run)


def conclude(run: Run) -> None:
    """The last turns of exploration: what the gate still lacks is brought, and exploration is finished."""
    r = run.research
    for question in [q for q in r.questions.values() if q.status == "resolved" and not q.why_unverified]:
        if not any(r.claims[c].status == "VERIFIED" for c in question.claim_ids):
            run.do(frontier_commands.decide_reopen, question.id, "its claim is in doubt")
            return
    for pair in r.contradictions:
        if not is_addressed(r, pair) and r.questions[pair.question_id].priority < r.thresholds.gate_priority:
            run.do(frontier_commands.decide_set_priority, pair.question_id, 0.9, "to be settled")
            return
    run.source("one more page")
    text = f"The conclusion of version {r.version}."
    run.survive("conclusion", target_text=text, query=f"doubts {r.version}")
    run.do(runs.decide_finish)


def waits_on_blocked(r: Research, question: Question) -> bool:
    """Whether a question waits, directly or not, on a blocked one; the root waits on all that matter."""
    if question.id == ROOT:
        return any(q.status == "blocked" for q in r.questions.values())
    needs = [r.questions[d] for d in r.dependencies.get(question.id, ())]
    return any(n.status == "blocked" or waits_on_blocked(r, n) for n in needs)


def at_the_change(r: Research, decision: Accepted) -> None:
    """What must hold at the moment an event happens."""
    for event in decision.events:
        if isinstance(event, ev.ClaimMoved) and event.status == "VERIFIED":
            assert verification_missing(r, r.claims[event.claim_id]) == ()
        if isinstance(event, ev.QuestionMoved) and event.to_status == "resolved":
            evaluated = r.evaluations[-1]
            assert evaluated.routing.route == "Answered"
            assert evaluated.question_id == event.question_id
        if isinstance(event, ev.QuestionMoved) and event.trigger == "selected":
            assert r.attempt is None
        r = evolve(r, event)
    for event in decision.events:
        if isinstance(event, ev.ClaimMoved) and event.status == "REFUTED":
            citing = [q for q in r.questions.values() if event.claim_id in q.claim_ids]
            assert all(q.status not in ("resolved", "unresolvable") for q in citing)


Sequences.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestSequences = Sequences.TestCase
