"""Bytes to text: one function for every kind of document the project reads. It never touches the network."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from zetetic.sources import media_types
from zetetic.sources.charset import decode
from zetetic.sources.docx_text import read_docx
from zetetic.sources.extracted import Extracted, ExtractionFailure
from zetetic.sources.html_text import read_html
from zetetic.sources.pdf_text import read_pdf
from zetetic.sources.plain_text import read_text

__all__ = ["Extracted", "ExtractionFailure", "extract"]


def extract(data: bytes, *, url: str, declared_type: str | None, filename: str = "") -> Extracted | ExtractionFailure:
    """The main text of a document and what it declares: HTML, PDF, Markdown, plain text, DOCX. Never raises.

    `url` is where relative links start from; `declared_type` a Content-Type header with or without a charset, None for
    a file; `filename` the name of a local file. Magic bytes win over the declared type, which wins over the name. CPU
    bound and blocking: call it in a thread.
    """
    name = filename or _last_part(url)
    kind, instead = media_types.media_type(data, declared_type, name)
    if not kind:
        return ExtractionFailure(kind="unsupported", message=f"The document is {instead}: there is no text to read.")
    stem = PurePosixPath(name).stem if PurePosixPath(name).suffix.lower() in media_types.BY_SUFFIX else name
    if kind == media_types.PDF:
        return read_pdf(data, filename=stem)
    if kind == media_types.DOCX:
        return read_docx(data, filename=stem)
    if kind == media_types.HTML:
        return read_html(decode(data, declared_type, markup=True), url=url, filename=stem)
    return read_text(decode(data, declared_type), media_type=kind, filename=stem)


def _last_part(url: str) -> str:
    try:
        return unquote(PurePosixPath(urlsplit(url).path).name)
    except ValueError:
        return ""
