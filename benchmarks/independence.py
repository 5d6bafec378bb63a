"""How often two sources with one origin count as two, and two independent ones as one (D33).

    python benchmarks/independence.py --each 40

Pairs of pages are made from real texts: one work under several addresses, copies as syndication and rewriting leave
them, and texts of different authors on one subject. Exits with 1 when more than 2 % of either kind are told wrong,
with 2 when there are no texts.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from zetetic.sources.extracted import Extracted
from zetetic.sources.pages import page_from_web
from zetetic.state.independence import common_origin, sketch_similarity
from zetetic.state.thresholds import Thresholds, thresholds_for
from zetetic.state.values import Source

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ALLOWED = 0.02
START = datetime(2026, 1, 1, tzinfo=UTC)
SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)


@dataclass(frozen=True)
class Texts:
    """Real texts by what they are for."""

    articles: list[str]
    """Of some length, each by another author."""
    related: list[tuple[str, str]]
    """Different texts on one subject."""
    poisoned: list[tuple[str, str]]
    """A document, and a copy of it with other facts."""


@dataclass(frozen=True)
class Pair:
    """Two pages."""

    one: Source
    other: Source


@dataclass
class Row:
    """The pairs of one kind, and those told wrong."""

    kind: str
    cases: int = 0
    wrong: list[Pair] = field(default_factory=list)
    similarities: list[float] = field(default_factory=list)


Make = Callable[[random.Random, Texts], tuple[Source, Source] | None]


def page(
    number: int,
    text: str,
    url: str | None = None,
    *,
    declared: str | None = None,
    work: str | None = None,
) -> Source:
    """A source as a run records the page of that text; of another site unless a url is given."""
    address = url or f"https://site{number}.example/story"
    extracted = Extracted(title="", text=text, media_type="text/html", declared_url=declared, work_url=work)
    got = page_from_web(extracted, url=address, final_url=address)
    return Source(
        id=f"s_{number:03d}",
        url=got.url,
        canonical=got.canonical,
        domain=got.domain,
        sha256=got.sha256,
        length=len(text),
        work_id=got.work_id,
        sketch=got.sketch,
        at=START,
    )


def local(number: int, text: str) -> Source:
    """A local file that declares no url."""
    return page(number, text).model_copy(update={"domain": f"local:file{number}.txt", "work_id": ""})


# One origin.


def _same_text(*addresses: tuple[str, str]) -> Make:
    """One page under two addresses, with a text that the second visit finds changed, so that only the address tells."""

    def make(chance: random.Random, texts: Texts) -> tuple[Source, Source]:
        one, other = chance.choice(addresses)
        first, second = chance.sample(texts.articles, 2)
        return page(1, first, one), page(2, second, other)

    return make


def _work(place: str) -> Make:
    """A resolver's address and a publisher's page that names the DOI."""

    def make(chance: random.Random, texts: Texts) -> tuple[Source, Source]:
        doi = f"10.{chance.randint(1000, 9999)}/abc.{chance.randint(1, 9999)}"
        first, second = chance.sample(texts.articles, 2)
        cited = chance.choice([f"doi:{doi}", f"DOI: {doi}.", f"https://doi.org/{doi}", f"doi {doi}"])
        resolver = page(1, first, f"https://{chance.choice(['doi.org', 'dx.doi.org'])}/{doi.upper()}")
        publisher = {
            "path": page(2, second, f"https://press.example/doi/{chance.choice(['full/', 'abs/', 'pdf/', ''])}{doi}"),
            "meta": page(2, second, "https://press.example/article/1", work=f"https://doi.org/{doi}"),
            "text": page(2, f"A title\n{cited}\n{second}", "https://press.example/article/1"),
        }
        return resolver, publisher[place]

    return make


def _declared(chance: random.Random, texts: Texts) -> tuple[Source, Source]:
    first, second = chance.sample(texts.articles, 2)
    origin = "https://origin.example/2024/story"
    named = chance.choice([origin, origin + "/", "http://www.origin.example/2024/story?utm_source=x", origin + "#top"])
    return page(1, first, origin), page(2, second, "https://copy.example/x", declared=named)


def _copies(change: Callable[[random.Random, str, Texts], str | None], least: int = 60) -> Make:
    """A text and its copy on another site."""

    def make(chance: random.Random, texts: Texts) -> tuple[Source, Source] | None:
        text = chance.choice(texts.articles)
        copy = change(chance, text, texts) if len(text.split()) >= least else None
        return None if copy is None or copy == text else (page(1, text), page(2, copy))

    return make


def _headline(chance: random.Random, text: str, texts: Texts) -> str:
    return f"Another headline altogether\nBy A. N. Other, staff writer, {chance.randint(1, 28)} May\n{text}"


def _introduced(chance: random.Random, text: str, texts: Texts) -> str:
    words = chance.choice(texts.articles).split()
    return f"{' '.join(words[: max(20, len(text.split()) // 5)])}\n{text}"


def _truncated(chance: random.Random, text: str, texts: Texts) -> str | None:
    words = text.split()
    kept = max(60, int(len(words) * chance.uniform(0.15, 0.5)))
    return " ".join(words[:kept]) if kept < len(words) else None


def _embedded(chance: random.Random, text: str, texts: Texts) -> str | None:
    """The copy with as much again of the second site's own text."""
    own = chance.choice(texts.articles).split()
    return None if " ".join(own) == text else f"{text}\n{' '.join(own[: len(text.split())])}"


