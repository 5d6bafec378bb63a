"""What a decision gives: events, or a refusal that says everything that is missing (D1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .events import Event
from .evolve import fold
from .research import Research


@dataclass(frozen=True, slots=True)
class Accepted:
    """The events of a command, and the compact state of what it changed, for the model (D25)."""

    events: tuple[Event, ...]
    message: str = "done"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Everything that stands against a command, in words the model can act on. It changes nothing."""

    missing: tuple[str, ...]

    @property
    def message(self) -> str:
        """One line a reason."""
        return "Refused. " + " ".join(f"({n}) {text}" for n, text in enumerate(self.missing, 1))


Decision = Accepted | Refusal
Decide = Callable[[Research], Decision]


def refuse(*missing: str) -> Refusal:
    """A refusal with the given reasons."""
    return Refusal(tuple(missing))


def in_turn(research: Research, *steps: Decide) -> Decision:
    """Several decisions as one: each sees what the earlier ones did; one refusal refuses the whole."""
    events: tuple[Event, ...] = ()
    messages: list[str] = []
    for step in steps:
        decision = step(research)
        if isinstance(decision, Refusal):
            return decision
        events += decision.events
        messages.append(decision.message)
        research = fold(research, decision.events)
    return Accepted(events, "\n".join(m for m in messages if m))
