"""Remembering what a pure function made of a frozen value: a record that stayed the same costs nothing again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

KEPT = 20_000
"""Records remembered a function; the oldest go first."""


class ByIdentity(Generic[A, B]):
    """A function of one frozen value that gives the very same value what it gave before.

    Values are told apart by identity: comparing two records costs more than most of what is made of them. A value is
    held as long as it is remembered, so that its identity cannot pass to another one.
    """

    def __init__(self, function: Callable[[A], B], kept: int = KEPT) -> None:
        self._function = function
        self._kept: dict[int, tuple[A, B]] = {}
        self._most = kept

    def __call__(self, value: A) -> B:
        """What the function makes of the value."""
        known = self._kept.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        made = self._function(value)
        while len(self._kept) >= self._most:
            with suppress(RuntimeError, StopIteration):  # another thread was at it
                self._kept.pop(next(iter(self._kept)), None)
        self._kept[id(value)] = (value, made)
        return made
