"""The main text of web pages, with what their head declares."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import trafilatura
from lxml import etree  # type: ignore[import-untyped]
from lxml.html import HtmlElement  # type: ignore[import-untyped]

from zetetic.sources.extracted import MAX_LINKS, Extracted, ExtractionFailure, bounded, iso_date, one_line, tidy
from zetetic.sources.junk import junk_reason
from zetetic.sources.media_types import HTML

MAX_HTML_CHARACTERS = 20_000_000
MAX_ELEMENTS = 100_000
MAX_INLINE_CHILDREN = 4_000
"""A page of more elements, or with more in one line of text, gives all visible text: what is main in it would take
minutes to find."""

for _name in ("trafilatura", "htmldate", "courlan", "justext", "readability"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)

_DATE_FIELDS = (
    "article:published_time",
    "datepublished",
    "citation_publication_date",
    "citation_online_date",
    "citation_date",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "og:published_time",
    "parsely-pub-date",
    "sailthru.date",
    "pubdate",
    "publishdate",
    "date",
)
# fmt: off
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "table", "td", "th", "title", "tr", "ul",
))
_INVISIBLE = frozenset((
    "button", "footer", "head", "iframe", "nav", "noscript", "object", "script", "select", "style", "svg", "template",
))
# fmt: on


def read_html(markup: str, *, url: str, filename: str) -> Extracted | ExtractionFailure:
    """The main text (trafilatura; all visible text where that finds none), title, date, canonical link and links.

    A page without text, and one whose text is a login wall, a cookie notice, an error or a plea for JavaScript, is a
    failure of kind `junk` (R6).
    """
    tree = _parsed(markup)
    if tree is None:
        return ExtractionFailure(kind="unreadable", message="The page is no HTML that can be parsed.")
    facts = _meta(tree)
    title = one_line(facts.get("citation_title") or facts.get("og:title") or _title(tree) or filename)
    base = _base(tree, url)
    links = _links(tree, base)
    scripted = bool(tree.xpath("boolean(.//script)"))
    published = _published(tree, facts)
    canonical = _address(next(iter(_attributes(tree, ".//link[@rel][@href]", "rel", "canonical")), ""), base)
    declared = canonical or _address(facts.get("og:url", ""), base)
    _drop_hidden(tree)
    text, note = bounded(_main_text(tree))
    if reason := junk_reason(title, text, scripted=scripted):
        return ExtractionFailure(kind="junk", message=reason)
    return Extracted(
        title=title,
        text=text,
        media_type=HTML,
        published=published,
        declared_url=declared,
        work_url=_work_address(facts),
        links=links,
        note=note,
    )


_HIDDEN = (
    ".//*[@hidden or @aria-hidden='true' or self::template or contains(translate(@style, ' ', ''), 'display:none') "
    "or contains(translate(@style, ' ', ''), 'visibility:hidden')]"
)


def _drop_hidden(tree: HtmlElement) -> None:
    """Takes out what a reader of the page does not see; it is no evidence. What follows an element stays."""
    hidden = set(tree.xpath(_HIDDEN))
    for parent in {element.getparent() for element in hidden} - {None}:
        kept, loose = None, []
        for child in list(parent):
            if child in hidden:
                loose.append(child.tail or "")
                parent.remove(child)
            else:
                _append_text(parent, kept, loose)
                kept, loose = child, []
        _append_text(parent, kept, loose)


def _append_text(parent: HtmlElement, last: HtmlElement | None, texts: list[str]) -> None:
    """Puts texts after the child `last`, or before the first; all at once, since each costs the whole text's length."""
    if texts and last is None:
        parent.text = (parent.text or "") + "".join(texts)
    elif texts and last is not None:
        last.tail = (last.tail or "") + "".join(texts)


def _parsed(markup: str) -> HtmlElement | None:
    if not markup.strip() or "<" not in markup:
        return None
    try:
        return trafilatura.load_html(markup[:MAX_HTML_CHARACTERS])
    except (ValueError, etree.LxmlError):
        return None


def _main_text(tree: HtmlElement) -> str:
    if _is_vast(tree):
        return visible_text(tree)
    try:
        document = trafilatura.bare_extraction(tree, include_comments=False, include_tables=True)
    except Exception:  # odd trees make it stumble in many ways; all of the visible text is still there
        document = None
    text = tidy(str(getattr(document, "text", "") or ""))
    return text or visible_text(tree)


