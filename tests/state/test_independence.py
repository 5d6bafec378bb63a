"""Whether two sources are two (D33)."""

import pytest
from state.build import START, Run, bounds

from zetetic.state.independence import common_origin, independent_support, origins, sketch_similarity
from zetetic.state.values import Evidence, Source

pytestmark = pytest.mark.rule("D33")


def page(number: int, **given: object) -> Source:
    fields = {
        "id": f"s_{number:03d}",
        "url": f"https://site{number}.org/",
        "canonical": f"https://site{number}.org/",
        "domain": f"site{number}.org",
        "sha256": str(number),
        "at": START,
    }
    return Source(**{**fields, **given})  # type: ignore[arg-type]


HASHES = tuple(range(1, 101))


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ({}, {}, ""),
        ({"domain": "a.org"}, {"domain": "a.org"}, "s_001 and s_002 are both from a.org"),
        ({"work_id": "doi:1"}, {"work_id": "doi:1"}, "s_001 and s_002 are the same work (doi:1)"),
        ({"work_id": ""}, {"work_id": ""}, ""),
        ({"sha256": "x"}, {"sha256": "x"}, "s_001 and s_002 have the same text"),
        ({"sha256": ""}, {"sha256": ""}, ""),
        ({"sketch": (0, *HASHES)}, {"sketch": (0, *HASHES)}, "s_001 and s_002 have nearly the same text"),
        ({"sketch": (0, *HASHES)}, {"sketch": (0, *range(1001, 1101))}, ""),
        ({"id": "s_002"}, {}, "s_002 is the same source"),
    ],
)
def test_what_makes_two_sources_one(one: dict[str, object], other: dict[str, object], reason: str) -> None:
    assert common_origin(page(1, **one), page(2, **other), bounds()) == reason


def test_the_share_that_makes_two_texts_one_is_a_bound() -> None:
    half = page(1, sketch=(0, *HASHES)), page(2, sketch=(0, *HASHES[:50], *range(1001, 1051)))
    assert sketch_similarity(half[0].sketch, half[1].sketch) == 0.5
    assert common_origin(*half, bounds(near_duplicate_share=0.6)) == ""
    assert common_origin(*half, bounds(near_duplicate_share=0.5)) != ""


@pytest.mark.parametrize(
    ("a", "b", "similarity"),
    [
        ((), (), 0.0),
        ((0,), (0, 1), 0.0),
        ((0, 1, 2, 3, 4), (0, 3, 4, 5, 6), 2 / 6),
        ((0, *HASHES[:25]), (0, *HASHES), 1.0),
        ((0, *HASHES[:10]), (0, *HASHES), 1.0),
        ((0, *HASHES[:9]), (0, *HASHES), 0.09),
        ((1, *HASHES), (0, *HASHES, 2**31), 1.0),
    ],
)
def test_sketches_are_compared_at_the_coarser_scale(a: tuple[int, ...], b: tuple[int, ...], similarity: float) -> None:
    assert sketch_similarity(a, b) == pytest.approx(similarity)
    assert sketch_similarity(b, a) == pytest.approx(similarity)


def test_sources_are_grouped_by_common_origin_through_others() -> None:
    run = Run()
    for domain, work in (("a.org", "doi:1"), ("b.org", "doi:2"), ("c.org", "doi:1"), ("c.org", "doi:2")):
        run.source("text", domain, work_id=work)
    links = [Evidence(source_id=f"s_00{n}", quote="q") for n in (1, 2, 3, 4)]
    assert [len(group) for group in origins(run.research, links)] == [4]
    assert [len(group) for group in origins(run.research, links[:2])] == [1, 1]
    assert origins(run.research, [Evidence(source_id="s_099", quote="q")]) == ()


def test_a_link_without_a_declaration_does_not_count() -> None:
    run = Run()
    claim_id = run.claim("It gives 240 MW.")
    assert independent_support(run.research, run.research.claims[claim_id]) == 1
    other = run.source("It gives 240 MW.")
    link = Evidence(source_id=other, quote="It gives 240 MW.")
    silent = run.research.claims[claim_id].model_copy(
        update={"evidence": (*run.research.claims[claim_id].evidence, link)}
    )
    assert independent_support(run.research, silent) == 1
    run.support(claim_id, "measured by another laboratory")
    assert independent_support(run.research, run.research.claims[claim_id]) == 2
