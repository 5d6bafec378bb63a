"""A small world of pages in which the real decisions are played, one tool call a turn, and its states compared.

Time stands still and no budget runs out: what ends a play here is a rule of the loop, never a breaker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal

from zetetic.sources import Hit, SearchResult, SearchStatus, text_sketch
from zetetic.state import runs, turns
from zetetic.state.decision import Accepted, Refusal
from zetetic.state.evaluation import ARMS, ArmResult, decide_route
from zetetic.state.evolve import fold
from zetetic.state.independence import independent_support
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import Holdings
from zetetic.tools import READS, Call, decide_call, quoted_sources, read_args
from zetetic.tools.reading import PageRead, ReadResult, observed, refusal, seen_before

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAGES = {
    "https://one.org/a": "The tower is 42 metres tall. Masons from the coast built it in a long dry summer.",
    "https://two.net/b": "Surveyors with a theodolite agree: the tower is 42 metres tall. They came by boat.",
    "https://three.com/c": "Our guide to the island says the tower is 41 metres tall, as every child there knows.",
    "https://four.edu/d": "An engraving by the quay gives it in brass: the tower is 41 metres tall. So be it.",
}
"""Two pages for each of two figures, each from a site of its own and with a text of its own."""
FIGURES = {"42": ("https://one.org/a", "https://two.net/b"), "41": ("https://three.com/c", "https://four.edu/d")}
AMPLE = {
    "max_turns": 100_000,
    "max_iterations": 100_000,
    "attempt_turns": 10_000,
    "planning_turns": 10_000,
    "conclusion_turns": 10_000,
    "barren_rounds_limit": 10_000,
    "plateau_records": 10_000,
    "max_wall_time_seconds": 1e6,
}
"""What would end a run by being used up is never used up here."""
MADE_UP = re.compile(r"(?:probe|word)\d+ of \d+ and \d+")
Verdict = Literal["answered", "unverified", "partial", "restart"]
Play = tuple[str, dict[str, Any]]
"""One tool call: name and arguments."""


def thresholds(**changed: Any) -> Thresholds:
    """The small world's bounds: four questions, two attempts, two challenges of a target."""
    small = {"max_questions": 4, "max_attempts": 2, "max_challenges_per_target": 2, "min_sources": 1, "min_domains": 1}
    return Thresholds(**{**AMPLE, **small, **changed})


def render(research: Research) -> str:
    """Stands for the report's rendering, which no rule here reads."""
    return "report"


def opened(bounds: Thresholds, criteria: tuple[str, ...] = ("It gives the height.",)) -> Research:
    """A run just opened, with its first turn begun."""
    decision = runs.decide_open(
        Research(), run_id="small", objective="How tall is the tower?", notes_id="0" * 32, criteria=criteria,
        thresholds=bounds, holdings=Holdings(), at=NOW,
    )  # fmt: skip
    assert isinstance(decision, Accepted)
    return begun(fold(Research(), decision.events))


def begun(research: Research) -> Research:
    """The research with its next turn begun."""
    decision = turns.decide_turn(research, at=NOW, render=render)
    assert isinstance(decision, Accepted)
    return fold(research, decision.events)


@dataclass(frozen=True, slots=True)
class Step:
    """What one call did: the research after it, and what the model was told of it."""

    research: Research
    told: str
    refused: bool


def called(research: Research, play: Play) -> Step:
    """One tool call, as act and observe carry it out."""
    name, given = play
    args = read_args(name, given)
    if isinstance(args, str):
        return Step(research, args, True)
    if name in READS:
        return _read(research, name, args)
    pages = {}
    for source_id in quoted_sources(args):
        source = research.sources.get(source_id)
        if source is not None:
            pages[source_id] = PAGES[source.url]
    call = Call(args=args, at=NOW, question_id=research.turn.question_id or "q_001", pages=pages)
    decision = decide_call(research, name, call)
    if isinstance(decision, Refusal):
        return Step(research, decision.message, True)
    return Step(fold(research, decision.events), decision.message, False)


