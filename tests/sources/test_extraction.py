from __future__ import annotations

import gzip
import json
import re
import time
import zipfile
from collections import Counter
from datetime import datetime
from io import BytesIO
from pathlib import Path

import docx
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.pdf_files import pdf

from zetetic.sources import Extracted, ExtractionFailure, extract, page_from_web
from zetetic.sources.extracted import iso_date

DATA = Path(__file__).parents[2].parent / "shared" / "data"
with_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the folder shared/data with real pages is not beside the project"
)


def read(data: bytes, name: str = "", declared: str | None = None, url: str = "https://site.example/page") -> Extracted:
    found = extract(data, url=url, declared_type=declared, filename=name)
    assert isinstance(found, Extracted), found
    return found


def refused(data: bytes, name: str = "", declared: str | None = None) -> ExtractionFailure:
    found = extract(data, url="https://site.example/page", declared_type=declared, filename=name)
    assert isinstance(found, ExtractionFailure), found
    return found


ARTICLE = """<!doctype html><html><head><title>Bridges – The Site</title>
<meta property="og:title" content="Bridges"><meta property="article:published_time" content="2021-03-04T10:00:00Z">
<meta name="citation_doi" content="10.1000/xyz123">
<link rel="canonical" href="/bridges"></head><body>
<nav><a href="/home">Home</a><a href="/about">About us</a></nav>
<article><h1>Bridges</h1>
<p>A bridge carries a road across a river. The <a href="http://other.example/x#y">first bridges</a> were trees.</p>
<p>Stone bridges came later, and some of them still stand after two thousand years of use by carts and cars.</p>
<table><tr><th>Name</th><th>Year</th></tr><tr><td>Old Bridge</td><td>1905</td></tr></table>
</article><footer>Copyright</footer></body></html>"""


def test_a_web_page_gives_its_main_text_and_what_its_head_declares() -> None:
    page = read(ARTICLE.encode())
    assert page.title == "Bridges"
    assert page.published == "2021-03-04"
    assert page.declared_url == "https://site.example/bridges"
    assert page.work_url == "https://doi.org/10.1000/xyz123"
    assert page.media_type == "text/html"
    assert page.links == ("https://site.example/home", "https://site.example/about", "http://other.example/x")
    assert "A bridge carries a road across a river. The first bridges were trees." in page.text
    assert "1905" in page.text
    assert "Copyright" not in page.text


@pytest.mark.rule("R6", "D33")
def test_a_page_of_the_web_is_where_it_was_found_and_the_work_it_declares() -> None:
    found = read(ARTICLE.replace('<meta name="citation_doi" content="10.1000/xyz123">', "").encode())
    page = page_from_web(found, url="http://a.example/1", final_url="http://www.mirror.example/1?utm_source=a")
    assert page.canonical == "https://mirror.example/1"
    assert page.domain == "mirror.example"
    assert page.work_id == "canonical:https://site.example/bridges"


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<script src=app.js></script><div id=root></div>", "drawn by JavaScript"),
        ("<noscript>Please enable JavaScript.</noscript><script>x()</script>", "JavaScript"),
        ("<script></script><p>You need to enable JavaScript to run this app.</p>", "JavaScript"),
        ("<h1>404</h1><p>Sorry, the page you requested could not be found.</p>", "404"),
        ("<p>Please log in to continue reading this article.</p><p>Forgot your password?</p>", "login wall"),
        (
            "<p>We and our partners use cookies for a better visit. Accept all cookies or see our cookie policy.</p>",
            "cookie",
        ),
        ("<p>Verify you are human by completing the action below.</p>", "robots"),
        ("", "no text"),
    ],
)
def test_a_page_that_is_no_evidence_is_junk_with_the_reason(body: str, words: str) -> None:
    failure = refused(f"<!doctype html><html><head></head><body>{body}</body></html>".encode())
    assert failure.kind == "junk"
    assert words in failure.message


@pytest.mark.rule("R6")
def test_a_short_note_that_mentions_cookies_is_no_junk() -> None:
    note = (
        "The regulator fined the firm. It uses cookies without consent. The fine is two million euros. It may appeal."
    )
    assert read(f"<!doctype html><html><body><p>{note}</p></body></html>".encode()).text == note


