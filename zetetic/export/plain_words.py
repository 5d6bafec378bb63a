"""The wire words of a run in a reader's words: why it stopped, what its gate missed, how a counter-search went.

The exact word stands beside them in brackets wherever a program or a second look needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from zetetic.state.research import Research
from zetetic.state.values import Challenge
from zetetic.state.wording import counted, one_line

STATEMENT_SHOWN = 160
"""Characters of a claim, an answer or a question that is named in a sentence about it."""
_STOPPED = {
    "success_criteria_met": "the report passed its gates and was accepted",
    "finalized": "a report was written",
    "frontier_exhausted": "no question was left to work on",
    "stalled": "searching brought nothing new any more",
    "plateau": "further attempts no longer changed what is known",
    "no_change": "nothing has changed since the last look",
    "aborted": "the model gave the research up",
    "user_stop": "it was stopped by hand",
    "reported": "the report went out with what it lacks",
    "breaker:iterations": "its turns or attempts were used up",
    "breaker:tokens": "its tokens were used up",
    "breaker:cost": "its money was used up",
    "breaker:wall_clock": "its time was used up",
    "breaker:attempts": "its attempts were used up",
}
_TROUBLE = {
    "model:auth": "the model's provider refused access",
    "model:rate_limit": "the model's provider let no more calls through",
    "model:connection": "the model could not be reached",
    "model:timeout": "the model did not answer in time",
    "model:context": "what was asked did not fit into the model's window",
    "model:server": "the model's provider failed",
    "model:bad_request": "the model's provider refused the request",
    "model:bad_answer": "the model's answers could not be read",
    "search:not_configured": "a search provider lacks its key or its settings",
    "search:unknown": "a search provider that was named does not exist",
    "search:quota": "the quota of a search provider was used up",
    "search:rate_limited": "a search provider let no more searches through",
    "search:failed": "searching failed",
}


def why_stopped(reason: str) -> str:
    """Why a run stopped, as the end of a sentence with `since`; '' for no reason (D48)."""
    if reason in _STOPPED:
        return _STOPPED[reason]
    kind, _, what = reason.partition(":")
    what = what.removeprefix("prerequisite:") if kind == "blocked" else reason
    return _TROUBLE.get(what, what.replace("_", " ").replace(":", " "))


# Counter-searches.

_SOUGHT = {
    "negation": "its opposite",
    "discrepancy": "another figure",
    "criticism": "criticism of it",
    "alternative_method": "another way of finding it out",
    "scope_limit": "limits to it",
    "primary_source": "its original source",
    "staleness": "something newer",
}
_CAME_OUT = {
    "survived": "nothing against it",
    "weakened": "that it holds less widely",
    "refuted": "that it does not hold",
    "inconclusive": "nothing that decides it",
    "": "nothing yet: it was not finished",
}


def sought(challenge: Challenge) -> str:
    """What a counter-search looked for, such as `another figure`."""
    return _SOUGHT[challenge.strategy]


def outcome_of(challenge: Challenge) -> str:
    """A counter-search and what it found, in one clause."""
    return f"a search for {sought(challenge)} found {_CAME_OUT[challenge.outcome or '']}"


# What the exploration gate missed.


def named(research: Research, question_id: str) -> str:
    """A question as a sentence names it: shortened, with its id."""
    question = research.questions.get(question_id)
    return f"“{one_line(question.question, STATEMENT_SHOWN)}” ({question_id})" if question else question_id


def _claim(research: Research, claim_id: str) -> str:
    claim = research.claims.get(claim_id)
    return f"“{one_line(claim.text, STATEMENT_SHOWN)}”" if claim else claim_id


def _challenge(research: Research, found: re.Match[str]) -> str:
    challenge = research.challenges.get(found[1])
    target = f" than in “{one_line(challenge.target_text, STATEMENT_SHOWN)}”" if challenge else ""
    return f"A search that could have shown otherwise{target} was not finished ({found[1]})."


_GATE: tuple[tuple[str, Callable[[Research, re.Match[str]], str]], ...] = (
    (r"The objective \(q_\d+\) is ", lambda r, m: ""),  # listed as an open question
    (r"q_\d+ \(P [\d.]+\) is open: ", lambda r, m: ""),
    (r"q_\d+ is blocked: ", lambda r, m: ""),
    (
        r"(\d+) sources were read of at least (\d+)",
        lambda r, m: f"{m[1]} of the {counted(int(m[2]), 'source')} that a report should rest on could be read.",
    ),
    (
        r"The sources stem from (\d+) sites of at least (\d+)",
        lambda r, m: f"The sources come from {counted(int(m[1]), 'site')}; at least {m[2]} were asked for.",
    ),
    (
        r"(q_\d+) was resolved without a VERIFIED claim",
        lambda r, m: f"The answer to {named(r, m[1])} rests on no verified claim.",
    ),
    (
        r"([cd]_\d+) vs ([cd]_\d+) is open",
        lambda r, m: f"Sources disagree and it was not settled: {_claim(r, m[1])} against {_claim(r, m[2])}.",
    ),
    (r"(ch_\d+) is open", _challenge),
    (r"There is no conclusion", lambda r, m: "No conclusion was drawn from the answers as a whole."),
    (
        r"Every challenge of the conclusion was inconclusive",
        lambda r, m: "No search for the opposite of the conclusion came to a verdict.",
    ),
    (
        r"The conclusion as it stands has not survived",
        lambda r, m: "The conclusion has not withstood a search for its opposite.",
    ),
)


def gate_in_words(research: Research, missing: str) -> str:
    """What the exploration gate missed, which is written for the model, as the report tells it; '' for a question that
    is not closed, since every such question is a gap of its own (D42, D44)."""
    for pattern, told in _GATE:
        if found := re.match(pattern, missing):
            return told(research, found)
    return f"Something that a complete report needs was missing: {missing}"
