"""Claims: how they are recorded, verified, contradicted and withdrawn."""

import pytest
from state.build import ROOT, Run

from zetetic.state import events as ev
from zetetic.state.claims import (
    Entry,
    decide_add_source,
    decide_amend,
    decide_append,
    decide_link,
    decide_retract,
    decide_scratch,
    decide_set_status,
)
from zetetic.state.decision import Accepted, in_turn

PAGE = "The plant gives 240 MW. It was built in 2016 by Ann."


def read(run: Run, text: str = PAGE) -> str:
    return run.source(text)


def append(run: Run, *entries: Entry, **given: object) -> str:
    return run.do(decide_append, entries, pages=run.pages, question_id=ROOT, **given)


def status(run: Run, claim_id: str) -> str:
    return run.research.claims[claim_id].status


# Recording.


@pytest.mark.rule("D31", "D7")
def test_a_claim_starts_unverified_with_its_quote_and_where_it_stands() -> None:
    run = Run()
    source = read(run)
    said = append(run, Entry(text="The plant gives\n240 MW.", quote="gives  240 MW", source_id=source))
    claim = run.research.claims["c_001"]
    assert said == "recorded [c_001] UNVERIFIED The plant gives 240 MW. src: s_001"
    assert (claim.text, claim.status, claim.question_id) == ("The plant gives 240 MW.", "UNVERIFIED", ROOT)
    link = claim.evidence[0]
    assert (link.quote, link.start, link.end, link.sha256) == ("The plant gives 240 MW.", 0, 23, "hash-of-s_001")


@pytest.mark.rule("D31")
def test_no_quote_no_claim() -> None:
    run = Run()
    source = read(run)
    said = run.refused(
        decide_append,
        [
            Entry(text="A.", quote=" ", source_id=source),
            Entry(text="B.", quote="gives 250 MW", source_id=source),
            Entry(text="C.", quote="gives 240 MW", source_id="s_099"),
            Entry(text=" ", quote="gives 240 MW", source_id=source),
        ],
        pages=run.pages,
        question_id=ROOT,
    )
    assert "no quote, no claim" in said
    assert "The quote 'gives 250 MW' does not stand in s_001" in said
    assert "There is no source 's_099'; the sources are s_001." in said
    assert "A claim's text is empty" in said


@pytest.mark.rule("D31")
def test_what_can_be_recorded_is_and_the_rest_is_named() -> None:
    run = Run()
    source = read(run)
    said = append(
        run,
        Entry(text="It gives 240 MW.", quote="gives 240 MW", source_id=source),
        Entry(text="It gives 250 MW.", quote="gives 250 MW", source_id=source),
    )
    assert list(run.research.claims) == ["c_001"]
    assert "not recorded: The quote 'gives 250 MW'" in said


@pytest.mark.rule("D31", "D7")
def test_a_datapoint_has_its_number_in_its_quote_and_ids_of_its_own() -> None:
    run = Run()
    source = read(run)
    good = Entry(kind="datapoint", value="240", unit="MW", context="output", quote="gives 240 MW", source_id=source)
    bad = good.model_copy(update={"value": "250"})
    said = append(run, good, bad, Entry(text="Ann built it.", quote="in 2016 by Ann", source_id=source))
    assert list(run.research.claims) == ["d_001", "c_001"]
    assert run.research.claims["d_001"].text == "output: 240 MW"
    assert "The value '250' does not stand in its quote" in said


@pytest.mark.rule("D7")
def test_ids_are_dense_within_one_decision() -> None:
    run = Run()
    source = read(run)
    append(
        run,
        *(Entry(text=f"It gives power{' now' * n}.", quote="gives 240 MW", source_id=source) for n in range(3)),
    )
    append(run, Entry(text="The plant gives.", quote="gives 240 MW", source_id=source))
    assert list(run.research.claims) == ["c_001", "c_002", "c_003", "c_004"]


def test_the_same_statement_is_recorded_once() -> None:
    run = Run()
    source = read(run)
    entry = Entry(text="It gives 240 MW.", quote="gives 240 MW", source_id=source)
    said = append(run, entry, entry.model_copy(update={"text": "it gives 240 mw"}))
    assert "c_001 states this from s_001 already" in said
    assert list(run.research.claims) == ["c_001"]


