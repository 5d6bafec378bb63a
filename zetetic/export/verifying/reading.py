"""Reading a folder that nobody vouches for: no link is followed, nothing outside is opened, every size has a cap."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

MOST_EVIDENCE = 32_000_000
MOST_PAGE = 16_000_000
"""A page's text has at most three million characters, of at most four bytes each."""
MOST_LEDGER = 64_000_000
MOST_STATE = 4_000_000
"""What is read of one file (bytes). One page is held at a time."""


class Unreadable(Exception):
    """Why a file of the folder cannot be used, as the end of a sentence that begins with its name."""


def read_file(folder: Path, name: str, most: int) -> bytes:
    """The bytes of a file of the folder, by its relative name. Raises Unreadable; so too where it is larger than
    `most`."""
    path = _inside(folder, name)
    try:
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode):
            raise Unreadable("is no plain file")
        if facts.st_size > most:
            raise Unreadable(f"has {facts.st_size:,} bytes, more than the {most:,} that are read")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            data = file.read(facts.st_size + 1)
    except FileNotFoundError:
        raise Unreadable("is missing") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None
    if len(data) > facts.st_size:
        raise Unreadable("grew while it was read")
    return data


def _inside(folder: Path, name: str) -> Path:
    """The path of a file in the folder. Raises Unreadable where the name or a link on the way leads out of it."""
    relative = PurePosixPath(name)
    unsafe = relative.is_absolute() or not relative.parts or ".." in relative.parts
    if unsafe or any(mark in name for mark in ("\\", ":", "\0")):
        raise Unreadable("is no path inside the folder")
    path = folder
    for part in relative.parts:
        path /= part
        if path.is_symlink():
            raise Unreadable("leads through a link, which is not followed")
    return path
