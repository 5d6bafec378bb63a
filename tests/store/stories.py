"""Random but possible event logs, and whether a database's tables say what a research says."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decide
from zetetic.state.evolve import evolve
from zetetic.state.research import Research, next_id
from zetetic.state.values import (
    Challenge,
    Claim,
    Evaluation,
    Evidence,
    Gap,
    QueryRecord,
    Question,
    Routing,
    Source,
)
from zetetic.store.address import is_postgres

START = datetime(2026, 1, 1, tzinfo=UTC)
RUN = "run-1"


def opened(run_id: str = RUN, user: str = "") -> ev.RunOpened:
    return ev.RunOpened(at=START, run_id=run_id, objective="Is it so?", notes_id="n0te", user=user)


def giving(*events: ev.Event) -> Decide:
    return lambda _: Accepted(events)


def used(tokens: int = 1, at: datetime = START) -> ev.UsageRecorded:
    return ev.UsageRecorded(at=at, role="worker", input_tokens=tokens)


def scratch(text: str = "a thought") -> ev.ScratchWritten:
    return ev.ScratchWritten(at=START, text=text)


def question(name: str, **fields: object) -> Question:
    return Question.model_validate(
        {"id": name, "parent_id": "q_001", "depth": 1, "question": f"What of {name}?"}
        | {"created_at": START, "updated_at": START}
        | fields
    )


def source(name: str) -> Source:
    url = f"https://{name}.example.org/"
    return Source(id=name, url=url, canonical=url, domain="example.org", sha256="5" * 64, sketch=(1, 2), at=START)


def story(rng: random.Random, length: int, run_id: str = RUN) -> list[ev.Event]:
    """The opening and `length` further events, each possible after the ones before."""
    events: list[ev.Event] = [opened(run_id)]
    research = evolve(Research(), events[0])
    while len(events) <= length:
        at = START + timedelta(seconds=len(events))
        event = rng.choice(_KINDS)(rng, research, at)
        if event is not None:
            events.append(event)
            research = evolve(research, event)
    return events


def _added(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    parent = rng.choice(list(r.questions.values()))
    new = question(next_id("q", r.questions), parent_id=parent.id, depth=parent.depth + 1, priority=rng.random())
    return ev.QuestionAdded(at=at, question=new, actor=rng.choice(["agent", "code"]), reason="why", caused_by="q_001")


def _moved(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    one = rng.choice(list(r.questions.values()))
    to = rng.choice(["pending", "in_progress", "resolved", "blocked", "unresolvable", "pruned"])
    return ev.QuestionMoved(
        at=at,
        question_id=one.id,
        from_status=one.status,
        to_status=to,
        trigger=rng.choice(["selected", "resolved", "reopened", "reprioritized", "contradiction"]),
        actor=rng.choice(["agent", "code"]),
        priority=rng.random(),
        attempts=one.attempts,
        worker="w1",
    )


def _dependency(rng: random.Random, r: Research, at: datetime) -> ev.Event | None:
    one, other = rng.choice(list(r.questions)), rng.choice(list(r.questions))
    if one == other:
        return None
    kind = rng.choice([ev.DependencyAdded, ev.DependencyDropped])
    return kind(at=at, question_id=one, depends_on_id=other)


def _about_question(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    name = rng.choice([*r.questions, "q_999"])
    if rng.random() < 0.5:
        return ev.QuestionRewritten(
            at=at, question_id=name, question="Rather?", validation_criteria="2 sources", why="w"
        )
    return ev.QuestionAnswered(at=at, question_id=name, answer="So.", claim_ids=tuple(r.claims)[:2])


def _evaluated(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    routing = Routing(
        blocked=False,
        expired=False,
        verified=False,
        complete=False,
        attempts=rng.randint(0, 3),
        unverified_streak=rng.randint(0, 2),
        unproductive_streak=0,
        thresholds={},
        route="Retry",
    )
    name = rng.choice(list(r.questions))
    return ev.AttemptEvaluated(
        at=at,
        evaluation=Evaluation(number=1, question_id=name, steer="look elsewhere", output="x", routing=routing, at=at),
    )


def _query(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    name = rng.choice(list(r.questions))
    seq = len(r.queries.get(name, ())) + 1
    urls = ("https://a.example/",)
    return ev.QueryLogged(
        at=at, record=QueryRecord(question_id=name, seq=seq, query="größe", tool="web_search", urls=urls, at=at)
    )


def _source(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    if r.sources and rng.random() < 0.3:
        return ev.SourceNoted(at=at, source_id=rng.choice([*r.sources, "s_999"]), note="read, nothing relevant")
    return ev.SourceRegistered(at=at, source=source(next_id("s", r.sources)))


def _evidence(rng: random.Random, r: Research) -> Evidence:
    stance = rng.choice(["supports", "contradicts"])
    return Evidence(source_id=rng.choice(list(r.sources)), stance=stance, quote="as said", start=3, end=10)


def _claim(rng: random.Random, r: Research, at: datetime) -> ev.Event | None:
    if not r.sources:
        return None
    found = tuple(_evidence(rng, r) for _ in range(rng.randint(0, 3)))
    new = Claim(id=next_id("c", r.claims), text="It is so.", question_id="q_001", evidence=found, at=at)
    return ev.ClaimRecorded(at=at, claim=new)


def _about_claim(rng: random.Random, r: Research, at: datetime) -> ev.Event | None:
    if not r.claims:
        return None
    name, other = rng.choice(list(r.claims)), rng.choice(list(r.claims))
    match rng.randrange(4):
        case 0:
            return ev.EvidenceAdded(at=at, claim_id=name, evidence=_evidence(rng, r))
        case 1:
            status = rng.choice(["VERIFIED", "REFUTED", "RETRACTED", "UNVERIFIED"])
            return ev.ClaimMoved(at=at, claim_id=name, status=status, actor="code", why="checked")
        case 2:
            return ev.ClaimAmended(at=at, claim_id=name, text="It is mostly so.")
        case _:
            relation = rng.choice(["supports", "contradicts"])
            return ev.ClaimsLinked(at=at, claim_id=name, other_id=other, relation=relation, question_id="q_001")


def _challenge(rng: random.Random, r: Research, at: datetime) -> ev.Event | None:
    waiting = list(r.open_challenges())
    if waiting and rng.random() < 0.6:
        one = rng.choice(waiting)
        if rng.random() < 0.4:
            return ev.ChallengeExecuted(at=at, challenge_id=one.id, status="ok")
        cited = tuple(rng.sample(list(r.sources), min(2, len(r.sources))))
        return ev.ChallengeClosed(at=at, challenge_id=one.id, outcome="survived", evidence="none", source_ids=cited)
    new = Challenge(
        id=next_id("ch", r.challenges),
        question_id="q_001",
        target_type="conclusion",
        target_text="It is so.",
        version=r.conclusion.version,
        negation="It is not so.",
        strategy="negation",
        expected_if_false="a report of the contrary",
        query="not so",
        at=at,
    )
    return ev.ChallengeRegistered(at=at, challenge=new)


def _state(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    return ev.StateRecorded(at=at, seq=r.turn.seq + 1, stage=rng.choice(["acting", "challenging"]), question_id="q_001")


def _other(rng: random.Random, r: Research, at: datetime) -> ev.Event:
    return rng.choice(
        [
            used(rng.randint(0, 99), at),
            ev.GapNoted(at=at, gap=Gap(text="no figure found")),
            ev.ScratchWritten(at=at, text="perhaps"),
            ev.ConclusionStated(at=at, text="It is so."),
            ev.AttemptStarted(at=at, number=r.attempts + 1, kind="question", question_id="q_001"),
            ev.PhaseChanged(at=at, phase=rng.choice(["synthesis", "exploration"]), reason="stalled"),
            ev.RunEnded(at=at, status="reported", stop_reason="stalled", report="Findings."),
        ]
    )


_KINDS: list[Callable[[random.Random, Research, datetime], ev.Event | None]] = [
    _added,
    _moved,
    _moved,
    _dependency,
    _about_question,
    _evaluated,
    _query,
    _source,
    _claim,
    _about_claim,
    _about_claim,
    _challenge,
    _state,
    _other,
]


class Row(tuple[Any, ...]):
    """A row by position, or by its columns' names."""

    names: tuple[str, ...]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)


