"""A research of several independent questions that a scripted crew carries out, each by the same three steps."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph.rig import content_answer
from langchain_core.messages import AIMessage, BaseMessage

from zetetic import Context
from zetetic.testing import FixturePage, FixtureSearch, FixtureWeb, ScriptedModel, call, turn

CRITERIA = ["It gives every depth.", "It cites pages.", "It names gaps."]
ARMS = {"judge_attempt", "verify_answer", "criticize_answer", "judge_completeness"}
QUESTION = re.compile(r"^Question: \[(q_\d+)\] .*?basin (\d+)", re.M)


def pages(count: int) -> dict[str, FixturePage]:
    """For each basin a page of its own."""
    return {
        f"https://basin{n}.org/depth": FixturePage(f"Basin {n} is {n + 10} metres deep. It was dug by hand.")
        for n in range(1, count + 1)
    }


class Crew:
    """What every worker and the lead answer, by what the prompt asks; `before` sees each prompt first."""

    def __init__(
        self, count: int, before: Callable[[str], None] | None = None, address: str = "https://basin{}.org/depth"
    ) -> None:
        self.count = count
        self.address = address
        self.before = before or (lambda prompt: None)

    def __call__(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        prompt = messages[-1].text
        self.before(prompt)
        stage = re.search(r"^Stage: (\w+)", prompt, re.M)
        if stage is None:
            return _arm(tools[0]["function"])
        if stage[1] == "planning":
            asked = [
                call("add_question", parent_id="q_001", question=f"How deep is basin {n}?", rationale="asked",
                     priority=0.8, validation_criteria=f"Gives the depth of basin {n} in metres.")
                for n in range(1, self.count + 1)
            ]  # fmt: skip
            return turn(call("set_criteria", criteria=CRITERIA), *asked)
        if stage[1] == "synthesizing":
            return _report(prompt)
        if stage[1] == "extracting":
            return _extract(prompt)
        if "Question: [" in prompt and stage[1] in ("acting", "challenging"):
            return self._work(messages, prompt)
        return _conclude(prompt)

    def _work(self, messages: list[BaseMessage], prompt: str) -> AIMessage:
        found = QUESTION.search(prompt)
        if found is None or found[1] == "q_001":
            return turn(call("resolve_question", id="q_001", answer="The depths are told below.",
                             claim_ids=_claims(messages), why_unverified="one page each",
                             why_unchallenged="each was read"))  # fmt: skip
        question, number = found[1], int(found[2])
        url, said = self.address.format(number), f"Basin {number} is {number + 10} metres deep."
        told = "\n".join(m.text for m in messages)
        recorded = re.search(rf"\[(c_\d+)\] \w+ +{re.escape(said)}", told)
        if recorded:
            return _answer(
                prompt, question, f"Basin {number} is {number + 10} metres deep [{recorded[1]}].", recorded[1]
            )
        page = re.search(rf'<page source_id="(s_\d+)"[^>]*>\n[^<]*{re.escape(said)}', told)
        if page:
            claim = {"text": said, "quote": said, "source_id": page[1]}
            return turn(call("notes_append", claims=[claim]))
        if url in told:
            return turn(call("fetch_page", url=url))
        return turn(call("web_search", query=f"depth of basin {number} metres"))


def _extract(prompt: str) -> AIMessage:
    """What is told of depths on pages that are read outside of the window."""
    read = re.findall(r'<page source_id="(s_\d+)"[^>]*>\n[^<]*?(Basin \d+ is \d+ metres deep\.)', prompt)
    claims = [{"text": said, "quote": said, "source_id": source} for source, said in read]
    return turn(call("notes_append", claims=claims))


def _answer(prompt: str, question: str, answer: str, claim: str) -> AIMessage:
    """The answer is challenged, the challenge run, its result recorded, and then it is given."""
    state = re.search(rf"\[(ch_\d+)\] (open, run|open|survived)[^|]*\| question_answer {question} ", prompt)
    query = f"shallow silted {answer.split(' is ')[0].lower()}"
    if state is None:
        return turn(call("challenge", target_type="question_answer", target_text=answer, negation="It is shallow.",
                         strategy="discrepancy", expected_if_false="another depth", query=query))  # fmt: skip
    if state[2] == "open":
        return turn(call("web_search", query=query, challenge_id=state[1]))
    if state[2] == "open, run":
        verdict = {"challenge_id": state[1], "outcome": "survived", "evidence": "no other depth is told"}
        return turn(call("record_challenge_result", **verdict))
    return turn(
        call("resolve_question", id=question, answer=answer, claim_ids=[claim], why_unverified="one page says so")
    )


def _claims(messages: list[BaseMessage]) -> list[str]:
    return sorted(set(re.findall(r"\[(c_\d+)\]", "\n".join(m.text for m in messages))))[:5]


def _conclude(prompt: str) -> AIMessage:
    if "Conclusion (version 0)" in prompt:
        return turn(call("notes_scratch", conclusion="Every basin is deeper than ten metres."), call(
            "challenge", target_type="conclusion", negation="One is shallow.", strategy="negation",
            expected_if_false="a shallow basin", query="shallow silted basin"))  # fmt: skip
    due = re.search(r"\[(ch_\d+)\] open(, run)?", prompt)
    if due and not due[2]:
        return turn(call("web_search", query="shallow silted basin", challenge_id=due[1]))
    if due:
        return turn(call("record_challenge_result", challenge_id=due[1], outcome="survived", evidence="no shallow one"))
    return turn(call("finish_exploration", why="nothing speaks against it"))


def _report(prompt: str) -> AIMessage:
    lines = re.findall(r"^- \[q_\d+\] .*? -> (Basin .*?\[c_\d+\]\.)", prompt, re.M)
    gaps = [
        f"- [{q}] not settled" for q in re.findall(r"^- \[(q_\d+)\] (?:unresolvable|pending|blocked)", prompt, re.M)
    ]
    body = "\n".join(f"- {line}" for line in lines)
    return turn(call("finalize_report", report=f"## Summary\n\n{body}\n\n## Gaps\n\n" + "\n".join(gaps or ["None."])))


def _arm(function: dict[str, Any]) -> AIMessage:
    """Every arm is content."""
    return content_answer([{"function": function}])


def context(home: Path, count: int, script: Crew, **given: Any) -> Context:
    """A crew over the basins' pages."""
    found = pages(count)
    return Context(
        model=ScriptedModel(script=script), search=[FixtureSearch(found)], fetcher=FixtureWeb(found), home=str(home),
        **{"min_sources": 1, "min_domains": 1, "max_turns": 200, "max_parallel": 4, "search_limit": 50, **given},
    )  # fmt: skip
