"""The records of a pack: they exist, they fit together, and their statuses follow from them (D12, D17, D32 to D40)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from zetetic.export.evidence import Pack, is_won
from zetetic.state.answers import decide_resolve
from zetetic.state.challenges import decide_record_result
from zetetic.state.claims import verification_missing
from zetetic.state.decision import Refusal
from zetetic.state.research import Research
from zetetic.state.values import ROOT, Attempt, Challenge
from zetetic.state.wording import folded

from .findings import Identities, Verification
from .pages import FILE, without_quote


def check_structure(pack: Pack, told: Verification) -> None:
    """Every id stands for one record, every id named exists, and nothing waits on itself (D8, D12, D31)."""
    kinds = {
        "question": [q.id for q in pack.questions],
        "claim": [c.id for c in pack.claims],
        "source": [s.id for s in pack.sources],
        "challenge": [c.id for c in pack.challenges],
    }
    for kind, ids in kinds.items():
        for twice in sorted({i for i in ids if ids.count(i) > 1} if len(set(ids)) < len(ids) else ()):
            told.fault(FILE, twice, f"is the id of more than one {kind}")
    if ROOT not in kinds["question"]:
        told.fault(FILE, ROOT, "is missing: the objective is no question")
    known = {kind: set(ids) for kind, ids in kinds.items()}
    for where, kind, named in _named(pack):
        for name in dict.fromkeys(named):
            if name not in known[kind]:
                told.fault(FILE, where, f"names the {kind} {name[:80]!r}, which does not exist")
    depths = {q.id: q.depth for q in pack.questions}
    for q in pack.questions:
        expected = 0 if q.parent_id is None else depths.get(q.parent_id, q.depth - 1) + 1
        if q.depth != expected:
            told.fault(FILE, q.id, f"has the depth {q.depth} in place of {expected}")
    for claim_id in without_quote(pack):
        told.fault(FILE, claim_id, "has no quote that supports it")
    try:
        TopologicalSorter(pack.dependencies).prepare()
    except CycleError as error:
        told.fault(FILE, error.args[1][0], f"waits on itself: {' <- '.join(error.args[1])}")


def _named(pack: Pack) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Where ids are named: the record, the kind of what they name, the ids."""
    for q in pack.questions:
        yield q.id, "question", _given(q.parent_id)
        yield q.id, "claim", q.claim_ids
    for waiting, needed in pack.dependencies.items():
        yield waiting, "question", [waiting, *needed]
    for c in pack.claims:
        yield c.id, "question", [c.question_id]
        yield c.id, "source", [link.source_id for link in c.evidence]
        yield c.id, "claim", c.supports
    for pair in pack.contradictions:
        yield f"{pair.claim_id} vs {pair.other_id}", "claim", [pair.claim_id, pair.other_id]
        yield f"{pair.claim_id} vs {pair.other_id}", "question", _given(pair.question_id)
    for ch in pack.challenges:
        yield ch.id, "question", [ch.question_id, *([ch.target_id] if ch.target_type == "question_answer" else [])]
        yield ch.id, "source", ch.source_ids
        yield ch.id, "claim", [*_given(ch.result_claim_id), *([ch.target_id] if ch.target_type == "claim" else [])]
    for record in pack.queries:
        yield f"query {record.query[:80]!r}", "question", [record.question_id]
        yield f"query {record.query[:80]!r}", "challenge", _given(record.challenge_id)


def _given(name: str | None) -> list[str]:
    return [name] if name else []


# Sources.


def check_sources(pack: Pack, identities: Identities, told: Verification) -> None:
    """Each source is from the site that its address says, and is quoted from the page that was read of it (D33)."""
    read = {source.id: source.sha256 for source in pack.sources}
    for source in pack.sources:
        told.counts("sources", 1)
        site = identities.site(source.final_url or source.url)
        if site and site != source.domain:
            told.fault(FILE, source.id, f"is given as from {source.domain!r}, and its address is of {site!r}")
    for claim in pack.claims:
        for link in claim.evidence:
            if read.get(link.source_id, link.sha256) != link.sha256:
                told.fault(FILE, claim.id, f"quotes another page than the one that was read of {link.source_id}")


