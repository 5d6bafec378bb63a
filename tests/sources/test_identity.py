from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.sources import canonical_url, registrable_domain, sketch_similarity, text_sketch, work_identity

urls = st.builds(
    "{}://{}{}{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(
        ["example.org", "WWW.Example.org", "www.www.x.org", "bücher.example", "10.0.0.1", "[::1]", "arxiv.org"]
    ),
    st.sampled_from(["", ":80", ":443", ":8080"]),
    st.text("abA/.%2Fé~ ", max_size=15).map(lambda path: "/" + path),
    st.text("ab=&+%20;?é", max_size=15).map(lambda query: "?" + query if query else ""),
    st.sampled_from(["", "#part"]),
)


@pytest.mark.rule("R6")
@given(urls | st.text(max_size=40))
def test_the_canonical_form_is_its_own_canonical_form(url: str) -> None:
    once = canonical_url(url)
    assert canonical_url(once) == once


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a",
        "http://example.org/a",
        "HTTPS://EXAMPLE.org/a",
        "https://www.example.org/a",
        "https://example.org:443/a",
        "http://example.org:80/a/",
        "https://example.org/a#results",
        "https://example.org/a?utm_source=x&utm_medium=y",
        "https://example.org/a/?fbclid=1&gclid=2",
        "https://example.org/b/../a",
        "https://example.org/%61",
        " https://user:secret@example.org/a ",
        "//example.org/a",
    ],
)
def test_spellings_of_one_address_are_one(url: str) -> None:
    assert canonical_url(url) == "https://example.org/a"


@pytest.mark.rule("R6")
def test_query_parameters_are_sorted_and_kept_apart() -> None:
    assert canonical_url("https://example.org/?b=2&a=1") == canonical_url("https://example.org?a=1&b=2&utm_id=7")
    assert canonical_url("https://example.org/item?id=1") != canonical_url("https://example.org/item?id=2")
    assert canonical_url("https://example.org/item?q=a%26b") != canonical_url("https://example.org/item?q=a&b")


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    "url",
    [
        "https://arxiv.org/abs/2101.00001",
        "http://arxiv.org/pdf/2101.00001v3.pdf",
        "https://export.arxiv.org/pdf/2101.00001v12",
        "https://arxiv.org/html/2101.00001v2?context=cs#S1",
        "https://doi.org/10.48550/arXiv.2101.00001",
    ],
)
def test_forms_and_versions_of_an_arxiv_paper_are_one(url: str) -> None:
    assert canonical_url(url) == "https://arxiv.org/abs/2101.00001"


def test_what_is_no_web_address_is_left_alone() -> None:
    assert canonical_url("file:notes/a%23b.md") == "file:notes/a%23b.md"
    assert canonical_url("http://[broken/") == "http://[broken/"


@pytest.mark.rule("D33")
@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://news.bbc.co.uk/story", "bbc.co.uk"),
        ("https://site01.example/article", "site01.example"),
        ("https://a.b.site.example/", "site.example"),
        ("http://10.1.2.3:8080/x", "10.1.2.3"),
        ("http://[2001:db8::1]/x", "2001:db8::1"),
        ("http://localhost:8000/x", "localhost"),
        ("https://co.uk/", "co.uk"),
        ("https://WWW.Example.ORG./", "example.org"),
        ("https://foo.github.io/a", "foo.github.io"),
        ("https://web.archive.org/web/20200101000000/http://www.bbc.co.uk/x", "bbc.co.uk"),
        ("https://bild-de.cdn.ampproject.org/c/s/www.bild.de/a", "bild.de"),
        ("https://www.google.com/amp/s/www.bild.de/a", "bild.de"),
        ("https://web.archive.org/about", "archive.org"),
        ("file:notes/a.md", ""),
        ("", ""),
    ],
)
def test_the_registrable_domain_is_the_site(url: str, domain: str) -> None:
    assert registrable_domain(url) == domain


