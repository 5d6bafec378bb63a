"""How much of a document's text is found, beside the extraction library alone.

    python benchmarks/extraction.py

Pages come with a reference text, made by hand; PDFs have none, so theirs is what an independent library (pypdf) reads.
Exits with 1 when this project finds less of any set than the library alone, by more than a hundredth; with 2 when there
are no documents.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import lxml.html
import pypdf
import pypdfium2
import trafilatura

from zetetic.sources import ExtractionFailure, extract
from zetetic.state.citations import split_sentences
from zetetic.state.quotes import fold_quote

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ALLOWED_LOSS = 0.01
SENTENCE_CHARACTERS = 40
"""A reference sentence shorter than this is a heading or a caption, and not looked for."""

MEASURE = (
    "Words: the share of the reference text's words that the reading holds, each as often as it stands there (found), "
    "and of the reading's words that stand in the reference (right). Sentences: the share of the reference's sentences "
    f"of {SENTENCE_CHARACTERS} characters or more that stand in the reading, folded as quotes are (D31). Means over "
    "documents."
)

Reader = Callable[[bytes, str], str]
"""(data, address or file name) → text, '' for none."""


@dataclass(frozen=True)
class Document:
    """Something to read, and what there is to find in it."""

    name: str
    data: bytes
    reference: str


@dataclass
class Score:
    """What a reader did on a set, a value for each document."""

    found: list[float] = field(default_factory=list)
    right: list[float] = field(default_factory=list)
    sentences: list[float] = field(default_factory=list)
    seconds: float = 0.0
    empty: int = 0

    def row(self, kind: str, reader: str) -> str:
        """A line of the table."""
        shares = (_percent(self.found), _percent(self.right), _percent(self.sentences))
        each = f"{1000 * self.seconds / max(len(self.found), 1):.0f}"
        return f"| {kind} | {len(self.found)} | {reader} | {' | '.join(shares)} | {self.empty} | {each} |"


def _percent(values: Sequence[float]) -> str:
    return f"{100 * mean(values):.1f} %" if values else "–"


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


# What there is to read.


def articles(data: Path) -> Iterator[Document]:
    """News pages with their main text."""
    folder = data / "pages" / "articles"
    if not folder.is_dir():
        return
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    for name, facts in sorted(truth.items()):
        page = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        yield Document(facts["url"], page, facts["articleBody"])


def reader_views(data: Path) -> Iterator[Document]:
    """Pages with the HTML that a browser's reader view should show."""
    for folder in sorted((data / "pages" / "readability").glob("*")):
        expected = lxml.html.fromstring((folder / "expected.html").read_text(encoding="utf-8"))
        for block in expected.iter(
            "p", "li", "h1", "h2", "h3", "h4", "td", "div", "pre", "br", "blockquote", "figcaption"
        ):
            block.tail = "\n" + (block.tail or "")
        text = re.sub(r"[^\S\n]+", " ", expected.text_content())
        yield Document(f"https://{folder.name}.example/", (folder / "source.html").read_bytes(), text)


def pdfs(data: Path) -> Iterator[Document]:
    """PDFs that hold text, with the words that pypdf reads in them."""
    for file in sorted((data / "pdf").rglob("*.pdf")):
        try:
            text = "\n".join(page.extract_text() for page in pypdf.PdfReader(file).pages)
        except pypdf.errors.PyPdfError:  # it needs a password
            continue
        if re.search(r"\w{3}", text):
            yield Document(file.name, file.read_bytes(), text)


# Who reads.


def ours_html(data: bytes, name: str) -> str:
    """What `fetch_page` would give."""
    found = extract(data, url=name, declared_type="text/html")
    return "" if isinstance(found, ExtractionFailure) else found.text


def ours_pdf(data: bytes, name: str) -> str:
    """What `fetch_page` would give."""
    found = extract(data, url="", declared_type=None, filename=name)
    return "" if isinstance(found, ExtractionFailure) else found.text


def trafilatura_alone(data: bytes, name: str) -> str:
    """The library as its documentation shows it."""
    return trafilatura.extract(data, url=name, include_comments=False) or ""


def pypdfium2_alone(data: bytes, _: str) -> str:
    """The library as its documentation shows it."""
    document = pypdfium2.PdfDocument(data)
    try:
        return "\n".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()


# The measurement.


def words(text: str) -> Counter[str]:
    """The words of a text; one divided at a line's end counts as one."""
    return Counter(re.findall(r"\w+", re.sub(r"(?<=\w)(?:-\n|[\ufffe\x02]\s*)(?=\w)", "", text).lower()))


def sentences(text: str) -> list[str]:
    """The sentences worth looking for, each within one line of the reference."""
    return [s for line in text.split("\n") for s in split_sentences(line.strip()) if len(s) >= SENTENCE_CHARACTERS]


def measure(documents: Sequence[Document], reader: Reader, *, with_sentences: bool) -> Score:
    """How a reader does on a set."""
    score = Score()
    for document in documents:
        began = time.perf_counter()
        text = reader(document.data, document.name)
        score.seconds += time.perf_counter() - began
        score.empty += not text.strip()
        got, wanted = words(text), words(document.reference)
        shared = (got & wanted).total()
        score.found.append(shared / max(wanted.total(), 1))
        score.right.append(shared / max(got.total(), 1))
        looked_for = sentences(document.reference) if with_sentences else []
        if looked_for:
            folded = fold_quote(text)
            score.sentences.append(mean([fold_quote(sentence) in folded for sentence in looked_for]))
    return score


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark. 0: nowhere worse than the library alone; 1: somewhere; 2: no documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with pages and pdf")
    given = parser.parse_args(arguments)
    sets: list[tuple[str, list[Document], Reader, str, Reader, bool]] = [
        ("articles", list(articles(given.data)), ours_html, "trafilatura", trafilatura_alone, True),
        ("reader views", list(reader_views(given.data)), ours_html, "trafilatura", trafilatura_alone, True),
        ("PDFs", list(pdfs(given.data)), ours_pdf, "pypdfium2", pypdfium2_alone, False),
    ]
    if not any(documents for _, documents, *_ in sets):
        print(f"{given.data} holds no pages and no PDFs: give the folder by --data.", file=sys.stderr)
        return 2
    print("| set | documents | reader | words found | words right | sentences found | without text | ms each |")
    print("|---|---|---|---|---|---|---|---|")
    worse = []
    for kind, documents, ours, name, alone, with_sentences in sets:
        here = measure(documents, ours, with_sentences=with_sentences)
        there = measure(documents, alone, with_sentences=with_sentences)
        print(here.row(kind, "zetetic"))
        print(there.row(kind, f"{name} alone"))
        for what in ("found", "sentences"):
            loss = mean(getattr(there, what)) - mean(getattr(here, what))
            if loss > ALLOWED_LOSS:
                worse.append(
                    f"{kind}: {loss:.1%} fewer {'words' if what == 'found' else 'sentences'} than {name} alone"
                )
    print(f"\n{MEASURE}")
    for line in worse:
        print(line, file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
