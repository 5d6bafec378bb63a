"""What is written for a program or for the model, as a reader gets it."""

import re
from typing import get_args

import pytest
from export.researches import at, challenge, claim, opened, plant, question, settled, source, synthesis

from zetetic.export import render_report
from zetetic.export.plain_words import gate_in_words, outcome_of, why_stopped
from zetetic.models import ProviderErrorKind
from zetetic.sources import SearchStatus
from zetetic.state import events as ev
from zetetic.state.evolve import fold
from zetetic.state.gates import exploration_gate
from zetetic.state.research import Research
from zetetic.state.values import Outcome, Strategy

WIRE = re.compile(r"_|\w:\w|\b[a-z]+[A-Z]|\bUNVERIFIED\b|\bVERIFIED\b|record_|notes|resolve|fetch")
"""What a sentence for a reader does not hold, once ids in brackets are taken out."""


def readable(text: str) -> bool:
    return WIRE.search(re.sub(r" \([a-z]+_\d+\)", "", text)) is None


@pytest.mark.rule("D48")
@pytest.mark.parametrize(
    "reason",
    [
        *("finalized", "frontier_exhausted", "stalled", "plateau", "no_change", "aborted", "user_stop"),
        *(f"breaker:{name}" for name in ("iterations", "tokens", "cost", "wall_clock", "attempts")),
        *(f"blocked:model:{kind}" for kind in get_args(ProviderErrorKind)),
        *(f"blocked:prerequisite:search:{status.value}" for status in SearchStatus if not status.executed),
        *("blocked:search:failed", "success_criteria_met", "breaker:something_new"),
    ],
)
def test_every_reason_to_stop_has_words(reason: str) -> None:
    words = why_stopped(reason)
    assert readable(words)
    assert len(words.split()) >= 2


@pytest.mark.rule("D38")
def test_every_counter_search_has_words() -> None:
    for strategy in get_args(Strategy):
        for outcome in (*get_args(Outcome), None):
            made = plant(challenge(2, "c_001", outcome, strategy=strategy)).challenges["ch_002"]
            assert readable(outcome_of(made))


@pytest.mark.rule("D42", "D43")
def test_all_that_the_gate_can_lack_is_told_to_a_reader() -> None:
    pair = ev.ClaimsLinked(at=at(5), claim_id="c_001", other_id="c_002", relation="contradicts", question_id="q_005")
    stated = ev.ConclusionStated(at=at(6), text="It gives 240 MW.")
    spent = [
        challenge(
            n,
            "",
            "inconclusive",
            target_type="conclusion",
            target_text="It gives 240 MW.",
            version=1,
            strategy=strategy,
        )
        for n, strategy in enumerate(("negation", "discrepancy", "criticism"), 20)
    ]
    lacking = plant(
        question(2, "Who paid?", priority=0.9),
        question(3, "Who runs it?", priority=0.9, status="blocked"),
        question(4, "How old?"),
        question(5, "Which holds?", priority=0.9),
        *settled("q_004", "resolved", "Built in 1990.", "c_002"),
        challenge(9, "c_002", None, status="open", executed=False),
        pair,
    )
    bare = fold(Research(), [opened(), source(1), claim(1, "It gives 240 MW.", 1)])
    missing = {
        text: r
        for r in (lacking, bare, fold(lacking, [stated]), fold(lacking, [stated, *spent]))
        for text in exploration_gate(r)
    }
    told = {text: gate_in_words(r, text) for text, r in missing.items()}
    silent = {text for text, words in told.items() if not words}
    assert all(re.match(r"The objective \(|q_00[1235] ", text) for text in silent), "each is listed as a question"
    words = [text for text in told.values() if text]
    assert all(map(readable, words)), words
    assert not [text for text in words if text.startswith("Something that a complete report needs")]
    assert len({re.sub(r"\d", "", text)[:30] for text in words}) >= 8, "every kind of lack was looked at"
    report = render_report(fold(lacking, [synthesis("stalled", missing=tuple(exploration_gate(lacking)))]))
    for name in ("notes_scratch", "record_challenge_result", "resolve_question", "rewrite_question", "fetch more"):
        assert name not in report
    assert report.partition("## Gaps and assumptions")[2].count("Who paid?") == 1