@pytest.mark.rule("D33")
@pytest.mark.parametrize(
    ("url", "text", "canonical", "work"),
    [
        ("https://arxiv.org/pdf/2101.00001v2", "", None, "arxiv:2101.00001"),
        ("https://doi.org/10.1038/S41586-020-2649-2", "", None, "doi:10.1038/s41586-020-2649-2"),
        ("https://onlinelibrary.example/doi/full/10.1002/abc.123", "", None, "doi:10.1002/abc.123"),
        ("https://journal.example/doi/10.1002/abc.123/pdf", "", None, "doi:10.1002/abc.123"),
        ("https://press.example/article?id=10.1371/journal.pone.1", "", None, "doi:10.1371/journal.pone.1"),
        ("https://biorxiv.example/content/10.1101/2020.01.02.3v2.full", "", None, "doi:10.1101/2020.01.02.3"),
        ("https://huggingface.co/papers/2101.00001", "", None, "arxiv:2101.00001"),
        ("https://web.archive.org/web/2020/https://o.example/y", "Text.", None, "canonical:https://o.example/y"),
        ("https://news.example/x", "A study. doi: 10.1002/abc.123. It found", None, "doi:10.1002/abc.123"),
        ("file:paper.pdf", "arXiv:2101.00001v1 [cs.CL] 1 Jan 2021", None, "arxiv:2101.00001"),
        (
            "https://copy.example/x",
            "Text.",
            "https://origin.example/y?utm_source=z",
            "canonical:https://origin.example/y",
        ),
        ("https://origin.example/y", "Text.", None, "canonical:https://origin.example/y"),
        ("file:note.md", "Text.", None, ""),
        ("file:list.md", "doi:10.1000/a1 and doi:10.1000/b2", None, ""),
        ("file:late.md", "word " * 1000 + "doi:10.1000/a1", None, ""),
    ],
)
def test_a_work_is_named_by_doi_arxiv_id_or_canonical_link(
    url: str, text: str, canonical: str | None, work: str
) -> None:
    assert work_identity(url, text, canonical) == work


def prose(seed: int, words: int) -> str:
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(800)]
    return " ".join(chance.choices(vocabulary, k=words))


@pytest.mark.rule("D33")
@given(st.integers(0, 10_000), st.integers(60, 3000), st.integers(0, 1_000_000))
def test_a_text_with_a_small_edit_is_nearly_the_same_and_another_text_is_not(seed: int, size: int, place: int) -> None:
    text = prose(seed, size)
    words = text.split()
    words[place % size] = "edited"
    assert sketch_similarity(text_sketch(text), text_sketch(" ".join(words))) > 0.6
    assert sketch_similarity(text_sketch(text), text_sketch(prose(seed + 1, size))) < 0.1


@pytest.mark.rule("D33")
@given(st.text(max_size=300))
def test_a_sketch_is_small_ascending_and_ignores_case_and_punctuation(text: str) -> None:
    scale, *hashes = sketch = text_sketch(text)
    assert hashes == sorted(set(hashes))
    assert len(hashes) <= 256
    assert all(0 <= value < 1 << (32 - scale) for value in hashes)
    assert sketch == text_sketch("  " + re.sub(r"[,.!]", " ", text) + " ...")


@pytest.mark.rule("D33")
def test_an_excerpt_is_contained_in_its_source() -> None:
    whole = prose(1, 4000)
    excerpt = " ".join(whole.split()[500:2500])
    assert sketch_similarity(text_sketch(whole), text_sketch(excerpt)) > 0.9


@pytest.mark.rule("D33")
def test_a_short_part_of_a_long_text_is_contained_in_it() -> None:
    whole = prose(1, 9000)
    assert sketch_similarity(text_sketch(whole), text_sketch(" ".join(whole.split()[:900]))) > 0.8


@pytest.mark.rule("D33")
def test_typesetting_does_not_change_a_sketch() -> None:
    plain = "the official said that the efficient office of the field station worked"
    typeset = "the oﬃcial said that the effi\u00adcient of-\nfice of the ﬁeld\u00a0station worked"
    assert text_sketch(typeset) == text_sketch(plain)


@pytest.mark.rule("D33")
def test_a_sketch_is_the_same_on_every_machine() -> None:
    assert text_sketch("The quick brown fox jumps over.") == text_sketch("the QUICK brown, fox jumps over")
    assert text_sketch("") == (0,)
    assert sketch_similarity((0,), (0,)) == 0.0
    assert sketch_similarity(text_sketch("too short"), text_sketch("Too short!")) == 1.0
    assert text_sketch("one two three four five") == (0, 1832028233)
    japanese = "衆院議院運営委員会は午後の理事会で本会議を開き定額給付金を盛り込んだ補正予算案を採決する日程を決めた"
    assert sketch_similarity(text_sketch(japanese), text_sketch(japanese.replace("午後", "午前"))) > 0.6
