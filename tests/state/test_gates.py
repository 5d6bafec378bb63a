"""The two gates: when exploration may end (D42), and which report may go out (D44)."""

import pytest
from state.build import ROOT, Run

from zetetic.state import frontier_commands as commands
from zetetic.state.claims import decide_link, decide_retract, decide_scratch, decide_set_status
from zetetic.state.gates import (
    exploration_gate,
    finalization_gate,
    is_addressed,
    must_stand_under_gaps,
    required_sources,
)
from zetetic.state.values import Holdings

GOOD = "# Answer\n\nThe plant gives 240 MW. [c_001]\n"


def missing(run: Run, why: str = "") -> str:
    return "\n".join(exploration_gate(run.research, why))


# Exploration.


@pytest.mark.rule("D42", "R11")
def test_a_finished_exploration_lacks_nothing() -> None:
    assert exploration_gate(Run().explored().research) == ()


@pytest.mark.rule("D42")
def test_a_refusal_lists_all_that_is_missing() -> None:
    run = Run()
    run.add("Who built the plant?")
    assert exploration_gate(run.research) == (
        "The objective (q_001) is pending: resolve it from the answers found.",
        "q_002 (P 0.50) is open: Who built the plant?",
        "0 sources were read of at least 5: fetch more pages.",
        "The sources stem from 0 sites of at least 3: look elsewhere.",
        "There is no conclusion: state it with notes_scratch conclusion, then challenge it.",
    )


@pytest.mark.rule("D42")
def test_an_unresolvable_root_with_its_assumption_passes() -> None:
    run = Run(max_attempts=1, min_sources=0, min_domains=0)
    run.do(commands.decide_atomic, "one figure")
    run.start()
    run.bound()
    run.route(passed=False, complete=False)
    assert run.status(ROOT) == "unresolvable"
    run.survive("conclusion", target_text="It is not known.")
    assert exploration_gate(run.research) == ()


@pytest.mark.rule("D42")
@pytest.mark.parametrize(("priority", "asked"), [(0.5, True), (0.49, False)])
def test_an_open_question_from_the_gates_priority_on_stops_it(priority: float, asked: bool) -> None:
    run = Run().explored()
    run.add("Who built the plant?", priority=priority)
    assert ("q_002 (P" in missing(run)) is asked


@pytest.mark.rule("D42", "D11")
def test_a_blocked_question_of_that_priority_stops_it() -> None:
    run = Run().explored()
    needed = run.add("Who built the plant?", priority=0.3)
    run.add("What else did they build?", priority=0.6, depends_on=[needed])
    run.do(commands.decide_prune, needed, "not needed")
    assert missing(run) == "q_003 is blocked: rewrite_question, drop_dependency or prune_branch."


@pytest.mark.rule("D42")
def test_sources_are_counted_when_their_text_was_read() -> None:
    run = Run(min_sources=2, min_domains=2)
    run.source("one", "a.org")
    run.source("two", "a.org")
    run.source("", "b.org", sha256="")
    assert "sources were read" not in missing(run)
    assert "The sources stem from 1 sites of at least 2" in missing(run)


@pytest.mark.rule("D42")
@pytest.mark.parametrize(
    ("holdings", "needed"),
    [
        (Holdings(), (5, 3)),
        (Holdings(local_only=True, sources=2, domains=1), (2, 1)),
        (Holdings(local_only=True, sources=90, domains=40), (5, 3)),
        (Holdings(local_only=False, sources=2, domains=1), (5, 3)),
    ],
)
def test_where_only_a_folder_can_be_searched_its_holdings_bound_the_gate(
    holdings: Holdings, needed: tuple[int, int]
) -> None:
    assert required_sources(Run(holdings=holdings).research) == needed


@pytest.mark.rule("D42")
def test_every_resolved_question_cites_a_verified_claim_or_a_reason() -> None:
    run = Run().explored()
    run.do(commands.decide_reopen, ROOT, "again")
    run.answer(claim_ids=["c_001"], why_unverified="")
    run.do(decide_set_status, "c_001", "UNVERIFIED", "in doubt")
    assert "q_001 was resolved without a VERIFIED claim: verify one of c_001" in missing(run)
    run.do(commands.decide_reopen, ROOT, "again")
    run.answer(claim_ids=["c_001"], why_unverified="one page only")
    assert missing(run) == ""