@pytest.mark.rule("D32", "D33")
@pytest.mark.parametrize("way", ["add_source", "append"])
def test_a_source_that_ties_the_others_together_takes_the_proof_away(way: str) -> None:
    run = Run()
    claim = run.verified("The plant gives 240 MW.")
    both = "Both site001.org and site002.org say it: The plant gives 240 MW"
    digest = run.source(f"{both}.")
    if way == "append":
        said = append(run, Entry(text="The plant gives 240 MW.", quote=both, source_id=digest))
    else:
        said = run.do(decide_add_source, claim, digest, "supports", both, "a house of its own", pages=run.pages)
        assert said.startswith("s_003 supports c_001, which is UNVERIFIED again")
    assert status(run, claim) == "UNVERIFIED"
    assert run.research.claims[claim].check.startswith("since s_003 was linked: c_001 has ")


@pytest.mark.rule("D32")
def test_a_further_source_of_its_own_takes_nothing_away() -> None:
    run = Run()
    claim = run.verified()
    run.support(claim)
    assert status(run, claim) == "VERIFIED"


@pytest.mark.rule("D31", "D33")
def test_the_same_statement_of_another_source_is_a_link_that_counts_once_declared() -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    other = read(run)
    said = append(run, Entry(text="The plant gives 240 MW", quote="The plant gives 240 MW", source_id=other))
    assert said == "s_002 states [c_001] too: linked, not yet declared independent"
    assert "1 independent supporting source(s) of 2" in run.refused(decide_set_status, claim, "VERIFIED")
    run.do(decide_add_source, claim, other, "supports", "gives 240 MW", "its own figures", pages=run.pages)
    assert "independent supporting" not in run.refused(decide_set_status, claim, "VERIFIED")


@pytest.mark.rule("D31")
def test_the_same_datapoint_of_another_source_has_its_number_in_its_quote_too() -> None:
    run = Run()
    one, other = read(run), read(run)
    entry = Entry(kind="datapoint", value="240", unit="MW", context="output", quote="gives 240 MW", source_id=one)
    append(run, entry)
    elsewhere = entry.model_copy(update={"source_id": other, "quote": "built in 2016"})
    assert "does not stand in its quote" in run.refused(decide_append, [elsewhere], pages=run.pages, question_id=ROOT)


@pytest.mark.rule("D38")
def test_a_refuted_statement_is_not_supported_any_more() -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    run.do(decide_add_source, claim, run.source("It gives 9."), "contradicts", "It gives 9", pages=run.pages)
    run.do(decide_set_status, claim, "REFUTED", "newer")
    again = Entry(text="The plant gives 240 MW.", quote="The plant gives 240 MW", source_id=read(run))
    assert "is REFUTED" in run.refused(decide_append, [again], pages=run.pages, question_id=ROOT)


@pytest.mark.rule("D30", "D27")
def test_a_page_with_nothing_in_it_counts_as_read() -> None:
    run = Run()
    source = read(run)
    append(run, nothing_relevant=[source], gaps=["no price was found", "no price was found"])
    assert run.research.sources[source].note == "read, nothing relevant"
    assert [g.text for g in run.research.gaps] == ["no price was found"]
    assert "Nothing was given" in run.refused(decide_append, [], pages={}, question_id=ROOT)


# Verifying.


@pytest.mark.rule("D32")
def test_verified_needs_independent_sources_and_a_survived_challenge() -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    said = run.refused(decide_set_status, claim, "VERIFIED")
    assert "c_001 has 1 independent supporting source(s) of 2" in said
    assert "c_001 has survived 0 challenge(s) of 1" in said
    run.support(claim)
    said = run.refused(decide_set_status, claim, "VERIFIED")
    assert said.startswith("Refused. (1) c_001 has survived 0 challenge(s) of 1")
    run.survive("claim", claim)
    assert run.do(decide_set_status, claim, "VERIFIED") == "c_001 is VERIFIED"
    assert status(run, claim) == "VERIFIED"


