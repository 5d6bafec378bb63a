"""Reading a report: its sections, its citations by id, its sentences; and taking out what only code may write (D44).

A report is Markdown. A statement cites records of the research in brackets: `[c_007]`, `[c_001, d_002]`; under gaps
also questions, `[q_003]`. URLs and reference numbers are written by code alone, so the model's are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_ID = r"(?:ch|[cdqs])_\d+"
CITATION = re.compile(
    rf"[\[【]\s*({_ID}(?:(?:\s*(?:[,;&]|and\b)\s*|\s+){_ID})*)\s*[\]】]",
    re.IGNORECASE,
)
"""One bracket with the ids it cites, in group 1."""


class Section(NamedTuple):
    """A heading and the text below it, up to the next heading. The text before the first heading has level 0."""

    title: str
    level: int
    body: str
    gaps: bool = False
    """Whether this section, or one that encloses it, is about gaps."""


# Citations.


def cited_ids(text: str) -> tuple[str, ...]:
    """The ids that a text cites, in order of their first citation."""
    found = (ids_in(match) for match in CITATION.finditer(text))
    return tuple(dict.fromkeys(name for names in found for name in names))


def ids_in(citation: re.Match[str]) -> tuple[str, ...]:
    """The ids of one bracket that `CITATION` matched, in lower case."""
    return tuple(re.findall(_ID, citation[1].lower()))


def without_citations(text: str) -> str:
    """The text without its citations, and without the space before each."""
    return re.sub(rf"\s?{CITATION.pattern}", "", text, flags=re.IGNORECASE)


def cited_claims(text: str) -> tuple[str, ...]:
    """The claims and datapoints among `cited_ids`."""
    return tuple(name for name in cited_ids(text) if name.startswith(("c_", "d_")))


def cited_sentences(text: str, ids: Iterable[str]) -> str:
    """The text on one line, each of its sentences citing these ids and no others."""
    citation = f"[{', '.join(ids)}]"
    plain = without_citations(text.replace("|", "/"))
    return " ".join(f"{sentence} {citation}" for sentence in split_sentences(plain))


# Sections.

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_BOLD_LINE = re.compile(r"(\*\*|__)(?!\s)([^*_]{1,80}?)(?<![\s.!?])\1:?\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-{3,})[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_BULLET = re.compile(r"\s*(?:[-*+•–]|\(?\d{1,3}[.)])\s+")

_GAP_WORDS = {"gap", "gaps", "assumption", "assumptions", "limitation", "limitations", "unknowns", "caveats"}
_QUESTION_WORDS = {"question", "questions", "issues", "points"}
_OPEN_WORDS = {"open", "unresolved", "unanswered", "remaining", "outstanding"}
_GAP_FILLERS = {
    *("and", "or", "of", "in", "the", "this", "our", "on", "to", "for", "known", "other", "further", "key", "main"),
    *("research", "report", "evidence", "investigation", "analysis", "knowledge", "data", "information", "coverage"),
}
_BIBLIOGRAPHY = re.compile(
    r"(?:(?:list of|cited|used|consulted|key|primary|main|all|full|selected)\s+)*"
    r"(?:references?|sources?|bibliography|works? cited|citations?|literature|further reading|links?|urls?|footnotes?|"
    r"endnotes?)(?:\s+(?:list|cited|used|consulted))?"
    r"(?:\s*(?:and|&|/|,)\s*(?:references?|sources?|bibliography|citations?|links?|further reading|notes))*",
    re.IGNORECASE,
)


_URL = r"(?:https?://|www\.)(?:[^\s<>\"'()\[\]{}|]|\([^\s()]*\))+(?<![.,;:!?*_])"
_REFERENCE = re.compile(rf"\s*(?:[-*+•]\s+)?(?:\[?\^?\d{{1,3}}(?:\]|[.)])|<?{_URL})")


def sections(report: str) -> tuple[Section, ...]:
    """The report cut at its headings, in order. A line that is bold as a whole counts as a heading of level 7."""
    found: list[Section] = []
    title, level, body = "", 0, list[str]()
    above: list[tuple[int, bool]] = []

    def close() -> None:
        text = "\n".join(body).strip("\n")
        if level or text.strip():
            found.append(Section(title, level, text, any(is_gap for _, is_gap in above)))

    for heading, line in _lines(report):
        if heading is None:
            body.append(line)
            continue
        close()
        title, level, body = heading[0], heading[1], []
        above = [(outer, is_gap) for outer, is_gap in above if outer < level]
        above.append((level, is_gaps(title)))
    close()
    return tuple(found)


def is_gaps(title: str) -> bool:
    """Whether a heading announces gaps, assumptions, limitations or open questions, and nothing else."""
    words = re.findall(r"[a-z]+", title.lower())
    told = set(words)
    is_open = bool(told & _QUESTION_WORDS and told & _OPEN_WORDS)
    allowed = _GAP_WORDS | _QUESTION_WORDS | _OPEN_WORDS | _GAP_FILLERS
    return (bool(told & _GAP_WORDS) or is_open) and told <= allowed


def is_bibliography(title: str) -> bool:
    """Whether a heading announces a list of references, and nothing else."""
    return _BIBLIOGRAPHY.fullmatch(_plain(title)) is not None


def under_gaps(report: str) -> str:
    """The text of the sections about gaps, with their headings."""
    return "\n".join(f"{s.title}\n{s.body}" for s in sections(report) if s.gaps)


def outside_gaps(report: str) -> str:
    """The text of all other sections, with their headings."""
    return "\n".join(f"{s.title}\n{s.body}" for s in sections(report) if not s.gaps)


def gap_question_ids(report: str, questions: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Questions that stand under gaps: by id, in brackets or not, or by their text where `questions` gives it."""
    text = under_gaps(report)
    named = re.findall(r"\bq_\d+\b", text.lower())
    folded = f" {_folded(text)} "
    told = [name for name, asked in (questions or {}).items() if asked and f" {_folded(asked)} " in folded]
    return tuple(dict.fromkeys([*named, *told]))


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _plain(title: str) -> str:
    """A heading without numbering, emphasis and closing colon."""
    bare = re.sub(r"^[\s*_]*(?:\d+(?:\.\d+)*[.)]?|[IVX]+[.)])\s+", "", title)
    return bare.strip(" \t*_:")


