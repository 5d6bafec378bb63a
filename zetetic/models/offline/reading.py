"""What the offline model reads off a prompt: the same text any other model gets, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

_CLAIM = re.compile(
    r"^(?:- )?\[(?P<id>[cd]_\d+)\] (?P<status>UNVERIFIED|VERIFIED|REFUTED|RETRACTED)\s+(?P<text>.*?)"
    # the last list of sources ends the line; what looks like one within the text is text
    r"(?:\s+src: (?P<src>(?:(?!\bsrc: )[^|])*))?(?:\s*\| check: .*)?$"
)
_SOURCE = re.compile(r"^(?:- )?\[(?P<id>s_\d+)\] (?P<url>\S+) \"(?P<title>.*?)\" \((?P<domain>[^)]*)\)\s*(?P<note>.*)$")
_PAIR = re.compile(r"^(?:- )?(?P<a>[cd]_\d+) vs (?P<b>[cd]_\d+) -> (?P<q>q_\d+)")
_QUESTION = re.compile(r"^Question: \[(?P<id>q_\d+)\] (?:\(P (?P<p>[\d.]+), depth (?P<depth>\d+)\) )?(?P<text>.*)$")
_CHALLENGE = re.compile(
    r"^(?:- )?\[(?P<id>ch_\d+)\] (?P<state>[^|]*?) \| (?P<type>claim|question_answer|conclusion) (?P<target>\S+) \| "
    r"(?P<strategy>\w+) \| \"(?P<query>.*?)\" \| (?P<text>.*)$"
)
_HIT = re.compile(r"^\[(?P<n>\d+)\] (?P<url>\S+)(?: \(read: (?P<source>s_\d+)\))? \"(?P<title>.*)\"")
_ANSWER = re.compile(r"^- \[(?P<id>q_\d+)\] (?P<question>.*?) -> (?P<answer>.*) \((?P<claims>[^()]*)\)$")
_BELOW = re.compile(r"^(?:Answered below|Builds on):? \[(?P<id>q_\d+)\] (?P<status>\w+): (?P<answer>.*)$")
_TRIED = re.compile(r"^- \"(?P<query>.*)\" \((?P<outcome>.*)\)$")
_PAGE = re.compile(r'<page source_id="(?P<id>[^"]+)"(?: title="(?P<title>[^"]*)")?[^>]*>\n(?P<text>.*?)\n</page>', re.S)


@dataclass(frozen=True)
class ClaimSeen:
    """A claim as the notes show it."""

    id: str
    status: str
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class SourceSeen:
    """A source as the notes show it."""

    id: str
    url: str
    title: str
    domain: str
    note: str

    @property
    def date(self) -> str:
        """The publication date, as far as it is known: YYYY, YYYY-MM or YYYY-MM-DD."""
        match = re.search(r"published (\d{4}(?:-\d\d){0,2})", self.note)
        return match.group(1) if match else ""


@dataclass(frozen=True)
class ChallengeSeen:
    """A challenge as the prompt lists it."""

    id: str
    state: str
    type: str
    target: str
    strategy: str
    query: str
    text: str

    @property
    def is_open(self) -> bool:
        """Whether it still needs a verdict."""
        return self.state.startswith("open")

    @property
    def is_run(self) -> bool:
        """Whether its query was executed."""
        return self.state.startswith("open, run")

    @property
    def search_status(self) -> str:
        """How its search ended, while it is open."""
        return self.state.removeprefix("open, run: ") if self.is_run else ""


@dataclass(frozen=True)
class Hit:
    """A search hit; `source` is set when it was read before."""

    url: str
    source: str
    title: str


@dataclass(frozen=True)
class Tools:
    """The tools that a prompt allows: those it names, or all but those."""

    named: frozenset[str] = frozenset()
    refused: bool = False

    def __contains__(self, name: str) -> bool:
        return (name in self.named) != self.refused


@dataclass
class Seen:
    """A worker prompt, read."""

    stage: str = ""
    part: str = ""
    """Of a report written in sections: `section 2 of 5` or `summary`; '' where all of it is asked for."""
    objective: str = ""
    criteria: list[str] = field(default_factory=list)
    question_id: str = ""
    question: str = ""
    depth: int = 0
    question_criteria: str = ""
    claims: dict[str, ClaimSeen] = field(default_factory=dict)
    own_claims: list[str] = field(default_factory=list)
    sources: dict[str, SourceSeen] = field(default_factory=dict)
    pairs: list[tuple[str, str, str]] = field(default_factory=list)
    about: tuple[str, ...] = ()
    challenges: list[ChallengeSeen] = field(default_factory=list)
    tried: list[tuple[str, str]] = field(default_factory=list)
    below: list[tuple[str, str, str]] = field(default_factory=list)
    silent: list[tuple[str, str]] = field(default_factory=list)
    """Questions below this one without an answer."""
    matter: list[str] = field(default_factory=list)
    """Unverified claims that answers rest on."""
    answers: list[tuple[str, str, str, tuple[str, ...]]] = field(default_factory=list)
    unanswered: list[tuple[str, str]] = field(default_factory=list)
    refuted: list[ClaimSeen] = field(default_factory=list)
    gaps_noted: list[str] = field(default_factory=list)
    cut_short: str = ""
    conclusion: str = ""
    root_answer: str = ""
    lacking: list[str] = field(default_factory=list)
    steer: str = ""
    attempt: int = 1
    turn: int = 1
    allowed: Tools = Tools()
    notes: list[str] = field(default_factory=list)
    rounds: list[tuple[list[str], list[ToolMessage]]] = field(default_factory=list)
    """The window: names of the calls of each turn, and their results."""
    blocked: list[tuple[str, str]] = field(default_factory=list)
    open: list[tuple[str, str]] = field(default_factory=list)
    """Questions the frontier lists as next."""
    partial: str = ""
    """An answer that was proposed before and not accepted."""

    def hits(self) -> list[Hit]:
        """Unread and read hits of the searches in the window, best first, one an address."""
        found: dict[str, Hit] = {}
        fetched = self.fetched()
        for _, results in self.rounds:
            for message in results:
                if message.name != "web_search":
                    continue
                for line in str(message.content).splitlines():
                    match = _HIT.match(line)
                    if match:
                        url = match["url"]
                        source = match["source"] or fetched.get(url, "")
                        if url not in found or source:
                            found[url] = Hit(url, source, match["title"])
        by_url = {s.url: s.id for s in self.sources.values()}
        return [h if h.source else Hit(h.url, by_url.get(h.url, ""), h.title) for h in found.values()]

    def fetched(self) -> dict[str, str]:
        """Addresses that were fetched in the window, with what came of them ('-' for a failure)."""
        tried: dict[str, str] = {}
        for _, results in self.rounds:
            for message in results:
                if message.name == "fetch_page" and isinstance(message.artifact, dict):
                    text = str(message.content)
                    match = re.match(r"(s_\d+)", text)
                    tried[message.artifact.get("url", "")] = match.group(1) if match else "-"
        return tried

    def own(self) -> list[ClaimSeen]:
        """The living claims on the question."""
        return [self.claims[i] for i in self.own_claims if i in self.claims and is_living(self.claims[i])]


def is_living(claim: ClaimSeen) -> bool:
    """Neither refuted nor retracted."""
    return claim.status in ("VERIFIED", "UNVERIFIED")


def pages_in(text: str) -> list[tuple[str, str, str]]:
    """The fenced pages of a text: source id, title, text."""
    return [(m["id"], m["title"] or "", m["text"]) for m in _PAGE.finditer(text)]


def read_prompt(messages: Sequence[BaseMessage]) -> Seen:
    """Reads a worker prompt: notes and task first, the window, and what is due now."""
    seen = Seen()
    asked: dict[str, tuple[str, dict[str, object]]] = {}
    for message in messages[1:]:
        if isinstance(message, AIMessage):
            seen.rounds.append(([str(c["name"]) for c in message.tool_calls], []))
            asked |= {str(c["id"]): (str(c["name"]), dict(c["args"])) for c in message.tool_calls}
        elif isinstance(message, ToolMessage):
            if seen.rounds:
                # On the wire a result has no name of its own, only the id of its call.
                name, args = asked.get(message.tool_call_id, (message.name or "", {}))
                known = ToolMessage(message.text, tool_call_id=message.tool_call_id, name=name, artifact=args)
                seen.rounds[-1][1].append(known)
        else:
            _read_text(seen, message.text)
    return seen


def _claim_of(line: str) -> ClaimSeen | None:
    match = _CLAIM.match(line)
    if match is None:
        return None
    text = re.sub(r"\s*\(check: [^()]*\)$", "", match["text"].strip())
    sources = tuple(s.strip() for s in (match["src"] or "").split(",") if s.strip().startswith("s_"))
    return ClaimSeen(match["id"], match["status"], unescaped(text), sources)


def unescaped(text: str) -> str:
    """A record's text without the notes' escapes."""
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda m: m[1] if len(m[1]) == 1 else chr(int(m[1][1:], 16)), text)


def _read_text(seen: Seen, text: str) -> None:
    part = ""
    for line in text.splitlines():
        if line.startswith("# "):
            part = line[2:].strip()
            continue
        if part != "Contradictions" and _read_record(seen, line, part):
            continue
        part = _read_field(seen, line, part)


def _read_record(seen: Seen, line: str, part: str) -> bool:
    claim = _claim_of(line)
    if claim is not None:
        known = seen.claims.get(claim.id)
        sources = claim.sources or (known.sources if known else ())
        if part == "Refuted":
            seen.refuted.append(claim)
        if known is None or len(claim.text) >= len(known.text) or known.status != claim.status:
            seen.claims[claim.id] = ClaimSeen(claim.id, claim.status, claim.text, sources)
        if part == "Matter" and claim.id not in seen.matter:
            seen.matter.append(claim.id)
        if part == "Claims" and claim.id not in seen.own_claims:
            seen.own_claims.append(claim.id)
        return True
    source = _SOURCE.match(line)
    if source is not None:
        seen.sources[source["id"]] = SourceSeen(
            source["id"], source["url"], source["title"], source["domain"], source["note"]
        )
        return True
    pair = _PAIR.match(line)
    if pair is not None and (pair["a"], pair["b"], pair["q"]) not in seen.pairs:
        seen.pairs.append((pair["a"], pair["b"], pair["q"]))
        return True
    challenge = _CHALLENGE.match(line)
    if challenge is not None:
        made = ChallengeSeen(
            challenge["id"],
            challenge["state"],
            challenge["type"],
            challenge["target"],
            challenge["strategy"],
            challenge["query"],
            challenge["text"],
        )
        if all(c.id != made.id for c in seen.challenges):
            seen.challenges.append(made)
        return True
    return False


_FIELDS = {
    "Stage: ": "stage",
    "Part: ": "part",
    "Objective: ": "objective",
    "Conclusion: ": "conclusion",
    "From the last attempt: ": "steer",
    "From the last evaluation: ": "steer",
    "Partial answer so far: ": "partial",
}
_PARTS = {
    "Tried:": "Tried",
    "Tried on q_001:": "Tried",
    "Claims on it:": "Claims",
    "Challenges on it:": "Challenges",
    "Challenges of the conclusion:": "Challenges",
    "Other open challenges:": "Challenges",
    "Unverified claims that answers rest on:": "Matter",
    "Answers:": "Answers",
    "Contradictions:": "Contradictions",
    "Refuted (gaps only):": "Refuted",
    "Unanswered (must stand under Gaps, with their ids):": "Unanswered",
    "Gaps noted:": "Gaps noted",
    "Sections written:": "Sections",
    "finish_exploration still lacks:": "Lacking",
    "The exploration gate lacked:": "Gate",
    "Criteria:": "Criteria",
    "Next up:": "Next",
}


def _read_field(seen: Seen, line: str, part: str) -> str:
    if line in _PARTS:
        return _PARTS[line]
    if line.startswith("Objective (q_001): "):
        seen.objective = line.removeprefix("Objective (q_001): ")
        return "Objective"
    numbered = re.match(r"^\d+\. (.*)$", line)
    if part == "Criteria" and numbered:
        seen.criteria.append(numbered[1])
        return part
    question = _QUESTION.match(line)
    if question is not None:
        seen.question_id, seen.question = question["id"], question["text"]
        seen.depth = int(question["depth"] or 0)
        return "Question"
    for start, name in _FIELDS.items():
        if line.startswith(start):
            setattr(seen, name, line.removeprefix(start))
            return part
    if line.startswith("Criteria: "):
        seen.question_criteria = line.removeprefix("Criteria: ")
    elif line.startswith("Attempt: "):
        seen.attempt = int(line.split()[1])
    elif match := re.match(r"^Turn (\d+) of", line):
        seen.turn = int(match[1])
    elif line.startswith("About: "):
        seen.about = tuple(line.removeprefix("About: ").split(" vs "))
    elif line.startswith("Blocked: "):
        match = re.match(r"^Blocked: \[(q_\d+)\] (.*)$", line)
        if match:
            seen.blocked.append((match[1], match[2]))
    elif line.startswith("Conclusion (version "):
        found = line.split("): ", 1)[-1]
        seen.conclusion = "" if found == "none yet" else found
    elif line.startswith("Answer of q_001"):
        seen.root_answer = line.split("): ", 1)[-1]
    elif line.startswith("The exploration was cut short: "):
        seen.cut_short = line.removeprefix("The exploration was cut short: ").rstrip(".")
    elif match := re.match(r"^(Not a|A)llowed now: (.*)\.$", line):
        seen.allowed = Tools(frozenset(match[2].split(", ")), refused=match[1] == "Not a")
    elif line.startswith("Claims on it, told above: "):
        seen.own_claims += re.findall(r"[cd]_\d+", line)
    elif line.startswith("Note: "):
        seen.notes.append(line.removeprefix("Note: "))
    else:
        return _read_listed(seen, line, part)
    return part


def _read_listed(seen: Seen, line: str, part: str) -> str:
    below = _BELOW.match(line)
    if below is not None:
        seen.below.append((below["id"], below["status"], below["answer"]))
    elif match := re.match(r"^Not answered below: \[(q_\d+)\] \w+: (.*)$", line):
        seen.silent.append((match[1], match[2]))
    elif part == "Tried" and (tried := _TRIED.match(line)):
        seen.tried.append((tried["query"], tried["outcome"]))
    elif part == "Answers" and (answer := _ANSWER.match(line)):
        ids = tuple(i.strip() for i in answer["claims"].split(",") if i.strip())
        seen.answers.append((answer["id"], answer["question"], answer["answer"], ids))
    elif part == "Unanswered" and (match := re.match(r"^- \[(q_\d+)\] \w+: (.*)$", line)):
        seen.unanswered.append((match[1], match[2]))
    elif part == "Next" and (match := re.match(r"^- \[(q_\d+)\] \w+ \(P [^)]*\) (.*?)(?: \| waits on .*)?$", line)):
        seen.open.append((match[1], match[2]))
    elif part == "Gaps noted" and line.startswith("- "):
        seen.gaps_noted.append(line[2:])
    elif part == "Lacking" and line.startswith("- "):
        seen.lacking.append(line[2:])
    elif part == "Contradictions" and (named := re.findall(r"\[([cd]_\d+)\]", line)) and len(named) == 2:
        if all({named[0], named[1]} != {a, b} for a, b, _ in seen.pairs):
            seen.pairs.append((named[0], named[1], ""))
    elif part == "Objective" and line and not line.startswith(("Scope:", "Excluded:", "Date:")):
        seen.objective += f" {line}"
    return part
