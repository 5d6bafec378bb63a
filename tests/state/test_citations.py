"""Reading a report: citations by id, sections, sentences, and what only code may write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.state.citations import (
    cited_claims,
    cited_ids,
    factual_sentences,
    gap_question_ids,
    is_gaps,
    outside_gaps,
    sections,
    split_sentences,
    strip_bibliography,
    uncited_sentences,
    under_gaps,
    without_citations,
)

REPORT = """Before any heading [c_001].

# The plant

It gives 240 MW. [c_002]

Gaps
----
- q_003: who paid for it
- **Was it ever repaired?**

### Cost
We found no price [q_007].

## Details ##
Built in 2016 [c_004, d_001].
"""


@pytest.mark.rule("D44")
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("One [c_007].", ("c_007",)),
        ("Two [c_001, d_002] and one more [c_001].", ("c_001", "d_002")),
        ("[c_003][c_001]", ("c_003", "c_001")),
        ("[c_001; c_002 and c_003] [q_004] [s_005] [ch_006]", ("c_001", "c_002", "c_003", "q_004", "s_005", "ch_006")),
        ("[ C_001 ] 【d_002】", ("c_001", "d_002")),
        ("[c_001](https://a.org)", ("c_001",)),
        ("c_001, [1], [c_], [c_x], [abc_001], [c_001 says]", ()),
        ("", ()),
    ],
)
def test_citations_are_ids_in_brackets(text: str, ids: tuple[str, ...]) -> None:
    assert cited_ids(text) == ids


@pytest.mark.rule("D44")
def test_only_claims_and_datapoints_support_a_sentence() -> None:
    assert cited_claims("[q_001, c_002] [s_003] [d_004]") == ("c_002", "d_004")


@pytest.mark.rule("D45")
def test_a_report_is_cut_at_its_headings() -> None:
    assert [(s.title, s.level, s.gaps) for s in sections(REPORT)] == [
        ("", 0, False),
        ("The plant", 1, False),
        ("Gaps", 2, True),
        ("Cost", 3, True),
        ("Details", 2, False),
    ]
    assert sections(REPORT)[1].body == "It gives 240 MW. [c_002]"


@pytest.mark.rule("D45")
def test_a_heading_in_a_fenced_text_is_none() -> None:
    assert [s.title for s in sections("# A\n```\n# no\n```\n**B:**\n\n**C:**\n")] == ["A", "C"]


@pytest.mark.rule("D44")
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Gaps and assumptions", True),
        ("5. **Open questions**", True),
        ("Limitations of this research:", True),
        ("Remaining unknowns & caveats", True),
        ("Unresolved questions", True),
        ("The gender pay gap", False),
        ("Limitations of lithium batteries", False),
        ("Questions", False),
        ("Open source", False),
        ("Summary", False),
    ],
)
def test_a_heading_about_gaps_is_about_nothing_else(title: str, expected: bool) -> None:
    assert is_gaps(title) is expected


@pytest.mark.rule("D44")
def test_text_is_under_gaps_or_outside() -> None:
    assert cited_ids(under_gaps(REPORT)) == ("q_007",)
    assert cited_ids(outside_gaps(REPORT)) == ("c_001", "c_002", "c_004", "d_001")


@pytest.mark.rule("D44")
def test_questions_stand_under_gaps_by_id_or_by_text() -> None:
    questions = {"q_001": "Who built it?", "q_002": "was it ever REPAIRED", "q_009": ""}
    assert gap_question_ids(REPORT) == ("q_003", "q_007")
    assert gap_question_ids(REPORT, questions) == ("q_003", "q_007", "q_002")
    assert gap_question_ids("## Summary\nq_001 is open.") == ()


@pytest.mark.rule("D44")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two.", ("One.", "Two.")),
        ("It gives 240 MW. [c_001] It cost 3.5 M€. [d_001][c_002]",
         ("It gives 240 MW. [c_001]", "It cost 3.5 M€. [d_001][c_002]")),
        ("Dr. J. R. Smith, cf. Fig. 3, left. He died.", ("Dr. J. R. Smith, cf. Fig. 3, left.", "He died.")),
        ("Built in the U.S. Army yard.", ("Built in the U.S. Army yard.",)),
        ("Built in the U.S. The yard closed.", ("Built in the U.S.", "The yard closed.")),
        ("Smith et al. 2016 agree. See No. 5 of vol. 3.", ("Smith et al. 2016 agree.", "See No. 5 of vol. 3.")),
        ("It closed in 2016. 90 people left.", ("It closed in 2016.", "90 people left.")),
        ('He said "No." Then "Yes!" she said.', ('He said "No."', 'Then "Yes!" she said.')),
        ("Is it? It is… maybe.", ("Is it?", "It is… maybe.")),
        ("See x.org for v. 2.0.1 of it", ("See x.org for v. 2.0.1 of it",)),
        ("**Bold one.** Next one.", ("**Bold one.**", "Next one.")),
        ("发电240兆瓦。[c_001] 建于2016年。", ("发电240兆瓦。[c_001]", "建于2016年。")),
        ("  ", ()),
    ],
)  # fmt: skip
def test_sentences_are_split_at_their_ends_only(text: str, parts: tuple[str, ...]) -> None:
    assert split_sentences(text) == parts


@pytest.mark.rule("D44")
def test_every_factual_sentence_outside_gaps_needs_a_claim() -> None:
    report = """# Plant
