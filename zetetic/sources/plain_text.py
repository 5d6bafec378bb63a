"""Plain text and Markdown, with what their front matter declares."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from zetetic.sources.extracted import Extracted, ExtractionFailure, addresses_in, bounded, iso_date, one_line, tidy
from zetetic.sources.media_types import MARKDOWN

_FIELD = re.compile(r"([A-Za-z][\w -]{0,40}?)\s*:(?:\s+(.*)|)$")
_URL_LINE = re.compile(r"(?:source )?url:\s*<?(https?://[^\s>]+)>?", re.IGNORECASE)
MAX_FRONT_MATTER_LINES = 60


def read_text(text: str, *, media_type: str, filename: str) -> Extracted | ExtractionFailure:
    """The text of a Markdown or plain text file; title from front matter, first heading or the file's name.

    Front matter is a block between two `---` lines at the start, of which `url` (or `canonical`, `source`, `link`),
    `title` and `date` (or `published`) are read; any other YAML in it is passed over. A first line `URL: https://…`
    declares the url as well.
    """
    fields, body = front_matter(tidy(text))
    declared, body = url_line(body)
    named = (fields.get(key, "") for key in ("url", "canonical", "link", "source"))
    declared = next(filter(is_web, named), declared)
    heading = ""
    links = addresses_in(body)
    if media_type == MARKDOWN:
        found = _HEADING.search(body)
        heading = _heading_text(found[1]) if found else ""
        body = markdown_text(body)
    body, note = bounded(body)
    if not body:
        return ExtractionFailure(kind="unreadable", message="The file holds no text.")
    return Extracted(
        title=one_line(fields.get("title") or markdown_text(heading) or filename),
        text=body,
        media_type=media_type,
        published=iso_date(fields.get("date") or fields.get("published")),
        declared_url=declared or None,
        work_url=_work_address(fields),
        links=links,
        note=note,
    )


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The scalar fields of a leading front matter, by lower-case name, and the text after it."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return {}, text
    rules = (number for number, line in enumerate(lines[1 : MAX_FRONT_MATTER_LINES + 1], 1) if line.strip() == "---")
    end = next(rules, 0)
    if not end:
        return {}, text
    fields: dict[str, str] = {}
    for line in lines[1:end]:
        if found := _FIELD.match(line):
            fields.setdefault(found[1].lower(), _scalar(found[2] or ""))
    if not fields and any(line.strip() for line in lines[1:end]):
        return {}, text  # two rules around a paragraph, not front matter
    return fields, "\n".join(lines[end + 1 :]).strip()


def _scalar(value: str) -> str:
    value = value.strip()
    if value.startswith('"'):
        try:
            decoded = json.loads(value)
        except ValueError:
            return value.strip('"')
        return decoded if isinstance(decoded, str) else value
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return re.sub(r"(?<=\S)\s#.*$", "", value).rstrip()


def url_line(text: str) -> tuple[str, str]:
    """The address of a first line `URL: https://…` ('' without one), and the text after it."""
    first, _, rest = text.partition("\n")
    found = _URL_LINE.fullmatch(first.strip())
    return (found[1], rest.strip()) if found else ("", text)


def is_web(value: str) -> bool:
    """True for an http or https address."""
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _work_address(fields: dict[str, str]) -> str | None:
    if doi := fields.get("doi", ""):
        return doi if is_web(doi) else f"https://doi.org/{doi.lower().removeprefix('doi:').strip()}"
    arxiv = fields.get("arxiv", "")
    return f"https://arxiv.org/abs/{arxiv.lower().removeprefix('arxiv:').strip()}" if arxiv else None


# Each pattern runs in linear time: none starts over a stretch that an earlier start has scanned to no avail.
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]+)$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n`~]*\n(.*?)(?:^ {0,3}\1[^\S\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAG = r"(?:p|div|span|br|hr|img|a|b|i|em|strong|sub|sup|center|details|summary|table|tr|td|th|tbody|thead|h[1-6]|u)"
_INLINE = (
    (re.compile(r"<!--(?:(?!-->|<!--).)*-->[ \t]?", re.DOTALL), ""),
    (re.compile(rf"</?{_TAG}(?:\s[^<>\n]*)?/?>", re.IGNORECASE), ""),
    (re.compile(r"!\[([^\[\]\n]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"), r"\1"),
    (re.compile(r"\[([^\[\]\n]+)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"), r"\1"),
    (re.compile(r"<(https?://[^>\s]+)>"), r"\1"),
    (re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])([^\n]{0,300}?[^\s_])\1(?![\w_])"), r"\2"),
    (re.compile(r"(?<!`)`([^`\n]+)`(?!`)"), r"\1"),
    (re.compile(r"^ {0,3}>[ \t]?", re.MULTILINE), ""),
)


def _heading_text(line: str) -> str:
    """A heading without the hashes that may close it; those of `C#` are its own."""
    bare = line.strip()
    opened = bare.rstrip("#")
    return opened.rstrip() if opened.endswith((" ", "\t")) else bare


def markdown_text(text: str) -> str:
    """Markdown as a reader sees it: no marks of emphasis, links or headings; code, lists and tables as they stand."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[2].rstrip("\n"))
        return f"\x00{len(kept) - 1}\x00"

    text = _FENCE.sub(keep, text)
    text = _HEADING.sub(lambda found: _heading_text(found[1]), text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return tidy(re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text))
