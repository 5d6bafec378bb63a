"""A run in the making, for tests of the core: ids and times are given, every step asserts that it was accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from zetetic.state import answers, challenges, claims, frontier_commands, runs, turns
from zetetic.state import events as ev
from zetetic.state.decision import Accepted, Decision, Refusal
from zetetic.state.evaluation import ARMS, Arm, ArmResult, decide_route
from zetetic.state.evolve import fold
from zetetic.state.research import Research, next_id
from zetetic.state.thresholds import Thresholds, thresholds_for
from zetetic.state.values import Holdings, QueryRecord, Question, Source

START = datetime(2026, 1, 1, tzinfo=UTC)
ROOT = "q_001"
CRITERIA = ("The report names the output.",)
REPORT_BY_CODE = "rendered from the notes"


def bounds(**changed: Any) -> Thresholds:
    """The default bounds with some replaced."""
    return thresholds_for("bounded-research", **changed)


def judged(
    attempt: int, *, verdict: str = "Proceed", passed: bool = True, complete: bool = True, **said: Any
) -> dict[Arm, ArmResult]:
    """The four arms' answers on one attempt. `said` gives findings by arm, and the judge's guidance."""
    return {
        "judge": ArmResult(arm="judge", attempt=attempt, verdict=verdict, guidance=said.get("guidance", "")),
        "verify": ArmResult(arm="verify", attempt=attempt, passed=passed, findings=list(said.get("verify", ()))),
        "critique": ArmResult(arm="critique", attempt=attempt, findings=list(said.get("critique", ()))),
        "completeness": ArmResult(
            arm="completeness", attempt=attempt, passed=complete, findings=list(said.get("completeness", ()))
        ),
    }


class Run:
    """A research and what happened in it. Every decision takes a second."""

    def __init__(
        self,
        *,
        objective: str = "How much power does the plant give?",
        criteria: Sequence[str] = CRITERIA,
        holdings: Holdings | None = None,
        directives: Sequence[str] = (),
        **changed: Any,
    ) -> None:
        self.research = Research()
        self.events: list[ev.Event] = []
        self.pages: dict[str, str] = {}
        self.now = START
        self.do(
            runs.decide_open,
            run_id="run-1",
            objective=objective,
            notes_id="0" * 32,
            criteria=criteria,
            directives=directives,
            thresholds=bounds(**changed),
            holdings=holdings or Holdings(),
        )

    # Deciding.

    def decide(self, decide: Callable[..., Decision], *args: Any, **kwargs: Any) -> Decision:
        """What a decision gives now; it happens not."""
        return decide(self.research, *args, at=self.now, **kwargs)

    def do(self, decide: Callable[..., Decision], *args: Any, **kwargs: Any) -> str:
        """Takes a decision that must be accepted, and returns its message."""
        decision = self.decide(decide, *args, **kwargs)
        assert isinstance(decision, Accepted), decision.message
        self.happen(*decision.events)
        return decision.message

    def refused(self, decide: Callable[..., Decision], *args: Any, **kwargs: Any) -> str:
        """Takes a decision that must be refused, and returns the reasons."""
        decision = self.decide(decide, *args, **kwargs)
        assert isinstance(decision, Refusal), decision.message
        return decision.message

    def spend(self, tokens: int = 0, usd: float = 0.0) -> Run:
        """Many small calls, so that none of them is large beside the budget."""
        calls = max(1, min(tokens, 1000)) if tokens else 100
        for number in range(calls):
            part = tokens // calls + (number < tokens % calls)
            self.happen(ev.UsageRecorded(at=self.now, role="worker", input_tokens=part, usd=usd / calls))
        return self

    def happen(self, *happened: ev.Event) -> None:
        """Lets events happen."""
        self.events += happened
        self.research = fold(self.research, happened)
        self.now += timedelta(seconds=1)

    def wait(self, seconds: float) -> Run:
        """Lets time pass."""
        self.now += timedelta(seconds=seconds)
        return self

    # Reading.

    def question(self, question_id: str) -> Question:
        return self.research.questions[question_id]

    def status(self, question_id: str) -> str:
        return self.research.questions[question_id].status

    def moves(self, question_id: str) -> list[tuple[str, str, str, str]]:
        """The transition rows of a question: from, to, trigger, actor."""
        return [
            (e.from_status, e.to_status, e.trigger, e.actor)
            for e in self.events
            if isinstance(e, ev.QuestionMoved) and e.question_id == question_id
        ]

    # The frontier.

    def add(self, question: str = "", priority: float = 0.5, parent_id: str = ROOT, **given: Any) -> str:
        """Adds a question and returns its id."""
        question_id = next_id("q", self.research.questions)
        defaults: dict[str, Any] = {
            "question": question or f"What about {question_id}?",
            "rationale": "it matters",
            "validation_criteria": "a number",
        }
        self.do(
            frontier_commands.decide_add_question,
            parent_id=parent_id,
            priority=priority,
            **{**defaults, **given},
        )
        return question_id

    def start(self) -> str:
        """Selects the next question, whose attempt begins, and returns its id."""
        self.do(frontier_commands.decide_select)
        assert self.research.current is not None
        return self.research.current.id

    def turn(self) -> str:
        """The state node's decision; returns the stage of the turn that begins."""
        return self.do(turns.decide_turn, render=lambda _: REPORT_BY_CODE)

    def close_turn(self, *called: str, provider_failed: str = "") -> None:
        """The update node's decision."""
        self.do(turns.decide_update, called=called, provider_failed=provider_failed, render=lambda _: REPORT_BY_CODE)

    def route(self, **given: Any) -> str:
        """Evaluates the attempt that ended; the arms approve where nothing else is given."""
        assert self.research.attempt is not None
        return self.do(decide_route, judged(self.research.attempt.number, **given))

    def resolve(self, answer: str = "It gives 240 MW.", claim_ids: Sequence[str] = (), **given: Any) -> None:
        """Proposes an answer to the current question, with reasons in place of a verified claim and a challenge."""
        assert self.research.current is not None
        reasons = {"why_unverified": "nothing better", "why_unchallenged": "not needed here"}
        self.do(answers.decide_resolve, self.research.current.id, answer, claim_ids, **{**reasons, **given})

    def answer(self, answer: str = "It gives 240 MW.", claim_ids: Sequence[str] = (), **given: Any) -> str:
        """Starts the next question, answers it and has it accepted; returns its id."""
        question_id = self.start()
        self.resolve(answer, claim_ids, **given)
        assert self.route() == "Answered"
        return question_id

    def bound(self, outcome: Literal["turns", "time", "ceiling", "breaker"] = "turns", expired: bool = False) -> None:
        """Ends the attempt under way by a bound."""
        self.do(answers.decide_bound, outcome, expired=expired)

    def search(
        self,
        query: str,
        *,
        challenge_id: str = "",
        status: Any = "ok",
        question_id: str = "",
        tool: str = "web_search",
        urls: Sequence[str] = (),
    ) -> None:
        """A query was executed, and logged as the observe node does it."""
        where = question_id or challenges.where_logged(self.research)
        log = self.research.queries.get(where, ())
        record = QueryRecord(
            question_id=where,
            seq=len(log) + 1,
            query=query,
            tool=tool,
            status=status,
            challenge_id=challenge_id,
            attempt=self.research.attempt.number if self.research.attempt else 0,
            urls=tuple(urls),
            at=self.now,
        )
        happened: list[ev.Event] = [ev.QueryLogged(at=self.now, record=record)]
        if challenge_id:
            happened.append(ev.ChallengeExecuted(at=self.now, challenge_id=challenge_id, status=status))
        self.happen(*happened)

    # Evidence.

    def source(self, text: str, domain: str = "", **given: Any) -> str:
        """A page was read; returns the source's id. Every page is of another site where no domain is given."""
        source_id = next_id("s", self.research.sources)
        site = domain or f"site{source_id[2:]}.org"
        url = f"https://{site}/{source_id}"
        page = Source(
            **{
                "id": source_id,
                "url": url,
                "canonical": url,
                "domain": site,
                "sha256": f"hash-of-{source_id}",
                "question_id": challenges.where_logged(self.research),
                "at": self.now,
                **given,
            }
        )
        self.pages[source_id] = text
        self.happen(ev.SourceRegistered(at=self.now, source=page))
        return source_id

    def claim(self, text: str, source_id: str = "") -> str:
        """Records a claim whose quote is its own text; returns its id."""
        claim_id = next_id("c", self.research.claims)
        entry = claims.Entry(text=text, quote=text, source_id=source_id or self.source(text))
        self.do(claims.decide_append, [entry], pages=self.pages, question_id=challenges.where_logged(self.research))
        return claim_id

    def support(self, claim_id: str, independence: str = "its own measurement", **source: Any) -> str:
        """Another page says the same; returns the source's id."""
        text = self.research.claims[claim_id].text
        source_id = self.source(text, **source)
        self.do(claims.decide_add_source, claim_id, source_id, "supports", text, independence, pages=self.pages)
        return source_id

    def challenge(self, target_type: str = "claim", target_id: str = "", **given: Any) -> str:
        """Registers a challenge; returns its id."""
        challenge_id = next_id("ch", self.research.challenges)
        defaults = {
            "negation": "it is otherwise",
            "strategy": "negation",
            "expected_if_false": "another figure",
            "query": f"opposite evidence {challenge_id}",
            "question_id": challenges.where_logged(self.research),
        }
        self.do(challenges.decide_challenge, target_type=target_type, target_id=target_id, **{**defaults, **given})
        return challenge_id

    def run_challenge(self, challenge_id: str, status: Any = "ok") -> None:
        """Executes the query of a challenge."""
        self.search(self.research.challenges[challenge_id].query, challenge_id=challenge_id, status=status)

    def record(self, challenge_id: str, outcome: str, source_ids: Sequence[str] = (), **given: Any) -> str:
        """Records a verdict."""
        return self.do(challenges.decide_record_result, challenge_id, outcome, "what was found", source_ids, **given)

    def survive(self, target_type: str = "claim", target_id: str = "", **given: Any) -> str:
        """A challenge that its target survived."""
        challenge_id = self.challenge(target_type, target_id, **given)
        self.run_challenge(challenge_id)
        self.record(challenge_id, "survived")
        return challenge_id

    def verified(self, text: str = "The plant gives 240 MW.") -> str:
        """A claim with all that VERIFIED needs; returns its id."""
        claim_id = self.claim(text)
        self.support(claim_id)
        self.survive("claim", claim_id)
        self.do(claims.decide_set_status, claim_id, "VERIFIED")
        return claim_id

    # The run.

    def explored(self, **conclusion: Any) -> Run:
        """Everything the exploration gate asks for: five sources, a resolved root, a conclusion that survived."""
        for number in range(3):
            self.source(f"page {number} about something else")
        if not self.research.atomic_reason and len(self.research.questions) == 1:
            self.do(frontier_commands.decide_atomic, "one figure is asked")
        self.answer(claim_ids=[self.verified()], why_unverified="")
        self.survive("conclusion", target_text="It gives 240 MW.", **conclusion)
        return self

    def synthesis(self) -> Run:
        """Exploration finished with its gate passed, and the report's attempt under way."""
        self.explored()
        self.do(runs.decide_finish)
        assert self.turn() == "synthesizing"
        return self


def arms_in_order(arms: Mapping[Arm, ArmResult], order: Sequence[Arm] = ARMS) -> list[dict[str, ArmResult]]:
    """Each arm's answer as the map that its node writes, in an order."""
    return [{arm: arms[arm]} for arm in order]
