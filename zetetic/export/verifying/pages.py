"""The pages of a pack: each is the text that its name says, and each quote stands in it where its claim says (D31)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from zetetic.export.evidence import Pack
from zetetic.state.quotes import find_quote, fold_quote, number_stands_in
from zetetic.state.values import Claim, Evidence, Source

from .findings import Identities, Verification
from .reading import MOST_PAGE, Unreadable, read_file

FILE = "evidence.json"
PAGES = "pages"
OTHERS_SHOWN = 20
"""Files that are no page which are listed; more are counted."""
AROUND = 200
"""Characters on either side of a quote in which it is looked up: what it may be cut out of is nearer."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def page_name(sha256: str) -> str:
    """Where a page's text stands in the folder."""
    return f"{PAGES}/{sha256}.txt"


def check_pages(pack: Pack, folder: Path, identities: Identities, told: Verification) -> dict[str, tuple[int, ...]]:
    """Checks the pages and the quotes in them; gives the sketch of each page that is what its name says."""
    links: dict[str, list[tuple[Claim, Evidence]]] = {}
    for claim in pack.claims:
        for link in claim.evidence:
            links.setdefault(link.sha256, []).append((claim, link))
    sources: dict[str, list[Source]] = {}
    for source in pack.sources:
        sources.setdefault(source.sha256, []).append(source)
    _check_others(folder, {f"{sha256}.txt" for sha256 in links}, told)
    sketches: dict[str, tuple[int, ...]] = {}
    for sha256, quoting in links.items():
        if not _SHA256.fullmatch(sha256):
            named = ", ".join(dict.fromkeys(claim.id for claim, _ in quoting))
            told.fault(FILE, named, f"quotes a page that {sha256[:80]!r} is to name, which is no SHA-256")
            continue
        text = _text_of(folder, sha256, told)
        if text is None:
            continue
        told.counts("pages", 1)
        told.counts("quotes", len(quoting))
        sketches[sha256] = identities.sketch(text)
        for claim, link in quoting:
            if says := misquoted(link, text):
                told.fault(FILE, claim.id, says)
        for source in sources.get(sha256, ()):
            if says := other_work(source, text, identities):
                told.fault(FILE, source.id, says)
    return sketches


def _check_others(folder: Path, quoted: set[str], told: Verification) -> None:
    """Nothing else stands beside the pages that claims quote: it would pass for evidence and be none."""
    place = folder / PAGES
    if place.is_symlink():
        if not quoted:  # else each page says so
            told.fault(PAGES, "", "is a link, which is not followed")
        return
    try:
        others = sorted(entry.name for entry in place.iterdir() if entry.name not in quoted)
    except FileNotFoundError:
        return
    except OSError as error:
        told.fault(PAGES, "", f"cannot be read: {error.strerror or error}")
        return
    for name in others[:OTHERS_SHOWN]:
        told.fault(f"{PAGES}/{name[:200]}", "", "is no page that a claim quotes")
    if len(others) > OTHERS_SHOWN:
        told.fault(PAGES, "", f"has {len(others) - OTHERS_SHOWN:,} more files that are no page that a claim quotes")


def _text_of(folder: Path, sha256: str, told: Verification) -> str | None:
    name = page_name(sha256)
    try:
        data = read_file(folder, name, MOST_PAGE)
        if (found := hashlib.sha256(data).hexdigest()) != sha256:
            raise Unreadable(f"was changed: its SHA-256 is {found}")
        return data.decode()
    except Unreadable as why:
        told.fault(name, "", str(why))
    except UnicodeDecodeError:
        told.fault(name, "", "is no UTF-8")
    return None


def misquoted(link: Evidence, text: str) -> str:
    """Why a quote does not stand in its page at its span, or ''. Folded as when it was recorded (D31)."""
    where = f"characters {link.start} to {link.end} of the page of {link.source_id}"
    if not 0 <= link.start < link.end <= len(text):
        return f"quotes {where}, which has {len(text)}"
    if fold_quote(text[link.start : link.end]) != fold_quote(link.quote):
        return f"its quote does not stand at {where}"
    if find_quote(text[max(0, link.start - AROUND) : link.end + AROUND], link.quote) is None:
        return f"its quote begins or ends inside a word or number at {where}"
    return ""


def other_work(source: Source, text: str, identities: Identities) -> str:
    """Why a source is not the work it is given as, or '': its address and text name another (D33).

    A DOI or an arXiv id that the page declared of itself beside its text is not in the pack and taken as given.
    """
    address = source.final_url or source.url
    given = source.work_id
    if given.startswith(("doi:", "arxiv:")) or not address.startswith(("http://", "https://", "file:")):
        return ""
    declared = given.removeprefix("canonical:") or None
    found = identities.work(address, text, declared)
    return f"is given as the work {given or '(none)'!r}, and its page is {found!r}" if found != given else ""


def check_datapoints(pack: Pack, told: Verification) -> None:
    """The value of each datapoint stands in one of its supporting quotes (D31)."""
    for claim in pack.claims:
        if claim.kind != "datapoint":
            continue
        told.counts("datapoints", 1)
        if not any(number_stands_in(claim.value, link.quote) for link in claim.links("supports")):
            told.fault(FILE, claim.id, f"its value {claim.value!r} stands in none of its quotes")


def without_quote(pack: Pack) -> Iterator[str]:
    """The claims that no quote supports: none was ever recorded so (D31)."""
    return (claim.id for claim in pack.claims if not claim.links("supports"))
