"""Results of tool calls that this process has stored or read, kept in memory: a result that stands never changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from .journal import StoredEffect
from .recent import Recent

KEPT_TASKS = 1024


@dataclass(slots=True)
class _Task:
    found: dict[str, StoredEffect] = field(default_factory=dict)
    is_whole: bool = False
    """Whether all of them are here: they were read once, and what came since was added."""


class KeptEffects:
    """The committed results of the tasks used last. That one is missing says nothing: another process may have it."""

    def __init__(self) -> None:
        self._tasks: Recent[str, _Task] = Recent(KEPT_TASKS)

    def one(self, key: str, call_id: str) -> StoredEffect | None:
        """The result of a call, if it is kept."""
        task = self._tasks.get(key)
        return None if task is None else task.found.get(call_id)

    def all(self, key: str) -> dict[str, StoredEffect] | None:
        """The results of a task by call id; None where not all of them are kept."""
        task = self._tasks.get(key)
        return dict(task.found) if task is not None and task.is_whole else None

    def add(self, *given: StoredEffect) -> None:
        """Keeps results, once they are committed."""
        for effect in given:
            self._of(effect.key).found[effect.call_id] = effect

    def add_all(self, key: str, found: dict[str, StoredEffect]) -> None:
        """Keeps what was read of a task as all there is; what was added while it was being read stays."""
        task = self._of(key)
        task.found = found | task.found
        task.is_whole = True

    def _of(self, key: str) -> _Task:
        task = self._tasks.get(key)
        if task is None:
            self._tasks.put(key, task := _Task())
        return task
