"""Bytes to text: the charset from byte-order mark, header, the document's own words, else from the bytes (case 26)."""

from __future__ import annotations

import codecs
import logging
import re

from charset_normalizer import from_bytes

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What browsers read under these labels (WHATWG Encoding): supersets that real pages need.
_LABELS = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "big5": "big5hkscs",
    "x-euc-jp": "euc-jp",
    "unicode": "utf-16-le",
}
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_MARKUP = re.compile(rb"<(script|style)\b[^<]*(?:<(?!/?(?:script|style)\b)[^<]*)*</\1\s*>|<[^<>]*>", re.IGNORECASE)
_SNIFFED_BYTES = 200_000

logging.getLogger("charset_normalizer").setLevel(logging.CRITICAL)


def decode(data: bytes, declared_type: str | None, *, markup: bool = False) -> str:
    """The text of `data`. Undecodable bytes become U+FFFD; never raises.

    A declaration that the bytes contradict is passed over: a page that says UTF-8 and is not, is sniffed.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, errors="replace")
    if wide := _wide_encoding(data):
        return data.decode(wide, errors="replace")
    names = []
    if declared_type and (found := _HEADER_CHARSET.search(declared_type)):
        names.append(found[1])
    if markup:
        head = data[:4096]
        inner = (pattern.search(head) for pattern in (_META_CHARSET, _XML_ENCODING))
        names += [found[1].decode("ascii", "replace") for found in inner if found]
    for label in names:
        codec = _codec(label)
        if codec and (text := _strict(data, codec)) is not None:
            return text
    if b"\x1b$" in data[:_SNIFFED_BYTES] and (text := _strict(data, "iso2022_jp")) is not None:
        return text
    if (text := _strict(data, "utf-8")) is not None:
        return text
    if (text := _nearly_utf8(data)) is not None:
        return text
    return data.decode(_sniffed(data, markup=markup) or _first_known(names) or "cp1252", errors="replace")


def _codec(label: str) -> str | None:
    name = _LABELS.get(label.lower(), label.lower())
    if name.startswith(("utf-16", "utf16")):
        name = "utf-8"  # UTF-16 was recognised by its zero bytes before; what is left only says so
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def _first_known(labels: list[str]) -> str | None:
    return next((name for label in labels if (name := _codec(label))), None)


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (LookupError, ValueError):  # LookupError: "base64" is a codec, but none of text
        return None


def _nearly_utf8(data: bytes) -> str | None:
    """UTF-8 with a stray byte: a page put together from parts, or one cut in the middle of a character."""
    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return text if broken * 4 < sum(1 for character in text if character > "\x7f") - broken else None


def _wide_encoding(data: bytes) -> str | None:
    """UTF-32 or UTF-16 without a mark, by where the zero bytes of its ASCII characters stand."""
    head = data[:400]
    if len(head) < 4 or 0 not in head:
        return None
    share = [head[offset::4].count(0) * 4 / len(head) for offset in range(4)]
    zero = [value >= 0.4 for value in share]
    patterns = {
        (True, True, True, False): "utf-32-be",
        (False, True, True, True): "utf-32-le",
        (True, False, True, False): "utf-16-be",
        (False, True, False, True): "utf-16-le",
    }
    return patterns.get((zero[0], zero[1], zero[2], zero[3]))


def _sniffed(data: bytes, *, markup: bool) -> str | None:
    """The most likely charset by the letters; tags say nothing about it and are taken out first."""
    sample = data[: _SNIFFED_BYTES * 2]
    if markup:
        sample = _MARKUP.sub(b" ", sample)
    best = from_bytes(sample[:_SNIFFED_BYTES]).best()
    return best.encoding if best is not None else None