def edited(chance: random.Random, text: str, share: float) -> str:
    """The text with that share of its words replaced, dropped or doubled."""
    words = text.split()
    for at in chance.sample(range(len(words)), max(1, round(len(words) * share))):
        words[at] = chance.choice(["", f"{words[at]} {chance.choice(words)}", chance.choice(words), "other"])
    return " ".join(words)


def _edited(share: float) -> Callable[[random.Random, str, Texts], str | None]:
    return lambda chance, text, texts: edited(chance, text, share)


def _typography(chance: random.Random, text: str, texts: Texts) -> str:
    for plain, set_ in (
        ("'", "’"),
        (' "', " “"),
        ('" ', "” "),
        (" - ", " — "),
        ("fi", "ﬁ"),
        ("...", "…"),
        (" ", "\u00a0"),
    ):
        text = text.replace(plain, set_)
    return re.sub(r"([^\W\d_]{4})(?=[^\W\d_]{4})", lambda found: found[1] + "\u00ad", text)


def _hyphenated(chance: random.Random, text: str, texts: Texts) -> str:
    quotes = load("quotes")
    return str(quotes.hyphenated(chance, text, 38))


def _poisoned(chance: random.Random, texts: Texts) -> tuple[Source, Source] | None:
    if not texts.poisoned:
        return None
    one, other = chance.choice(texts.poisoned)
    return page(1, one), page(2, other)


ORIGIN = "https://news.example.com/a/story"
SAME: dict[str, Make] = {
    "address: www, tracking, port": _same_text(
        (ORIGIN, "http://www.news.example.com:80/a/story/?utm_source=x&fbclid=1#top"),
        ("https://example.org/s?id=1&b=2", "https://www.example.org/s?b=2&id=1&gclid=3"),
    ),
    "address: AMP, mobile, print": _same_text(
        (ORIGIN, "https://amp.news.example.com/a/story"),
        (ORIGIN, "https://m.example.com/a/story"),
        (ORIGIN, "https://news.example.com/a/story/amp"),
        (ORIGIN, "https://news.example.com/a/story?print=1"),
        ("https://bild.de/a/story", "https://bild-de.cdn.ampproject.org/c/s/bild.de/a/story"),
        ("https://bild.de/a/story", "https://www.google.com/amp/s/www.bild.de/a/story"),
        ("https://bild.de/a/story", "https://web.archive.org/web/20200101000000/https://bild.de/a/story"),
        ("https://bild.de/a/story", "https://web.archive.org/web/2020id_/http://www.bild.de/a/story"),
    ),
    "address: arXiv forms, versions": _same_text(
        ("https://arxiv.org/abs/2101.00001", "https://arxiv.org/pdf/2101.00001v3"),
        ("https://arxiv.org/html/2101.00001v1", "https://doi.org/10.48550/arXiv.2101.00001"),
        ("https://arxiv.org/abs/hep-th/9901001", "https://export.arxiv.org/pdf/hep-th/9901001v2.pdf"),
        ("https://arxiv.org/abs/2101.00001", "https://ar5iv.labs.arxiv.org/html/2101.00001"),
        ("https://arxiv.org/abs/2101.00001", "https://www.alphaxiv.org/abs/2101.00001v2"),
        ("https://arxiv.org/abs/2101.00001", "https://huggingface.co/papers/2101.00001"),
    ),
    "address: sub-domains of one site": _same_text(
        ("https://blog.bbc.co.uk/a", "https://news.bbc.co.uk/b"),
        ("https://a.gov.uk/x", "https://b.a.gov.uk/y"),
        ("https://bücher.example/a", "https://shop.xn--bcher-kva.example:8443/b"),
        ("http://10.1.2.3:8080/x", "http://10.1.2.3:9090/y"),
    ),
    "DOI: in the address": _work("path"),
    "DOI: in the page's head": _work("meta"),
    "DOI: in the text": _work("text"),
    "canonical link to the origin": _declared,
    "copy: headline and byline": _copies(_headline),
    "copy: introduction added": _copies(_introduced),
    "copy: first part only": _copies(_truncated, least=200),
    "copy: beside as much again": _copies(_embedded, least=120),
    "copy: 2 % of words edited": _copies(_edited(0.02)),
    "copy: 5 % of words edited": _copies(_edited(0.05)),
    "copy: 10 % of words edited": _copies(_edited(0.10)),
    "copy: other typography": _copies(_typography),
    "copy: hyphenated columns": _copies(_hyphenated),
    "copy: other facts (ramdocs)": _poisoned,
}


