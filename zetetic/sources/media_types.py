"""What kind of document some bytes are: by their magic over the declared type over the file's name."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import BadZipFile, ZipFile

HTML = "text/html"
PDF = "application/pdf"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

BY_SUFFIX = {
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".pdf": PDF,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN,
    ".docx": DOCX,
}
_BINARY = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF media file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an old binary Office file (save it as .docx or PDF)"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"{\\rtf", "an RTF file (save it as .docx or PDF)"),
    (b"%!PS", "a PostScript file (save it as PDF)"),
    (b"OggS", "an Ogg media file"),
    (b"ID3", "an MP3 file"),
)
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_TAG = re.compile(rb"</(?:p|div|h[1-6]|a|span|li|td|title|body)\s*>", re.IGNORECASE)
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/x-ndjson", "application/yaml")


def media_type(data: bytes, declared_type: str | None, name: str) -> tuple[str, str]:
    """(media type, '') of a document that can be read, or ('', what it is instead, as words for a sentence).

    `name` is a file name or the path of a URL.
    """
    if len(data) == 0:
        return "", "an empty file"
    declared = (declared_type or "").partition(";")[0].strip().lower()
    named = BY_SUFFIX.get(PurePosixPath(name.lower()).suffix, "")
    if data[:1024].lstrip().startswith(b"%PDF-") or (b"%PDF-" in data[:1024] and PDF in (declared, named)):
        return PDF, ""
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data)
    for magic, words in _BINARY:
        if data.startswith(magic):
            return "", words
    if _HTML_START.match(_narrow(data[:4096])):
        return HTML, ""
    if PDF in (declared, named) and not declared.startswith("text/"):
        return "", "no PDF, though it is called one"
    if DOCX in (declared, named) and not declared.startswith("text/"):
        return "", "no Word document, though it is called one"
    if b"\x00" in data[:4096] and not _narrow_is_text(data[:4096]):
        return "", "binary data"
    if declared in ("text/html", "application/xhtml+xml"):
        return HTML, ""
    if declared in ("text/markdown", "text/x-markdown"):
        return MARKDOWN, ""
    if named and (not declared or declared in (PLAIN, "application/octet-stream")):
        return named, ""
    if declared.startswith(_TEXT_TYPES) or declared.endswith(("+json", "+xml")):
        return PLAIN, ""
    if declared and declared != "application/octet-stream":
        return "", f"of the type {declared}"
    return (HTML if len(_HTML_TAG.findall(data[:4096])) > 2 else PLAIN), ""


def _narrow(head: bytes) -> bytes:
    """The ASCII of UTF-16 and UTF-32, so that a tag is found there too."""
    for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"):
        head = head.removeprefix(mark)
    return head.replace(b"\x00", b"")


def _narrow_is_text(head: bytes) -> bool:
    """Zero bytes are text as UTF-16 or UTF-32, with a mark or at every second place; or as a rare stray."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    narrow = head.replace(b"\x00", b"")
    printable = sum(1 for value in narrow if value >= 32 or value in b"\t\n\r")
    zeros = head.count(0) / len(head)
    return (zeros >= 0.4 or zeros < 0.03) and printable >= len(narrow) * 0.95


def _zipped(data: bytes) -> tuple[str, str]:
    try:
        with ZipFile(BytesIO(data)) as archive:
            names = set(archive.namelist())
    except (BadZipFile, ValueError, NotImplementedError, OSError):
        return "", "a broken ZIP archive"
    if "word/document.xml" in names:
        return DOCX, ""
    for name, words in (
        ("xl/workbook.xml", "an Excel workbook (save it as CSV)"),
        ("ppt/presentation.xml", "a PowerPoint file (save it as PDF)"),
        ("mimetype", "an OpenDocument or EPUB file (save it as .docx or PDF)"),
    ):
        if name in names:
            return "", words
    return "", "a ZIP archive"