@pytest.mark.rule("D32", "D33")
@pytest.mark.parametrize(
    "twin", [{"domain": "site001.org"}, {"sha256": "hash-of-s_001"}], ids=["same site", "same text"]
)
def test_a_second_source_that_is_not_independent_does_not_verify(twin: dict[str, str]) -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    run.support(claim, **twin)
    run.survive("claim", claim)
    assert "1 independent supporting source(s) of 2" in run.refused(decide_set_status, claim, "VERIFIED")


@pytest.mark.rule("D33")
def test_a_further_source_needs_a_declared_independence() -> None:
    run = Run()
    claim = run.claim(PAGE)
    other = read(run)
    said = run.refused(decide_add_source, claim, other, "supports", PAGE, " ", pages=run.pages)
    assert "Say in independence why this source does not stem from those linked before" in said


@pytest.mark.rule("D33")
def test_support_of_one_origin_is_challenged_again() -> None:
    run = Run(min_independent_sources=1)
    claim = run.claim("The plant gives 240 MW.")
    run.survive("claim", claim)
    run.support(claim, domain="site001.org")
    assert "survived 1 challenge(s) of 2" in run.refused(decide_set_status, claim, "VERIFIED")
    run.survive("claim", claim, strategy="staleness")
    run.do(decide_set_status, claim, "VERIFIED")


@pytest.mark.rule("D32", "D38")
@pytest.mark.parametrize("outcome", ["inconclusive", "weakened"])
def test_another_outcome_is_not_survival(outcome: str) -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    other = run.support(claim)
    challenge = run.challenge("claim", claim)
    run.run_challenge(challenge)
    given = {"amended_text": "The plant gives up to 240 MW."} if outcome == "weakened" else {}
    run.record(challenge, outcome, [other], **given)
    assert "survived 0 challenge(s) of 1" in run.refused(decide_set_status, claim, "VERIFIED")


@pytest.mark.rule("D32")
def test_a_survived_challenge_counts_for_the_wording_it_attacked() -> None:
    run = Run()
    claim = run.verified("The plant gives 240 MW.")
    run.do(decide_amend, claim, "The plant gives 240 MW in summer.", "the page says so")
    assert status(run, claim) == "UNVERIFIED"
    assert "survived 0 challenge(s)" in run.refused(decide_set_status, claim, "VERIFIED")


@pytest.mark.rule("D32")
def test_verified_can_be_taken_back_with_a_reason() -> None:
    run = Run()
    claim = run.verified()
    assert "Say in why" in run.refused(decide_set_status, claim, "UNVERIFIED")
    run.do(decide_set_status, claim, "UNVERIFIED", "the second page copies the first")
    assert status(run, claim) == "UNVERIFIED"
    assert run.do(decide_set_status, claim, "UNVERIFIED", "again") == "c_001 is UNVERIFIED already"


# Contradictions.


@pytest.mark.rule("D34")
def test_a_contradicting_source_spawns_its_question_once() -> None:
    run = Run(max_depth=0, max_questions=1)
    claim = run.claim("The plant gives 240 MW.")
    against = run.source("The plant gives 100 MW.")
    said = run.do(decide_add_source, claim, against, "contradicts", "gives 100 MW", pages=run.pages)
    assert said == "s_002 contradicts c_001; [q_002] was added to settle it"
    asked = run.question("q_002")
    assert (asked.parent_id, asked.depth, asked.priority, asked.spawned_by) == (ROOT, 1, 0.9, "code")
    assert asked.pair == (claim, against)
    assert "is linked to c_001 already" in run.refused(
        decide_add_source, claim, against, "contradicts", "gives 100 MW", pages=run.pages
    )


@pytest.mark.rule("D34")
def test_two_contradicting_claims_spawn_one_question_whichever_way_round() -> None:
    run = Run()
    one, other = run.claim("The plant gives 240 MW."), run.claim("The plant gives 100 MW.")
    assert run.do(decide_link, one, "contradicts", other) == "c_001 vs c_002 -> q_002"
    assert run.do(decide_link, other, "contradicts", one) == "c_002 vs c_001 stands already (q_002)"
    assert [(c.claim_id, c.other_id, c.question_id) for c in run.research.contradictions] == [(one, other, "q_002")]
    assert list(run.research.questions) == [ROOT, "q_002"]


