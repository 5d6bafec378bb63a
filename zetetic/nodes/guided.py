"""A worker that gets one step at a time: the tool of each step, and what its answer means in the common tools.

The tools are flat, with ids and numbers to choose from in place of texts to copy, so that a server which constrains a
small model by the schema lets it name nothing that does not exist. What an answer proposes is tried on the research
first: where it would be refused and a plainer form would not, the plainer form is what is proposed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from zetetic.export.draft import notes_draft
from zetetic.state.anchoring import said_share
from zetetic.state.citations import cited_sentences, sections, without_citations
from zetetic.state.decision import Accepted
from zetetic.state.gates import must_stand_under_gaps
from zetetic.state.guiding import (
    Step,
    attack_query,
    citing,
    fresh_queries,
    has_time_to_challenge,
    next_strategy,
    resolving,
)
from zetetic.state.quotes import find_quote
from zetetic.state.research import Research
from zetetic.state.values import ROOT, Question, TargetType
from zetetic.state.wording import alike, folded, one_line
from zetetic.tools import TOOLS, Call, decide_call, read_args

_ID = re.compile(r"\b[cdqs]_\d{3}")
Calls = list[tuple[str, dict[str, Any]]]
NAMES = {
    "questions": "ask",
    "search": "search",
    "pages": "read",
    "answer": "answer",
    "verdict": "judge",
    "conclusion": "conclude",
    "report": "tell",
}
PAGES = 3
"""Pages that one step reads at most."""
LONG = 1200
"""Characters of an answer or a conclusion, whatever a server lets through."""
QUESTIONS = 8
"""Questions that an objective is taken apart into at most."""
QUERIES = 2
"""Searches that one step makes at most."""
SAME = 0.8
"""Share of common words from which a question is the objective itself (0 to 1)."""
FIRST, STEP_DOWN = 0.8, 0.05
"""Priority of the first sub-question, and how much less each further one matters."""


def _text(most: int, what: str = "") -> dict[str, Any]:
    return {"type": "string", "maxLength": most, **({"description": what} if what else {})}


def _list(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _one_of(values: Sequence[Any]) -> dict[str, Any]:
    return {"type": "integer" if isinstance(values[0], int) else "string", "enum": list(values)}


def _object(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def step_tool(step: Step) -> dict[str, Any]:
    """The tool of a step in the chat-completions form. `step` is one that asks the model something."""
    attack = {"if_wrong": _text(300), "query": _text(100)}
    claims = _list(_one_of(step.claim_ids), 1, 8) if step.claim_ids else _list(_text(20), 0, 0)
    match step.kind:
        case "questions":
            what, args = "Say what the objective asks.", _object(questions=_list(_text(200), 1, QUESTIONS))
        case "search":
            what, args = "Search.", _object(queries=_list(_text(100), 1, QUERIES))
        case "pages":
            numbers = _list(_one_of(range(1, len(step.urls) + 1)), 1, PAGES)
            what, args = "Read results.", _object(numbers=numbers)
        case "answer":
            given = {"claim_ids": claims, "answer": _text(600), "answered": {"type": "boolean"}}
            what, args = "Answer the question, or say what is missing.", _object(**given, **attack)
        case "verdict":
            if step.claim_ids:
                against = {"against": _list(_one_of(step.claim_ids), 0, 3)}
                outcome = _one_of(("survived", "refuted", "inconclusive"))
            else:  # nothing was recorded that could speak against it
                against, outcome = {}, _one_of(("survived", "inconclusive"))
            what, args = "Give the verdict.", _object(evidence=_text(300), **against, outcome=outcome)
        case "conclusion":
            what, args = "State the conclusion.", _object(conclusion=_text(800), claim_ids=claims, **attack)
        case "report":
            sentence = _object(text=_text(300), claim_ids=claims)
            what, args = "Tell what was found.", _object(sentences=_list(sentence, 1, 6))
        case _:
            raise ValueError(f"A step of kind {step.kind!r} asks nothing.")
    return {"type": "function", "function": {"name": NAMES[step.kind], "description": what, "parameters": args}}


def reading_tool(source_ids: Sequence[str]) -> dict[str, Any]:
    """`notes_append` for a small reader: claims alone, of these sources alone."""
    source = _one_of(source_ids)
    claim = _object(source_id=source, quote=_text(400, "copied word for word"), text=_text(200, "what it says"))
    args = _object(claims=_list(claim, 0, 6), nothing_relevant=_list(source, 0, len(source_ids)))
    what = "Record what the pages say on the question, or that they say nothing."
    return {"type": "function", "function": {"name": "notes_append", "description": what, "parameters": args}}


def anchored(args: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """What a small reader recorded, each finding with the source in whose text its quote stands, and in the quote's own
    words where it has others: such a reader mixes up the pages it was shown, and what it adds is a guess.

    `texts` are those pages by source. A quote that stands in none of them, or in several others, is left as it is.
    """

    def mended(claim: Any) -> Any:
        if not isinstance(claim, dict) or not isinstance(quote := claim.get("quote"), str) or not quote.strip():
            return claim
        standing = [source for source, text in texts.items() if find_quote(text, quote) is not None]
        if claim.get("source_id") not in standing and len(standing) == 1:
            claim = {**claim, "source_id": standing[0]}
        text = claim.get("text")
        if not isinstance(text, str) or said_share(text, quote) < 1:
            claim = {**claim, "text": one_line(quote)}
        return claim

    claims = args.get("claims")
    return {**args, "claims": [mended(c) for c in claims]} if isinstance(claims, list) else args


def meant(r: Research, step: Step, args: Mapping[str, Any], at: datetime) -> Calls:
    """The calls of the common tools that an answer to a step stands for; none where it says nothing usable."""
    match step.kind:
        case "questions":
            return _questions(r, args)
        case "search":
            return _searches(r, step, _texts(args, "queries"))
        case "pages":
            return _pages(step, args)
        case "answer":
            assert r.current is not None
            return _answer(r, r.current, step, args, at)
        case "verdict":
            return _verdict(r, step, args, at)
        case "conclusion":
            text = citing(_text_of(args, "conclusion", LONG), _among(args, "claim_ids", step.claim_ids))
            return _challenge(r, "conclusion", "", text, args) if text else []
        case "report":
            return _report(r, step, args, at)
        case _:
            return []


def _questions(r: Research, args: Mapping[str, Any]) -> Calls:
    """The plan: the questions, or that the objective is one (D24)."""
    asked = [q for q in dict.fromkeys(_texts(args, "questions")) if alike(q, r.objective) < SAME]
    if len(asked) <= 1:
        return [("frontier_next", {"atomic_reason": "it asks for one thing"})]
    calls: Calls = []
    for number, question in enumerate(asked[:QUESTIONS]):
        priority = max(r.thresholds.gate_priority, round(FIRST - STEP_DOWN * number, 2))
        given = {
            "parent_id": ROOT,
            "question": question,
            "rationale": "a part of the objective",
            "priority": priority,
            "validation_criteria": f"Answers: {question}",
        }
        calls.append(("add_question", given))
    return calls


def _searches(r: Research, step: Step, queries: Sequence[str]) -> Calls:
    question = r.current or r.root
    fresh = fresh_queries(r, question, queries, QUERIES)
    if step.last and r.current is not None and fresh:  # nothing was found with what was asked: another attempt
        why = "what was found so far says nothing on it"
        return [("retry_question", {"id": question.id, "new_query": fresh[0], "why": why})]
    return [("web_search", {"query": query}) for query in fresh]


def _pages(step: Step, args: Mapping[str, Any]) -> Calls:
    said = [int(n) for n in map(str, _items(args, "numbers")) if n.isascii() and n.isdigit()]
    chosen = [n for n in dict.fromkeys(said) if 0 < n <= len(step.urls)][:PAGES] or [
        1
    ]  # what nobody reads would be offered for ever
    beside = {"challenge_id": step.challenge_id} if step.challenge_id else {}
    return [("fetch_page", {"url": step.urls[n - 1], **beside}) for n in chosen]


def _answer(r: Research, question: Question, step: Step, args: Mapping[str, Any], at: datetime) -> Calls:
    cited = _among(args, "claim_ids", step.claim_ids)
    text = _text_of(args, "answer", LONG)
    answered = str(args.get("answered")).casefold() in ("true", "yes", "1")
    if not (text and cited and (answered or step.last)):
        return _searches(r, step, [_text_of(args, "query")])
    answer = citing(text, cited)
    if question.depth > 1:
        return [_pair(resolving(r, question, answer))]
    if has_time_to_challenge(r):
        calls = _challenge(r, "question_answer", question.id, answer, args)
        if calls and _taken(r, *calls[0], at):
            return calls
    why = "no further challenge of it could be made in this attempt"
    return [_pair(resolving(r, question, answer, why_unchallenged=why))]


def _challenge(r: Research, kind: TargetType, target_id: str, text: str, args: Mapping[str, Any]) -> Calls:
    strategy = next_strategy(r, kind, target_id, text)
    if strategy is None:
        return []
    plain = without_citations(text)
    negation = _text_of(args, "if_wrong") or f"It is not so that {one_line(plain, 400)}"
    query = _text_of(args, "query") or one_line(plain, 100)
    return [
        (
            "challenge",
            {
                "target_type": kind,
                "target_id": target_id,
                "target_text": text,
                "negation": negation,
                "strategy": strategy,
                "expected_if_false": negation,
                "query": attack_query(r, text, query, strategy),
            },
        )
    ]


def _verdict(r: Research, step: Step, args: Mapping[str, Any], at: datetime) -> Calls:
    """The verdict as far as what is recorded carries it: refuted is what a claim speaks against (D38)."""
    against = [r.claims[i] for i in _among(args, "against", step.claim_ids)]
    outcome = args.get("outcome")
    said: dict[str, Any] = {
        "challenge_id": step.challenge_id,
        "outcome": outcome,
        "evidence": _text_of(args, "evidence") or "nothing that speaks against it",
    }
    if outcome == "refuted":
        said["source_ids"] = list(dict.fromkeys(link.source_id for c in against for link in c.links("supports")))
        said["result_claim_id"] = against[0].id if against else ""
    call = ("record_challenge_result", said)
    if _taken(r, *call, at):
        return [call]
    plain = {"challenge_id": step.challenge_id, "outcome": "inconclusive", "evidence": said["evidence"]}
    return [(call[0], plain)]


def _report(r: Research, step: Step, args: Mapping[str, Any], at: datetime) -> Calls:
    told: dict[str, str] = {}
    for sentence in _items(args, "sentences"):
        if isinstance(sentence, dict) and (ids := _among(sentence, "claim_ids", step.claim_ids)):
            text = _text_of(sentence, "text")
            if _ID.search(text):  # ids are for code, and a reader has no use for them
                text = r.claims[ids[0]].text
            told.setdefault(folded(text), cited_sentences(text, ids))
    draft = notes_draft(r)
    details = "\n\n".join(
        f"{'#' * part.level} {part.title}\n\n{part.body.strip()}" for part in sections(draft) if part.title != "Summary"
    )
    gaps = [f"- [{i}] {one_line(r.questions[i].question, 300)}" for i in must_stand_under_gaps(r)]
    gaps += [f"- {one_line(gap.text, 300)}" for gap in r.gaps]
    end = ["## Gaps", "\n".join(gaps)] if gaps else []
    summary = " ".join(filter(None, told.values()))
    written = "\n\n".join([*(["## Summary", summary] if summary else []), details.strip(), *end])
    call = ("finalize_report", {"report": written})
    return [call if summary and _taken(r, *call, at) else (call[0], {"report": "\n\n".join([draft, *end])})]


def _taken(r: Research, name: str, args: dict[str, Any], at: datetime) -> bool:
    """Whether the research would take this call."""
    read = read_args(name, args) if name in TOOLS else ""
    if isinstance(read, str):
        return False
    call = Call(args=read, at=at, question_id=r.turn.question_id or ROOT)
    return isinstance(decide_call(r, name, call), Accepted)


def _pair(made: Any) -> tuple[str, dict[str, Any]]:
    return made.name, made.args


def _text_of(args: Mapping[str, Any], name: str, most: int = 400) -> str:
    value = args.get(name)
    return one_line(value, most) if isinstance(value, str) else ""


def _items(args: Mapping[str, Any], name: str) -> list[Any]:
    value = args.get(name)
    return value if isinstance(value, list) else []


def _texts(args: Mapping[str, Any], name: str) -> list[str]:
    return [one_line(v, 400) for v in _items(args, name) if isinstance(v, str) and v.strip()]


def _among(args: Mapping[str, Any], name: str, known: Sequence[str]) -> list[str]:
    return [v for v in dict.fromkeys(_texts(args, name)) if v in known]
