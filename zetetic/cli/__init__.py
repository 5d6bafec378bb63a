"""The terminal: the command `zetetic`. What is heavy is imported by the command that needs it, so `--help` is quick."""

from . import checking, exporting, verifying  # noqa: F401  # each registers its command
from .app import main

__all__ = ["main"]