def _is_vast(tree: HtmlElement) -> bool:
    inline: Counter[HtmlElement] = Counter()
    for number, element in enumerate(tree.iter()):
        if element.tag not in _BLOCKS and element.getparent() is not None:
            inline[element.getparent()] += 1
        if number >= MAX_ELEMENTS:
            return True
    return max(inline.values(), default=0) > MAX_INLINE_CHILDREN


def visible_text(tree: HtmlElement) -> str:
    """Every text a reader would see outside navigation, one block a line."""
    body = tree.find(".//body")
    pieces = _pieces(tree if body is None else body)
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return tidy("\n".join(line for line in lines if line))


def _pieces(root: HtmlElement) -> Iterator[str]:
    """Texts in document order; without recursion, since pages nest deeper than Python does."""
    hidden: HtmlElement | None = None
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event in ("comment", "pi"):
            if hidden is None:
                yield _spaced(element.tail)
            continue
        tag = element.tag
        if event == "start":
            if hidden is None and tag in _INVISIBLE:
                hidden = element
            if hidden is None:
                yield ("\n" if tag in _BLOCKS else "") + _spaced(element.text)
        else:
            if element is hidden:
                hidden = None
            if hidden is None and element is not root:
                yield ("\n" if tag in _BLOCKS else "") + _spaced(element.tail)


def _spaced(text: str | None) -> str:
    return (text or "").replace("\n", " ")


def _meta(tree: HtmlElement) -> dict[str, str]:
    """The first content of each meta field, by lower-case name, property or itemprop."""
    facts: dict[str, str] = {}
    for element in tree.iterfind(".//meta"):
        content = (element.get("content") or "").strip()
        for attribute in ("property", "name", "itemprop"):
            if content and (name := (element.get(attribute) or "").strip().lower()):
                facts.setdefault(name, content)
    return facts


def _title(tree: HtmlElement) -> str:
    for tag in ("title", "h1"):
        for element in tree.iterfind(f".//{tag}"):
            if text := " ".join("".join(element.itertext()).split()):
                return text
    return ""


def _attributes(tree: HtmlElement, path: str, attribute: str, value: str) -> Iterator[str]:
    for element in tree.iterfind(path):
        if value in (element.get(attribute) or "").lower().split():
            yield element.get("href") or ""


def _base(tree: HtmlElement, url: str) -> str:
    declared = next((element.get("href") or "" for element in tree.iterfind(".//base[@href]")), "")
    return _joined(url, declared) if declared else url


def _joined(base: str, target: str) -> str:
    try:
        return urljoin(base, target.strip())
    except ValueError:
        return ""


def _address(target: str, base: str) -> str | None:
    """An absolute web address, or None. A relative one needs a web page's own address to be relative to."""
    address = _joined(base, target) if target.strip() else ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in ("http", "https") and parts.netloc else None


def _links(tree: HtmlElement, base: str) -> tuple[str, ...]:
    """Where the page links to: absolute addresses without fragments, each once, at most 500."""
    found: dict[str, None] = {}
    for element in tree.iterfind(".//a[@href]"):
        if address := _address((element.get("href") or "").partition("#")[0], base):
            found.setdefault(address)
        if len(found) == MAX_LINKS:
            break
    return tuple(found)


def _published(tree: HtmlElement, facts: dict[str, str]) -> str | None:
    for field in _DATE_FIELDS:
        if date := iso_date(facts.get(field)):
            return date
    for script in tree.iterfind(".//script[@type]"):
        if "ld+json" in (script.get("type") or ""):
            found = re.search(r'"datePublished"\s*:\s*("(?:[^"\\]|\\.)*")', script.text or "")
            if found and (date := iso_date(_json_string(found[1]))):
                return date
    for element in tree.iterfind(".//*[@itemprop]"):
        if (element.get("itemprop") or "").lower() == "datepublished":
            return iso_date(element.get("datetime") or element.get("content") or element.text)
    return next((date for e in tree.iterfind(".//time[@pubdate]") if (date := iso_date(e.get("datetime")))), None)


def _json_string(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except ValueError:
        return ""


def _work_address(facts: dict[str, str]) -> str | None:
    if arxiv := facts.get("citation_arxiv_id"):
        return f"https://arxiv.org/abs/{arxiv}"
    for field in ("citation_doi", "bepress_citation_doi", "prism.doi", "dc.identifier", "dc.identifier.doi"):
        if found := re.search(r"10\.\d{4,9}/\S+", facts.get(field, "")):
            return f"https://doi.org/{found[0]}"
    return None
