"""How tool results read: pages fenced as data, hits, questions and challenges in compact form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from zetetic.sources import Hit, SearchResult, SearchStatus
from zetetic.state.frontier import question_line, tried
from zetetic.state.research import Research
from zetetic.state.wording import one_line

_OPENING = re.compile("(?:[<\uff1c\ufe64\u276e\u27e8\u3008]|&lt;)(?=(.{1,80}))|\\[(?=/?\\s*(?:INST|SYS)\\b)", re.DOTALL)
_TAG = re.compile(
    r"[\s</]*(?:\w+:)?(?:page|system|sys|developer|assistant|user|human|tool|tools|tool_calls?|tool_results?|"
    r"tool_response|function|functions|function_calls?|function_results?|invoke|parameter|think|thinking|"
    r"instructions?|directives?|notes|documents?|im_start|im_end|start_of_turn|end_of_turn)\b|/?s>|\|"
)
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_STRUCTURE = re.compile(
    r"^(?=# (?:Task|Tables|Notes|Frontier|Background|Since then|Directives|Now)\b|Stage: |Directive \d+ from |"
    r"(?:Not a|A)llowed now: |Refused\. )",
    re.MULTILINE,
)
"""What the lines of a prompt begin with that say where it stands and what is to be done."""
# Letters of other scripts that look like those of the tags.
_LOOKS_LIKE = str.maketrans("аеорсухіѕԁтпкмнгοαενιυκτρѵʟɪ", "aeopcyxisdtnkmhroaeviuktpvli")


def neutral(text: str) -> str:
    """Text whose look-alikes of prompt tags can open or close nothing, and that reads as it is written (CASES 10).

    A tag is told by how it looks: with letters of another script, in full width, or with characters that nobody sees
    among its own it is one all the same. What turns the reading direction round goes, and a line that plays at being a
    heading or an instruction of the prompt is set in, which no quote of it notices.
    """
    return _STRUCTURE.sub("    ", _OPENING.sub(_defused, _TURNING.sub("", text)))


def _defused(opening: re.Match[str]) -> str:
    if opening[0] == "[":
        return "\u27e6"
    seen = unicodedata.normalize("NFKC", _UNSEEN.sub("", opening[1])).casefold().translate(_LOOKS_LIKE)
    return "\u2039" if _TAG.match(seen) else opening[0]


def flat(text: str) -> str:
    """Foreign text for one line of a prompt: it can neither look like a tag nor begin a line of its own."""
    return neutral(one_line(text))


def fenced(source_id: str, text: str, *, title: str = "", part: str = "") -> str:
    """A page's text as data: whatever it says, it is not an instruction."""
    attributes = f' title="{one_line(title, 120).replace(chr(34), chr(39))}"' if title else ""
    attributes += f' part="{part}"' if part else ""
    shown = neutral(attributes).replace(">", "\u203a")
    return f'<page source_id="{source_id}"{shown}>\n{neutral(text)}\n</page>'


def hits_text(result: SearchResult, known: dict[str, str], limit_chars: int) -> str:
    """Search hits, a line and a snippet each, as many as fit; `known` maps canonical addresses to their sources."""
    troubles = [_status_text(part) for part in result.parts or (result,) if part.status is not SearchStatus.OK]
    if not result.hits:
        return "\n".join(troubles) or _status_text(result)
    lines: list[str] = []
    size = 0
    for number, hit in enumerate(result.hits, 1):
        block = _hit_text(number, hit, known)
        if lines and size + len(block) > limit_chars:
            lines.append(f"(+{len(result.hits) - number + 1} more hits; ask more narrowly to see them)")
            break
        lines.append(block)
        size += len(block) + 1
    return "\n".join(lines + troubles)


def _status_text(part: SearchResult) -> str:
    """How one provider's search went, for the model to know who has not looked (R8)."""
    return f"{flat(part.provider)}: {part.status.value}. {flat(part.detail)}".strip()


def _hit_text(number: int, hit: Hit, known: dict[str, str]) -> str:
    source = known.get(hit.url)
    seen = f" (read: {source})" if source else ""
    date = f" {flat(hit.date)}" if hit.date else ""
    title, snippet = neutral(one_line(hit.title, 120)), neutral(one_line(hit.snippet, 320))
    return f'[{number}] {flat(hit.url)}{seen} "{title}"{date}\n    {snippet}'


def view_question(research: Research, question_id: str) -> str:
    """One question with its criteria, answer and query log."""
    question = research.questions[question_id]
    lines = [question_line(research, question), f"criteria: {question.validation_criteria or '-'}"]
    if question.rationale:
        lines.append(f"rationale: {question.rationale}")
    if question.target_sources:
        lines.append(f"target_sources: {', '.join(question.target_sources)}")
    if question.answer:
        lines.append(f"answer: {question.answer}")
    lines += tried_lines(research, question_id)
    return "\n".join(lines)


def tried_lines(research: Research, question_id: str, shown: int = 12) -> list[str]:
    """The query log of a question, newest last."""
    log = [r for r in tried(research, question_id) if r.tool != "fetch_page"]
    lines = []
    for r in log[-shown:]:
        challenge = f"challenge {r.challenge_id}, " if r.challenge_id else ""
        lines.append(f'- "{one_line(r.query, 160)}" ({challenge}{r.outcome or r.status})')
    return ([f"- ({len(log) - shown} earlier ones)"] if len(log) > shown else []) + lines


def view_questions(research: Research, status: str, shown: int = 30) -> str:
    """The questions of one status, or of all."""
    found = [q for q in research.questions.values() if not status or q.status == status]
    lines = [question_line(research, q) for q in found[:shown]]
    return "\n".join(lines + ([f"(+{len(found) - shown} more)"] if len(found) > shown else [])) or "none"


def challenge_lines(research: Research, ids: Sequence[str]) -> list[str]:
    """Challenges, a line each."""
    lines = []
    for challenge_id in ids:
        c = research.challenges[challenge_id]
        state = c.outcome or (f"open, run: {c.search_status}" if c.executed else "open, not yet run")
        target = c.target_id or c.target_type
        # An answer must be resolved in the very words that were challenged (D17), so it is never cut.
        text = one_line(c.target_text, 0 if c.target_type == "question_answer" else 200)
        lines.append(f'[{c.id}] {state} | {c.target_type} {target} | {c.strategy} | "{c.query}" | {text}')
    return lines
