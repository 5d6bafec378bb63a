"""Pages that were read, and stood only in what a lost step had in view, are read from the store (D30)."""

from pathlib import Path
from typing import Any

import pytest
from fleet.crew import Crew, context
from langgraph.runtime import RunControl

from zetetic import afork, aresearch, aresume
from zetetic.state.research import Research


def stopping(control: RunControl, sources: int) -> Any:
    """Drains the run once it has so many sources."""

    def progress(update: dict[str, Any], research: Research) -> None:
        if len(research.sources) >= sources:
            control.request_drain()

    return progress


def without_checkpoints(home: Path) -> None:
    """Loses what says at which step a run is."""
    for path in home.glob("checkpoints.db*"):
        path.unlink()


@pytest.mark.rule("D30", "D47")
@pytest.mark.parametrize("workers", [1, 3])
async def test_a_run_without_its_checkpoints_still_uses_the_pages_it_had_read(tmp_path: Path, workers: int) -> None:
    control = RunControl()
    given = context(tmp_path, 3, Crew(3), max_parallel=workers)
    stopped = await aresearch(
        "How deep are the basins?", context=given, control=control, progress=stopping(control, workers)
    )
    r = stopped.research
    assert stopped.status == "stopped"
    assert len(r.sources) >= 1
    unread = set(r.sources) - {link.source_id for claim in r.claims.values() for link in claim.evidence}
    assert unread, "a page was read, and nothing was recorded of it yet"
    without_checkpoints(tmp_path)
    done = await aresume(stopped.run_id, context=given)
    r = done.research
    assert done.status == "complete"
    quoted = {link.source_id for claim in r.claims.values() for link in claim.evidence}
    assert quoted == set(r.sources)
    assert len(r.claims) == len(r.sources) == 3
    fetched = [q.query for q in r.all_queries() if q.tool == "fetch_page"]
    assert len(fetched) == len(set(fetched)) == 3


@pytest.mark.rule("D30", "D49")
async def test_a_fork_uses_the_pages_that_its_run_had_just_read(tmp_path: Path) -> None:
    given = context(tmp_path, 2, Crew(2), max_parallel=2)
    first = await aresearch("How deep are the basins?", context=given)
    for at in range(3, 9):
        done = await afork(first.run_id, at=at, context=given, new_run_id=f"fork-{at}")
        r = done.research
        assert (at, done.status, len(r.claims), len(r.sources)) == (at, "complete", 2, 2)
