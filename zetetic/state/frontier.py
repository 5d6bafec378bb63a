"""Questions about the frontier: what is actionable, what comes next, what the prompt says of it (D6, D11, D16, D24)."""

from __future__ import annotations

from .research import Research
from .values import OPEN, ROOT, TERMINAL, QueryRecord, Question
from .wording import folded, one_line

ENABLING = frozenset({"resolved", "unresolvable"})
_WAITS_SHOWN = 5


def unmet_dependencies(research: Research, question_id: str) -> tuple[str, ...]:
    """Dependencies that keep a question from being worked on (D11)."""
    return tuple(
        d
        for d in research.dependencies.get(question_id, ())
        if d in research.questions and research.questions[d].status not in ENABLING
    )


def is_actionable(research: Research, question: Question) -> bool:
    """Pending, and every dependency resolved, or unresolvable with its assumption (D11)."""
    return question.status == "pending" and not unmet_dependencies(research, question.id)


def effective_priorities(research: Research) -> dict[str, float]:
    """The priority of each open question: the highest of its own and of those open that wait on it (D16).

    Derived, never stored. The root carries no floor to what it waits on (D24).
    """
    waiting: dict[str, list[str]] = {}
    for question_id, needed in research.dependencies.items():
        if question_id != ROOT and question_id in research.questions and research.questions[question_id].status in OPEN:
            for dependency in needed:
                waiting.setdefault(dependency, []).append(question_id)
    settled: dict[str, float] = {}

    for start in waiting:
        stack = [start]
        while stack:
            top = stack[-1]
            if top in settled:
                stack.pop()
                continue
            todo = [w for w in waiting.get(top, ()) if w not in settled]
            if todo:
                stack.extend(todo)
                continue
            stack.pop()
            own = research.questions[top].priority if top in research.questions else 0.0
            settled[top] = max([own, *(settled[w] for w in waiting.get(top, ()))])
    return {q.id: settled.get(q.id, q.priority) for q in research.questions.values() if q.status in OPEN}


def expansion_due(research: Research) -> bool:
    """Whether the objective has neither sub-questions nor been declared atomic (D24)."""
    if research.atomic_reason:
        return False
    return not any(q.parent_id == ROOT and q.spawned_by != "code" for q in research.questions.values())


def select_next(research: Research) -> Question | None:
    """The question to work on: highest effective priority, then lower depth, then older (D16).

    The root is taken only when no other question of at least `gate_priority` is open (D24).
    """
    effective = effective_priorities(research)
    gate = research.thresholds.gate_priority
    root_waits = any(priority >= gate for question_id, priority in effective.items() if question_id != ROOT)
    best: Question | None = None
    best_key: tuple[float, int] | None = None
    for question in research.questions.values():  # in order of creation, so the older one stays on a tie
        if question.id == ROOT and root_waits:
            continue
        if not is_actionable(research, question):
            continue
        key = (-effective[question.id], question.depth)
        if best_key is None or key < best_key:
            best, best_key = question, key
    return best


def must_be_closed(research: Research) -> tuple[Question, ...]:
    """Questions besides the root that the exploration gate waits for (D42)."""
    gate = research.thresholds.gate_priority
    return tuple(
        research.questions[question_id]
        for question_id, priority in effective_priorities(research).items()
        if priority >= gate and question_id != ROOT
    )


def failed_dependencies(research: Research, question_id: str) -> tuple[str, ...]:
    """Dependencies that were pruned, so that they never will be met (D11)."""
    return tuple(
        d
        for d in research.dependencies.get(question_id, ())
        if d in research.questions and research.questions[d].status == "pruned"
    )


