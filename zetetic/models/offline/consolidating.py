"""Consolidating the notes without a model: what code found to be nearly the same is merged."""

from __future__ import annotations

import re

from .challenging import Calls

_LINE = re.compile(r"^ *(?:- )?(keep|merge) \[(c_\d+)\] \w+ (.*) \| (.*)$", re.M)
_QUOTE = re.compile(r'(s_\d+) "(.*?)"(?=; s_\d+ "|$)')


def merged(prompt: str) -> Calls:
    """The calls that merge each listed pair: the second's sources go to the first, then the second is withdrawn."""
    calls: Calls = []
    keep = ""
    known: set[str] = set()
    for what, claim_id, _, quotes in _LINE.findall(prompt):
        found = _QUOTE.findall(quotes)
        if what == "keep":
            keep, known = claim_id, {source for source, _ in found}
            continue
        for source, quote in found:
            if source not in known:
                link = {"source_id": source, "quote": quote, "independence": "a page of its own"}
                calls.append(("notes_update", {"id": keep, "add_source": link}))
        calls.append(("notes_update", {"id": claim_id, "retract": f"merged into {keep}"}))
    return calls
