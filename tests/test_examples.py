"""The example corpus is what its README says it is."""

import importlib.util
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
CORPUS = EXAMPLES / "corpus"

COPIES = {"western-post.md", "harbour-herald.txt"}
FACTS = {
    r"240 megawatts": {
        "operator-facts.md",
        "grid-register.pdf",
        "tidal-yearbook.md",
        "engineering-gazette.md",
        "courier-opening.html",
    },
    r"320 megawatts": {"regional-plan.txt", "tidal-yearbook.md", "engineering-gazette.md"},
    r"1,180 million crowns": {"audit-report.pdf", "energy-ministry.html", "courier-opening.html"},
    r"1,900 million crowns": {"barrage-truth.txt"},
    r"410 gigawatt-hours": {
        "operator-facts.md",
        "grid-register.pdf",
        "tidal-yearbook.md",
        "energy-ministry.html",
        *COPIES,
    },
    r"92,000 homes": COPIES,
    r"34 percent": {"estuary-trust-survey.md", "university-eel-study.docx"},
    r"88 of every 100": {"fisheries-agency.html", "university-eel-study.docx"},
    r"\brefit": {"operator-facts.md", "harbour-notice.html"},
}


class Read(NamedTuple):
    """What a document declares, and its text with spaces folded."""

    url: str
    title: str
    date: str
    text: str


class Page(HTMLParser):
    """The head's declarations and the text of `main`."""

    def __init__(self) -> None:
        super().__init__()
        self.declared: dict[str, str] = {}
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and values.get("rel") == "canonical":
            self.declared["url"] = values["href"]
        elif tag == "meta" and values.get("name", values.get("property")) in ("date", "article:published_time"):
            self.declared["date"] = values["content"]
        elif tag not in ("link", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        if "title" in self.open:
            self.declared["title"] = data
        elif "main" in self.open:
            self.text.append(data)


def read(path: Path) -> Read:
    if path.suffix == ".html":
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        return Read(**page.declared, text=" ".join("".join(page.text).split()))
    if path.suffix in (".md", ".txt"):
        _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
        declared = dict(line.split(": ", 1) for line in head.splitlines())
    else:
        lines = pdf_lines(path) if path.suffix == ".pdf" else docx_lines(path)
        declared = {key.lower(): value for key, value in (line.split(": ", 1) for line in lines[:3])}
        body = " ".join(lines[3:])
    return Read(declared["url"], declared["title"].strip('"'), declared["date"], " ".join(body.split()))


def pdf_lines(path: Path) -> list[str]:
    shown = re.findall(r"^\((.*)\) Tj T\*$", path.read_text(encoding="ascii"), re.MULTILINE)
    return [line for line in shown if line]


def docx_lines(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return re.findall(r"<w:t[^>]*>([^<]*)</w:t>", archive.read("word/document.xml").decode())


def documents() -> dict[str, Read]:
    return {path.name: read(path) for path in sorted(CORPUS.iterdir())}


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!]) ", text)


def test_the_readme_lists_every_document() -> None:
    table = re.findall(r"^\| `([\w.-]+)` \| ([\d-]+) \|", (EXAMPLES / "README.md").read_text("utf-8"), re.MULTILINE)
    assert dict(table) == {name: document.date for name, document in documents().items()}
    assert len(table) == 16


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_a_document_declares_its_origin_and_is_short(path: Path) -> None:
    document = read(path)
    assert urlsplit(document.url).scheme == "https"
    assert (urlsplit(document.url).hostname or "").endswith(".example")
    assert document.title
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", document.date)
    assert 80 <= len(document.text.split()) <= 400


def test_every_document_has_a_host_of_its_own() -> None:
    hosts = {urlsplit(document.url).hostname for document in documents().values()}
    assert len(hosts) == 16


def test_the_objective_is_five_sentences_that_name_the_subject() -> None:
    asked = sentences((EXAMPLES / "question.txt").read_text(encoding="utf-8").strip())
    assert len(asked) == 5
    assert all(sentence.endswith("?") and "Kestrow tidal barrage" in sentence for sentence in asked)


@pytest.mark.parametrize("figure", FACTS)
def test_a_figure_stands_where_the_readme_says(figure: str) -> None:
    assert {name for name, document in documents().items() if re.search(figure, document.text)} == FACTS[figure]


@pytest.mark.parametrize("figure", [figure for figure in FACTS if figure not in (r"320 megawatts", r"\brefit")])
def test_a_figure_stands_in_one_sentence_with_its_subject(figure: str) -> None:
    stated = {
        name
        for name, document in documents().items()
        for sentence in sentences(document.text)
        if re.search(figure, sentence) and "Kestrow" in sentence
    }
    assert stated == FACTS[figure]


def test_the_copies_differ_in_host_and_headline_only() -> None:
    first, second = (documents()[name] for name in sorted(COPIES))
    assert first.title != second.title
    assert first.url != second.url
    assert first.text.removeprefix(first.title) == second.text.removeprefix(f"# {second.title}")


def test_no_document_says_when_the_turbines_are_refitted() -> None:
    asking = [
        sentence
        for document in documents().values()
        for sentence in sentences(document.text)
        if re.search(r"refit|overhaul|turbine", sentence, re.IGNORECASE) and re.search(r"\b(19|20)\d\d\b", sentence)
    ]
    assert asking == []


def test_the_binary_documents_are_what_the_script_writes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_pdfs", EXAMPLES / "make_pdfs.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = script.write_all(tmp_path)
    assert [path.name for path in written if path.read_bytes() != (CORPUS / path.name).read_bytes()] == []
