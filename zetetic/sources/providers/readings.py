"""What a provider's answer holds, read without trust: JSON values, XML trees, plain text, web addresses, dates."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from lxml import etree  # type: ignore[import-untyped]

from zetetic.sources.extracted import iso_date, one_line
from zetetic.sources.plain_text import is_web
from zetetic.sources.search import Hit

SNIPPET_CHARS = 1_000
TITLE_CHARS = 300
MAX_ADDRESS_CHARS = 2_000
# A tag has no attributes or such with values: `a<b and c>d` holds none.
_TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s+[\w:-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*\s*/?>")
_BLOCK = re.compile(r"<(?:br|p|/p|div|/div|li|/li|td|tr|h\d)\b[^<>]*>", re.IGNORECASE)


class MalformedError(Exception):
    """An answer that cannot be used; the message says what is wrong with it."""


def json_value(body: bytes) -> object:
    """The JSON value of a body. Raises MalformedError."""
    if looks_like_html(body):
        raise MalformedError("it is an HTML page where JSON was due")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"it is not JSON ({one_line(str(error), 80)})") from None


def looks_like_html(body: bytes) -> bool:
    """Whether a body starts as an HTML page does: what a proxy or a login wall puts in place of an answer."""
    return body[:200].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def table(value: object, what: str = "the answer") -> Mapping[str, object]:
    """A JSON object. Raises MalformedError for anything else."""
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is {_kind(value)} where an object was due")
    return value


def rows(value: object, what: str) -> list[object]:
    """A JSON list. Raises MalformedError for anything else."""
    if not isinstance(value, list):
        raise MalformedError(f"{what} is {_kind(value)} where a list was due")
    return value


def tables(value: object, what: str) -> Iterator[Mapping[str, object]]:
    """The objects of a JSON list; anything else in it is passed over. Raises MalformedError where it is no list."""
    return (row for row in rows(value, what) if isinstance(row, dict))


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")


def text_of(value: object) -> str:
    """A text as it is; '' for anything else."""
    return value if isinstance(value, str) else ""


def plain(value: object, limit: int = SNIPPET_CHARS) -> str:
    """A text without markup and entities, on one line, at most `limit` characters; '' for what is no text."""
    marked = text_of(value)[: limit * 20]
    return one_line(html.unescape(_TAG.sub("", _BLOCK.sub(" ", marked))), limit)


def web_address(value: object) -> str:
    """An http(s) address that can be fetched; '' for anything else."""
    address = text_of(value).strip()
    if len(address) > MAX_ADDRESS_CHARS or not address.isprintable() or " " in address:
        return ""
    return address if is_web(address) else ""


def date_of(value: object) -> str | None:
    """A declared date as YYYY-MM-DD, YYYY-MM or YYYY; None for anything else, `3 days ago` too."""
    return iso_date(text_of(value))


def hit(url: object, title: object, snippet: object, date: object = None) -> Hit | None:
    """A hit of untrusted values; None where there is no web address."""
    address = web_address(url)
    if not address:
        return None
    return Hit(url=address, title=plain(title, TITLE_CHARS), snippet=plain(snippet), date=date_of(date))


def usable(found: Iterable[Hit | None], of: int) -> list[Hit]:
    """The hits that are usable, one an address. Raises MalformedError where there were results and none is."""
    hits: dict[str, Hit] = {}
    for each in found:
        if each is not None:
            hits.setdefault(each.key, each)
    if of and not hits:
        raise MalformedError(f"none of its {of} results has a web address")
    return list(hits.values())


def xml_tree(body: bytes) -> etree._Element:
    """The root of an XML document. Raises MalformedError, also for one that declares entities.

    Entities are how small XML grows large and how it reads files: none is expanded, no DTD is loaded.
    """
    if looks_like_html(body):
        raise MalformedError("it is an HTML page where XML was due")
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise MalformedError(f"it is not XML ({one_line(str(error), 80)})") from None
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise MalformedError("it declares XML entities")
    return root


def inner_text(element: etree._Element | None) -> str:
    """All text within an element; '' for None."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""