@pytest.mark.parametrize(
    ("data", "declared", "name", "media_type"),
    [
        (b"%PDF-1.4", "text/html", "", None),
        (ARTICLE.encode(), "text/plain", "", "text/html"),
        (ARTICLE.encode(), "application/octet-stream", "", "text/html"),
        (ARTICLE.encode("utf-16"), None, "", "text/html"),
        (b"# Title\n\nText.", "text/plain", "a.md", "text/markdown"),
        (b"# Title\n\nText.", "text/plain; charset=utf-8", "a.txt", "text/plain"),
        (b'{"a": 1}', "application/json", "", "text/plain"),
        (b"Plain words.", None, "", "text/plain"),
    ],
)
def test_magic_bytes_win_over_the_declared_type_and_that_over_the_name(
    data: bytes, declared: str | None, name: str, media_type: str | None
) -> None:
    found = extract(data, url="", declared_type=declared, filename=name)
    if media_type is None:
        assert isinstance(found, ExtractionFailure)
        assert found.message.startswith("The PDF is broken")
    else:
        assert isinstance(found, Extracted)
        assert found.media_type == media_type


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"", "a.txt", "an empty file"),
        (b"\x89PNG\r\n\x1a\n", "a.html", "a PNG image"),
        (b"\xd0\xcf\x11\xe0rest", "a.docx", "old binary Office file"),
        (b"PK\x03\x04rest", "a.docx", "a broken ZIP archive"),
        (b"words", "a.pdf", "no PDF, though it is called one"),
        (b"words", "a.docx", "no Word document"),
        (b"\x01\x00\x00\x05\x00binary\x00\x00", "a.txt", "binary data"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, name: str, words: str) -> None:
    failure = refused(data, name)
    assert failure.kind == "unsupported"
    assert words in failure.message


@given(st.binary(max_size=400), st.sampled_from(["a.html", "a.pdf", "a.md", "a.txt", "a.docx", ""]))
def test_no_bytes_raise(data: bytes, name: str) -> None:
    for magic in (b"", b"<html>", b"%PDF-1.7\n", b"PK\x03\x04"):
        extract(magic + data, url="https://site.example/[", declared_type=None, filename=name)


# Charsets


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("shape", ["<!doctype html><html><body><p>{}</p></body></html>", "{}"])
def test_unicode_is_read_with_and_without_a_mark(encoding: str, shape: str) -> None:
    text = "Ein größerer Fluss trennt die Städte, und eine Brücke verbindet sie wieder."
    assert read(shape.format(text).encode(encoding)).text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("shift_jis", "衆院議院運営委員会は９日午後の理事会で、１３日に本会議を開き、予算案を採決する日程を決めた。"),
        ("windows-1251", "Надежды на разрешение кризиса появились после переговоров, прошедших в Брюсселе и Москве."),
    ],
)
def test_a_charset_is_known_from_header_meta_or_the_bytes(encoding: str, text: str) -> None:
    page = "<!doctype html><html><head>{}</head><body><p>{}</p></body></html>"
    assert read(page.format("", text).encode(encoding), declared=f"text/html; charset={encoding}").text == text
    assert read(page.format(f'<meta charset="{encoding}">', text).encode(encoding)).text == text
    assert read(page.format("", text).encode(encoding)).text == text
    lying = page.format('<meta charset="utf-8">', text).encode(encoding)
    assert read(lying, declared="text/html; charset=no-such").text == text


def test_a_stray_byte_does_not_spoil_a_page() -> None:
    text = "Die Brücke über den Fluß ist größer als früher."
    assert read(f"{text} ".encode() + b"\xff" + " Schön.".encode()).text == f"{text} \ufffd Schön."


EXPECTED_CHARACTERS = {
    "EUC-JP": "ログイン",
    "EUC-KR": "요청하신",
    "GB2312": "网",
    "SHIFT_JIS": "衆院議院運営委員会",
    "TIS-620": "อักขระไทย",
    "UTF-16BE": "The examples on this page",
    "UTF-32BE": "The examples on this page",
    "iso-8859-5": "Надежды",
    "iso-8859-6": "كتائب",
    "utf-8": "麦蒂",
    "windows-1251": "Надежды",
    "windows-1252": "rangers",
    "windows-1254": "çarpıcı",
}


@with_data
def test_real_pages_in_odd_encodings_are_read_right() -> None:
    files = sorted((DATA / "pages" / "encodings").glob("*.html"))
    read_right = {}
    for file in files:
        known = next((words for name, words in EXPECTED_CHARACTERS.items() if file.name.startswith(name)), None)
        if known:
            read_right[file.name] = known in read(file.read_bytes(), declared="text/html").text
    assert all(read_right.values()), read_right
    assert len(read_right) == len(EXPECTED_CHARACTERS)