def _lines(report: str) -> Iterator[tuple[tuple[str, int] | None, str]]:
    """Each line, and title and level where it is a heading. An underlined heading is one line."""
    lines = re.split(r"\r\n|\r|\n", report)
    fence = ""
    skip = False
    for number, line in enumerate(lines):
        if skip:
            skip = False
            continue
        mark = _FENCE.match(line)
        if fence or mark:
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1].startswith(fence):
                fence = ""
            yield None, line
            continue
        heading = _heading(lines, number)
        skip = heading is not None and heading[2]
        yield (heading[:2] if heading else None), f"{line}\n{lines[number + 1]}" if skip else line


def _heading(lines: list[str], number: int) -> tuple[str, int, bool] | None:
    """Title, level, and whether the next line is its underline."""
    line = lines[number]
    if marked := _HEADING.match(line):
        return _plain(marked[2] or ""), len(marked[1]), False
    alone = number == 0 or not lines[number - 1].strip()
    text = line.strip()
    if alone and text and "|" not in text and not _BULLET.match(line) and number + 1 < len(lines):
        below = _UNDERLINE.match(lines[number + 1])
        if below and text[-1] not in ".!?":
            return _plain(text), 1 if below[1][0] == "=" else 2, True
    if alone and (bold := _BOLD_LINE.match(text)):
        return _plain(bold[2]), 7, False
    if alone and is_bibliography(text):
        below_it = next((other for other in lines[number + 1 :] if other.strip()), "")
        if _REFERENCE.match(below_it) or _BULLET.match(below_it):
            return _plain(text), 7, False
    return None


# Sentences.

