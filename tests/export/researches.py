"""Small researches that the tests of this folder render: one plant, two figures for its power."""

from datetime import UTC, datetime, timedelta
from typing import Any

from zetetic.state import events as ev
from zetetic.state.citations import sections
from zetetic.state.evolve import fold
from zetetic.state.research import Research
from zetetic.state.thresholds import Thresholds
from zetetic.state.values import (
    Challenge,
    Claim,
    Evaluation,
    Evidence,
    Extension,
    GateResult,
    Question,
    Routing,
    Source,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def at(minute: float) -> datetime:
    """A time of the run, in minutes since it was opened."""
    return T0 + timedelta(minutes=minute)


def opened(**fields: Any) -> ev.Event:
    given = {"run_id": "run-1", "objective": "How big is the plant?", "notes_id": "0" * 32, "scope": "One plant."}
    return ev.RunOpened(at=T0, **{**given, **fields})


def source(number: int, minute: float = 1, **fields: Any) -> ev.Event:
    url = f"https://site{number}.org/page"
    given = {
        "url": url,
        "canonical": url,
        "domain": f"site{number}.org",
        "title": f"Page {number}",
        "sha256": f"{number:064x}",
    }
    return ev.SourceRegistered(at=at(minute), source=Source(id=f"s_{number:03d}", at=at(minute), **{**given, **fields}))


def claim(number: int, text: str, *sources: int, status: str = "UNVERIFIED", **fields: Any) -> ev.Event:
    evidence = tuple(Evidence(source_id=f"s_{n:03d}", quote=f"quote {n} of {text}") for n in sources)
    given = {"id": f"c_{number:03d}", "question_id": "q_001", "evidence": evidence, "at": at(number)}
    record = Claim(text=text, status=status, **{**given, **fields})
    return ev.ClaimRecorded(at=at(number), claim=record)


def question(number: int, text: str, **fields: Any) -> ev.Event:
    given = {"id": f"q_{number:03d}", "parent_id": "q_001", "depth": 1, "created_at": at(1), "updated_at": at(1)}
    return ev.QuestionAdded(at=at(1), question=Question(question=text, **{**given, **fields}), actor="agent")


def settled(
    question_id: str, status: str, answer: str, *claim_ids: str, minute: float = 8, **fields: Any
) -> list[ev.Event]:
    moved = ev.QuestionMoved(
        at=at(minute),
        question_id=question_id,
        from_status="in_progress",
        to_status=status,
        trigger="resolved" if status == "resolved" else "attempts_exhausted",
        actor="code",
        priority=0.5,
        attempts=1,
    )
    told = ev.QuestionAnswered(at=at(minute), question_id=question_id, answer=answer, claim_ids=claim_ids, **fields)
    return [told, moved]


def challenge(number: int, target: str, outcome: str, **fields: Any) -> ev.Event:
    given = {
        "question_id": "q_001",
        "target_type": "claim",
        "target_text": "t",
        "negation": "n",
        "strategy": "negation",
        "expected_if_false": "e",
        "query": f"query {number}",
        "executed": True,
        "status": "closed",
        "at": at(number),
    }
    made = Challenge(id=f"ch_{number:03d}", target_id=target, outcome=outcome, **{**given, **fields})
    return ev.ChallengeRegistered(at=at(number), challenge=made)


def evaluated(number: int, route: str, minute: float, kind: str = "question", **fields: Any) -> ev.Event:
    routing = Routing(
        blocked=route == "Blocked",
        expired=False,
        verified=route == "Answered",
        complete=route == "Answered",
        attempts=1,
        unverified_streak=0,
        unproductive_streak=0,
        thresholds={"attempt_cap": 4, "unverified_streak_limit": 2, "unproductive_streak_limit": 2},
        route=route,
    )
    given = {
        "number": number,
        "kind": kind,
        "question_id": "q_001",
        "objective": "How big is the plant?",
        "routing": routing,
        "at": at(minute),
        "seconds": 60.0,
        "tokens": 100,
    }
    return ev.AttemptEvaluated(at=at(minute), evaluation=Evaluation(**{**given, **fields}))


def synthesis(reason: str = "finalized", minute: float = 20, **fields: Any) -> ev.Event:
    given = {"gate_passed": reason == "finalized"}
    return ev.PhaseChanged(at=at(minute), phase="synthesis", reason=reason, **{**given, **fields})


def drafted(text: str, **fields: Any) -> ev.Event:
    return ev.ReportDrafted(at=at(21), text=text, **fields)


def ended(status: str = "complete", reason: str = "finalized", **fields: Any) -> ev.Event:
    return ev.RunEnded(at=at(30), status=status, stop_reason=reason, **fields)


def plant(*more: ev.Event, **run: Any) -> Research:
    """Two sources for 240 MW (verified), one for its age (unverified), and the objective resolved."""
    return fold(
        Research(),
        [
            opened(**run),
            source(1, published="2016-05-01"),
            source(2, location="docs/plant.pdf"),
            source(3, note="read, nothing relevant"),
            claim(1, "The plant gives 240 MW.", 1, 2, status="VERIFIED"),
            claim(2, "The plant was built in 1990.", 2, check="a second source"),
            challenge(1, "c_001", "survived"),
            *settled("q_001", "resolved", "It gives 240 MW.", "c_001"),
            *more,
        ],
    )


def extension(minute: float, iterations: int) -> ev.Event:
    room = Extension(at=at(minute), by="user", iterations=iterations)
    return ev.RunResumed(at=at(minute), extension=room, thresholds=Thresholds(max_iterations=1 + iterations))


GATE = GateResult(gate="verified", passed=False, why="no quote")


DRAFT = """# A title of the model

It gives 240 MW. [c_001] It was built in 1990 [c_002].

## Details
- Both say so [c_002, c_001].

## Gaps
- Who paid is unknown [q_002].

## References
1. https://example.com
"""


def finished(*more: ev.Event, draft: str = DRAFT, **run: object) -> Research:
    return plant(*more, synthesis(), drafted(draft), ended(), **run)


def part(report: str, title: str) -> str:
    """The text of one section of a report."""
    return next(section.body for section in sections(report) if section.title == title)


def gaps_of(report: str) -> list[str]:
    return [line for line in part(report, "Gaps and assumptions").split("\n") if line]
