"""How the benchmark judges: what counts as stated, what a report states, and what the baseline picks."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


judging = load("judging")

REPORT = """# When was the tower on Long Island built?

- incomplete analysis
- Remaining Gaps: 1: The sources do not say who built it in 1850.

## Summary

- It was built in 1902 [1][2].

## Details

### Was it built in 1885?

- It stands on a hill [2, 3, unverified].

## Verification status

- **VERIFIED**: It was built in 1902. [1][2]
  - "It was built in 1902." [1]
- **UNVERIFIED**: It stands on a hill. [2, 3, unverified]

## Gaps and assumptions

- Nobody says who built it in 1850.

## Sources

1. One. <https://one.example/> (one.example; file: one.md)
2. Two. <https://two.example/> (two.example; file: two.md)

### Also read

- Three. <https://three.example/> (three.example; file: three.md)
"""


@pytest.mark.parametrize(
    ("answer", "statement"),
    [
        ("The Beatles", "An album by beatles."),
        ("42,800", "It has 42800 people."),
        ("February 8, 1900", "He was born on 8 February 1900."),
        ("São Paulo", "It lies near Sao Paulo"),
    ],
)
def test_case_accents_punctuation_and_articles_are_folded(answer: str, statement: str) -> None:
    assert judging.is_stated(answer, [statement])


@pytest.mark.parametrize(
    ("answer", "statement"), [("428", "It has 42,800 people."), ("art", "It was party time."), ("1.5", "It is 15.")]
)
def test_an_answer_is_held_as_whole_words(answer: str, statement: str) -> None:
    assert not judging.is_stated(answer, [statement])


def test_an_answer_inside_a_longer_answer_does_not_count() -> None:
    assert judging.stated(["selective", "non-selective"], ["It is a non-selective agonist."], "") == ["non-selective"]


def test_a_long_answer_is_stated_by_most_of_its_words_and_all_of_its_new_figures() -> None:
    answer, question = "Treatment with the drug lowered mortality by 12 percent in adults", "Does the drug help adults?"
    assert judging.is_stated(answer, ["In adults the treatment lowered mortality by 12 percent."], question)
    assert not judging.is_stated(answer, ["In adults the treatment lowered mortality by 30 percent."], question)
    assert not judging.is_stated(answer, ["The drug was given to adults. Others died, 12 percent."], question)


def test_yes_and_no_cannot_be_measured_and_an_answer_counts_once() -> None:
    assert judging.measurable(["Yes.", "Raj Kapoor", "raj kapoor", "no", "1902"]) == ("Raj Kapoor", "1902")


def test_a_report_states_its_text_and_neither_its_title_nor_headings_nor_gaps() -> None:
    assert judging.statements_of(REPORT) == ["It was built in 1902 .", "It stands on a hill ."]


def test_claims_references_and_sources_are_read_from_a_report() -> None:
    assert [status for status, _ in judging.marked_claims(REPORT)] == ["VERIFIED", "UNVERIFIED"]
    assert judging.cited_numbers(REPORT) == {1, 2, 3}
    assert sorted(judging.listed_sources(REPORT)) == [1, 2]


def test_the_baseline_prefers_rare_words_of_the_question() -> None:
    sentences = ["The tower is tall.", "The tower was built by Wren.", "Nothing of the sort."]
    documents = ["the tower is tall", "a tower", "Wren built much"]
    assert judging.best_sentences("Who built the tower?", sentences, documents, most=1) == [sentences[1]]