@with_data
def test_the_main_text_of_real_pages_is_found() -> None:
    truth = json.loads((DATA / "pages" / "articles" / "ground-truth.json").read_text(encoding="utf-8"))
    scores = []
    for name, facts in sorted(truth.items())[:20]:
        data = gzip.decompress((DATA / "pages" / "articles" / "html" / f"{name}.html.gz").read_bytes())
        got, wanted = (
            Counter(re.findall(r"\w+", text.lower()))
            for text in (read(data, url=facts["url"]).text, facts["articleBody"])
        )
        scores.append(2 * (got & wanted).total() / (got.total() + wanted.total()))
    assert sum(scores) / len(scores) > 0.93


# Markdown and plain text


def test_front_matter_is_read_and_taken_out() -> None:
    fields = 'url: https://a.example/x#A\ntitle: "Zebra: a \\"horse\\""\ndate: 2020-05-01\ntags: [a, b]\n'
    text = f"---\n{fields}---\n\n# Heading\n\nText.\n"
    found = read(text.encode(), "file.md")
    assert (found.declared_url, found.title, found.published) == (
        "https://a.example/x#A",
        'Zebra: a "horse"',
        "2020-05-01",
    )
    assert found.text == "Heading\n\nText."
    assert read(text.encode(), "file.txt").declared_url == "https://a.example/x#A"


def test_a_rule_is_no_front_matter() -> None:
    assert read(b"---\nA paragraph between rules.\n---\nMore.", "a.md").text.startswith("---\nA paragraph")


