"""How the comparison of the loops reads a report: its statements, marks and citations, and what a page holds (D53)."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
REPORT = """# When was it built?

- Status: stopped

## Summary

- It was built in 1902. [1][2]
- It stands on a hill [2, unverified]. Sources disagree: it is new [1, unverified] [2].
- It has a roof [unread 1].
- It is old. it leans [1]. and it creaks [2].

## Gaps

- Who built it is not said [1].

## Verification status

- **VERIFIED**: It was built in 1902. [1]
"""


@pytest.fixture
def against(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("against_simple")


def test_a_statement_is_a_sentence_with_its_own_references(against: ModuleType) -> None:
    assert [tuple(s) for s in against.statements(REPORT)] == [
        ("It was built in 1902 .", False, (1, 2), 0),
        ("It stands on a hill .", True, (2,), 0),
        ("Sources disagree: it is new .", False, (1, 2), 0),
        ("It has a roof .", False, (), 1),
        ("It is old. it leans .", False, (1,), 0),
        ("and it creaks .", False, (2,), 0),
    ]


@pytest.mark.parametrize(
    ("statement", "held"),
    [
        ("The tower was built in 1902.", True),
        ("In 1902 the tower was built by the town.", True),
        ("The tower was built in 1903.", False),
        ("The tower is the tallest of the region and was sold twice.", False),
    ],
)
def test_a_page_says_what_it_holds_most_words_and_all_figures_of(
    against: ModuleType, statement: str, held: bool
) -> None:
    assert against.holds("There is a town. The tower was built in 1902. It is of stone.", statement) is held


def test_a_measure_is_better_for_the_loop_that_it_says(against: ModuleType) -> None:
    def score(loop: str, calls: int, gold: list[str]) -> object:
        return against.Score("ramdocs", 0, loop, "?", ["a"], [], ["a"], calls=calls, gold_stated=gold)

    groups = {"ramdocs": [score("investigative", 20, ["a"]), score("simple", 3, [])]}
    assert against.better(groups, "simple") == ["- model calls a question: ramdocs 3.0 to 20.0"]
    assert against.better(groups, "investigative") == [
        "- gold answers stated: ramdocs 1 to 0",
        "- questions with a gold answer stated: ramdocs 1 to 0",
        "- runs that miss every gold answer of their documents and report no gap: ramdocs 0 to 1",
        "- the same, an answer without its proof not counted as a gap: ramdocs 0 to 1",
    ]