# Two origins.


def _different(chance: random.Random, texts: Texts) -> tuple[Source, Source]:
    one, other = chance.sample(texts.articles, 2)
    return page(1, one), page(2, other)


def _related(chance: random.Random, texts: Texts) -> tuple[Source, Source] | None:
    if not texts.related:
        return None
    one, other = chance.choice(texts.related)
    return page(1, one), page(2, other)


def _at(*addresses: tuple[str, str]) -> Make:
    def make(chance: random.Random, texts: Texts) -> tuple[Source, Source]:
        one, other = chance.sample(texts.articles, 2)
        first, second = chance.choice(addresses)
        return page(1, one, first), page(2, other, second)

    return make


def _quoting(share: float) -> Make:
    """Two reports that quote the same passage, of that share of the shorter."""

    def make(chance: random.Random, texts: Texts) -> tuple[Source, Source] | None:
        one, other, third = chance.sample(texts.articles, 3)
        shorter = min(len(one.split()), len(other.split()))
        quoted = third.split()[: round(shorter * share)]
        if shorter < 120 or len(quoted) < 12:
            return None
        return page(1, f"{one} {' '.join(quoted)}"), page(2, f"{' '.join(quoted)} {other}")

    return make


BOILERPLATE = (
    "Sign up for our newsletter. We use cookies to improve your experience on this website. All rights reserved. No "
    "part of this site may be reproduced without written permission."
)


def _framed(chance: random.Random, texts: Texts) -> tuple[Source, Source] | None:
    one, other = chance.sample(texts.articles, 2)
    if min(len(one.split()), len(other.split())) < 100:
        return None
    return page(1, f"{one}\n{BOILERPLATE}"), page(2, f"{other}\n{BOILERPLATE}")


def _files(chance: random.Random, texts: Texts) -> tuple[Source, Source]:
    one, other = chance.sample(texts.articles, 2)
    return local(1, one), local(2, other)


APART: dict[str, Make] = {
    "different texts": _different,
    "texts on one subject": _related,
    "hosts shared by many": _at(
        ("https://foo.github.io/a", "https://bar.github.io/a"),
        ("https://foo.blogspot.com/a", "https://bar.blogspot.com/a"),
        ("https://a.netlify.app/", "https://b.netlify.app/"),
        ("https://foo.co.uk/a", "https://bar.co.uk/a"),
        ("https://foo.gov.au/a", "https://bar.gov.au/a"),
    ),
    "addresses that are alike": _at(
        ("https://bücher.example/a", "https://bucher.example/a"),
        ("https://example.org/a", "https://example.com/a"),
        ("http://10.1.2.3/x", "http://10.1.2.4/x"),
        ("https://arxiv.org/abs/2101.00001", "https://doi.org/10.48550/arXiv.2101.00002"),
        ("https://doi.org/10.1000/a1", "https://press.example/doi/10.1000/a12"),
    ),
    "local files without a url": _files,
    "a tenth quoted in both": _quoting(0.1),
    "one frame around both": _framed,
}


# Texts and measuring.


