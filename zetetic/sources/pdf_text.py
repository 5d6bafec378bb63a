"""The text of PDF files: pdfium first, pypdf where that fails (case 27)."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections import Counter
from collections.abc import Sequence
from io import BytesIO

import pypdf
import pypdfium2

from zetetic.sources.extracted import Extracted, ExtractionFailure, addresses_in, bounded, iso_date, one_line, tidy
from zetetic.sources.media_types import PDF
from zetetic.sources.plain_text import is_web

MAX_PDF_PAGES = 500
MIN_LETTERS = 3
"""A PDF with fewer letters than this has no text: a scan with a stray page mark."""
MAX_DECLARED_LINES = 6
_DECLARED = re.compile(r"(URL|Title|Date):\s+(\S.*)$", re.IGNORECASE)

_pdfium = threading.Lock()  # pdfium may be entered by one thread at a time
logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
logging.getLogger("pypdfium2").setLevel(logging.CRITICAL + 1)


def read_pdf(data: bytes, *, filename: str) -> Extracted | ExtractionFailure:
    """The text of the first 500 pages, lines joined into paragraphs, words divided at line ends joined.

    A file with an owner password only is read; one that needs a password, a scan, and a broken file are failures that
    say so.
    """
    try:
        pages, total, facts = _by_pdfium(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            return _encrypted()
        pages, total, facts = [], 0, {}
    if not _has_text(pages):
        fallback = _by_pypdf(data)
        if isinstance(fallback, ExtractionFailure):
            return fallback
        if _has_text(fallback[0]) or not total:
            pages, total, facts = fallback[0], fallback[1], facts or fallback[2]
    if not _has_text(pages):
        message = f"The PDF holds no text in its {total} page(s): probably a scan. Run text recognition on it first."
        return ExtractionFailure(kind="unreadable", message=message)
    declared, pages = _declared(pages)
    text, note = bounded(joined_pages(pages))
    if total > len(pages):
        note = f"Only the first {len(pages)} of {total} pages were read. {note}".strip()
    title = declared.get("title") or one_line(facts.get("Title", ""))
    if not title or re.match(r"untitled|microsoft word|\S+\.(?:docx?|tex|dvi|pdf|indd)$", title, re.IGNORECASE):
        title = filename or one_line(text.split("\n", 1)[0], 200)
    return Extracted(
        title=title,
        text=text,
        media_type=PDF,
        published=iso_date(declared.get("date") or facts.get("CreationDate")),
        declared_url=declared.get("url"),
        links=addresses_in(text),
        note=note,
    )


def _declared(pages: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """What the first lines declare as `URL: …`, `Title: …`, `Date: …`, where a URL is among them; and the rest."""
    if not pages:
        return {}, []
    lines = pages[0].splitlines()
    fields: dict[str, str] = {}
    used = 0
    for line in lines[:MAX_DECLARED_LINES]:
        found = _DECLARED.match(line.strip())
        if line.strip() and not found:
            break
        if found:
            fields[found[1].lower()] = found[2].strip()
        used += 1
    if not is_web(fields.get("url", "")):
        return {}, list(pages)
    return fields, ["\n".join(lines[used:]), *pages[1:]]


def _encrypted() -> ExtractionFailure:
    message = "The PDF is encrypted and needs a password: save a copy without one."
    return ExtractionFailure(kind="unreadable", message=message)


def _has_text(pages: Sequence[str]) -> bool:
    return sum(1 for page in pages for character in page if character.isalnum()) >= MIN_LETTERS


def _by_pdfium(data: bytes) -> tuple[list[str], int, dict[str, str]]:
    """Pages, number of all pages, document information. Raises PdfiumError."""
    with _pdfium:
        document = pypdfium2.PdfDocument(data)
        try:
            total = len(document)
            pages = []
            for index in range(min(total, MAX_PDF_PAGES)):
                page = document[index]
                try:
                    text = page.get_textpage()
                    pages.append(text.get_text_range())
                    text.close()
                except pypdfium2.PdfiumError:
                    pages.append("")
                finally:
                    page.close()
            facts = {key: str(value).strip("\x00 ") for key, value in document.get_metadata_dict().items()}
        finally:
            document.close()
    return pages, total, facts


def _by_pypdf(data: bytes) -> tuple[list[str], int, dict[str, str]] | ExtractionFailure:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = pypdf.PdfReader(BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                return _encrypted()
            total = len(reader.pages)
            pages = [reader.pages[index].extract_text() for index in range(min(total, MAX_PDF_PAGES))]
            facts = {str(key).lstrip("/"): str(value) for key, value in (reader.metadata or {}).items()}
    except Exception as error:  # pypdf meets hostile bytes with whatever exception they provoke
        reason = " ".join(str(error).split()) or type(error).__name__
        return ExtractionFailure(kind="unreadable", message=f"The PDF is broken: {reason[:200]}.")
    return pages, total, facts


def joined_pages(pages: Sequence[str]) -> str:
    """One text of the pages: running heads and page numbers dropped, sentences across lines and pages kept whole."""
    lines = [[line.strip() for line in tidy(_marked(page)).split("\n")] for page in pages]
    lines = _without_running_lines(lines)
    words = Counter(re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", "\n".join("\n".join(page) for page in lines).lower()))
    text = ""
    for page in lines:
        block = _joined_lines(page, words)
        if not block:
            continue
        if text and not text.endswith((".", "!", "?", ":", "”", '"')) and block[:1].islower():
            text = _glued(text, block, words)
        else:
            text = f"{text}\n\n{block}" if text else block
    return tidy(text)


def _marked(page: str) -> str:
    """pdfium puts U+FFFE (older builds: U+0002) for a hyphen at a line's end and the line end; here both come back."""
    return re.sub("[\ufffe\x02](?:\r?\n)?", "-\n", page)


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """The pages without their first and last lines where those repeat (numbers aside) on a third of three or more."""
    if len(pages) < 3:
        return pages
    edges = Counter(
        key for page in pages if page for key in {_numberless(line) for line in (*page[:2], *page[-2:])} if key
    )
    repeated = {key for key, count in edges.items() if count >= max(3, len(pages) // 3)}
    return [_trimmed(page, repeated) for page in pages]


def _trimmed(page: list[str], repeated: set[str]) -> list[str]:
    """A page without what repeats at its edges; a page of nothing else is left as it is."""
    start, end = 0, len(page)
    while start < min(2, end) and _numberless(page[start]) in repeated:
        start += 1
    while end > max(start, len(page) - 2) and _numberless(page[end - 1]) in repeated:
        end -= 1
    return page[start:end] or page


def _numberless(line: str) -> str:
    return re.sub(r"\d+", "#", line)


def _joined_lines(lines: Sequence[str], words: Counter[str]) -> str:
    """Lines of one paragraph on one line. A line goes on if it is nearly full, or if the next starts in lower case."""
    lengths = sorted(len(line) for line in lines if line)
    if not lengths:
        return ""
    full = lengths[int(len(lengths) * 0.9) - (1 if len(lengths) > 1 else 0)] * 0.75 if len(lengths) > 3 else 45.0
    text = previous = ""
    for line in lines:
        if not text:
            text = line
        elif not line:
            text += "\n"
        elif previous and (line[:1].islower() or previous.endswith(("-", ",")) or (len(previous) >= max(full, 30.0))):
            text = _glued(text, line, words)
        else:
            text += "\n" + line
        previous = line
    return text


_BROKEN_WORD = re.compile(r"([^\W\d_]+)-$")


def _glued(text: str, line: str, words: Counter[str]) -> str:
    """Two lines as one. A hyphen at the end goes, unless the document writes that word with it elsewhere."""
    left = _BROKEN_WORD.search(text[-60:])
    right = re.match(r"[^\W\d_]+", line)
    if not left or not right:
        return f"{text}{line}" if text.endswith("-") and not text.endswith(" -") else f"{text} {line}"
    first, second = left[1].lower(), right[0].lower()
    hyphenated = words[f"{first}-{second}"] > words[first + second] or not line[0].islower()
    return text + line if hyphenated else text[:-1] + line
