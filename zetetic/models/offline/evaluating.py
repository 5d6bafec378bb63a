"""The four arms without a model: counted conduct, quotes compared with statements, criteria looked up."""

from __future__ import annotations

import re
from typing import Any

from zetetic.state.citations import cited_ids, factual_sentences, is_gaps, sections, under_gaps

from .answering import NOT_FOUND
from .asking import sub_questions
from .bearing import bears_on
from .language import ASKS_FIGURE, ASKS_TIME, fits_kind, quantities, stems

SUPPORTED = 0.6
COVERED = 0.33
COVERED_BY_KIND = 0.3


def judge(prompt: str) -> dict[str, Any]:
    """A verdict on conduct, from the counted briefing alone."""
    counted = {m[0]: int(m[1]) for m in re.findall(r"^([a-z ]+): (\d+)$", prompt, re.M)}
    faults = re.findall(r"^fault: (.*)$", prompt, re.M)
    if faults:
        return {"verdict": "Steer", "guidance": f"Mend this first: {faults[0]}."}
    claims = counted.get("claims unverified", 0) + counted.get("claims verified", 0)
    if counted.get("queries", 0) == 0 and claims == 0:
        return {"verdict": "Restart", "guidance": "Search before answering."}
    if claims == 0:
        return {"verdict": "Steer", "guidance": "Search with other words; nothing was recorded."}
    return {"verdict": "Proceed", "guidance": ""}


def verify(prompt: str) -> dict[str, Any]:
    """Whether each statement's words and figures stand in the quotes it cites."""
    result, _, listed = prompt.partition("\nClaims:\n")
    result = result.removeprefix("Result: ")
    known: dict[str, str] = {}
    here = ""
    for line in listed.splitlines():
        head = re.match(r"^\[([cd]_\d+)\] \w+ (.*)$", line)
        if head:
            here = head[1]
            known[here] = head[2]
        elif here:
            known[here] += f" {line}"
    failures = []
    for sentence in _statements(result):
        ids = [i for i in cited_ids(sentence) if i in known]
        if not ids:
            continue
        evidence = " ".join(known[i] for i in ids)
        said = stems(re.sub(r"\[[^\]]*\]", "", sentence)) - _FRAME
        if not said:
            continue
        share = len(said & stems(evidence)) / len(said)
        figures = {q.value for q in quantities(re.sub(r"\[[^\]]*\]", "", sentence))}
        loose = figures - {q.value for q in quantities(evidence)}
        if (share < SUPPORTED or loose) and not re.search(r"\bstated by \d+ sites\b|\bNeither is better\b", sentence):
            failures.append(f"not in its quotes: {sentence[:200]}")
    return {"passed": not failures, "failures": failures[:20]}


_FRAME = stems("sources disagree against it this holds instead first second stated sites neither better supported")


def _statements(result: str) -> list[str]:
    if "\n## " in result or result.startswith("#"):
        return list(factual_sentences(result))
    from zetetic.state.citations import split_sentences

    return list(split_sentences(result))


def critique(prompt: str) -> dict[str, Any]:
    """Objections that can be counted: a cited pair in conflict that the result does not call one."""
    result = re.search(r"^Result: (.*?)\nCited claims:", prompt, re.S | re.M)
    text = result[1] if result else ""
    cited = set(cited_ids(text))
    objections = []
    for a, b in re.findall(r"^([cd]_\d+) vs ([cd]_\d+) \(", prompt, re.M):
        if {a, b} <= cited and not re.search(r"disagree|contradict|against it|differ", text, re.I):
            objections.append(f"{a} and {b} contradict each other, and the result does not say so")
    return {"objections": objections}


def completeness(prompt: str) -> dict[str, Any]:
    """A verdict for each criterion: its terms, and the kind of answer it asks for, in one statement or under gaps."""
    result, _, listed = prompt.partition("\nCriteria:\n")
    text = re.sub(r"^Question: .*\nResult: ", "", result)
    question = re.match(r"^Question: (.*)$", prompt, re.M)
    is_report = text.lstrip().startswith("#")
    verdicts = []
    for number, criterion in re.findall(r"^(\d+)\. (.*)$", listed, re.M):
        met = _met(criterion, question[1] if question else "", text, is_report)
        missing = "" if met else f"no statement does this: {criterion}"
        verdicts.append({"number": int(number), "met": met, "missing": missing[:300]})
    return {"criteria": verdicts or [{"number": 1, "met": bool(text.strip())}]}


def _met(criterion: str, question: str, text: str, is_report: bool) -> bool:
    if re.match(r"Every statement cites|Contradictions between|What could not be found", criterion):
        return True  # code holds these at the gate
    if re.match(r"Names both sides|States what the sources that refuted", criterion):
        return bool(cited_ids(text))
    asked = re.sub(r"^.*?(?:about|as a gap|Answers): ", "", criterion)
    parts = sub_questions(asked)
    if len(parts) > 1:
        return all(_met(f"Answers: {part}", part, text, is_report) for part in parts)
    wanted = stems(asked) - _ASKING
    if not wanted:
        return bool(text.strip())
    if is_report and _covered(wanted, under_gaps(text)):
        return True
    body = "\n".join(s.body for s in sections(text) if not is_gaps(s.title)) if is_report else text
    for sentence in _statements(text):
        if sentence.startswith(NOT_FOUND) and _covered(wanted, sentence):
            return True
    # A date or a figure of the right kind speaks for itself; other answers must name more of what is asked.
    share = COVERED_BY_KIND if ASKS_TIME.search(criterion) or ASKS_FIGURE.search(criterion) else COVERED
    about = asked if is_report else question  # a report's question is the whole objective
    for sentence in _statements(text):
        bare = re.sub(r"\[[^\]]*\]", "", sentence)
        if not bears_on(about, bare):
            continue
        told = sentence if is_report or "?" in criterion else body
        if _covered(wanted, told, share) and fits_kind(f"{criterion} {question}", bare):
            return True
    return is_report and _covered(wanted, body) and bears_on(about, body)


_ASKING = stems(
    "states state figure unit date year quoted source sources holds names name gap answer answers statement"
)


def _covered(wanted: frozenset[str], text: str, share: float = COVERED) -> bool:
    return len(wanted & stems(text)) >= share * len(wanted)