def load(name: str) -> ModuleType:
    """Another benchmark beside this one, for its texts."""
    known = sys.modules.get(f"benchmark_{name}")
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_texts(data: Path) -> Texts:
    """What the data folder and the example's corpus hold, in a fixed order."""
    quotes = load("quotes")
    articles = [p.text for p in quotes.load_pages(data) if len(p.text.split()) >= 60]
    related: list[tuple[str, str]] = []
    for row in quotes.rows(data, "hotpotqa"):
        paragraphs = ["".join(parts) for parts in row["context"]["sentences"]]
        long = [text for text in paragraphs if len(text.split()) >= 40]
        related += list(pairwise(long))
    for row in quotes.rows(data, "wikicontradict"):
        given = [str(row.get(key) or "") for key in ("paragraph_A_clean", "paragraph_B_clean")]
        if all(len(text.split()) >= 40 for text in given):
            related.append((given[0], given[1]))
    for name in ("scifact", "pubmedqa"):
        related += _neighbours(quotes.abstracts(data, name))
    poisoned: list[tuple[str, str]] = []
    for row in quotes.rows(data, "ramdocs"):
        documents = [(doc["text"], doc["type"]) for doc in row["documents"] if len(doc["text"].split()) >= 40]
        for text, kind in documents:
            if kind == "misinfo":
                poisoned += [(other, text) for other, of in documents if of == "correct" and _copied(other, text)]
    return Texts(articles, [pair for pair in related if not _copied(*pair)], poisoned)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _copied(one: str, other: str) -> bool:
    """Whether most of a text's words stand in the other in the same order, by word triples: not the code's measure."""
    triples = [{tuple(words[i : i + 3]) for i in range(len(words) - 2)} for words in (_words(one), _words(other))]
    smaller = min(map(len, triples))
    return smaller > 0 and len(triples[0] & triples[1]) / smaller > 0.5


def _neighbours(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Each text with the one that shares most of its longer words."""
    bags = [{word for word in _words(text) if len(word) > 5} for text in texts]
    pairs = []
    for at, bag in enumerate(bags):
        rated = [(len(bag & other) / max(1, len(bag | other)), n) for n, other in enumerate(bags) if n != at]
        if rated:
            pairs.append((texts[at], texts[max(rated)[1]]))
    return pairs


def measure(
    texts: Texts, kinds: dict[str, Make], thresholds: Thresholds, *, each: int, seed: int, same: bool
) -> list[Row]:
    """Up to `each` pairs of every kind; wrong is one origin that counts as two, or two that count as one."""
    measured = []
    for kind, make in kinds.items():
        chance, row = random.Random(f"{seed} {kind}"), Row(kind)
        for _ in range(each * 20):
            if row.cases == each:
                break
            made = make(chance, texts)
            if made is None:
                continue
            row.cases += 1
            row.similarities.append(sketch_similarity(made[0].sketch, made[1].sketch))
            if bool(common_origin(*made, thresholds)) != same:
                row.wrong.append(Pair(*made))
        measured.append(row)
    return measured


def table(title: str, measured: Sequence[Row]) -> str:
    """The rows as text with the similarity's range, and their sum."""
    lines = [f"{title:36} pairs  wrong  similarity: least, median, most"]
    for row in measured:
        order = sorted(row.similarities) or [0.0]
        spread = f"{order[0]:.2f}  {order[len(order) // 2]:.2f}  {order[-1]:.2f}"
        lines.append(f"  {row.kind:34} {row.cases:5}  {len(row.wrong):5}  {spread}")
    lines.append(f"  {'all':34} {sum(r.cases for r in measured):5}  {sum(len(r.wrong) for r in measured):5}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark. 0: within bounds; 1: not; 2: no texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with pages and the question sets")
    parser.add_argument("--each", type=int, default=40, help="pairs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sweep", action="store_true", help="also other values of near_duplicate_share")
    parser.add_argument("--show", type=int, default=0, help="wrong pairs to print of each kind")
    given = parser.parse_args(arguments)
    texts = load_texts(given.data)
    if len(texts.articles) < 3:
        print(f"{given.data} holds no texts: give the folder by --data.", file=sys.stderr)
        return 2
    bounds = thresholds_for()
    same = measure(texts, SAME, bounds, each=given.each, seed=given.seed, same=True)
    apart = measure(texts, APART, bounds, each=given.each, seed=given.seed, same=False)
    print(
        f"{len(texts.articles)} texts, {len(texts.related)} related pairs, {len(texts.poisoned)} pairs with other facts"
    )
    print(f"\n{table('One origin, told independent', same)}\n\n{table('Independent, told one origin', apart)}")
    for row in [*same, *apart]:
        for pair in row.wrong[: given.show]:
            print(f"\n{row.kind}: {pair.one.url} {pair.one.work_id} | {pair.other.url} {pair.other.work_id}")
    if given.sweep:
        print("\nnear_duplicate_share: copies told independent, independent told copies")
        copies = [value for row in same if row.kind.startswith("copy") for value in row.similarities]
        others = [value for row in apart for value in row.similarities]
        for share in SHARES:
            print(
                f"  {share:.2f}  {sum(v < share for v in copies)}/{len(copies)}  "
                f"{sum(v >= share for v in others)}/{len(others)}"
            )
    faults = [sum(len(r.wrong) for r in part) / max(1, sum(r.cases for r in part)) for part in (same, apart)]
    return 1 if max(faults) > ALLOWED else 0


if __name__ == "__main__":
    raise SystemExit(main())
