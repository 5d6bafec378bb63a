"""Every state that wayward moves reach, and whether a player gets from each to the end a run there must have."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from deadlock.moves import Moves
from deadlock.obedient import Obedient
from deadlock.small_world import Play, Verdict, after_turn, called, state_of

from zetetic.state.research import Research

LONGEST = 60
"""Turns after which an obedient player counts as going round in circles."""
MOODS: tuple[Verdict, ...] = ("answered", "unverified", "partial", "restart")


@dataclass
class Found:
    """What an exploration came to. `stuck` holds the plays that lead to a state nobody gets out of."""

    states: int = 0
    whole: bool = False
    """Whether every reachable state was visited."""
    stuck: list[tuple[tuple[Play, ...], str]] = field(default_factory=list)
    longest: int = 0
    deepest: int = 0


def successors(r: Research, moves: Moves, moods: Iterable[Verdict]) -> Iterator[tuple[Play, Research]]:
    """The states after each move; a move that ends an attempt has one for each mood of the arms."""
    for play in moves(r):
        step = called(r, play)
        if step.research.version == r.version:
            continue  # refused, and a refusal changes nothing
        evaluated = step.research.attempt is not None and step.research.attempt.ended
        for mood in moods if evaluated else ("answered",):
            yield play, after_turn(step.research, (play[0],), mood)


class Player(Protocol):
    """Whoever plays on from a state."""

    names: list[str]

    def turn(self, research: Research) -> Research:
        """The research after one turn."""


class Silent:
    """A player that calls no tool: code alone has to end the run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def turn(self, research: Research) -> Research:
        """A turn of plain text."""
        return after_turn(research, (), "unverified")


def explore(
    starts: Iterable[Research],
    moves: Moves,
    *,
    most: int,
    seed: int | None = None,
    player: Callable[[], Player] = Obedient,
    ends: str = "complete",
    faults: int = 3,
) -> Found:
    """Through at most `most` states from the starts, each played to its end by a player, which must be `ends`: breadth
    first, or with a seed in an order drawn from it, which gets deep.

    What was found good on the way to an end is good from there on, so each state is left once.
    """
    found = Found()
    draw = random.Random(seed) if seed is not None else None
    queue: deque[tuple[Research, tuple[Play, ...]]] = deque()
    seen: set[int] = set()
    good: set[int] = set()
    for start in starts:
        seen.add(hash(state_of(start)))
        queue.append((start, ()))
    while queue and found.states < most and len(found.stuck) < faults:
        if draw is not None:
            queue.rotate(draw.randrange(len(queue)))
        r, way = queue.popleft()
        found.states += 1
        fault, turns = _played_out(r, good, player(), ends)
        found.longest = max(found.longest, turns)
        found.deepest = max(found.deepest, len(way))
        if fault:
            found.stuck.append((way, fault))
            continue
        for play, then in successors(r, moves, MOODS):
            key = hash(state_of(then))
            if key not in seen and then.status == "running":
                seen.add(key)
                queue.append((then, (*way, play)))
    found.whole = not queue
    return found


def _played_out(r: Research, good: set[int], player: Player, ends: str) -> tuple[str, int]:
    """Why the player does not get from here to that end, and without a breaker, or ''; and how many turns it took."""
    path = list[int]()
    here, told = r, list[str]()
    for turn in range(LONGEST):
        key = hash(state_of(here))
        if key in good:
            good.update(path)
            return "", turn
        path.append(key)
        if here.status != "running":
            if here.status == ends and not here.stop_reason.startswith("breaker"):
                good.update(path)
                return "", turn
            return f"{here.status}: {here.stop_reason} {'; '.join(here.exploration_missing)} after {told[-3:]}", turn
        here = player.turn(here)
        told.append(f"{here.turn.stage} {here.turn.question_id}: {', '.join(player.names)}")
    return f"in circles: {told[-3:]}", LONGEST


def shown(found: Found) -> Any:
    """The stuck states in words, for a failing test."""
    return [(fault, [f"{name} {args}" for name, args in way]) for way, fault in found.stuck]