def recomputed(research: Research, sketches: dict[str, tuple[int, ...]], identities: Identities) -> Research:
    """The research with the sites that the addresses say and the sketches of the pages in the folder."""
    sources = {
        source.id: source.model_copy(
            update={
                "domain": identities.site(source.final_url or source.url) or source.domain,
                "sketch": sketches.get(source.sha256, ()),
            }
        )
        for source in research.sources.values()
    }
    return research.model_copy(update={"sources": sources})


# Claims and challenges.


def check_claims(research: Research, told: Verification) -> None:
    """Each VERIFIED claim has what that needs, counted anew (D32, D33)."""
    # That others contradict a claim is for the gates to judge.
    alone = research.model_copy(update={"contradictions": ()})
    for claim in research.claims.values():
        if claim.status == "VERIFIED":
            told.counts("verified claims", 1)
            for lack in verification_missing(alone, claim):
                told.fault(FILE, claim.id, f"is called VERIFIED, and {_fact(lack, claim.id)}")


def _fact(lack: str, claim_id: str) -> str:
    """What the core found missing, without what it tells the model to do about it."""
    return lack.partition(": ")[0].removeprefix(f"{claim_id} ").rstrip(".")


def check_challenges(research: Research, told: Verification) -> None:
    """Each verdict is one that could be recorded, of a query that the log holds (D37, D38)."""
    log = [(q.challenge_id, folded(q.query), q.status) for q in research.all_queries() if q.challenge_id]
    for challenge in research.challenges.values():
        told.counts("challenges", 1)
        if (challenge.status == "closed") != (challenge.outcome is not None):
            told.fault(FILE, challenge.id, f"is {challenge.status}, with the outcome {challenge.outcome}")
        if _is_of_another_text(research, challenge):
            told.fault(FILE, challenge.id, "attacks another text than the conclusion that its version names")
        ran = (challenge.id, folded(challenge.query), challenge.search_status)
        if challenge.executed and ran not in log:
            told.fault(FILE, challenge.id, "is said to have been run, and no logged query is its own")
        for fault in _could_not_be_recorded(research, challenge):
            told.fault(FILE, challenge.id, f"cannot have the outcome {challenge.outcome}: {fault}")


def _is_of_another_text(research: Research, challenge: Challenge) -> bool:
    """Whether a challenge of the conclusion as it stands attacks other words: new words have a new version (D40)."""
    stated = research.conclusion
    if challenge.target_type != "conclusion" or challenge.version != stated.version:
        return False
    return folded(challenge.target_text) != folded(stated.text)


def check_answers(research: Research, told: Verification) -> None:
    """Each answer of a complete run is one that could be given: the core is asked to take it once more (D17)."""
    for question in research.questions.values() if is_won(research) else ():
        if question.status != "resolved":
            continue
        told.counts("answers", 1)
        attempt = Attempt(number=1, question_id=question.id, started_at=question.updated_at, base_version=0)
        decision = decide_resolve(
            research.model_copy(update={"attempt": attempt}),
            question.id,
            question.answer,
            question.claim_ids,
            why_unverified=question.why_unverified,
            why_unchallenged=question.why_unchallenged,
            why_no_refuting=question.why_no_refuting,
            at=question.updated_at,
        )
        for missing in decision.missing if isinstance(decision, Refusal) else ():
            told.fault(FILE, question.id, f"cannot be resolved with this answer: {missing}")


def _could_not_be_recorded(research: Research, challenge: Challenge) -> tuple[str, ...]:
    """Why the core would have refused the verdict of a challenge: it is asked to record it once more."""
    if challenge.outcome is None:
        return ()
    opened = challenge.model_copy(
        update={"status": "open", "outcome": None, "evidence": "", "source_ids": (), "result_claim_id": ""}
    )
    before = research.model_copy(update={"challenges": {**research.challenges, challenge.id: opened}})
    decision = decide_record_result(
        before,
        challenge.id,
        challenge.outcome,
        challenge.evidence,
        challenge.source_ids,
        challenge.result_claim_id,
        f"{challenge.target_text} (narrowed)",  # what it was narrowed to is the target's text now
        at=challenge.at,
    )
    return decision.missing if isinstance(decision, Refusal) else ()
