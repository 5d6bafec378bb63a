"""Real texts: one work under several addresses and copies of it are one origin, and texts on one subject are not."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from state.build import Run

from zetetic.state.independence import common_wording, names_as_source, origins
from zetetic.state.thresholds import thresholds_for
from zetetic.state.values import Evidence

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
EACH = 20

pytestmark = pytest.mark.rule("D33")
real = pytest.mark.skipif(not (DATA / "pages").is_dir(), reason=f"{DATA} holds no pages")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


benchmark = load("independence")


@cache
def texts() -> Any:
    return benchmark.load_texts(DATA)


@real
@pytest.mark.parametrize("kind", benchmark.SAME)
def test_one_origin_is_told(kind: str) -> None:
    kinds = {kind: benchmark.SAME[kind]}
    (row,) = benchmark.measure(texts(), kinds, thresholds_for(), each=EACH, seed=7, same=True)
    assert row.cases == EACH
    assert len(row.wrong) <= 1


@real
@pytest.mark.parametrize("kind", benchmark.APART)
def test_two_origins_are_told(kind: str) -> None:
    kinds = {kind: benchmark.APART[kind]}
    (row,) = benchmark.measure(texts(), kinds, thresholds_for(), each=EACH, seed=7, same=False)
    assert row.cases == EACH
    assert row.wrong == []


@real
def test_texts_on_one_subject_share_no_wording() -> None:
    pairs = [
        (Evidence(source_id="s_001", quote=one), Evidence(source_id="s_002", quote=other))
        for one, other in texts().related
    ]
    assert sum(bool(common_wording(*pair)) for pair in pairs) <= len(pairs) / 200


LONG = "The barrage closed the mouth of the estuary in 2016 and reduced eel migration by 34 percent."


@pytest.mark.parametrize(
    ("one", "other", "groups"),
    [
        (LONG, LONG, [2]),
        (LONG, "As was said, the barrage closed the mouth of the estuary in 2016, and reduced\neel migration", [2]),
        (LONG, "The barrage closed the mouth of the estuary in 2016, so eels became fewer.", [1, 1]),
        ("It gives 240 MW.", "It gives 240 MW.", [1, 1]),
        ("According to b.org, it gives 240 MW.", "It gives 240 MW.", [2]),
        ("It gives 240 MW.", "It gives 240 MW (source: www.x.org, doi:10.1/x).", [1, 1]),
        ("According to notb.org it gives 240 MW.", "It gives 240 MW.", [1, 1]),
    ],
)
def test_a_wording_repeated_or_passed_on_counts_once(one: str, other: str, groups: list[int]) -> None:
    run = Run()
    run.source("one text", "a.org")
    run.source("another text", "b.org")
    links = [Evidence(source_id="s_001", quote=one), Evidence(source_id="s_002", quote=other)]
    assert [len(group) for group in origins(run.research, links)] == groups
    assert sorted(len(group) for group in origins(run.research, links[::-1])) == groups


def test_a_quote_that_names_the_others_doi_passes_it_on() -> None:
    run = Run()
    run.source("one text", "a.org", work_id="doi:10.1002/abc.123")
    source = run.research.sources["s_001"]
    assert names_as_source("as shown (doi:10.1002/ABC.123)", source)
    assert not names_as_source("as shown (doi:10.1002/abc.1234)", source)
    assert not names_as_source("as shown", source)
