"""Waiting for a rate limit inside a run: nothing in flight, so nothing holds up whoever stops it (CASES 15)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from graph.rig import OBJECTIVE, whole, worker
from graph.test_provider import Provider, context

from zetetic import aresearch, aresume
from zetetic.testing import Answer, ChatCompletionsServer, refuses


@pytest.mark.rule("A21")
async def test_a_run_that_only_waits_is_cancelled_at_once_and_goes_on_later(home: Path) -> None:
    limited = asyncio.Event()
    loop = asyncio.get_running_loop()

    def trouble(number: int) -> Answer | None:
        if number != 3:
            return None
        loop.call_soon_threadsafe(limited.set)
        return refuses(429, "Rate limit reached. Please try again in 60 s.")

    bounds: dict[str, Any] = {"call_retries": 2, "call_seconds": 300.0, "cancel_grace_seconds": 30.0}
    provider = Provider(worker(whole()), trouble)
    with ChatCompletionsServer(provider) as server:
        chosen = context(home, server.base_url, **bounds)
        run = asyncio.create_task(aresearch(OBJECTIVE, context=chosen, run_id="waiting"))
        await limited.wait()
        await asyncio.sleep(0.3)
        began = monotonic()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert monotonic() - began < 10.0, "not the wait, and not the grace of a call in flight"
        result = await aresume("waiting", context=chosen)
    assert result.status == "complete"
    assert provider.asked == len(whole()) + 1, "what was answered is not asked again"


@pytest.mark.rule("A12", "A21")
async def test_a_wait_that_the_attempt_has_no_time_for_is_not_begun(home: Path) -> None:
    provider = Provider(worker(whole()), lambda n: refuses(429, "try again in 40 s") if n > 1 else None)
    with ChatCompletionsServer(provider) as server:
        began = monotonic()
        bounds = {"call_retries": 2, "call_seconds": 300.0, "attempt_seconds": 20.0}
        result = await aresearch(OBJECTIVE, context=context(home, server.base_url, **bounds))
    assert result.status == "blocked"
    assert result.stop_reason == "blocked:model:rate_limit"
    assert monotonic() - began < 20.0