def stuck_on_blocked(research: Research) -> tuple[Question, ...]:
    """The blocked questions, where nothing else that matters can be selected (D11); the root if it can be freed.

    What the root waits on matters at any priority once nothing else is left, or the objective could never be answered.
    """
    chosen = select_next(research)
    if chosen is not None and effective_priorities(research)[chosen.id] >= research.thresholds.gate_priority:
        return ()
    stuck = tuple(q for q in must_be_closed(research) if q.status == "blocked")
    root = research.root
    if chosen is None and not stuck and root.status == "pending":
        blocked = (q for q in research.questions.values() if q.status == "blocked")
        stuck = tuple(q for q in blocked if reaches(research, ROOT, q.id))
    if root.status == "blocked" and failed_dependencies(research, ROOT):
        return (*stuck, root)
    return stuck


def tried(research: Research, question_id: str) -> tuple[QueryRecord, ...]:
    """The query log of a question: what "already tried" shows and what duplicate checks read (D10)."""
    return research.queries.get(question_id, ())


def already_asked(research: Research, question_id: str, query: str) -> bool:
    """Whether an equal query stands in the question's log (D18)."""
    wanted = folded(query)
    return any(folded(record.query) == wanted for record in tried(research, question_id))


def reaches(research: Research, start: str, goal: str) -> bool:
    """Whether `start` depends on `goal`, directly or not (D12)."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        here = todo.pop()
        if here == goal:
            return True
        if here not in seen:
            seen.add(here)
            todo.extend(research.dependencies.get(here, ()))
    return False


def question_line(research: Research, question: Question) -> str:
    """One question in compact form."""
    line = f"[{question.id}] {question.status} (P {question.priority:.2f}, depth {question.depth}) "
    line += one_line(question.question, 200)
    waits = unmet_dependencies(research, question.id) if question.status in OPEN else ()
    if not waits:
        return line
    more = f" (+{len(waits) - _WAITS_SHOWN} more)" if len(waits) > _WAITS_SHOWN else ""
    return f"{line} | waits on {', '.join(waits[:_WAITS_SHOWN])}{more}"


def frontier_summary(research: Research, shown: int = 5) -> str:
    """The frontier as the prompt shows it: counts, what comes next, what is blocked, open challenges (D6, D39)."""
    counts = dict.fromkeys(("resolved", "pending", "in_progress", "blocked", "unresolvable", "pruned"), 0)
    for question in research.questions.values():
        counts[question.status] += 1
    told = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    lines = [f"Frontier: {told}  (max_depth {research.thresholds.max_depth})"]
    effective = effective_priorities(research)
    waiting = sorted(
        (q for q in research.questions.values() if q.status == "pending" and q.id != ROOT),
        key=lambda q: (-effective[q.id], q.depth),
    )
    if waiting:
        lines.append("Next up:")
        lines += [f"- {question_line(research, q)}" for q in waiting[:shown]]
        if len(waiting) > shown:
            lines.append(f"- (+{len(waiting) - shown} more)")
    blocked = [q for q in research.questions.values() if q.status == "blocked"]
    if blocked:
        lines.append("Blocked:")
        lines += [f"- {question_line(research, q)}" for q in blocked[:shown]]
        if len(blocked) > shown:
            lines.append(f"- (+{len(blocked) - shown} more)")
    closed = [q for q in research.questions.values() if q.status in TERMINAL and q.status != "pruned"]
    if closed:
        lines.append("Closed:")
        lines += [
            f"- [{q.id}] {q.status}: {one_line(q.question, 120)} -> {one_line(q.answer, 300)}" for q in closed[-8:]
        ]
        if len(closed) > 8:
            lines.insert(-8, f"- ({len(closed) - 8} earlier ones: frontier_view)")
    open_challenges = research.open_challenges()
    if open_challenges:
        lines.append("Open challenges (each needs record_challenge_result):")
        lines += [
            f"- [{c.id}] on {c.target_id or c.target_type} by {c.strategy}: "
            + (f"run, {c.search_status}" if c.executed else "not yet run")
            + f': "{one_line(c.query, research.thresholds.query_max_chars)}"'
            for c in open_challenges[:shown]
        ]
        if len(open_challenges) > shown:
            lines.append(f"- (+{len(open_challenges) - shown} more)")
    return "\n".join(lines)
