"""Deciding on a run that branches off from an earlier turn of another one (D54)."""

from __future__ import annotations

from datetime import datetime

from . import events as ev
from .decision import Accepted, Decision, refuse
from .research import Research
from .runs import decide_resume
from .thresholds import Thresholds


def decide_branch(research: Research, bounds: Thresholds, *, at: datetime, by: str = "user") -> Decision:
    """Lets a run with the log of another one go on under bounds of its own; what they add is an extension (D54).

    Time between the turn it branches off from and now is not counted.
    """
    if research.status == "complete":
        return refuse("The run was complete after that turn, so there is nothing to go on with: name an earlier one.")
    t = research.thresholds
    room = {
        "turns": bounds.max_turns - t.max_turns,
        "iterations": bounds.max_iterations - t.max_iterations,
        "tokens": bounds.max_total_tokens - t.max_total_tokens if t.max_total_tokens else 0,
        "usd": bounds.max_cost_usd - t.max_cost_usd if t.max_cost_usd else 0,
        "seconds": bounds.max_wall_time_seconds - t.max_wall_time_seconds,
    }
    added = {name: more for name, more in room.items() if more > 0}
    if research.status in ("reported", "failed") and not added:
        return refuse(
            "The run had ended on its bounds after that turn: name an earlier one, or give more room, such as "
            f"max_turns={t.max_turns + max(10, t.max_turns // 2)}."
        )
    done = decide_resume(research, at=at, by=by, **added)  # type: ignore[arg-type]
    if not isinstance(done, Accepted):
        return done
    given = None if bounds == t else bounds
    happened = tuple(
        e.model_copy(update={"thresholds": given}) if isinstance(e, ev.RunResumed) else e for e in done.events
    )
    return Accepted(happened, f"run {research.run_id} goes on from {research.forked_from}")
