"""Progress on stderr: a line a turn, or on a terminal one live display: where the run stands, and its question."""

from __future__ import annotations

import contextlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from zetetic.state.breakers import budget_left
from zetetic.state.research import Research
from zetetic.state.wording import one_line

from .terminal import plain, redacted, say

REFRESHES_PER_SECOND = 4
QUESTION_SHOWN = 100
"""Characters of a question."""


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


class Progress:
    """What `aresearch` reports to. A context manager; `say` writes above what is live."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._research: Research | None = None
        self._asked = ""
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
        account = str(update.get("account") or "")
        if self._live is not None:
            if account.startswith("attempt"):
                self.say(account)
            return
        if research.turn.question_id != self._asked:
            self._asked = research.turn.question_id
            self.say(question_line(research))
        if account.startswith(("turn", "attempt")):
            self.say(turn_line(account, research, datetime.now(UTC)))

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
