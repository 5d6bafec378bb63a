"""Decisions on claims and notes: record, link, verify, amend, retract (D27, D31 to D34)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from . import events as ev
from .anchoring import anchor, unsaid, without_citations
from .decision import Accepted, Decision, refuse
from .frontier_commands import decide_reopen, spawn_question
from .independence import common_origin, independent_support, origins
from .quotes import number_stands_in
from .research import Research, next_id
from .values import NOTHING_RELEVANT, Claim, ClaimKind, Contradiction, Evidence, Frozen, Gap, Stance
from .wording import folded, one_line


class Entry(Frozen):
    """One finding to record: a claim has `text`, a datapoint `value`, `unit` and `context`; both a quote (D31)."""

    kind: ClaimKind = "claim"
    text: str = ""
    value: str = ""
    unit: str = ""
    context: str = ""
    quote: str
    source_id: str
    question_id: str = ""
    """The question it bears on, where that is not the one being worked on."""

    def wording(self) -> str:
        """The claim as a sentence."""
        if self.kind == "claim":
            return one_line(self.text)
        return one_line(f"{self.context}: {self.value} {self.unit}".strip())


def decide_append(
    research: Research,
    entries: Sequence[Entry],
    gaps: Sequence[str] = (),
    nothing_relevant: Sequence[str] = (),
    *,
    pages: Mapping[str, str],
    question_id: str,
    at: datetime,
) -> Decision:
    """Records findings. What can be recorded is, and the answer says what was not and why (D27, D31)."""
    happened: list[ev.Event] = []
    said: list[str] = []
    wrong: list[str] = []
    seen = {folded(c.text): c for c in research.claims.values() if c.status != "RETRACTED"}
    given = {"claim": 0, "datapoint": 0}
    for entry in entries:
        entry = entry.model_copy(
            update={"text": without_citations(entry.text), "context": without_citations(entry.context)}
        )
        twin = seen.get(folded(entry.wording()))
        if twin is not None and entry.quote.strip() and all(e.source_id != entry.source_id for e in twin.evidence):
            added = anchor(research, pages, entry.source_id, entry.quote, "supports")
            if isinstance(added, str):
                wrong.append(added)
                continue
            if twin.status == "REFUTED":
                wrong.append(f"{twin.id} states this and is REFUTED: record what the page says in other words.")
                continue
            if entry.kind == "datapoint" and not number_stands_in(entry.value, added.quote):
                wrong.append(f"The value {entry.value!r} does not stand in its quote.")
                continue
            if entry.kind == "claim" and (loose := unsaid(entry.wording(), added.quote)):
                wrong.append(loose)
                continue
            # The same words from another source: a further link, which counts once its independence is declared.
            moved = _outweighed(research, twin, added, at)
            happened += [ev.EvidenceAdded(at=at, claim_id=twin.id, evidence=added), *moved]
            now: dict[str, object] = {"evidence": (*twin.evidence, added)} | ({"status": "UNVERIFIED"} if moved else {})
            seen[folded(entry.wording())] = twin.model_copy(update=now)
            said.append(f"{entry.source_id} states [{twin.id}] too: linked, not yet declared independent")
            continue
        fault = _entry_fault(entry, seen)
        link = anchor(research, pages, entry.source_id, entry.quote, "supports")
        if isinstance(link, str):
            fault = fault or link
        if fault or isinstance(link, str):
            wrong.append(fault)
            continue
        if entry.kind == "datapoint" and not number_stands_in(entry.value, link.quote):
            wrong.append(f"The value {entry.value!r} does not stand in its quote.")
            continue
        if entry.kind == "claim" and (loose := unsaid(entry.wording(), link.quote)):
            wrong.append(loose)
            continue
        prefix = "c" if entry.kind == "claim" else "d"
        claim = Claim(
            id=next_id(prefix, research.claims, given[entry.kind]),
            kind=entry.kind,
            text=entry.wording(),
            value=one_line(entry.value),
            unit=one_line(entry.unit),
            context=one_line(entry.context),
            question_id=entry.question_id if entry.question_id in research.questions else question_id,
            evidence=(link,),
            at=at,
        )
        given[entry.kind] += 1
        seen[folded(claim.text)] = claim
        happened.append(ev.ClaimRecorded(at=at, claim=claim))
        said.append(f"recorded [{claim.id}] UNVERIFIED {one_line(claim.text, 160)} src: {entry.source_id}")
    gave = dict.fromkeys(link.source_id for e in happened for link in _links(e))
    for source_id in gave:
        source = research.sources[source_id]
        if source.without_nothing() != source.note:  # it was read for another question before
            happened.append(ev.SourceNoted(at=at, source_id=source_id, note=source.without_nothing()))
    for text in dict.fromkeys(one_line(g) for g in gaps if g.strip()):
        if all(g.text != text for g in research.gaps):
            happened.append(ev.GapNoted(at=at, gap=Gap(text=text, question_id=question_id)))
            said.append("gap noted")
        else:
            said.append("that gap is noted already")
    for source_id in dict.fromkeys(nothing_relevant):
        if source_id in gave:
            wrong.append(f"{source_id} gave a finding, so that it is not noted as without any.")
        elif source_id in research.sources:
            note = research.sources[source_id].with_nothing()
            happened.append(ev.SourceNoted(at=at, source_id=source_id, note=note))
            said.append(f"{source_id} {NOTHING_RELEVANT}")
        else:
            wrong.append(f"There is no source {source_id!r}.")
    if not happened and not said:
        return refuse(*(wrong or ["Nothing was given: pass claims, datapoints, gaps or nothing_relevant."]))
    return Accepted(tuple(happened), "\n".join(said + [f"not recorded: {w}" for w in wrong]))


def _links(event: ev.Event) -> tuple[Evidence, ...]:
    if isinstance(event, ev.ClaimRecorded):
        return event.claim.evidence
    return (event.evidence,) if isinstance(event, ev.EvidenceAdded) else ()


def _entry_fault(entry: Entry, seen: Mapping[str, Claim]) -> str:
    if entry.kind == "claim" and not entry.text.strip():
        return "A claim's text is empty."
    if entry.kind == "datapoint" and not (entry.value.strip() and entry.context.strip()):
        return "A datapoint needs value and context."
    if not entry.quote.strip():
        return "A claim needs a verbatim quote from its source: no quote, no claim."
    twin = seen.get(folded(entry.wording()))
    if twin is not None:
        return f"{twin.id} states this from {entry.source_id} already."
    return ""


def verification_missing(research: Research, claim: Claim) -> tuple[str, ...]:
    """What a claim lacks to be VERIFIED, everything at once (D32, D33, D34)."""
    t = research.thresholds
    missing = []
    support = independent_support(research, claim)
    if support < t.min_independent_sources:
        missing.append(
            f"{claim.id} has {support} independent supporting source(s) of {t.min_independent_sources}: add_source "
            "from another site with a text of its own, and say why it is independent."
        )
    links = claim.links("supports")
    same_origin = len(links) > 1 and len(origins(research, links)) == 1
    needed = t.min_challenges + (1 if same_origin else 0)
    survived = sum(
        c.outcome == "survived" and folded(c.target_text) == folded(claim.text)
        for c in research.challenges_on("claim", claim.id)
    )
    if survived < needed:
        missing.append(f"{claim.id} has survived {survived} challenge(s) of {needed}: challenge it and run the query.")
    for other_id, question_id in opposed(research, claim.id):
        other, question = research.claims.get(other_id), research.questions.get(question_id)
        if other is None or other.status in ("REFUTED", "RETRACTED"):
            continue
        if other.status == "VERIFIED":
            missing.append(f"{other_id} is VERIFIED and contradicts {claim.id}.")
        elif question is not None and question.status in ("pending", "in_progress", "blocked"):
            missing.append(f"{claim.id} is contradicted by {other_id}: {question_id} must be closed first.")
    return tuple(missing)


def _outweighed(research: Research, claim: Claim, link: Evidence, at: datetime) -> tuple[ev.Event, ...]:
    """A further source that ties those of a VERIFIED claim together takes from it what it was verified with: it is to
    be verified again (D32, D33)."""
    weighed = claim.model_copy(update={"evidence": (*claim.evidence, link)})
    alone = research.model_copy(update={"contradictions": ()})  # which are addressed for themselves (D34)
    if link.stance != "supports" or claim.status != "VERIFIED" or not (lacks := verification_missing(alone, weighed)):
        return ()
    why = f"since {link.source_id} was linked: {lacks[0].partition(': ')[0]}"
    return (ev.ClaimMoved(at=at, claim_id=claim.id, status="UNVERIFIED", actor="code", why=why),)


def opposed(research: Research, claim_id: str) -> tuple[tuple[str, str], ...]:
    """The claims a claim stands in contradiction with, each with the question spawned for the pair (D34)."""
    found = []
    for pair in research.contradictions:
        if claim_id in (pair.claim_id, pair.other_id):
            found.append((pair.other_id if pair.claim_id == claim_id else pair.claim_id, pair.question_id))
    return tuple(found)


def find_contradiction(research: Research, one: str, other: str) -> Contradiction | None:
    """The recorded contradiction of a pair, whichever way round (D34)."""
    return next((c for c in research.contradictions if {c.claim_id, c.other_id} == {one, other}), None)


def _living(research: Research, claim_id: str) -> Claim | str:
    claim = research.claims.get(claim_id)
    if claim is None:
        known = ", ".join(list(research.claims)[-8:]) or "none yet"
        return f"There is no claim {claim_id!r}; the latest are {known}."
    if claim.status in ("REFUTED", "RETRACTED"):
        return f"{claim_id} is {claim.status} and stays so: record a new claim instead."
    return claim


def decide_set_status(
    research: Research,
    claim_id: str,
    status: Literal["VERIFIED", "UNVERIFIED", "REFUTED"],
    why: str = "",
    *,
    at: datetime,
) -> Decision:
    """Moves a claim to VERIFIED, back to UNVERIFIED or to REFUTED, where its evidence allows it (D32, D34)."""
    claim = _living(research, claim_id)
    if isinstance(claim, str):
        return refuse(claim)
    if claim.status == status:
        return Accepted((), f"{claim_id} is {status} already")
    if status == "VERIFIED":
        missing = verification_missing(research, claim)
        if missing:
            return refuse(*missing)
        return Accepted(
            (ev.ClaimMoved(at=at, claim_id=claim_id, status=status, actor="agent", why=one_line(why)),),
            f"{claim_id} is VERIFIED",
        )
    if not why.strip():
        return refuse(f"Say in why {claim_id} is {status}.")
    if status == "REFUTED":
        against = claim.links("contradicts")
        rivals = [pair for pair in opposed(research, claim_id) if not isinstance(_living(research, pair[0]), str)]
        if not against and not rivals:
            return refuse(
                f"Nothing on record speaks against {claim_id}: add_source with stance contradicts, link the claim that "
                "contradicts it, or challenge it."
            )
        cause = rivals[0][0] if rivals else against[0].source_id
        return Accepted(refute(research, claim, one_line(why), cause, at=at), f"{claim_id} is REFUTED")
    moved_back = ev.ClaimMoved(at=at, claim_id=claim_id, status=status, actor="agent", why=one_line(why))
    return Accepted((moved_back,), f"{claim_id} is UNVERIFIED again")


def refute(
    research: Research, claim: Claim, why: str, cause: str, *, at: datetime, rival_id: str = ""
) -> tuple[ev.Event, ...]:
    """A claim is refuted: its status, a question for the conflict, every answer that cites it reopened (D34, D38)."""
    happened: list[ev.Event] = [
        ev.ClaimMoved(at=at, claim_id=claim.id, status="REFUTED", actor="code", why=why, caused_by=cause)
    ]
    partner = rival_id or cause
    known = find_contradiction(research, claim.id, partner)
    asked = known is not None or any(set(q.pair) == {claim.id, partner} for q in research.questions.values())
    question_id = known.question_id if known else ""
    if not asked:
        spawned = spawn_question(
            research,
            f"What holds instead of the refuted statement: {claim.text}",
            "States what the sources that refuted it say, with claims, or that nothing firmer was found.",
            (claim.id, partner),
            caused_by=cause,
            at=at,
        )
        happened.append(spawned)
        question_id = spawned.question.id
    if rival_id and known is None:
        happened.append(
            ev.ClaimsLinked(
                at=at,
                claim_id=claim.id,
                other_id=rival_id,
                relation="contradicts",
                question_id=question_id,
                why=why,
            )
        )
    for question in research.questions.values():
        if claim.id in question.claim_ids and question.status in ("resolved", "unresolvable"):
            reopened = decide_reopen(
                research, question.id, f"{claim.id} was refuted", at=at, actor="code", caused_by=cause
            )
            if isinstance(reopened, Accepted):
                happened += reopened.events
    return tuple(happened)


def decide_add_source(
    research: Research,
    claim_id: str,
    source_id: str,
    stance: Stance,
    quote: str,
    independence: str = "",
    *,
    pages: Mapping[str, str],
    at: datetime,
) -> Decision:
    """Links another source to a claim with its own quote (D31, D33, D34)."""
    claim = _living(research, claim_id)
    if isinstance(claim, str):
        return refuse(claim)
    link = anchor(research, pages, source_id, quote, stance, independence)
    missing = [link] if isinstance(link, str) else []
    if not isinstance(link, str) and stance == "supports" and (loose := unsaid(claim.text, link.quote)):
        missing.append(loose)
    linked = [known for known in claim.evidence if known.source_id == source_id]
    declares = stance == "supports" and bool(independence.strip())
    if linked and not (declares and all(not k.independence and k is not claim.evidence[0] for k in linked)):
        missing.append(f"{source_id} is linked to {claim_id} already.")
    if stance == "supports" and claim.links("supports") and not independence.strip():
        missing.append("Say in independence why this source does not stem from those linked before.")
    if missing or isinstance(link, str):
        return refuse(*missing)
    happened: list[ev.Event] = [ev.EvidenceAdded(at=at, claim_id=claim_id, evidence=link)]
    happened += _outweighed(research, claim, link, at)
    message = f"{source_id} {stance} {claim_id}" + (", which is UNVERIFIED again" if len(happened) > 1 else "")
    if stance == "supports":
        source = research.sources[source_id]
        others = [research.sources[known.source_id] for known in claim.links("supports")]
        reasons = [r for r in (common_origin(o, source, research.thresholds) for o in others) if r]
        if reasons:
            message += f", but does not count as independent: {reasons[0]}"
    elif not any(set(q.pair) == {claim_id, source_id} for q in research.questions.values()):
        happened.append(_conflict(research, claim, f"source {source_id}", (claim_id, source_id), source_id, at))
        message += f"; [{happened[-1].question.id}] was added to settle it"  # type: ignore[union-attr]
    return Accepted(tuple(happened), message)


def _conflict(
    research: Research, claim: Claim, against: str, pair: tuple[str, ...], cause: str, at: datetime
) -> ev.QuestionAdded:
    return spawn_question(
        research,
        f"Which holds: {claim.text} ({claim.id}) or what {against} says?",
        "Names both sides with their sources and says which is better supported, newer or nearer the origin, or that "
        "it stays open.",
        pair,
        caused_by=cause,
        at=at,
    )


def decide_amend(research: Research, claim_id: str, text: str, why: str, *, at: datetime) -> Decision:
    """Narrows or corrects a claim's wording; a VERIFIED one must be verified again (D38)."""
    claim = _living(research, claim_id)
    if isinstance(claim, str):
        return refuse(claim)
    if not text.strip() or not why.strip():
        return refuse("text and why must both be given.")
    loose = unsaid(text, " ".join(link.quote for link in claim.links("supports")))
    if loose:
        return refuse(loose)
    return Accepted(amended(claim, text, why, at=at), f"{claim_id} amended, UNVERIFIED")


