"""What tools and retrievers give back, in any of the shapes that are common, as things found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from zetetic.sources.providers.readings import date_of, text_of, web_address

_URL = ("url", "link", "href", "source", "uri", "web_url", "page_url", "id")
_TITLE = ("title", "name", "heading", "display_name")
_TEXT = ("content", "snippet", "body", "text", "description", "summary", "page_content", "abstract")
_DATE = ("published_date", "publishedDate", "published", "date", "page_age", "publication_date", "created_at")
_ORIGIN = ("source", "file_path", "path", "file_name", "document_id", "doc_id", "id")
_LISTS = ("results", "organic", "organic_results", "hits", "items", "documents", "data", "result", "web", "entries")
MAX_FOUND = 200
_NOTHING = re.compile(
    r"^\W*(?:sorry\W+)?(?:no|nothing|0)\b(?:[\w ,'-]{0,60}\b)?(?:results?|matches|documents?|hits|found)\b.{0,80}$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing found. `origin` is what it is a part of, where it has no web address."""

    url: str = ""
    title: str = ""
    text: str = ""
    date: str | None = None
    origin: str = ""


def found_in(value: object, *, title: str = "") -> list[Found]:
    """The things found in what a tool gave: documents, a list of results, JSON text of one, content blocks, a text.

    A text that is no JSON is one thing found, called `title`. Never raises.
    """
    return [one for one in _found(value, title, depth=5) if one.url or one.text.strip()][:MAX_FOUND]


def says_nothing(text: str) -> bool:
    """Whether a short text only says that there are no results."""
    bare = text.strip()
    return bare in ("null", "None") or (len(bare) <= 200 and bool(_NOTHING.match(bare)))


def _found(value: object, title: str, depth: int) -> Iterable[Found]:
    if depth == 0 or value is None:
        return []
    if isinstance(value, Document):
        return [_of_document(value)]
    if isinstance(value, str):
        return _in_text(value, title, depth)
    if isinstance(value, Mapping):
        return _in_table(value, title, depth)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [one for each in value[:MAX_FOUND] for one in _found(each, title, depth - 1)]
    return []


def _in_text(text: str, title: str, depth: int) -> Iterable[Found]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return [Found(title=title, text=text)]
        return _found(read, title, depth - 1)
    return [Found(title=title, text=text)]


def _in_table(value: Mapping[Any, Any], title: str, depth: int) -> Iterable[Found]:
    if "structured_content" in value:
        return _found(value["structured_content"], title, depth - 1)
    if len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return _in_text(only, title, depth)
    metadata = value.get("metadata")
    more = {**metadata, **value} if isinstance(metadata, Mapping) else value
    address = _address(more)
    if not address:
        for name in _LISTS:
            if isinstance(value.get(name), list | Mapping):
                return _found(value[name], title, depth - 1)
        if value.get("type") == "text" and isinstance(value.get("text"), str):
            return _in_text(value["text"], title, depth)
    return [
        Found(
            url=address,
            title=_first(more, _TITLE) or title,
            text=_first(more, _TEXT),
            date=next(filter(None, (date_of(more.get(name)) for name in _DATE)), None),
            origin=_first(more, _ORIGIN),
        )
    ]


def _of_document(document: Document) -> Found:
    described = document.metadata
    return Found(
        url=_address(described),
        title=_first(described, _TITLE),
        text=document.page_content,
        date=next(filter(None, (date_of(described.get(name)) for name in _DATE)), None),
        origin=_first(described, _ORIGIN) or document.id or "",
    )


def _address(described: Mapping[Any, Any]) -> str:
    return next(filter(None, (web_address(described.get(name)) for name in _URL)), "")


def _first(described: Mapping[Any, Any], names: Sequence[str]) -> str:
    return next(filter(None, (text_of(described.get(name)).strip() for name in names)), "")