It gives 240 MW. [c_001] It is old. Is it safe?
The reasons are:

- one, which
  goes on [d_001]
- two [q_002]
* **Costs**

> A quote [c_003]. Another.

| what | MW |
|------|----|
| plant | 240 [c_001] |
| dam | 90 |

---

## Gaps
Nothing else was found.

## References
1. A page about it.
"""
    assert uncited_sentences(report) == ("It is old.", "two [q_002]", "Another.", "dam | 90")
    assert len(factual_sentences(report)) == 8


@pytest.mark.rule("D44")
def test_a_bare_report_has_nothing_to_cite() -> None:
    assert uncited_sentences("# Title\n\n***\n\n**Part**\n\nWhat now?\n\n[c_001]\n") == ()


@pytest.mark.rule("D44")
@pytest.mark.parametrize(
    ("draft", "left"),
    [
        ("A [c_001] [1], b [2, 3][4-6] [^7] [1†page].", "A [c_001], b."),
        ("See [the page](https://a.org/x_(y) \"t\") and https://b.org/z.", "See the page and."),
        ("A [c_001](https://a.org) [[2]](https://b.org) [3](https://c.org) ![i](d.png).", "A [c_001]."),
        ("A (https://a.org), (see www.b.org) <https://c.org>, doi:10.1000/182.", "A,,."),
        ("A [Insert reference][citation needed][source] [0, 1] x[c_002].", "A [0, 1] x[c_002]."),
        ("A.\n\n[1]: https://a.org\n[^2]: a note", "A.\n"),
        ("A.\n\n## References\n- x\n### More\n- y\n\n## Gaps\nB.", "A.\n\n## Gaps\nB."),
        ("A.\n\n**Sources:**\n1. x", "A.\n"),
        ("A.\n\nSources\n\n- x", "A.\n"),
        ("A.\n\nWorks cited\n===\nx\n# B", "A.\n\n# B"),
        ("A [c_001].\n\n- Smith, Title, https://a.org\n- https://b.org\n", "A [c_001].\n"),
        ("A.\n- https://a.org\n- b", "A.\n- b"),
        ("## Gaps\n- the page https://a.org was closed", "## Gaps\n- the page was closed"),
        ("## Sources of error\nA.\n\n## Sources and methods\nB.",
         "## Sources of error\nA.\n\n## Sources and methods\nB."),
        ("Sources say so [c_001].\r\nB", "Sources say so [c_001].\nB"),
    ],
)  # fmt: skip
def test_what_only_code_may_write_is_removed(draft: str, left: str) -> None:
    assert strip_bibliography(draft) == left


PIECES = ["# ", "## References", "Sources:", "**Gaps**", "\n", "\n\n", "- ", "1. ", "[", "]", "(", ")", "[1]"]
PIECES += [
    "[[1]1]",
    "[c_001]",
    "[d_001, c_2]",
    "https://a.org/b",
    "[a](b)",
    "```",
    "|",
    "---",
    "===",
    ".",
    "? ",
    " ",
    "A",
    "e.g.",
]
DRAFT = st.one_of(st.text(), st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=25).map("".join))


@pytest.mark.rule("D44")
@given(DRAFT)
def test_any_text_can_be_read_and_stripping_twice_changes_nothing(draft: str) -> None:
    once = strip_bibliography(draft)
    assert strip_bibliography(once) == once
    assert set(cited_ids(once)) <= set(cited_ids(draft)) | set(cited_ids(once))
    assert set(uncited_sentences(draft)) <= set(factual_sentences(draft))
    assert all(s.gaps for s in sections(draft) if is_gaps(s.title))
    assert set(gap_question_ids(draft)) <= set(cited_ids(f"[{' '.join(gap_question_ids(draft))}]"))


@given(st.lists(st.from_regex(r"\A(c|d|q|s|ch)_[0-9]{1,4}\Z"), min_size=1, max_size=5, unique=True))
def test_ids_are_found_in_their_order(ids: list[str]) -> None:
    assert cited_ids(f"A [{', '.join(ids)}] b") == tuple(ids)
    assert cited_ids(f"A {''.join(f'[{name}]' for name in ids)} b") == tuple(ids)
    assert strip_bibliography(f"A [{', '.join(ids)}] b") == f"A [{', '.join(ids)}] b"


def test_a_text_can_be_read_without_its_citations() -> None:
    assert without_citations("It gives 240 MW [c_001], or 90. [d_002][C_003]") == "It gives 240 MW, or 90."
