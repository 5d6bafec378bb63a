"""Texts that a tool or a retriever found and that have no web address: they get one, under which they can be read."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import quote, unquote

from zetetic.sources.extracted import addresses_in, bounded, iso_date, one_line, tidy
from zetetic.sources.identity import text_sketch, work_identity
from zetetic.sources.pages import Page, text_sha256

SCHEME = "tool:"
ORIGIN_CHARS = 300
_ADDRESS = re.compile(r"tool:([\w.-]{1,64})/(?:([^/\s]{1,300})/)?([0-9a-f]{64})", re.ASCII)
_NO_NAME = re.compile(r"[^\w.-]+", re.ASCII)


def name_in_address(name: str) -> str:
    """A name of letters, digits, dots, dashes and underscores."""
    return _NO_NAME.sub("-", name)[:64].strip("-") or "tool"


def parts_of(address: str) -> tuple[str, str, str] | None:
    """(name, origin, sha256 of the text) of a `tool:` address; None for another address."""
    found = _ADDRESS.fullmatch(address.strip())
    return (found[1], unquote(found[2] or ""), found[3]) if found else None


def text_page(name: str, text: str, *, title: str = "", origin: str = "", date: str | None = None) -> Page | None:
    """The page of a text that `name` found; None where there is no text.

    Its address is `tool:<name>/<origin>/<sha256>`: it says which text it is, so that a stored text is found by it.
    `origin` is what the text is a part of, if that is known (a path, an id): parts of one document are not independent
    of one another, so they share the domain (D33).
    """
    kept, note = bounded(tidy(text))
    if not kept:
        return None
    hashed, named = text_sha256(kept), name_in_address(name)
    placed = quote(one_line(origin, ORIGIN_CHARS), safe="")
    if len(placed) > ORIGIN_CHARS:
        placed = sha256(origin.encode("utf-8", "replace")).hexdigest()[:16]
    address = f"{SCHEME}{named}/{placed}/{hashed}" if placed else f"{SCHEME}{named}/{hashed}"
    return Page(
        url=address,
        final_url=address,
        canonical=address,
        title=one_line(title) or one_line(kept, 80),
        text=kept,
        media_type="text/plain",
        published=iso_date(date),
        domain=f"local:{named}/{unquote(placed) or hashed}",
        work_id=work_identity("", kept),
        sketch=text_sketch(kept),
        sha256=hashed,
        links=addresses_in(kept),
        note=note,
    )