_END = re.compile(r"[.!?…]+[\"'”’»)\]*_]*(?=\s|\Z|\[|【)|[。！？]+[”’」』）]*")
_AFTER_STOP = re.compile(rf"(?:\s*{CITATION.pattern})+[.!?]*", re.IGNORECASE)
_TABLE_RULE = re.compile(r"[\s|:+=*_-]*\Z")
_NEVER_ENDS = {
    *("dr", "mr", "mrs", "ms", "prof", "st", "mt", "vs", "e.g", "i.e", "cf", "gen", "sen", "rep", "gov", "lt", "col"),
    *("viz", "approx", "ca", "c", "fig", "figs", "eq", "ref", "refs", "resp", "nr", "vol", "pp", "sec", "esp", "incl"),
}
_ENDS_BEFORE_AN_OPENER = {"etc", "al", "inc", "ltd", "co", "corp", "jr", "sr", "ph.d", "a.m", "p.m", "dept", "univ"}
_BEFORE_A_NUMBER = {
    *("no", "v", "p", "ch", "art", "est", "max", "min", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept"),
    *("oct", "nov", "dec"),
}
_OPENERS = re.compile(
    r"(?:The|It|Its|This|That|These|Those|In|On|At|By|For|From|A|An|He|She|They|We|But|And|However|As|When|While|After|"
    r"Before|Since|There|Both|Each|All|Some|Most|Another|Other|No|Not|If|With)\b"
)


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of running text; a citation after the full stop belongs to the sentence before it."""
    text = " ".join(text.split())
    found: list[str] = []
    start = 0
    for stop in _END.finditer(text):
        if stop.start() < start:
            continue
        end = stop.end()
        if cited := _AFTER_STOP.match(text, end):
            end = cited.end()
        if _is_boundary(text[start : stop.start()], stop[0], text[end:]):
            found.append(text[start:end].strip())
            start = end
    found.append(text[start:].strip())
    return tuple(sentence for sentence in found if sentence)


def _is_boundary(before: str, mark: str, after: str) -> bool:
    following = after.lstrip(" \"'“‘«([*_")
    if not following or mark[0] in "。！？":
        return True
    if not after.startswith(" ") or following[0].islower():
        return False
    if mark[0] != ".":
        return True
    word = re.split(r"[ –—]", before)[-1].lstrip("(\"'“‘«[*_")
    if (len(word) == 1 and word.isupper()) or re.fullmatch(r"(?:[A-Z]\.)+[A-Z]", word):
        return _OPENERS.match(following) is not None
    lower = word.lower()
    if lower in _ENDS_BEFORE_AN_OPENER:
        return _OPENERS.match(following) is not None
    return lower not in _NEVER_ENDS and not (lower in _BEFORE_A_NUMBER and following[0].isdigit())


def factual_sentences(report: str) -> tuple[str, ...]:
    """The sentences outside gaps that state something: all but headings, rules, lead-ins with ':' and questions."""
    stated = (
        sentence
        for section in sections(strip_bibliography(report))
        if not section.gaps
        for block in _blocks(section.body)
        for sentence in block
    )
    return tuple(sentence for sentence in stated if _is_factual(sentence))


def uncited_sentences(report: str) -> tuple[str, ...]:
    """The factual sentences that cite no claim or datapoint (D44)."""
    return tuple(sentence for sentence in factual_sentences(report) if not cited_claims(sentence))


_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|built|made|sold|won|died|cost|costs|causes|caused|became|contains)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:how|what|when|where|who|whom|whose|why|which|does|do|did|is|are|was|were|can|could|should|will|would|has|have)\b",
    re.IGNORECASE,
)


def _is_factual(sentence: str) -> bool:
    bare = CITATION.sub("", sentence).strip(" \t*_\"'”’»)")
    if re.search(r"[^\W_]", bare) is None:
        return False
    if bare[-1] in "?？":
        return bare[0].isascii() and _ASKS.match(bare) is None  # "…, is it not?" asserts
    if bare[-1] in ":：":
        return re.search(r"\d", bare) is not None  # a lead-in to a list states no figure
    return not _BOLD_LINE.match(sentence)


def asserting_headings(report: str) -> tuple[str, ...]:
    """Headings outside gaps that are statements rather than titles: they would go out uncited (D44)."""
    found = []
    for section in sections(report):
        title = CITATION.sub("", section.title).strip()
        asks = title.endswith(("?", "？")) and _ASKS.match(title)
        if section.level and not section.gaps and not asks and len(title.split()) > 3 and _STATES.search(title):
            found.append(section.title)
    return tuple(found)


def _blocks(body: str) -> Iterator[tuple[str, ...]]:
    """The sentences of each paragraph and list item; a row of a table and a fenced text are one each."""
    paragraph: list[str] = []
    fenced: list[str] | None = None
    lines = [re.sub(r"^\s*(?:>\s?)+", "", line) for line in body.split("\n")]
    for number, line in enumerate(lines):
        is_row = line.lstrip().startswith("|")
        if _FENCE.match(line) or fenced is not None:
            if fenced is None:
                yield split_sentences(" ".join(paragraph))
                paragraph, fenced = [], []
            elif _FENCE.match(line):
                yield (" ".join(fenced),)
                fenced = None
            else:
                fenced.append(line.strip())
        elif is_row or _TABLE_RULE.match(line) or _BULLET.match(line):
            yield split_sentences(" ".join(paragraph))
            is_head = number + 1 < len(lines) and "-" in lines[number + 1] and _TABLE_RULE.match(lines[number + 1])
            paragraph = [] if is_row or _TABLE_RULE.match(line) else [_BULLET.sub("", line, count=1)]
            if is_row and not is_head:
                yield (" ".join(line.strip(" |").split()),)
        else:
            paragraph.append(line)
    yield split_sentences(" ".join(paragraph)) if fenced is None else (" ".join(fenced),)


# What only code may write.

_DEFINITION = re.compile(r"\s{0,3}\[\^?\d{1,3}\]:")
_LINK = re.compile(r" ?!?\[([^\[\]]*|\[[^\[\]]*\])\]\(\s*<?(?:[^\s()<>]|\([^\s()]*\))*>?(?:\s+\"[^\"]*\")?\s*\)")
_NUMBER = r"[1-9]\d{0,2}"
_INLINE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf" ?\(\s*(?:(?:see|source|via|from|at)\b:?\s*)?<?{_URL}>?\s*\)",
        rf" ?<?{_URL}>?",
        r" ?<?\b(?:[a-z][a-z0-9+.-]*(?::|&#0*58;|&colon;)//|mailto:)[^\s<>]+>?",
        r" ?\b(?:[a-z0-9-]+\.)+[a-z]{2,}/[^\s<>\"']+(?<![.,;:!?])",
        r" ?\(?\b(?:doi:\s*)?10\.\d{4,9}/[^\s<>\"'\[\]]+(?<![.,;:!?])",
        rf" ?\[\s*\^?{_NUMBER}(?:\s*[,;–-]\s*\^?{_NUMBER})*(?:†[^\]]*)?\s*\]",
        rf" ?【(?!\s*{_ID})[^】]*】",
        r" ?\[(?:insert\b[^\]]*|citations? needed|sources?|ref(?:erence)?s?|todo[^\]]*)\]",
    )
)


def strip_bibliography(report: str) -> str:
    """The report without the references that a model wrote: lists of sources, numbers, URLs and links (D44).

    Citations by id stay, also as the text of a link. Applying it twice changes nothing more.
    """
    text = re.sub(r"\r\n?", "\n", report)
    while len(shorter := _strip_once(text)) < len(text):
        text = shorter
    return text


def _strip_once(report: str) -> str:
    kept: list[str] = []
    dropping = 0
    for heading, line in _lines(report):
        if heading is not None:
            if dropping and (heading[1] <= dropping or is_gaps(heading[0])):
                dropping = 0
            if not dropping and is_bibliography(heading[0]):
                dropping = heading[1]
        elif dropping > 6 and cited_claims(line):
            dropping = 0
        if not dropping and not _DEFINITION.match(line):
            kept.append(line)
    return "\n".join(_strip_lines(_without_trailing_list(kept)))


def _without_trailing_list(lines: list[str]) -> list[str]:
    in_gaps = (found := sections("\n".join(lines))) and found[-1].gaps
    end = kept = len(lines)
    while end:
        line = lines[end - 1]
        listed = (_REFERENCE.match(line) or _BULLET.match(line)) and re.search(_URL, line)
        if line.strip() and (in_gaps or not listed or cited_claims(line)):
            break
        end -= 1
        kept = end if line.strip() else kept
    return lines[:kept]


def _strip_lines(lines: list[str]) -> Iterator[str]:
    for line in lines:
        text = _LINK.sub(_link_text, line)
        for pattern in _INLINE:
            text = pattern.sub("", text)
        if text == line or re.search(r"[^\W_]", text):
            yield text


def _link_text(link: re.Match[str]) -> str:
    text, space = link[1], " " if link[0].startswith(" ") else ""
    if link[0].lstrip().startswith("!") or re.fullmatch(rf"\[?[\d\s^]*\]?|{_URL}", text):
        return ""
    return space + (f"[{text}]" if CITATION.fullmatch(f"[{text}]") else text)
