"""The parts of a run that `zetetic show` gives, each as a JSON value and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from zetetic.export import result_claims
from zetetic.state.notes import notes_of, render_notes
from zetetic.state.research import Research
from zetetic.state.values import OPEN, Question
from zetetic.state.wording import one_line
from zetetic.store import Store
from zetetic.store.reads import TransitionRow

CLOSED = {"resolved", "unresolvable"}
TEXT_SHOWN = 300
"""Characters of an answer or a claim in a list."""


@dataclass(frozen=True)
class Part:
    """What is shown; an empty text where there is nothing."""

    value: Any
    text: str


async def frontier(store: Store, research: Research) -> Part:
    """The questions as a tree, with the typical reads of the transition log (D50)."""
    rows = await store.transitions(research.run_id)
    reads = transition_reads(research, rows, datetime.now(UTC))
    questions = [
        question.model_dump(mode="json") | {"seconds": reads["seconds_per_status"].get(question.id, {})}
        for question in _tree(research)
    ]
    lines = []
    for question in _tree(research):
        indent = "  " * question.depth
        lines.append(
            f"{indent}[{question.id}] {question.status} (P {question.priority:.2f}, {_attempts(question)}) "
            f"{one_line(question.question)}"
        )
        if question.answer:
            lines.append(f"{indent}  -> {one_line(question.answer, TEXT_SHOWN)}")
    lines += ["", *_read_lines(reads)]
    return Part({"questions": questions, **reads}, "\n".join(lines))


def _attempts(question: Question) -> str:
    return f"{question.attempts} attempt{'' if question.attempts == 1 else 's'}"


def _tree(research: Research, parent: str | None = None) -> Iterable[Question]:
    for question in research.questions.values():
        if question.parent_id == parent:
            yield question
            yield from _tree(research, question.id)


def transition_reads(research: Research, rows: Sequence[TransitionRow], now: datetime) -> dict[str, Any]:
    """Seconds per status, questions reopened, how each depth ended, and who pruned what (D50)."""
    seconds: dict[str, Counter[str]] = {}
    since: dict[str, tuple[str, datetime]] = {}
    for row in rows:
        if row.question_id in since:
            status, began = since[row.question_id]
            seconds.setdefault(row.question_id, Counter())[status] += round((row.created_at - began).total_seconds())
        since[row.question_id] = (row.to_status, row.created_at)
    end = now if research.status == "running" else research.updated_at or now
    for question_id, (status, began) in since.items():
        seconds.setdefault(question_id, Counter())[status] += max(0, round((end - began).total_seconds()))
    depths: dict[int, Counter[str]] = {}
    for question in research.questions.values():
        depths.setdefault(question.depth, Counter())[question.status] += 1
    return {
        "seconds_per_status": {name: dict(counts) for name, counts in seconds.items()},
        "reopened": sorted({row.question_id for row in rows if row.from_status in CLOSED and row.to_status in OPEN}),
        "per_depth": {str(depth): dict(counts) for depth, counts in sorted(depths.items())},
        "pruned_by": dict(
            Counter(row.actor for row in rows if row.to_status == "pruned" and row.from_status != "pruned")
        ),
    }


def _read_lines(reads: dict[str, Any]) -> Iterable[str]:
    total: Counter[str] = Counter()
    for counts in reads["seconds_per_status"].values():
        total.update(counts)
    yield "Seconds per status: " + (_counts(total) or "none")
    for depth, counts in reads["per_depth"].items():
        yield f"Depth {depth}: {_counts(counts)}"
    yield f"Reopened: {', '.join(reads['reopened']) or 'none'}"
    yield f"Pruned by: {_counts(reads['pruned_by']) or 'no one'}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))


async def claims(_: Store, research: Research) -> Part:
    """Every claim and datapoint with its quotes."""
    value = result_claims(research)
    lines = []
    for claim in value:
        number = " ".join(part for part in (claim["value"], claim["unit"]) if part)
        lines.append(
            f"[{claim['id']}] {claim['status']} {one_line(claim['text'])}" + (f" ({number})" if number else "")
        )
        for link in claim["evidence"]:
            against = "against it: " if link["stance"] == "contradicts" else ""
            lines.append(f'  {against}"{one_line(link["quote"])}" {link["source_id"]} {link["url"]}')
        for challenge in claim["challenges"]:
            lines.append(f"  {challenge['id']} {challenge['strategy']}: {challenge['outcome']}")
    return Part(value, "\n".join(lines))


async def challenges(_: Store, research: Research) -> Part:
    """Every challenge, how many each target and strategy had, and what each refutation changed (D50)."""
    every = list(research.challenges.values())
    per_strategy = Counter(f"{c.target_type} by {c.strategy}: {c.outcome or 'open'}" for c in every)
    changed = {
        c.id: {
            "claim_id": c.target_id,
            "status": research.claims[c.target_id].status if c.target_id in research.claims else "",
            "questions": [q.id for q in research.questions.values() if c.target_id in q.claim_ids],
            "result_claim_id": c.result_claim_id,
        }
        for c in every
        if c.outcome == "refuted"
    }
    lines = []
    for c in every:
        lines.append(f"[{c.id}] {c.outcome or 'open'}: {c.target_id or c.target_type} by {c.strategy}")
        lines.append(f"  against: {one_line(c.target_text, TEXT_SHOWN)}")
        lines.append(f"  query: {one_line(c.query)} ({'run, ' + c.search_status if c.executed else 'not run'})")
        if c.evidence:
            lines.append(f"  found: {one_line(c.evidence, TEXT_SHOWN)}")
        if c.id in changed:
            asked = ", ".join(changed[c.id]["questions"]) or "no answer"
            lines.append(f"  changed: {c.target_id} is {changed[c.id]['status'] or 'refuted'}; cited by {asked}")
    if every:
        lines += ["", *(f"{count} x {what}" for what, count in sorted(per_strategy.items()))]
    value = {
        "challenges": [c.model_dump(mode="json") for c in every],
        "per_strategy": dict(per_strategy),
        "refutations": changed,
    }
    return Part(value, "\n".join(lines))


async def notes(_: Store, research: Research) -> Part:
    """The working notes (D26)."""
    text = render_notes(notes_of(research))
    return Part({"run_id": research.run_id, "notes": text}, text)


async def transitions(store: Store, research: Research) -> Part:
    """The transition log (D15)."""
    rows = await store.transitions(research.run_id)
    lines = [
        f"{row.created_at:%Y-%m-%d %H:%M:%S}  {row.question_id}  {row.from_status or '-'} -> {row.to_status}  "
        f"{row.trigger} by {row.actor}  P {row.priority:.2f}" + (f"  {one_line(row.reason)}" if row.reason else "")
        for row in rows
    ]
    return Part([_row(row) for row in rows], "\n".join(lines))


def _row(row: TransitionRow) -> dict[str, Any]:
    return asdict(row) | {"created_at": row.created_at.isoformat()}


async def calls(store: Store, research: Research) -> Part:
    """The model calls, without the texts (D47)."""
    entries = await store.calls(research.run_id)
    value = [
        {
            "at": entry.at.isoformat(),
            "role": entry.role,
            "model": entry.model,
            "input_tokens": entry.input_tokens,
            "output_tokens": entry.output_tokens,
            "cached_tokens": entry.cached_tokens,
            "usd": entry.usd,
            "latency_seconds": entry.latency_seconds,
            "error": entry.error,
            "key": entry.key,
        }
        for entry in entries
    ]
    lines = [
        f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.role:9}  {entry.model}  {entry.input_tokens} in "
        f"({entry.cached_tokens} cached), {entry.output_tokens} out  "
        f"{'price unknown' if entry.usd is None else f'${entry.usd:.4f}'}  {entry.latency_seconds:.1f} s"
        for entry in entries
    ]
    if entries:
        u = research.usage
        lines.append(f"{u.calls} calls, {u.input_tokens} in, {u.output_tokens} out, ${u.usd:.4f}")
    return Part(value, "\n".join(lines))


PARTS: dict[str, Callable[[Store, Research], Awaitable[Part]]] = {
    "frontier": frontier,
    "claims": claims,
    "challenges": challenges,
    "notes": notes,
    "transitions": transitions,
    "calls": calls,
}
"""What `zetetic show RUN` knows besides the report."""
