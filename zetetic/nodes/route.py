"""ROUTE: merges the arms, runs the ladder, moves question or run, and writes the run folder."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from zetetic.export import render_report, result_claims, result_gaps, result_sources
from zetetic.state.evaluation import decide_route
from zetetic.state.loop_view import loop_view
from zetetic.state.research import Research

from .channels import Channels
from .context import Context
from .folder import write_folder
from .keys import step_key, task_key
from .state import take_directives
from .workbench import Workbench, bench_of


async def route(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """The edge after this node reads `next` and decides nothing itself."""
    bench = await bench_of(runtime)
    run_id = channels["run_id"]
    arms = channels.get("arms") or {}
    worker = channels.get("worker") or ""
    taken = await take_directives(channels, runtime, bench, run_id) if not worker else {}
    done = await bench.store.execute(
        run_id,
        lambda r: decide_route(r, arms, at=bench.clock(), render=render_report),
        effect=(task_key(runtime), "route"),
        worker=worker,
        step_key=step_key(runtime),
        reason="route",
    )
    r = done.research
    await write_folder(bench, r.seen_by(""))
    update: dict[str, Any] = {"route": done.text, "log_head": r.version, "window": [], **taken}
    if done.text:
        last = r.evaluations[-1] if r.evaluations else None
        where = last.question_id if last else ""
        told = f"; {taken['account']}" if taken else ""
        update["account"] = f"attempt {last.number if last else 0} at {where}: {done.text}{told}"
    if r.status == "running":
        return update | {"next": "state"}
    if worker:  # what the run gives is the lead's to say
        return update | {"next": "end"}
    return update | {"next": "end"} | outputs(r, bench)


def outputs(r: Research, bench: Workbench) -> dict[str, Any]:
    """What the graph gives when a run is over."""
    report = r.report.final
    update: dict[str, Any] = {
        "report": report,
        "status": r.status,
        "stop_reason": r.stop_reason,
        "claims": result_claims(r),
        "sources": result_sources(r),
        "gaps": result_gaps(r),
        "usage": r.usage.totals(),
        "loop": loop_view(r, bench.clock()),
    }
    text = report or f"The run {r.run_id} is {r.status}: {r.stop_reason}."
    update["messages"] = [AIMessage(text, id=f"zetetic-{r.run_id}-{len(r.evaluations)}", name="zetetic")]
    return update