def amended(claim: Claim, text: str, why: str, *, at: datetime) -> tuple[ev.Event, ...]:
    """The events of a changed wording."""
    happened: list[ev.Event] = [ev.ClaimAmended(at=at, claim_id=claim.id, text=one_line(text), why=one_line(why))]
    if claim.status == "VERIFIED":
        happened.append(
            ev.ClaimMoved(
                at=at, claim_id=claim.id, status="UNVERIFIED", actor="code", why="amended: to be verified again"
            )
        )
    return tuple(happened)


def carries_answer(research: Research, claim_id: str) -> tuple[str, ...]:
    """The resolved questions whose answer rests on a claim."""
    return tuple(q.id for q in research.questions.values() if q.status == "resolved" and claim_id in q.claim_ids)


def decide_retract(research: Research, claim_id: str, why: str, *, at: datetime) -> Decision:
    """Withdraws a claim (misread, or its source unreliable)."""
    claim = _living(research, claim_id)
    if isinstance(claim, str):
        return refuse(claim)
    missing = [] if why.strip() else [f"Say in retract why {claim_id} is withdrawn."]
    if carried := carries_answer(research, claim_id):
        missing.append(f"{claim_id} carries the answer of {', '.join(carried)}: reopen_question first.")
    if missing:
        return refuse(*missing)
    happened = (ev.ClaimMoved(at=at, claim_id=claim_id, status="RETRACTED", actor="agent", why=one_line(why)),)
    return Accepted(happened, f"{claim_id} is RETRACTED")


