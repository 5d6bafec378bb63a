"""A player that does exactly what each refusal says: it reads sentences, knows no rule, and is never clever."""

from __future__ import annotations

import re
from typing import Any

from deadlock.small_world import FIGURES, PAGES, Step, after_turn, called

from zetetic.state.challenges import STRATEGIES
from zetetic.state.frontier import failed_dependencies, stuck_on_blocked
from zetetic.state.gates import must_stand_under_gaps
from zetetic.state.research import Research

CRITERIA = ["It gives the height.", "It names the unit.", "It cites two sources."]
TRIES = 6
"""How often the same call is made again after doing what it was refused for."""


class Obedient:
    """Plays a research to its end, a turn at a time. It reads only what a prompt or a refusal tells."""

    def __init__(self) -> None:
        self.words = 0
        self.hopeless: set[str] = set()
        """Claims that a refusal said cannot be verified, or not yet."""

    def turn(self, research: Research) -> Research:
        """One turn, with as many calls as it takes to do what refusals ask for."""
        self.r, self.names = research, list[str]()
        self.hopeless.clear()
        stage = research.turn.stage
        if stage == "planning" and research.turn.detail == "unblock":
            self._unblock()
        elif stage == "planning":
            if not self.r.criteria:
                self.do("set_criteria", criteria=CRITERIA)
            self.do("frontier_next", atomic_reason="it asks for one figure")
        elif stage == "synthesizing":
            self._report()
        elif research.attempt is not None:
            self._close_challenges()
            self._resolve(research.attempt.question_id)
        else:
            self._close_challenges()
            self._conclude()
        return after_turn(self.r, tuple(self.names), "answered")

    def do(self, name: str, **given: Any) -> Step:
        """One call; the research goes on from it."""
        step = called(self.r, (name, given))
        self.r = step.research
        self.names.append(name)
        return step

    def new_words(self) -> str:
        """Words that were not used before."""
        self.words += 1
        return f"probe{self.words} of {len(self.r.challenges)} and {sum(map(len, self.r.queries.values()))}"

    def _unblock(self) -> None:
        for question in stuck_on_blocked(self.r):
            if question.parent_id is None:
                for gone in failed_dependencies(self.r, question.id):
                    self.do("drop_dependency", id=question.id, depends_on_id=gone, why="it was pruned")
            else:
                self._rewrite(question.id)

    def _rewrite(self, question_id: str) -> None:
        asked = f"What does {self.new_words()} say of {question_id}?"
        self.do("rewrite_question", id=question_id, question=asked, validation_criteria="A figure.", why="asked for")

    def _close_challenges(self) -> None:
        for challenge in self.r.open_challenges():
            if not challenge.executed:
                self.do("web_search", query=challenge.query, challenge_id=challenge.id)
            self.do("record_challenge_result", challenge_id=challenge.id, outcome="survived", evidence="nothing else")

    def _resolve(self, question_id: str) -> None:
        answer, whys = "The tower is 42 metres tall.", dict[str, str]()
        for _ in range(TRIES):
            carrying = [c.id for c in self.r.claims.values() if c.status == "VERIFIED"]
            step = self.do("resolve_question", id=question_id, answer=answer, claim_ids=carrying[:1], **whys)
            if not step.refused:
                return
            if "cites no VERIFIED claim" in step.told and not self._verify_one():
                whys["why_unverified"] = "the sources at hand give no better"
            if "no closed challenge that it withstood" in step.told and not self._attack(
                "question_answer", target_text=answer
            ):
                answer = f"The tower is 42 metres tall, says {self.new_words()}."
            if "needs a confirming search" in step.told:
                self.do("web_search", query=f"tower height {self.new_words()}")
            if "needs a refuting search" in step.told and not self._attack("question_answer", target_text=answer):
                whys["why_no_refuting"] = "no strategy is left"
            if "no validation criteria" in step.told:
                self._rewrite(question_id)

    def _conclude(self) -> None:
        why = ""
        for _ in range(TRIES):
            step = self.do("finish_exploration", why=why)
            if not step.refused:
                return
            why = why or self._mend(step.told)

    def _mend(self, told: str) -> str:
        """Does what the gate's refusal lists; a `why` where it asks for one."""
        for blocked in re.findall(r"(q_\d+) is blocked: rewrite_question", told):
            self._rewrite(blocked)
        if "sources were read of at least" in told or "The sources stem from" in told:
            self._read()
        for question_id, claims in re.findall(r"(q_\d+) was resolved without a VERIFIED claim: (.*?)reopen", told):
            wanted = re.findall(r"[cd]_\d+", claims)
            if not any(self._verify(c) for c in wanted):
                self.do("reopen_question", id=question_id, why="its claim cannot be verified")
        if re.search(r"ch_\d+ is open: run its query", told):
            self._close_challenges()
        if "There is no conclusion" in told:
            self._state_conclusion()
        if "has not survived a challenge" in told and not self._attack("conclusion"):
            self._state_conclusion()
        asks = "Every challenge of the conclusion was inconclusive: say in why" in told
        return "each search brought what had been read before" if asks else ""

    def _state_conclusion(self) -> None:
        self.do("notes_scratch", conclusion=f"The tower is 42 metres tall, as {self.new_words()} has it.")
        self._attack("conclusion")

    def _verify_one(self) -> bool:
        if not any(self._may_be_verified(c) for c in self.r.claims):
            self._read()
            self._record()
        return any(self._verify(c) for c in list(self.r.claims) if self._may_be_verified(c))

    def _may_be_verified(self, claim_id: str) -> bool:
        return claim_id not in self.hopeless and self.r.claims[claim_id].status in ("UNVERIFIED", "VERIFIED")

    def _verify(self, claim_id: str) -> bool:
        for _ in range(TRIES):
            step = self.do("notes_update", id=claim_id, status="VERIFIED")
            if not step.refused:
                return True
            done = False
            if "add_source" in step.told:
                done |= self._add_source(claim_id)
            if "challenge it and run the query" in step.told:
                done |= self._attack("claim", target_id=claim_id)
            if not done:
                break
        self.hopeless.add(claim_id)
        return False

    def _add_source(self, claim_id: str) -> bool:
        claim = self.r.claims[claim_id]
        self._read()
        figure = "41" if "41" in claim.text else "42"
        for url in FIGURES[figure]:
            source = next((s for s in self.r.sources.values() if s.url == url), None)
            quote = f"the tower is {figure} metres tall"
            link = {"source_id": source.id if source else "", "quote": quote, "independence": "a text of its own"}
            if not self.do("notes_update", id=claim_id, add_source=link).refused:
                return True
        return False

    def _read(self) -> None:
        if not any(record.tool == "web_search" for record in self.r.all_queries()):
            self.do("web_search", query=f"tower height {self.new_words()}")
        known = {s.url for s in self.r.sources.values()}
        for url in PAGES:
            if url not in known:
                self.do("fetch_page", url=url)

    def _record(self) -> None:
        source = next(s for s in self.r.sources.values() if s.url == FIGURES["42"][0])
        quote = "The tower is 42 metres tall."
        claim = {"text": f"The tower is 42 metres tall, writes {self.new_words()}.", "quote": quote}
        for text in (quote, claim["text"]):
            self.do("notes_append", claims=[{"text": text, "quote": quote, "source_id": source.id}])

    def _attack(self, target_type: str, **target: str) -> bool:
        """Challenges a target, runs the query, records that it survived; False where it may not be challenged."""
        for strategy in STRATEGIES:
            step = self.do(
                "challenge", target_type=target_type, negation="It has another height.", strategy=strategy,
                expected_if_false="a page with another", query=f"tower other height {self.new_words()}", **target,
            )  # fmt: skip
            if not step.refused:
                self._close_challenges()
                return True
            if "which is all (max_challenges_per_target)" in step.told:
                return False
        return False

    def _report(self) -> None:
        usable = [c for c in self.r.claims.values() if c.status in ("VERIFIED", "UNVERIFIED")]
        said = f"{usable[0].text} [{usable[0].id}]" if usable else ""
        gaps = [f"- [{q}] was not settled." for q in must_stand_under_gaps(self.r)]
        gaps += [f"- [{c.id}] was refuted." for c in self.r.claims.values() if c not in usable]
        self.do("finalize_report", report="\n\n".join(["## Summary", said, "## Gaps", "\n".join(gaps) or "None."]))