def _read(research: Research, name: str, args: Any) -> Step:
    if name not in turns.allowed_tools(research) or (research.attempt is not None and research.attempt.ended):
        return Step(research, f"{name} is not allowed now", True)
    url = args.url if name == "fetch_page" else ""
    why = refusal(research, args, url)
    if why:
        return Step(research, f"Refused. {why}", True)
    if name == "web_search":
        hits = tuple(Hit(url=u, title=u, snippet=text) for u, text in PAGES.items()) if "tower" in args.query else ()
        found = SearchResult(provider="small", status=SearchStatus.OK if hits else SearchStatus.NO_RESULTS, hits=hits)
        result = ReadResult(
            call_id="1", tool="web_search", query=args.query, challenge_id=args.challenge_id, search=found
        )
    elif (known := seen_before(research, url)) is not None:
        return Step(research, f"{known.id} was read already", True)
    else:
        text = PAGES[url]
        page = PageRead(
            url=url, final_url=url, canonical=url, title=url, media_type="text/html", domain=url.split("/")[2],
            sketch=text_sketch(text), sha256=sha256(text.encode()).hexdigest(), length=len(text),
        )  # fmt: skip
        result = ReadResult(call_id="1", tool="fetch_page", query=url, canonical=url, page=page)
    happened, told = observed(research, [result], at=NOW)
    return Step(fold(research, happened), told["1"], False)


def after_turn(research: Research, names: tuple[str, ...], verdict: Verdict) -> Research:
    """The research after a turn that called these tools: closed, evaluated where its attempt ended, the next begun."""
    closed = turns.decide_update(research, called=names, at=NOW, render=render)
    assert isinstance(closed, Accepted)
    research = fold(research, closed.events)
    if research.attempt is not None and research.attempt.ended:
        routed = decide_route(research, arms_said(research.attempt.number, verdict), at=NOW, render=render)
        assert isinstance(routed, Accepted)
        research = fold(research, routed.events)
    return begun(research) if research.status == "running" else research


def arms_said(attempt: int, verdict: Verdict) -> Mapping[str, ArmResult]:
    """The four arms in one of four moods."""
    passed, complete = verdict != "unverified", verdict in ("answered", "unverified")
    said = {arm: ArmResult(arm=arm, attempt=attempt) for arm in ARMS}
    said["judge"] = ArmResult(arm="judge", attempt=attempt, verdict="Restart" if verdict == "restart" else "Proceed")
    said["verify"] = ArmResult(arm="verify", attempt=attempt, passed=passed and verdict != "restart")
    missing = [] if complete else ["the year it was measured"]
    said["completeness"] = ArmResult(arm="completeness", attempt=attempt, passed=complete, findings=missing)
    return dict(said)


def state_of(r: Research) -> str:
    """What two researches must share to go on alike: everything the decisions read but time, counts of turns and
    records, and the wording of queries, which can always be worded anew. Words that were made up to be new are named
    in the order in which they come."""
    names: dict[str, str] = {}
    return MADE_UP.sub(lambda m: names.setdefault(m[0], f"new{len(names)}"), repr(_facts(r)))


def _facts(r: Research) -> tuple[Any, ...]:
    version = r.conclusion.version
    questions = tuple(
        (
            q.id, q.parent_id, q.depth, q.kind, q.status, q.priority, q.attempts, q.unverified_streak,
            q.unproductive_streak, q.answer, q.claim_ids, bool(q.why_unverified), q.pair, r.dependencies.get(q.id, ()),
            sorted({bool(x.challenge_id) for x in r.queries.get(q.id, ())}),
        )
        for q in r.questions.values()
    )  # fmt: skip
    claims = tuple(
        (c.id, c.status, c.text, tuple((e.source_id, e.stance, bool(e.independence)) for e in c.evidence),
         independent_support(r, c))
        for c in r.claims.values()
    )  # fmt: skip
    challenges = sorted(
        (c.target_type, c.target_id, c.target_text, c.strategy, c.executed, c.status, c.outcome or "", c.question_id)
        for c in r.challenges.values()
        if c.target_type != "conclusion" or c.version == version or c.status == "open"
    )
    attempt = None if r.attempt is None else (r.attempt.kind, r.attempt.question_id, r.attempt.ended)
    return (
        r.status, r.phase, r.exploration_stop, r.gate_passed, r.reopens, bool(r.atomic_reason), r.criteria, questions,
        tuple(sorted(r.sources)), claims, r.contradictions, challenges, bool(r.conclusion.text),
        r.conclusion.explanation, attempt, r.turn.stage, r.turn.detail, (r.report.attempts, r.report.unverified_streak,
        r.report.unproductive_streak), r.pending,
    )  # fmt: skip