def rows(database: str | Path, sql: str, *arguments: object) -> list[Row]:
    """What one query gives, read by the database's plain driver, as users do. A `?` takes an argument."""
    with closing(_connected(database)) as connection:
        cursor = connection.cursor()
        cursor.execute(sql.replace("?", "%s") if is_postgres(str(database)) else sql, arguments)
        found = cursor.fetchall() if cursor.description else []
        names = tuple(column[0] for column in cursor.description or ())
        connection.commit()
    given = []
    for values in found:
        row = Row(values)
        row.names = names
        given.append(row)
    return given


def _connected(database: str | Path) -> Any:
    if is_postgres(str(database)):
        return psycopg.connect(str(database))
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


@contextmanager
def half_done(database: str | Path, sql: str) -> Iterator[None]:
    """Holds a transaction of another program open that has changed something, and takes it back at the end."""
    with closing(_connected(database)) as connection:
        if not is_postgres(str(database)):
            connection.isolation_level = None
            connection.execute("BEGIN IMMEDIATE")
        connection.execute(sql)
        yield
        connection.execute("ROLLBACK")


def tables(database: str | Path) -> list[str]:
    """The tables of a database."""
    if is_postgres(str(database)):
        return [
            row["name"] for row in rows(database, "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
        ]
    return [row["name"] for row in rows(database, "SELECT name FROM sqlite_master WHERE type = 'table'")]


def assert_tables_say(database: str | Path, r: Research) -> None:
    """Every projection table of a run equals the research, and every transition log its question."""

    def table(sql: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in rows(database, f"{sql} WHERE run_id = ?", r.run_id))

    run = rows(database, "SELECT * FROM research_runs WHERE run_id = ?", r.run_id)[0]
    assert (run["status"], run["phase"], run["stop_reason"]) == (r.status, r.phase, r.stop_reason)
    assert (run["calls"], run["input_tokens"], run["turns"]) == (r.usage.calls, r.usage.input_tokens, r.turns)
    assert (run["conclusion"], run["report"]) == (r.conclusion.text, r.report.final)

    plain = ["id", "parent_id", "depth", "question", "priority", "status", "answer", "attempts"]
    plain += ["unverified_streak", "steer", "partial", "worker"]
    assert table(f"SELECT {', '.join(plain)}, claim_ids FROM frontier_questions") == sorted(
        (*(getattr(q, name) for name in plain), json.dumps(list(q.claim_ids))) for q in r.questions.values()
    )
    for q in r.questions.values():
        log = rows(
            database,
            "SELECT * FROM frontier_transitions WHERE run_id = ? AND question_id = ? ORDER BY seq",
            r.run_id,
            q.id,
        )
        assert [row["seq"] for row in log] == list(range(1, len(log) + 1))
        assert [row["event_seq"] for row in log] == sorted(row["event_seq"] for row in log)
        assert [row["from_status"] for row in log] == ["", *(row["to_status"] for row in log[:-1])]
        assert (log[0]["trigger"], log[-1]["to_status"], log[-1]["priority"]) == ("created", q.status, q.priority)

    edges = sorted((one, other) for one, others in r.dependencies.items() for other in others)
    assert table("SELECT question_id, depends_on_id FROM frontier_deps") == edges
    assert table("SELECT question_id, seq, query FROM frontier_attempts") == sorted(
        (record.question_id, record.seq, record.query) for record in r.all_queries()
    )
    assert table("SELECT id, canonical, note, sha256 FROM sources") == sorted(
        (s.id, s.canonical, s.note, s.sha256) for s in r.sources.values()
    )
    assert table("SELECT id, text, status, check_note FROM claims") == sorted(
        (c.id, c.text, c.status, c.check) for c in r.claims.values()
    )
    assert table("SELECT claim_id, seq, source_id, stance, quote, span_start, span_end FROM claim_sources") == sorted(
        (c.id, n, link.source_id, link.stance, link.quote, link.start, link.end)
        for c in r.claims.values()
        for n, link in enumerate(c.evidence, 1)
    )
    links = {(c.id, other, "supports") for c in r.claims.values() for other in c.supports}
    links |= {(pair.claim_id, pair.other_id, "contradicts") for pair in r.contradictions}
    assert table("SELECT claim_id, other_id, relation FROM claim_links") == sorted(links)
    assert table("SELECT id, status, outcome, executed, conclusion_version FROM challenges") == sorted(
        (c.id, c.status, c.outcome or "", int(c.executed), c.version) for c in r.challenges.values()
    )
    assert table("SELECT challenge_id, source_id FROM challenge_sources") == sorted(
        (c.id, name) for c in r.challenges.values() for name in c.source_ids
    )