@pytest.mark.rule("D42", "D34")
def test_a_contradiction_is_addressed_when_its_question_is_closed_or_a_side_fell() -> None:
    def contradicted() -> Run:
        run = Run().explored()
        run.do(decide_link, "c_001", "contradicts", run.claim("The plant gives 100 MW."))
        assert "c_001 vs c_002 is open: close q_002." in missing(run)
        assert not is_addressed(run.research, run.research.contradictions[0])
        return run

    retracted = contradicted()
    retracted.do(decide_retract, "c_002", "misread")
    assert is_addressed(retracted.research, retracted.research.contradictions[0])
    answered = contradicted()
    answered.add("Something else?", priority=0.1)
    assert answered.answer("Both, by season.") == "q_002"
    assert is_addressed(answered.research, answered.research.contradictions[0])


@pytest.mark.rule("D42", "D40")
def test_the_conclusion_was_challenged_and_survived() -> None:
    run = Run().explored()
    run.do(decide_scratch, "", "It gives 240 MW in summer.")
    assert "The conclusion as it stands has not survived a challenge" in missing(run)
    challenge = run.challenge("conclusion")
    assert "ch_003 is open" in missing(run)
    run.run_challenge(challenge)
    run.record(challenge, "inconclusive")
    assert "has not survived" in missing(run, "because")
    run.survive("conclusion", strategy="staleness")
    assert missing(run) == ""


# The report.


@pytest.mark.rule("D44")
def test_a_report_whose_sentences_cite_claims_goes_out() -> None:
    assert finalization_gate(Run().explored().research, GOOD) == ()


@pytest.mark.rule("D44")
@pytest.mark.parametrize(
    ("report", "wrong"),
    [
        ("", "The report is empty"),
        (GOOD + "It was built in 2016. [c_099]\n", "These ids do not exist: c_099"),
        (GOOD + "It was built in 2016 by Ann and her brother.\n", "Every factual sentence cites a claim"),
        ("# Answer\n\nNothing is known.\n", "The report cites no claim"),
    ],
)
def test_what_a_report_is_refused_for(report: str, wrong: str) -> None:
    assert wrong in "\n".join(finalization_gate(Run().explored().research, report))


@pytest.mark.rule("D44")
def test_a_fallen_claim_stands_under_gaps_only() -> None:
    run = Run().explored()
    run.do(decide_retract, run.claim("The plant gives 100 MW."), "misread")
    above = "# Answer\n\nThe plant gives 240 MW. [c_001] Or it gives 100 MW. [c_002]\n"
    assert finalization_gate(run.research, above) == ("c_002 is RETRACTED: it may stand under gaps only.",)
    assert finalization_gate(run.research, GOOD + "\n## Gaps\n\n- One page says 100 MW. [c_002]\n") == ()


@pytest.mark.rule("D44")
def test_every_question_without_an_answer_stands_under_gaps() -> None:
    run = Run().explored()
    run.add("Who paid for it?", priority=0.2)
    pruned = run.add("Who painted it?", priority=0.2)
    run.do(commands.decide_prune, pruned, "it does not matter")
    assert must_stand_under_gaps(run.research) == ("q_002",)
    said = "\n".join(finalization_gate(run.research, GOOD))
    assert "must stand under a heading 'Gaps': q_002" in said
    assert finalization_gate(run.research, GOOD + "\n## Gaps\n\n- Who paid for it is not known [q_002].\n") == ()


@pytest.mark.rule("D44")
@pytest.mark.parametrize("status", ["pending", "in_progress", "blocked", "unresolvable"])
def test_each_open_or_unresolvable_status_is_a_gap(status: str) -> None:
    run = Run()
    question_id = run.add()
    run.happen(commands.moved(run.question(question_id), status, "released", "code", run.now))  # type: ignore[arg-type]
    assert question_id in must_stand_under_gaps(run.research)