def decide_link(
    research: Research, claim_id: str, relation: Literal["supports", "contradicts"], other_id: str, *, at: datetime
) -> Decision:
    """Links two claims; a contradiction spawns its question, once for each pair (D34)."""
    claim, other = research.claims.get(claim_id), research.claims.get(other_id)
    if claim is None or other is None:
        return refuse(f"There is no claim {claim_id if claim is None else other_id!r}.")
    if claim_id == other_id:
        return refuse("A claim is not linked to itself.")
    if relation == "supports":
        if other_id in claim.supports:
            return Accepted((), f"{claim_id} supports {other_id} already")
        linked = ev.ClaimsLinked(at=at, claim_id=claim_id, other_id=other_id, relation=relation)
        return Accepted((linked,), f"{claim_id} supports {other_id}")
    known = find_contradiction(research, claim_id, other_id)
    if known is not None:
        return Accepted((), f"{claim_id} vs {other_id} stands already ({known.question_id})")
    asked = next((q for q in research.questions.values() if set(q.pair) == {claim_id, other_id}), None)
    happened: list[ev.Event] = []
    question_id = asked.id if asked else ""
    if asked is None:
        spawned = _conflict(research, claim, f"{other_id}: {other.text}", (claim_id, other_id), other_id, at)
        happened.append(spawned)
        question_id = spawned.question.id
    happened.append(
        ev.ClaimsLinked(at=at, claim_id=claim_id, other_id=other_id, relation=relation, question_id=question_id)
    )
    return Accepted(tuple(happened), f"{claim_id} vs {other_id} -> {question_id}")


def decide_scratch(
    research: Research, text: str, conclusion: str | None = None, *, replace: bool = False, at: datetime
) -> Decision:
    """Adds free text, bounded, or puts it in place of what stood there; states the conclusion where given (D26, D27,
    D29, D40)."""
    happened: list[ev.Event] = []
    said = []
    if text.strip():
        room = research.thresholds.scratch_max_chars
        joined = text.strip() if replace else f"{research.scratch}\n{text.strip()}".strip()
        if replace or len(joined) > room:
            happened.append(ev.ScratchWritten(at=at, text=joined[-room:], append=False))
        else:
            happened.append(ev.ScratchWritten(at=at, text=text.strip()))
        said.append("noted")
    if conclusion is not None and conclusion.strip():
        stated = one_line(conclusion)
        if folded(stated) != folded(research.conclusion.text):
            happened.append(ev.ConclusionStated(at=at, text=stated))
            said.append(f"conclusion, version {research.conclusion.version + 1}: challenge it")
        else:
            said.append("the conclusion stands already")
    if not said:
        return refuse("Nothing was given: pass text or conclusion.")
    return Accepted(tuple(happened), "; ".join(said))