@pytest.mark.rule("D34")
def test_a_claim_contradicted_by_an_open_question_or_a_verified_claim_is_not_verified() -> None:
    run = Run()
    one, other = run.verified("The plant gives 240 MW."), run.claim("The plant gives 100 MW.")
    run.support(other)
    run.survive("claim", other)
    run.do(decide_link, other, "contradicts", one)
    assert "c_001 is VERIFIED and contradicts c_002" in run.refused(decide_set_status, other, "VERIFIED")
    run.do(decide_set_status, one, "UNVERIFIED", "in doubt")
    assert "q_002 must be closed first" in run.refused(decide_set_status, other, "VERIFIED")
    run.add("Something of the agent's own?", priority=0.1)
    assert run.answer("Both hold, at different seasons.") == "q_002"
    run.do(decide_set_status, other, "VERIFIED")


@pytest.mark.rule("D34")
def test_refuted_needs_something_against_it() -> None:
    run = Run()
    one, other = run.claim("The plant gives 240 MW."), run.claim("The plant gives 100 MW.")
    assert "Nothing on record speaks against c_001" in run.refused(decide_set_status, one, "REFUTED", "why")
    run.do(decide_link, one, "contradicts", other)
    run.do(decide_retract, other, "misread")
    assert "Nothing on record speaks against c_001" in run.refused(decide_set_status, one, "REFUTED", "why")


@pytest.mark.rule("D34", "D38")
def test_a_refuted_claim_reopens_every_question_that_cites_it() -> None:
    run = Run()
    run.add("Who built the plant?", priority=0.6)
    run.add("When was it built?", priority=0.55)
    run.add("What does it cost?", priority=0.52)
    claim = run.verified()
    for cited in ([claim], [claim], []):
        run.answer("It is so.", cited)
    against = run.source("The plant gives 100 MW.")
    run.do(decide_add_source, claim, against, "contradicts", "gives 100 MW", pages=run.pages)
    run.do(decide_set_status, claim, "REFUTED", "the newer page says 100")
    assert [run.status(q) for q in ("q_002", "q_003", "q_004")] == ["pending", "pending", "resolved"]
    assert run.moves("q_002")[-1] == ("resolved", "pending", "contradiction", "code")
    assert list(run.research.questions)[-1] == "q_005", "the pair's question was asked when the source was added"


@pytest.mark.rule("D38", "D7")
def test_refuting_reopens_and_asks_in_one_decision_without_a_clash_of_ids() -> None:
    run = Run()
    run.add("Who built the plant?")
    claim = run.verified()
    run.answer("It is so.", [claim])
    against = run.source("The plant gives 100 MW.")
    rival = run.claim("The plant gives 100 MW.", against)
    challenge = run.challenge("claim", claim, strategy="discrepancy")
    run.run_challenge(challenge)
    said = run.record(challenge, "refuted", [against], result_claim_id=rival)
    assert said == "ch_002 refuted; [q_003] added; q_002 reopened"
    assert list(run.research.questions) == [ROOT, "q_002", "q_003"]
    assert run.question("q_003").pair == (claim, rival)
    assert run.research.contradictions[0].question_id == "q_003"


@pytest.mark.rule("D38")
@pytest.mark.parametrize("fallen", ["REFUTED", "RETRACTED"])
def test_what_fell_stays_so(fallen: str) -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    if fallen == "RETRACTED":
        run.do(decide_retract, claim, "misread")
    else:
        against = run.source("The plant gives 100 MW.")
        run.do(decide_add_source, claim, against, "contradicts", "gives 100 MW", pages=run.pages)
        run.do(decide_set_status, claim, "REFUTED", "newer")
    assert status(run, claim) == fallen
    for decide, args in [
        (decide_set_status, (claim, "VERIFIED")),
        (decide_set_status, (claim, "UNVERIFIED", "why")),
        (decide_amend, (claim, "else", "why")),
        (decide_retract, (claim, "why")),
    ]:
        assert f"c_001 is {fallen} and stays so" in run.refused(decide, *args)


