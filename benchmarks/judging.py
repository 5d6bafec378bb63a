"""Judging a text by answers that are known: pure functions, the same for a report and for the baseline beside it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from zetetic.state.citations import sections, split_sentences
from zetetic.state.wording import content_words

LONG = 5
"""Words from which an answer is a text of its own, looked for by its words rather than as it stands."""
SHARE = 0.6
"""Share of a long answer's content words that one sentence must hold."""
PREFIX = 6
"""Letters by which two forms of a word count as one."""

MEASURE = (
    "How it was measured. An answer is stated when one statement holds it after case, accents, punctuation and "
    f"articles are folded (a date's words in any order); one of {LONG} words or more, such as a conclusion, also when "
    f"a sentence holds {SHARE:.0%} of its content words, and of those that the question lacks its figures or, without "
    "figures, the same share. An answer inside a longer answer of the question does not count. Yes, no and maybe "
    "cannot be found in a text and are left out. Statements are what the report says before its verification status, "
    "gaps and sources, without headings. An answer is verified when a claim that the report calls verified, or a quote "
    "of it, states it; it has support when the claim lacks nothing and enough independent sources of it have quotes "
    "that state the answer. The baseline is the five best sentences of one search for the question."
)

_MONTH = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
)
_REFERENCE = re.compile(r"(?<!\\)\[(\d+(?:, \d+)*)(?:, (?:unverified|refuted|retracted))?\]")
_MARKED = re.compile(r"^- \*\*(VERIFIED|UNVERIFIED|REFUTED|RETRACTED)\*\*: (.*)$", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+•>]\s+)*")
_ENTRY = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


# Answers.


def normalised(text: str) -> str:
    """Text as answers are compared: case, accents, punctuation, articles and thousands separators folded."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    bare = re.sub(r"(?<=\d),(?=\d{3}\b)", "", bare)
    return " ".join(word for word in re.findall(r"[^\W_]+", bare) if word not in {"a", "an", "the"})


def is_verdict(answer: str) -> bool:
    """Whether an answer is yes, no or maybe, which containment cannot judge."""
    return normalised(answer) in {"yes", "no", "maybe"}


def measurable(answers: Iterable[str]) -> tuple[str, ...]:
    """The answers that can be looked for, each once."""
    found = {normalised(answer): answer for answer in reversed(list(answers)) if not is_verdict(answer)}
    return tuple(reversed([answer for key, answer in found.items() if key]))


def is_stated(answer: str, statements: Iterable[str], question: str = "", others: Iterable[str] = ()) -> bool:
    """Whether one of the statements holds an answer (`MEASURE`). `others` are the question's other answers."""
    wanted = normalised(answer)
    longer = [other for other in map(normalised, others) if other != wanted and _holds(other, wanted)]
    return any(_states(wanted, answer, statement, question, longer) for statement in statements)


def _states(wanted: str, answer: str, statement: str, question: str, longer: Sequence[str]) -> bool:
    said = normalised(statement)
    for other in longer:
        said = f" {said} ".replace(f" {other} ", " | ").strip()
    if _holds(said, wanted):
        return True
    words = wanted.split()
    if _MONTH.search(wanted) and any(word.isdigit() for word in words) and len(words) < LONG:
        return set(words) <= set(said.split())
    return len(words) >= LONG and any(_covers(answer, question, sentence) for sentence in split_sentences(statement))


def _holds(text: str, phrase: str) -> bool:
    return bool(phrase) and f" {phrase} " in f" {text} "


def _covers(answer: str, question: str, sentence: str) -> bool:
    """Whether a sentence holds enough of a long answer's words."""
    wanted, said, asked = (_content(text) for text in (answer, sentence, question))
    new = wanted - asked
    figures = {word for word in new if any(c.isdigit() for c in word)}
    if not wanted or len(wanted & said) / len(wanted) < SHARE or not figures <= said:
        return False
    return bool(figures) or not new or len(new & said) / len(new) >= SHARE


def _content(text: str) -> set[str]:
    return {word if word[0].isdigit() else word[:PREFIX] for word in content_words(normalised(text))}


def stated(answers: Sequence[str], statements: Sequence[str], question: str, others: Sequence[str] = ()) -> list[str]:
    """Those of the answers that the statements hold."""
    every = [*answers, *others]
    return [answer for answer in answers if is_stated(answer, statements, question, every)]


# Reports as they go out.


def statements_of(report: str) -> list[str]:
    """What a report states: its lines before the verification status, without title, head, gaps and references."""
    found: list[str] = []
    for section in sections(report):
        if section.title.startswith("Verification status"):
            break
        if section.level == 1 or section.gaps:
            continue
        for line in section.body.splitlines():
            text = _REFERENCE.sub("", _BULLET.sub("", line)).strip()
            if re.search(r"[^\W_]", text):
                found.append(text)
    return found


def marked_claims(report: str) -> list[tuple[str, str]]:
    """The claims of a report's verification status: status, and the rest of the line, its references included."""
    return [(found[1], found[2]) for found in _MARKED.finditer(report)]


def listed_sources(report: str) -> dict[int, str]:
    """The numbered entries under Sources."""
    listed = report.rpartition("\n## Sources\n")[2].partition("\n### ")[0]
    return {int(found[1]): found[2] for found in _ENTRY.finditer(listed)}


def cited_numbers(text: str) -> set[int]:
    """The reference numbers that a text cites."""
    return {int(number) for found in _REFERENCE.finditer(text) for number in found[1].split(", ")}


# The baseline.


def best_sentences(question: str, sentences: Sequence[str], documents: Iterable[str], most: int = 5) -> list[str]:
    """The sentences that share most with a question, its words weighted by inverse document frequency."""
    weights = word_weights(_content(question), documents)
    scores = {s: sum(weights[word] for word in _content(s) & weights.keys()) for s in dict.fromkeys(sentences)}
    return sorted((s for s in scores if scores[s] > 0), key=lambda s: -scores[s])[:most]


def word_weights(words: Iterable[str], documents: Iterable[str]) -> Mapping[str, float]:
    """How telling each word is among the documents: rare ones more."""
    wanted = set(words)
    held: Counter[str] = Counter()
    size = 0
    for document in documents:
        size += 1
        held.update(_content(document) & wanted)
    return {word: math.log(1 + (size - held[word] + 0.5) / (held[word] + 0.5)) for word in wanted}
