"""Progress on stderr: a line where a question begins and where an attempt at it ends; every turn only where asked for.

On a terminal one live display shows in between where the run stands. What goes wrong is said in any case.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from zetetic.export import why_stopped
from zetetic.state.breakers import budget_left
from zetetic.state.citations import without_citations
from zetetic.state.research import Research
from zetetic.state.values import ROOT
from zetetic.state.wording import one_line

from .terminal import plain, redacted, say

REFRESHES_PER_SECOND = 4
QUESTION_SHOWN = 100
"""Characters of a question or an answer."""
_TROUBLE = re.compile(
    r"turn (?P<turn>\d+) \w+ (?P<question>\w+): (?P<what>(?:model|search):\w+|budget|time)(?:: (?P<more>.*))?"
)
_LACKING = {"budget": "what is left does not cover the next call", "time": "its time was up"}


def frontier_counts(research: Research) -> str:
    """How many questions have which status, such as `2 pending, 1 resolved`; pages, where the loop asks none."""
    if research.loop == "simple":
        return f"{sum(bool(source.sha256) for source in research.sources.values())} pages read"
    counts = Counter(str(question.status) for question in research.questions.values())
    order = ("in_progress", "pending", "blocked", "resolved", "unresolvable", "pruned")
    return ", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in order if counts[status])


def spent(research: Research, at: datetime) -> str:
    """Tokens, money and the time that is left."""
    t = research.thresholds
    tokens = f"{research.usage.tokens:,}" + (f" of {t.max_total_tokens:,}" if t.max_total_tokens else "") + " tokens"
    money = f"${research.usage.usd:.2f}" + (f" of ${t.max_cost_usd:.2f}" if t.max_cost_usd else "")
    left = timedelta(seconds=int(budget_left(research, at, whole=True).seconds))
    return f"{tokens} | {money} | {left} left"


def turn_line(account: str, research: Research, at: datetime) -> str:
    """One turn, or one attempt that was evaluated, as a line."""
    turn = f"{research.turns}/{research.thresholds.max_turns}"
    told = account.removeprefix(f"turn {research.turns} ")
    return f"turn {turn} | {told} | {frontier_counts(research)} | {spent(research, at)}"


def question_line(research: Research) -> str:
    """The question of the turn under way, such as `acting q_002: What does it cost?`; '' where there is none."""
    question = research.questions.get(research.turn.question_id)
    return f"{research.turn.stage} {question.id}: {one_line(question.question, QUESTION_SHOWN)}" if question else ""


def trouble_line(account: str) -> str:
    """What went wrong in a turn, in words and with what the provider said; '' where nothing did."""
    found = _TROUBLE.match(account)
    if found is None:
        return ""
    words = _LACKING.get(found["what"]) or f"{why_stopped(found['what'])} ({found['what']})"
    more = f": {one_line(found['more'])}" if found["more"] else ""
    return f"Trouble in turn {found['turn']} ({found['question']}): {words}{more}"


def begin_line(research: Research) -> str:
    """What begins with the turn under way, such as `q_002 begins: What does it cost?`."""
    turn = research.turn
    question = research.questions.get(turn.question_id)
    if question is None:
        return ""
    asked = one_line(question.question, QUESTION_SHOWN)
    if research.loop == "simple":
        return f"Searching and reading: {asked}"
    if research.phase == "synthesis":
        return "The report is being written"
    if turn.stage == "planning":
        return f"Planning: {asked}"
    if research.attempt is None:
        return "The conclusion is put to a search for its opposite" if question.id == ROOT else ""
    if question.attempts:
        return f"{question.id} begins again, attempt {question.attempts + 1}: {asked}"
    return f"{question.id} begins: {asked}"


def end_line(research: Research, at: datetime) -> str:
    """How the attempt that was just evaluated ended, and where the run stands."""
    if not research.evaluations:
        return ""
    last = research.evaluations[-1]
    route, where = last.routing.route, last.question_id
    if last.kind == "report":
        said = "The report is accepted" if route == "Answered" else "The report was not accepted"
        said += ", and is written anew" if research.status == "running" and route != "Answered" else ""
    elif route == "Answered":
        said = f"{where} is answered: {one_line(without_citations(last.output), QUESTION_SHOWN)}"
    elif route == "Reported":
        said = f"{where} is given up: no answer was accepted"
    elif route == "Blocked":
        said = f"{where} waits for something that is missing"
    else:
        said = f"{where} is not answered yet"
    turn = f"turn {research.turns}/{research.thresholds.max_turns}"
    return f"{said} | {frontier_counts(research)} | {turn} | {spent(research, at)}"


class Progress:
    """What `aresearch` reports to. A context manager; `say` writes above what is live."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.opening = ""
        """Said before anything else, once the run is known to be in the store."""
        self._verbose = verbose
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._research: Research | None = None
        self._begun: set[str] = set()
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._line,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, update: dict[str, Any], research: Research) -> None:
        self._research = research
        if self.opening:
            self.say(self.opening)
            self.opening = ""
        account = str(update.get("account") or "")
        # Where the update is no turn's, the turn that the research shows may be one that came after it.
        begins = begin_line(research) if account and not account.startswith("attempt") else ""
        if begins and begins not in self._begun:
            self._begun.add(begins)
            self.say(begins)
        if trouble := trouble_line(account):
            self.say(trouble)
        elif self._verbose and account.startswith("turn"):
            self.say(turn_line(account, research, datetime.now(UTC)))
        if account.startswith("attempt"):
            self.say(end_line(research, datetime.now(UTC)))

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._live is None:
            say(text)
            return
        with contextlib.suppress(OSError):
            self._console.print(Text(redacted(plain(text))))

    def _line(self) -> Text:
        r = self._research
        if r is None:
            return Text("starting…")
        parts = [
            f"turn {r.turns}/{r.thresholds.max_turns}",
            frontier_counts(r),
            spent(r, datetime.now(UTC)),
        ]
        lines = f"{' | '.join(part for part in parts if part)}\n{question_line(r)}".strip()
        return Text(redacted(plain(lines)), no_wrap=True, overflow="ellipsis")