def test_links_between_claims() -> None:
    run = Run()
    one, other = run.claim("The plant gives 240 MW."), run.claim("The plant is large.")
    assert run.do(decide_link, one, "supports", other) == "c_001 supports c_002"
    assert run.do(decide_link, one, "supports", other) == "c_001 supports c_002 already"
    assert run.research.claims[one].supports == (other,)
    assert "not linked to itself" in run.refused(decide_link, one, "contradicts", one)
    assert "There is no claim 'c_099'" in run.refused(decide_link, one, "supports", "c_099")


def test_several_changes_are_taken_together_or_not_at_all() -> None:
    run = Run()
    claim = run.claim("The plant gives 240 MW.")
    version = run.research.version
    steps = [
        lambda now: decide_amend(now, claim, "The plant gives 240 MW net.", "narrower", at=run.now),
        lambda now: decide_set_status(now, claim, "VERIFIED", at=run.now),
    ]
    assert "survived 0" in run.refused(lambda r, at: in_turn(r, *steps))
    assert run.research.version == version
    decision = in_turn(run.research, steps[0], steps[0])
    assert isinstance(decision, Accepted)
    assert decision.message == "c_001 amended, UNVERIFIED\nc_001 amended, UNVERIFIED"


# Scratch and conclusion.


@pytest.mark.rule("D26", "D27")
def test_scratch_is_bounded_and_keeps_its_end() -> None:
    run = Run(scratch_max_chars=10)
    run.do(decide_scratch, "abcdef")
    run.do(decide_scratch, "ghijkl")
    assert run.research.scratch == "def\nghijkl"


@pytest.mark.rule("D40")
def test_the_conclusion_has_a_version_for_each_wording() -> None:
    run = Run()
    run.do(decide_scratch, "", "It gives 240 MW.")
    assert run.do(decide_scratch, "", "it gives 240 mw") == "the conclusion stands already"
    assert run.research.conclusion.version == 1
    run.do(decide_scratch, "", "It gives 240 MW in summer.")
    assert run.research.conclusion.version == 2
    assert "Nothing was given" in run.refused(decide_scratch, " ")


@pytest.mark.rule("R7")
def test_evidence_only_accumulates() -> None:
    run = Run()
    claim = run.verified()
    run.do(decide_amend, claim, "The plant gives 240 MW net.", "narrower")
    run.do(decide_retract, claim, "misread")
    assert len(run.research.claims[claim].evidence) == 2
    assert not [e for e in run.events if isinstance(e, ev.UrlRejected)]


@pytest.mark.rule("D30", "D31")
def test_what_gave_a_finding_is_not_noted_as_without_any() -> None:
    run = Run()
    run.add()
    run.turn()
    source, other = run.source("The plant gives 240 MW."), run.source("Nothing on it here.")
    given = {"pages": run.pages, "question_id": "q_002"}
    run.do(decide_append, [], [], [source, other], **given)
    assert [run.research.sources[s].note for s in (source, other)] == ["read, nothing relevant"] * 2
    entry = Entry(text="The plant gives 240 MW.", quote="The plant gives 240 MW.", source_id=source)
    said = run.do(decide_append, [entry], [], [source], **given)
    assert f"not recorded: {source} gave a finding" in said
    assert [run.research.sources[s].note for s in (source, other)] == ["", "read, nothing relevant"]


@pytest.mark.rule("D31")
def test_the_same_words_from_another_source_need_a_quote_that_says_so() -> None:
    run = Run()
    run.add()
    run.turn()
    first, other = run.source("The plant gives 240 MW."), run.source("Visitors come by boat in summer.")
    given = {"pages": run.pages, "question_id": "q_002"}
    entry = Entry(text="The plant gives 240 MW.", quote="The plant gives 240 MW.", source_id=first)
    run.do(decide_append, [entry], **given)
    twin = entry.model_copy(update={"quote": "Visitors come by boat in summer.", "source_id": other})
    assert "does not stand in its quote" in run.refused(decide_append, [twin], **given)
