"""The loop on a real model, whatever it babbles: any OpenAI-compatible server whose address ZETETIC_LLM_URL gives.

    ZETETIC_LLM_URL=http://127.0.0.1:8080/v1 ZETETIC_LLM_MODEL=NAME python -m pytest tests/llm

No quality is asked of the model, only that the run ends by its rules and that what it recorded can be shown. On two
cores a model of 1.5 billion parameters takes some minutes for each test.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from graph.rig import anchored
from langchain_core.messages import HumanMessage, SystemMessage

from zetetic import Context, ResearchResult, aresearch, open_store
from zetetic.models import call_model, make_model, repair, usage_of
from zetetic.tools import tool_schemas

pytestmark = pytest.mark.llm

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "What is the installed capacity of the Kestrow tidal barrage?"
URL = os.environ.get("ZETETIC_LLM_URL", "")
MODEL = os.environ.get("ZETETIC_LLM_MODEL", "local")
ENDS = ("complete", "reported", "blocked", "failed")


def context(tmp_path: Path, **more: Any) -> Context:
    """Two pages that answer the question, and bounds that keep a slow model to some minutes."""
    papers = tmp_path / "papers"
    papers.mkdir()
    for name in ("tidal-yearbook.md", "operator-facts.md"):
        shutil.copy(CORPUS / name, papers)
    given = {
        "call_seconds": 900.0,
        "arm_seconds": 600.0,
        "attempt_seconds": 3600.0,
        "answer_max_tokens": 500,
        "arm_max_tokens": 200,
        "cancel_grace_seconds": 1.0,
        **more,
    }
    return Context(base_url=URL, documents=str(papers), home=str(tmp_path / "home"), **given)


async def kept_to_its_rules(result: ResearchResult, settings: Context) -> None:
    """It ended as a rule says, every claim stands in its page, and every call is in the journal."""
    assert result.status in ENDS
    assert result.stop_reason
    if result.status != "blocked":
        assert result.report
    await anchored(result, settings)
    async with open_store(settings) as store:
        entries = await store.calls(result.run_id)
    assert len(entries) == result.usage["calls"]
    assert all(entry.input_tokens > 0 for entry in entries)


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
async def test_a_forced_tool_is_called_or_refused_in_words(streaming: bool) -> None:
    model = make_model(MODEL, base_url=URL, timeout=900.0, max_output_tokens=200)
    prompt = [
        SystemMessage("You take notes. Call notes_append once."),
        HumanMessage("Source s_001: The Ortel lighthouse is 42 metres tall. Record that as a claim with its quote."),
    ]
    chosen = model.model_copy(update={"streaming": streaming})
    tools = tool_schemas(("notes_append",))
    answer = await call_model(chosen, prompt, tools=tools, tool_choice="notes_append", timeout=900.0)
    read = repair(answer, allowed=["notes_append"], known=["notes_append"], key="llm", in_parts=["notes_append"])
    assert read.calls or read.errors or read.text
    assert usage_of(prompt, answer, MODEL).output_tokens > 0


async def test_as_extractor_it_anchors_a_claim(tmp_path: Path) -> None:
    settings = context(tmp_path, model="offline", extractor=MODEL, extraction_threshold=300, max_turns=8)
    result = await aresearch(QUESTION, context=settings)
    await kept_to_its_rules(result, settings)
    assert any(q.tool == "web_search" for log in result.research.queries.values() for q in log)
    assert any(link.quote for claim in result.research.claims.values() for link in claim.evidence)


async def test_as_worker_it_comes_to_an_end(tmp_path: Path) -> None:
    settings = context(tmp_path, model=MODEL, evaluator="offline", max_turns=5, planning_turns=1)
    result = await aresearch(QUESTION, context=settings)
    await kept_to_its_rules(result, settings)
    assert result.research.turns <= 5
