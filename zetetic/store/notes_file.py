"""The notes of a run as a file: a copy of the latest version (D28)."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from pathlib import Path

from zetetic.state.research import Research

_LOG = logging.getLogger(__name__)
USER_LENGTH = 64


class NotesFiles:
    """The files of all runs below one folder. A file is a copy: the versions in the database are the record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, research: Research) -> Path:
        """Where the notes of a run are: `<run>/notes_<user>_<run>_<notes_id>.md` (D28)."""
        run = _safe(research.run_id)
        name = f"notes_{_safe(research.user)[:USER_LENGTH]}_{run}_{_safe(research.notes_id)}.md"
        return self.folder / run / name

    def write(self, research: Research, text: str) -> Path:
        """Replaces the file as a whole, by a temporary file in the same folder. Raises OSError."""
        path = self.path(research)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".notes_", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    def copy(self, research: Research, text: str) -> None:
        """Writes the file after a commit. What is in the database stands also where the file cannot be written."""
        try:
            self.write(research, text)
        except OSError as error:
            _LOG.warning("The notes of run %s are stored, but not as a file: %s", research.run_id, error)


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return safe if safe.strip(".") else "_" * len(safe)  # `..` is a folder above