def test_markdown_is_kept_as_a_reader_sees_it() -> None:
    text = (
        "# The *great* bridge\n\nIt is **very** old, see [the page](https://x.example/a_(b)) and ![a photo](p.png).\n\n"
        "- snake_case_name stays, 2 * 3 * 4 too\n\n"
        "```python\nx = a * b  # **kept**\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    found = read(text.encode(), "a.md")
    assert found.title == "The great bridge"
    assert found.text == (
        "The great bridge\n\nIt is very old, see the page and a photo.\n\n- snake_case_name stays, 2 * 3 * 4 too\n\n"
        "x = a * b  # **kept**\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    assert found.links == ("https://x.example/a_(b)",)


def test_a_heading_keeps_its_own_hashes_and_a_comment_takes_nothing_after_it() -> None:
    assert read(b"# About C#\n\nText.", "a.md").title == "About C#"
    assert read(b"## Closed ##\n\n<!-- note --> A --> B.", "a.md").text == "Closed\n\nA --> B."


@pytest.mark.parametrize("piece", ["[", "_a ", "*a", "<!--", "`", "```\n", "~", "# \t", "<p ", "<!---->", "![a]("])
def test_no_repetition_makes_reading_slow(piece: str) -> None:
    start = time.perf_counter()
    for name in ("a.md", "a.html"):
        extract(("x" + piece * 50_000).encode(), url="", declared_type=None, filename=name)
    assert time.perf_counter() - start < 10  # 0.3 s on an idle machine; quadratic time would be minutes


def test_a_first_line_can_declare_the_url() -> None:
    found = read(b"URL: https://a.example/x\n\nText.", "note.txt")
    assert (found.declared_url, found.text, found.title) == ("https://a.example/x", "Text.", "note")


def test_text_is_normalised_without_touching_its_words() -> None:
    found = read(
        "Cafe\u0301\r\nsoft\u00adhyphen\u200b and\x00 more  \r\n\r\n\r\n\r\nEnd".encode(), declared="text/plain"
    )
    assert found.text == "Café\nsofthyphen and more\n\nEnd"


@pytest.mark.parametrize(
    ("declared", "date"),
    [
        ("2021-03-04T10:00:00+01:00", "2021-03-04"),
        ("2021/3/4", "2021-03-04"),
        ("2021-03", "2021-03"),
        ("2021", "2021"),
        ("D:20210304101112Z", "2021-03-04"),
        ("March 4, 2021", "2021-03-04"),
        ("Thu, 4 Mar 2021 10:00:00 GMT", "2021-03-04"),
        ("2021-13-04", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_as_precise_as_declared(declared: str, date: str | None) -> None:
    assert iso_date(declared) == date


# PDF


def test_lines_of_a_pdf_become_sentences() -> None:
    lines = [
        "The bridge was opened in 1905 after a long period of construc-",
        "tion, and the well-known engineer who had drawn it was then a",
        "member of the council. Everybody knew the well-",
        "known engineer.",
        "",
        "Second part",
        "It was closed in 1960.",
    ]
    found = read(pdf([lines], title="Bridges", created="D:20200102"), "file.pdf")
    assert (found.title, found.published, found.media_type) == ("Bridges", "2020-01-02", "application/pdf")
    assert (
        "after a long period of construction, and the well-known engineer who had drawn it was then a member"
        in found.text
    )
    assert "Everybody knew the well-known engineer." in found.text
    assert "It was closed in 1960." in found.text.split("\n")


def test_a_sentence_over_two_pages_is_one_and_running_heads_go() -> None:
    pages = [
        [
            "Journal of Bridges",
            f"Part {word} of the text says that this sentence is longer than one page and",
            f"Page {n}",
        ]
        for n, word in enumerate(["one", "two", "three"], 1)
    ]
    for page in pages[1:]:
        page.insert(1, "continues on the next page until it ends with a full stop right here.")
    text = read(pdf(pages)).text
    assert "longer than one page and continues on the next page until it ends" in text
    assert "Journal of Bridges" not in text
    assert "Page 2" not in text


def test_a_long_pdf_is_read_in_bounds_and_says_so() -> None:
    assert read(pdf([[f"Page number {n} of the long report."] for n in range(300)])).note == ""
    long = read(pdf([["Words on this page."]] * 501))
    assert long.note == "Only the first 500 of 501 pages were read."


def test_a_pdf_without_text_an_encrypted_and_a_broken_one_say_what_they_are() -> None:
    assert "holds no text in its 2 page(s): probably a scan" in refused(pdf([[], []])).message
    writer = pypdf.PdfWriter()
    writer.append(BytesIO(pdf([["Secret words."]])))
    buffer = BytesIO()
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(buffer)
    assert refused(buffer.getvalue()).message == "The PDF is encrypted and needs a password: save a copy without one."
    assert refused(pdf([["Words."]])[:60]).message.startswith("The PDF is broken")


def test_a_pdf_that_only_its_owner_may_change_is_read() -> None:
    writer = pypdf.PdfWriter()
    writer.append(BytesIO(pdf([["Open words here."]])))
    writer.encrypt("", "owner", algorithm="RC4-128")
    buffer = BytesIO()
    writer.write(buffer)
    assert read(buffer.getvalue()).text == "Open words here."


@with_data
def test_real_pdfs_are_read_or_say_why_not() -> None:
    found = {
        file.stem: extract(file.read_bytes(), url="", declared_type=None, filename=file.name)
        for file in sorted((DATA / "pdf").rglob("*.pdf"))
    }
    failed = {stem: reading.message for stem, reading in found.items() if isinstance(reading, ExtractionFailure)}
    assert "encrypted" in failed.pop("libreoffice-writer-password")
    assert all("probably a scan" in message for message in failed.values()), failed
    assert all(reading.text for reading in found.values() if isinstance(reading, Extracted))
    example = found["google-doc-document"]
    assert isinstance(example, Extracted)
    assert "Special cases aren't special enough to break the rules." in example.text


# DOCX


def word_file(*paragraphs: str, title: str = "", custom: str = "") -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.core_properties.modified = datetime(2022, 6, 7)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), ["Name", "Year", "Bridge", "1905"], strict=True
    ):
        cell.text = text
    document.add_paragraph("After the table.")
    buffer = BytesIO()
    document.save(buffer)
    if custom:
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr(
                "docProps/custom.xml",
                '<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties" '
                'xmlns:vt="http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes">'
                f'<property name="url" pid="2"><vt:lpwstr>{custom}</vt:lpwstr></property></Properties>',
            )
    return buffer.getvalue()


def test_a_word_document_is_read_with_its_tables_in_order() -> None:
    found = read(word_file("First\tparagraph.", "Second one.", title="A Report"), "file.docx")
    assert found.text == "First\tparagraph.\n\nSecond one.\n\nName | Year\nBridge | 1905\n\nAfter the table."
    assert (found.title, found.published, found.declared_url) == ("A Report", "2022-06-07", None)


def test_a_word_document_declares_its_url_by_property_or_first_line() -> None:
    assert read(word_file("Text.", custom="https://a.example/x")).declared_url == "https://a.example/x"
    found = read(word_file("URL: https://b.example/y", "Text."))
    assert found.declared_url == "https://b.example/y"
    assert found.text.startswith("Text.")


def test_a_word_document_that_attacks_or_is_broken_is_refused() -> None:
    def replaced(part: bytes) -> bytes:
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("word/document.xml", part)
        return buffer.getvalue()

    assert "declares entities" in refused(replaced(b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>")).message
    assert "unpacks to more than" in refused(replaced(b" " * 64_000_001)).message
    assert "broken" in refused(replaced(b"<unclosed>")).message
