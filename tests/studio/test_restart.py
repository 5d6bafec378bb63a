"""A real `langgraph dev` that is killed in the middle of a run, started again, and gone back in time with."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fleet.alone import OBJECTIVE
from fleet.alone import context as crew_context
from fleet.served import CrewServer, basins
from fleet.test_work import Held
from store.stories import rows
from studio.test_server import RUN_SECONDS, Server, serving

FLUSH_SECONDS = 11.0
"""The development server writes its own list of threads and runs to disk every ten seconds; only what is in it can be
gone on with. The server for production has it in PostgreSQL."""


def started(server: Server, folder: Path, models: CrewServer) -> tuple[str, str]:
    """A thread and the run on it that was begun."""
    given = crew_context(folder, "", models.base_url)
    names = ("model", "base_url", "documents", "max_turns", "min_sources", "min_domains")
    context = {name: getattr(given, name) for name in names} | {"api_key": "none"}
    body = {"assistant_id": "zetetic", "input": {"objective": OBJECTIVE}, "context": context, "durability": "sync"}
    thread = server.ask("POST", "/threads", {})["thread_id"]
    return thread, server.ask("POST", f"/threads/{thread}/runs", body)["run_id"]


def ended(server: Server, thread: str, run: str) -> dict[str, Any]:
    """The values of a thread when its run is over."""
    until = time.monotonic() + RUN_SECONDS
    while server.ask("GET", f"/threads/{thread}/runs/{run}")["status"] in ("pending", "running"):
        assert time.monotonic() < until
        time.sleep(0.2)
    found: dict[str, Any] = server.ask("GET", f"/threads/{thread}/state")["values"]
    return found


def asked(models: CrewServer) -> Counter[str]:
    """What the model was asked, without the ids of calls, which are others in every run."""
    return Counter(re.sub(r"call_\w+", "call", json.dumps(body, sort_keys=True)) for body in models.requests)


@pytest.mark.rule("D47", "D49", "D54")
def test_killed_in_a_call_and_started_again_it_goes_on_and_a_fork_leaves_it_alone(tmp_path: Path) -> None:
    basins(tmp_path / "docs", 2)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    with CrewServer(2) as models, serving(tmp_path / "whole") as server:
        whole = ended(server, *started(server, tmp_path, models))
        expected = asked(models)
    assert whole["status"] == "complete"

    held = Held()
    home = tmp_path / "killed"
    database = str(home / "zetetic.db")
    with CrewServer(2, held) as models:
        with serving(home) as server:
            thread, run = started(server, tmp_path, models)
            assert held.asked.wait(RUN_SECONDS)
            time.sleep(FLUSH_SECONDS)
            server.process.kill()
            server.process.wait()
        held.let_go.set()
        with serving(home) as server:
            final = ended(server, thread, run)
            assert (final["status"], final["report"]) == ("complete", whole["report"])
            again = asked(models) - expected
            assert again.total() <= 1, "the call in flight, and no other"
            assert not expected - asked(models)
            log = rows(database, "SELECT count(*) FROM events WHERE run_id = ?", final["run_id"])

            history = server.ask("POST", f"/threads/{thread}/history", {"limit": 200})
            past = next(state for state in reversed(history) if state["next"] == ["decide"])
            edit = {"values": {"directives": ["Look at the second basin first."]}, "checkpoint": past["checkpoint"]}
            server.ask("POST", f"/threads/{thread}/state", edit)
            body = {"assistant_id": "zetetic", "input": None, "durability": "sync"}
            other = server.ask("POST", f"/threads/{thread}/runs", body)["run_id"]
            forked = ended(server, thread, other)
    assert forked["run_id"] != final["run_id"]
    assert forked["status"] in ("complete", "reported")
    assert rows(database, "SELECT count(*) FROM events WHERE run_id = ?", final["run_id"]) == log
    assert rows(database, "SELECT run_id FROM leases") == []
