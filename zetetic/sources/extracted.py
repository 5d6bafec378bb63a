"""What reading a document gives: its text and what it declares of itself, or a reason."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from pydantic import BaseModel, ConfigDict

MAX_LINKS = 500
MAX_TEXT_CHARACTERS = 3_000_000


class Extracted(BaseModel):
    """The main text of a document and what it declares."""

    model_config = ConfigDict(frozen=True)

    title: str
    text: str
    """NFC, lines ended by a bare newline, no control characters."""
    media_type: str
    published: str | None = None
    """YYYY-MM-DD, YYYY-MM or YYYY, only when declared."""
    declared_url: str | None = None
    """Canonical link, og:url, front matter or custom property."""
    work_url: str | None = None
    """A DOI or arXiv address from the page's citation metadata."""
    links: tuple[str, ...] = ()
    note: str = ""
    """What was left out, as a sentence; '' when all was read."""


class ExtractionFailure(BaseModel):
    """Why there is no text. `message` is a sentence."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["junk", "unreadable", "unsupported"]
    message: str


_UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def tidy(text: str) -> str:
    """NFC, one kind of line end, no control or zero-width characters, no trailing spaces, one blank line at most."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    text = unicodedata.normalize("NFC", _UNWANTED.sub("", text).replace("\u00ad", ""))
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def one_line(text: str, limit: int = 300) -> str:
    """A title: on one line, at most `limit` characters."""
    line = " ".join(tidy(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


_DATE = re.compile(r"\s*(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?![\d])")
_COMPACT = re.compile(r"\s*(?:D:)?(\d{4})(\d{2})(\d{2})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WRITTEN = re.compile(
    r"(?:[A-Za-z]+,\s+)?(?:(\d{1,2})\.?\s+([A-Za-z]{3})[a-z]*|([A-Za-z]{3})[a-z]*\.?\s+(\d{1,2})),?\s+(\d{4})"
)


def iso_date(declared: str | None) -> str | None:
    """A declared date as YYYY-MM-DD, YYYY-MM or YYYY, as precise as declared; None for what is no date."""
    if not declared:
        return None
    if found := _COMPACT.match(declared):
        return _checked(found[1], found[2], found[3])
    if found := _DATE.match(declared):
        return _checked(*found.groups())
    if found := _WRITTEN.match(declared.strip()):
        month = (found[2] or found[3]).lower()
        if month in _MONTHS:
            return _checked(found[5], str(_MONTHS.index(month) + 1), found[1] or found[4])
    return None


def _checked(year: str, month: str | None, day: str | None) -> str | None:
    if not 1000 <= int(year) <= 2999 or not 1 <= int(month or 1) <= 12 or not 1 <= int(day or 1) <= 31:
        return None
    return "-".join([year, *(f"{int(part):02d}" for part in (month, day) if part)])


_ADDRESS = re.compile(r"https?://[^\s<>\"'`\[\]{}|\\^]{1,2000}")


def addresses_in(text: str) -> tuple[str, ...]:
    """The web addresses written out in a text, in order, each once."""
    found: dict[str, None] = {}
    for address in _ADDRESS.findall(text):
        bare = address.rstrip(".,;:!?*_")
        while bare.endswith(")") and bare.count(")") > bare.count("("):
            bare = bare[:-1].rstrip(".,;:!?")
        found.setdefault(bare)
        if len(found) == MAX_LINKS:
            break
    return tuple(found)


def bounded(text: str) -> tuple[str, str]:
    """The text within the cap, and a note when something was cut."""
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text, ""
    return text[:MAX_TEXT_CHARACTERS], f"Only the first {MAX_TEXT_CHARACTERS:,} characters were read."
