"""The example, with the model behind a real HTTP server that speaks chat completions."""

from __future__ import annotations

from pathlib import Path

import pytest

from zetetic import Context, aresearch
from zetetic.models.offline import OfflineModel
from zetetic.sources import DocumentFolder, Page
from zetetic.state.quotes import find_quote
from zetetic.testing import ChatCompletionsServer

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.rule("D47", "D54")
async def test_a_model_on_the_wire_does_the_same_research(tmp_path: Path) -> None:
    objective = (EXAMPLES / "question.txt").read_text(encoding="utf-8")
    documents = str(EXAMPLES / "corpus")
    here = await aresearch(objective, context=Context(documents=documents, home=str(tmp_path / "here")))
    with ChatCompletionsServer(OfflineModel()) as server:
        context = Context(
            model="served", base_url=server.base_url, api_key="sk-not-to-be-written", documents=documents,
            home=str(tmp_path / "there"),
        )  # fmt: skip
        there = await aresearch(objective, context=context)
        asked = len(server.requests)
    assert (there.status, there.stop_reason) == ("complete", "finalized")
    assert [(c["text"], c["status"]) for c in there.claims] == [(c["text"], c["status"]) for c in here.claims]
    assert there.usage["calls"] == asked == here.usage["calls"]
    written = b"".join(path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file())
    assert b"sk-not-to-be-written" not in written


async def test_what_the_example_is_there_to_show(tmp_path: Path) -> None:
    objective = (EXAMPLES / "question.txt").read_text(encoding="utf-8")
    context = Context(documents=str(EXAMPLES / "corpus"), home=str(tmp_path / "home"))
    result = await aresearch(objective, context=context)
    top, _, told = result.report.partition("## Summary")
    body, _, rest = told.partition("## Verification status")
    status, _, gaps = rest.partition("## Gaps and assumptions")
    assert result.status == "complete"
    # the copied text did not count twice
    homes = next(c for c in result.claims if "92,000 homes" in c["text"])
    assert homes["status"] == "UNVERIFIED"
    assert "not counted: it and an earlier source have nearly the same text" in status
    # the contradiction is named with both sides
    assert body.count("Sources disagree") == 1
    assert "Sources disagree" not in rest
    assert "1,180 million crowns" in body
    assert "1,900 million crowns" in body
    # the outdated figure is not reported as current
    assert "320 megawatts" not in body
    assert "320 megawatts" in gaps.partition("## Sources")[0]
    # what could not be found is a gap
    assert "When will the turbines of the Kestrow tidal barrage next be refitted?" in gaps.partition("## Sources")[0]
    # each part of the objective has its answer and how sure it is at the top
    rows = [line.split(" | ") for line in top.splitlines() if line.startswith("| ")]
    assert [row[2] for row in rows] == [
        "Status",
        "verified",
        "contradicted",
        "from sources not shown to be independent",
        "from one source",
        "not answered",
    ]
    # a gap is told once, and the summary counts what is listed
    listed = [line for line in gaps.partition("## Sources")[0].splitlines() if line.startswith("- ")]
    assert sum("turbines" in line for line in listed) == 1
    assert f"- Remaining Gaps: {len(listed)}: " in top
    # every reference opens a document that holds the quote
    async with await DocumentFolder.open(EXAMPLES / "corpus") as folder:
        for claim in result.research.claims.values():
            for link in claim.evidence:
                source = result.research.sources[link.source_id]
                page = await folder.fetch(source.url)
                assert isinstance(page, Page)
                assert find_quote(page.text, link.quote) is not None
                assert page.location == source.location
                assert source.location in result.report


@pytest.mark.rule("D17", "D40", "D38")
async def test_offline_what_is_to_be_confirmed_is_a_hypothesis_with_both_searches(tmp_path: Path) -> None:
    asked = "Does the Kestrow tidal barrage harm eel migration? Is its installed capacity 320 megawatts?"
    result = await aresearch(asked, context=Context(documents=str(EXAMPLES / "corpus"), home=str(tmp_path)))
    r = result.research
    hypotheses = [q for q in r.questions.values() if q.kind == "hypothesis"]
    assert [q.status for q in hypotheses] == ["resolved", "resolved"]
    for question in hypotheses:
        log = r.queries[question.id]
        assert {bool(record.challenge_id) for record in log} == {False, True}
        assert question.why_no_refuting == ""
    assert result.status == "complete", "a challenge whose query speaks of something else is no dead end"
