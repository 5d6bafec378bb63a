"""A fetched page or a local document, as the run stores it; and what a fetch that failed says."""

from __future__ import annotations

from hashlib import sha256
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from zetetic.sources.extraction import Extracted
from zetetic.sources.identity import canonical_url, registrable_domain, text_sketch, work_identity

FailureKind = Literal["not_found", "blocked", "junk", "unreadable", "timeout", "unreachable", "unsupported", "refused"]
"""`timeout` and `unreachable` (the network or the server has trouble) may pass: such an address may be tried again."""


class Page(BaseModel):
    """A page's text with its identities. Equal texts have equal `sha256`; equal pages have equal `canonical` (R6)."""

    model_config = ConfigDict(frozen=True)

    url: str
    """The address as requested."""
    final_url: str
    """The address after redirects."""
    canonical: str
    """The identity by which a page counts as visited; unique in a documents folder."""
    title: str
    text: str
    """The main text, NFC, in which quotes are looked up verbatim (D31)."""
    media_type: str
    published: str | None
    """The date the page declares, as YYYY-MM-DD, YYYY-MM or YYYY."""
    domain: str
    """Registrable domain, or `local:<relative path>` for a file that declares no url (D33)."""
    work_id: str
    """`doi:…`, `arxiv:…`, `canonical:…` or '' (D33)."""
    sketch: tuple[int, ...]
    """For near-duplicates: see `text_sketch`."""
    sha256: str
    """Of the UTF-8 text, hexadecimal."""
    links: tuple[str, ...] = ()
    path: str = ""
    """Of a local file, relative to the documents folder, with forward slashes."""
    location: str = ""
    """Of a local file, absolute."""
    note: str = ""
    """What the reader should know about the reading: pages left out, characters cut."""


class FetchFailure(BaseModel):
    """A page that could not be read. `message` is a sentence that says what happened."""

    model_config = ConfigDict(frozen=True)

    url: str
    kind: FailureKind
    message: str


class Fetcher(Protocol):
    """Something that turns an address into a page. It never raises for a page's trouble."""

    async def fetch(self, url: str) -> Page | FetchFailure:
        """The page at `url`."""


def text_sha256(text: str) -> str:
    """The hash that names a stored text: sha256 of its UTF-8 bytes, hexadecimal."""
    return sha256(text.encode()).hexdigest()


def page_from_web(extracted: Extracted, *, url: str, final_url: str) -> Page:
    """The page of an extraction that was fetched from `url` and ended at `final_url`.

    Its identity is where it was found, not what it says of itself: a canonical link only tells which work it is.
    """
    return Page(
        url=url,
        final_url=final_url,
        canonical=canonical_url(final_url),
        title=extracted.title,
        text=extracted.text,
        media_type=extracted.media_type,
        published=extracted.published,
        domain=registrable_domain(final_url),
        work_id=work_identity(extracted.work_url or final_url, extracted.text, extracted.declared_url),
        sketch=text_sketch(extracted.text),
        sha256=text_sha256(extracted.text),
        links=extracted.links,
        note=extracted.note,
    )
