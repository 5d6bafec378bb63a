"""No budget runs out between an attempt and its evaluation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from graph.rig import Rig, whole, worker

from zetetic import ResearchResult

pytestmark = pytest.mark.rule("A27")


async def bounded(home: Path, budget: int) -> ResearchResult:
    return await Rig(home, worker(whole(), "…")).research(max_total_tokens=budget)


async def test_every_attempt_is_evaluated_in_full_wherever_the_tokens_run_out(home: Path) -> None:
    whole_run = (await Rig(home / "free", worker(whole())).research()).research.usage.tokens
    budgets = [int(whole_run * share / 20) for share in range(4, 34, 2)]
    ended: dict[int, str] = {}
    for start in range(0, len(budgets), 5):
        part = budgets[start : start + 5]
        for budget, result in zip(part, await asyncio.gather(*(bounded(home / str(b), b) for b in part)), strict=True):
            r = result.research
            assert r.usage.tokens <= budget
            for evaluation in r.evaluations:
                if evaluation.kind == "question":
                    assert evaluation.unavailable == (), (budget, evaluation.outcome, evaluation.unavailable)
            evaluated = sum(e.kind == "question" for e in r.evaluations)
            ended[budget] = f"{result.stop_reason}, {evaluated} evaluated"
    # The sweep covers both ends: no attempt was begun, and the research was carried through.
    assert "breaker:tokens, 0 evaluated" in ended.values(), ended
    assert "breaker:tokens, 1 evaluated" in ended.values(), ended
    assert "finalized, 1 evaluated" in ended.values(), ended
