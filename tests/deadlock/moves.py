"""What a wayward model might do next: every call of a finite alphabet, a slice of the rules at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deadlock.small_world import FIGURES, PAGES, Play

from zetetic.state.challenges import STRATEGIES
from zetetic.state.research import Research
from zetetic.state.values import ROOT

Moves = Callable[[Research], Iterator[Play]]
ANSWER = "The tower is 42 metres tall."
WHYS = {"why_unverified": "no better", "why_unchallenged": "tried in vain", "why_no_refuting": "tried in vain"}


def _fresh(r: Research) -> str:
    return f"word{sum(map(len, r.queries.values()))} of {len(r.challenges)} and {r.version}"


def planning(r: Research) -> Iterator[Play]:
    """Expanding, or declaring the objective one question."""
    if r.turn.stage == "planning" and r.turn.detail == "expand":
        yield "frontier_next", {"atomic_reason": "one figure"}


def questions(r: Research) -> Iterator[Play]:
    """Adding questions that matter or not, that wait on others or that others wait on."""
    if r.phase != "exploration" or len(r.questions) >= r.thresholds.max_questions:
        return
    number = len(r.questions)
    for priority in (0.9, 0.2):
        base = {
            "parent_id": ROOT, "question": f"Which number {'abcdefg'[number]} stands on plate {number}?",
            "rationale": "asked", "priority": priority, "validation_criteria": "A figure.",
        }  # fmt: skip
        yield "add_question", base
        waiting = [q.id for q in r.open_questions() if q.id != ROOT][-1:]
        if waiting:
            yield "add_question", {**base, "depends_on": waiting}
        if r.current is not None:
            yield "add_question", {**base, "blocks_current": True}
            if r.current.id != ROOT:
                yield "add_question", {**base, "parent_id": r.current.id}


def tending(r: Research) -> Iterator[Play]:
    """Pruning, reprioritizing, freeing, rewriting, reopening."""
    for q in r.questions.values():
        if q.id != ROOT:
            yield "prune_branch", {"id": q.id, "reason": "no matter"}
            for priority in (0.9, 0.2):
                if q.priority != priority:
                    yield "set_priority", {"id": q.id, "priority": priority, "why": "on second thought"}
            if q.status == "blocked":
                yield "rewrite_question", {
                    "id": q.id, "question": f"Where does {_fresh(r)} stand?", "validation_criteria": "A place.",
                    "why": "blocked",
                }  # fmt: skip
        for needed in r.dependencies.get(q.id, ()):
            yield "drop_dependency", {"id": q.id, "depends_on_id": needed, "why": "not needed"}
        if q.status == "resolved":
            yield "reopen_question", {"id": q.id, "why": "a doubt"}


def attempts(r: Research) -> Iterator[Play]:
    """Ending the attempt under way, well or not."""
    if r.current is None:
        return
    yield "retry_question", {"id": r.current.id, "new_query": _fresh(r), "why": "nothing found"}
    yield "resolve_question", {"id": r.current.id, "answer": ANSWER, **WHYS}
    for claim in list(r.claims)[-1:]:
        yield "resolve_question", {"id": r.current.id, "answer": ANSWER, "claim_ids": [claim], **WHYS}


def reading(r: Research) -> Iterator[Play]:
    """Searching and reading."""
    if not r.queries:
        yield "web_search", {"query": f"tower {_fresh(r)}"}
        return
    for url in PAGES:
        yield "fetch_page", {"url": url}


def claiming(r: Research) -> Iterator[Play]:
    """Recording claims, of either figure."""
    said = {"42": "The tower is 42 metres tall.", "41": "The tower is 41 metres tall."}
    if len(r.claims) >= 3:
        return
    for source in r.sources.values():
        figure = next(f for f, urls in FIGURES.items() if source.url in urls)
        entry = {"text": said[figure], "quote": f"the tower is {figure} metres tall", "source_id": source.id}
        yield "notes_append", {"claims": [entry]}


def judging(r: Research) -> Iterator[Play]:
    """Moving claims, for and against, and setting them against each other."""
    for claim in r.claims.values():
        figure = "41" if "41" in claim.text else "42"
        for source in r.sources.values():
            fits = source.url in FIGURES[figure]
            said = figure if fits else ("42" if figure == "41" else "41")
            yield "notes_update", {
                "id": claim.id,
                "add_source": {
                    "source_id": source.id, "quote": f"the tower is {said} metres tall",
                    "stance": "supports" if fits else "contradicts", "independence": "a text of its own",
                },
            }  # fmt: skip
        for status in ("VERIFIED", "UNVERIFIED", "REFUTED"):
            yield "notes_update", {"id": claim.id, "status": status, "why": "so it seems"}
        yield "notes_update", {"id": claim.id, "retract": "misread"}
        for other in r.claims.values():
            if other.id > claim.id:
                yield "notes_update", {"id": claim.id, "link": {"relation": "contradicts", "claim_id": other.id}}


def attacking(r: Research) -> Iterator[Play]:
    """Challenges of claims, of the answer and of the conclusion."""
    targets: list[dict[str, Any]] = [{"target_type": "claim", "target_id": c} for c in r.claims]
    if r.current is not None:
        targets.append({"target_type": "question_answer", "target_text": ANSWER})
    if r.root.status in ("resolved", "unresolvable"):
        targets.append({"target_type": "conclusion"})
    for target in targets:
        earlier = [
            c for c in r.challenges.values()
            if c.target_type == target["target_type"] and c.target_id in (target.get("target_id", ""), c.question_id)
        ]  # fmt: skip
        yield "challenge", {
            "negation": "It has another height.", "strategy": STRATEGIES[len(earlier) % len(STRATEGIES)],
            "expected_if_false": "another figure", "query": f"tower other {_fresh(r)}", **target,
        }  # fmt: skip


def verdicts(r: Research) -> Iterator[Play]:
    """Running challenges, and every verdict on them."""
    for challenge in r.open_challenges():
        if not challenge.executed:
            yield "web_search", {"query": challenge.query, "challenge_id": challenge.id}
            continue
        base = {"challenge_id": challenge.id, "evidence": "as found"}
        sources = list(r.sources)[:1]
        yield "record_challenge_result", {**base, "outcome": "survived"}
        yield "record_challenge_result", {**base, "outcome": "inconclusive"}
        yield "record_challenge_result", {**base, "outcome": "refuted", "source_ids": sources}
        text = f"{challenge.target_text.rstrip('.')} on most days."
        weaker = {"outcome": "weakened", "source_ids": sources, "amended_text": text}
        yield "record_challenge_result", {**base, **weaker}


def concluding(r: Research) -> Iterator[Play]:
    """Stating the conclusion, ending exploration, going back from the report."""
    if r.phase == "exploration":
        if not r.conclusion.text:
            yield "notes_scratch", {"conclusion": "The tower is 42 metres tall."}
        yield "finish_exploration", {"why": "it is done"}
    elif r.attempt is not None:
        for q in r.questions.values():
            if q.status in ("resolved", "unresolvable"):
                yield "finalize_report", {"reopen": {"question_id": q.id, "why": "a hole"}}
        gaps = "\n".join(f"- [{q}] not settled" for q in r.questions)
        cited = "".join(f"{c.text} [{c.id}]\n\n" for c in r.claims.values() if c.status == "VERIFIED")
        yield "finalize_report", {"report": f"## Summary\n\n{cited}\n\n## Gaps\n\n{gaps}"}


def together(*parts: Moves) -> Moves:
    """The moves of several parts."""

    def moves(r: Research) -> Iterator[Play]:
        for part in parts:
            yield from part(r)

    return moves
