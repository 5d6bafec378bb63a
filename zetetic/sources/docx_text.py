"""Word documents: paragraphs, tables and notes, with the standard library alone.

The url comes from a custom document property called `url` (or `source`), else from a first line `URL: https://…`.
Text under tracked insertion counts, text under tracked deletion does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import BytesIO
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from zetetic.sources.extracted import Extracted, ExtractionFailure, addresses_in, bounded, iso_date, one_line, tidy
from zetetic.sources.media_types import DOCX
from zetetic.sources.plain_text import is_web, url_line

MAX_PART_BYTES = 64_000_000
"""Of one unpacked part: what a ZIP bomb meets."""

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT_W = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BREAKS = {_W + "tab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}
_BROKEN = (BadZipFile, zlib.error, ElementTree.ParseError, ValueError, RuntimeError, OSError, EOFError)
_SKIPPED = {_W + "del", _W + "moveFrom", _W + "instrText", _FALLBACK}


def read_docx(data: bytes, *, filename: str) -> Extracted | ExtractionFailure:
    """The text of a .docx file, one paragraph a line block, table cells joined by ` | `."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            document = _part(archive, "word/document.xml")
            notes = [_part(archive, f"word/{name}.xml") for name in ("footnotes", "endnotes")]
            core = _properties(_part(archive, "docProps/core.xml"))
            custom = _properties(_part(archive, "docProps/custom.xml"))
            relations = _part(archive, "word/_rels/document.xml.rels")
            roots = [root for root in (document, *notes) if root is not None]
            blocks = [block for root in roots for block in _blocks(root)]
    except _BROKEN as error:
        return ExtractionFailure(kind="unreadable", message=f"The Word document is broken: {error}.")
    if document is None:
        return ExtractionFailure(kind="unreadable", message="The Word document is broken: it has no text part.")
    declared, text = url_line(tidy("\n\n".join(blocks)))
    text, note = bounded(text)
    if not text:
        return ExtractionFailure(kind="unreadable", message="The Word document holds no text.")
    declared = next((value for key in ("url", "source") if is_web(value := custom.get(key, ""))), declared)
    targets = [] if relations is None else [element.get("Target", "") for element in relations]
    links = dict.fromkeys([*filter(is_web, targets), *addresses_in(text)])
    return Extracted(
        title=one_line(core.get("title") or _heading(document) or filename),
        text=text,
        media_type=DOCX,
        published=iso_date(core.get("modified") or core.get("created")),
        declared_url=declared or None,
        links=tuple(links),
        note=note,
    )


def _part(archive: ZipFile, name: str) -> ElementTree.Element | None:
    """The parsed part, None where the file has none. Raises ValueError for one that is too large or has a DTD."""
    try:
        with archive.open(name) as stream:
            data = stream.read(MAX_PART_BYTES + 1)
    except KeyError:
        return None
    if len(data) > MAX_PART_BYTES:
        raise ValueError(f"{name} unpacks to more than {MAX_PART_BYTES:,} bytes")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ValueError(f"{name} declares entities")
    return ElementTree.fromstring(data.replace(_STRICT_W, _W[1:-1].encode()))


def _blocks(root: ElementTree.Element) -> Iterator[str]:
    """Paragraphs and table rows in reading order."""
    for child in root:
        if child.tag == _W + "p":
            yield _paragraph(child).strip()
        elif child.tag == _W + "tbl":
            rows = [[" ".join(" ".join(_blocks(cell)).split()) for cell in row.iter(_W + "tc")] for row in _rows(child)]
            yield "\n".join(" | ".join(row) for row in rows)
        elif child.tag not in _SKIPPED:
            yield from _blocks(child)


def _rows(table: ElementTree.Element) -> Iterator[ElementTree.Element]:
    for child in table:
        if child.tag == _W + "tr":
            yield child
        elif child.tag not in (_W + "tblPr", _W + "tblGrid"):
            yield from _rows(child)


def _paragraph(element: ElementTree.Element) -> str:
    text = []
    for child in element:
        if child.tag == _W + "t":
            text.append(child.text or "")
        elif child.tag in _BREAKS:
            text.append(_BREAKS[child.tag])
        elif child.tag == _W + "p":
            text.append("\n" + _paragraph(child) + "\n")
        elif child.tag not in _SKIPPED:
            text.append(_paragraph(child))
    return "".join(text)


def _heading(document: ElementTree.Element) -> str:
    """The first paragraph styled as a title or heading."""
    for paragraph in document.iter(_W + "p"):
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        name = style.get(_W + "val", "").lower() if style is not None else ""
        if name.startswith(("title", "heading")) and (text := _paragraph(paragraph).strip()):
            return text
    return ""


def _properties(root: ElementTree.Element | None) -> dict[str, str]:
    """Core properties by tag, custom ones by name, lower case."""
    if root is None:
        return {}
    return {
        (child.get("name") or child.tag.rpartition("}")[2]).lower(): "".join(child.itertext()).strip() for child in root
    }
