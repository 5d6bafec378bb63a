"""The frontier as it is read: what is actionable, what comes next, what the prompt shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state.build import ROOT, Run

from zetetic.state import events as ev
from zetetic.state import frontier_commands
from zetetic.state.frontier import (
    already_asked,
    effective_priorities,
    expansion_due,
    frontier_summary,
    must_be_closed,
    question_line,
    reaches,
    select_next,
    tried,
)
from zetetic.state.research import Research
from zetetic.state.values import Question


def first(run: Run) -> str | None:
    chosen = select_next(run.research)
    return chosen.id if chosen else None


@pytest.mark.rule("D16")
def test_the_highest_priority_comes_first() -> None:
    run = Run()
    run.add(priority=0.6)
    high = run.add(priority=0.8)
    run.add(priority=0.7)
    assert first(run) == high == "q_003"


@pytest.mark.rule("D16")
def test_of_equal_priorities_the_lower_depth_comes_first() -> None:
    run = Run()
    parent = run.add(priority=0.1)
    run.add(priority=0.8, parent_id=parent)
    shallow = run.add(priority=0.8)
    assert first(run) == shallow == "q_004"


@pytest.mark.rule("D16")
def test_of_equal_priorities_and_depths_the_older_comes_first() -> None:
    run = Run()
    older = run.add(priority=0.8)
    run.add(priority=0.8)
    assert first(run) == older == "q_002"


@pytest.mark.rule("D16")
def test_what_an_important_question_waits_on_is_taken_before_a_middling_one() -> None:
    run = Run()
    low = run.add(priority=0.4)
    run.add(priority=0.5)
    run.add(priority=0.9, depends_on=[low])
    assert first(run) == low
    assert effective_priorities(run.research) == {ROOT: 1.0, "q_002": 0.9, "q_003": 0.5, "q_004": 0.9}


@pytest.mark.rule("D16")
def test_priority_flows_through_a_chain() -> None:
    run = Run()
    deepest = run.add(priority=0.1)
    middle = run.add(priority=0.2, depends_on=[deepest])
    run.add(priority=0.7, depends_on=[middle])
    assert effective_priorities(run.research)[deepest] == 0.7
    assert run.question(deepest).priority == 0.1


@pytest.mark.rule("D16")
def test_pruning_a_branch_takes_its_weight_away() -> None:
    run = Run()
    low = run.add(priority=0.4)
    other = run.add(priority=0.5)
    high = run.add(priority=0.9, depends_on=[low])
    run.do(frontier_commands.decide_prune, high, "not needed")
    assert effective_priorities(run.research)[low] == 0.4
    assert first(run) == other


@pytest.mark.rule("D20")
def test_raising_a_question_raises_what_it_waits_on() -> None:
    run = Run()
    low = run.add(priority=0.2)
    run.add(priority=0.6)
    waiting = run.add(priority=0.3, depends_on=[low])
    run.do(frontier_commands.decide_set_priority, waiting, 0.95, "it decides the answer")
    assert first(run) == low
    assert effective_priorities(run.research)[low] == 0.95


@pytest.mark.rule("D11", "D20")
@pytest.mark.parametrize("ending", ["resolved", "unresolvable"])
def test_a_question_is_actionable_when_all_it_waits_on_is_closed(ending: str) -> None:
    run = Run(max_attempts=1)
    needed = run.add(priority=0.9)
    waiting = run.add(priority=0.9, depends_on=[needed])
    assert first(run) == needed
    run.start()
    if ending == "resolved":
        run.resolve()
        run.route()
    else:
        run.bound()
        run.route(passed=False, complete=False)
    assert run.status(needed) == ending
    assert first(run) == waiting


@pytest.mark.rule("D24")
def test_the_root_waits_for_every_question_from_the_gates_priority_on() -> None:
    run = Run(gate_priority=0.5)
    run.add(priority=0.5)
    assert first(run) == "q_002"
    run.answer()
    assert first(run) == ROOT


@pytest.mark.rule("D24")
def test_the_root_goes_before_questions_below_the_gates_priority() -> None:
    run = Run(gate_priority=0.5)
    run.add(priority=0.49)
    assert first(run) == ROOT


@pytest.mark.rule("D24")
def test_the_root_gives_no_floor_to_what_it_waits_on() -> None:
    run = Run()
    run.do(frontier_commands.decide_atomic, "one figure")
    run.start()
    child = run.add(priority=0.2, blocks_current=True)
    assert run.question(child).priority == 0.5
    assert effective_priorities(run.research)[child] == 0.5


@pytest.mark.rule("D24")
def test_expansion_is_due_until_there_is_a_child_or_a_reason() -> None:
    assert expansion_due(Run().research)
    with_child = Run()
    with_child.add()
    assert not expansion_due(with_child.research)
    atomic = Run()
    atomic.do(frontier_commands.decide_atomic, "one figure")
    assert not expansion_due(atomic.research)


@pytest.mark.rule("D42")
def test_what_must_be_closed_counts_inherited_priority() -> None:
    run = Run(gate_priority=0.5)
    low = run.add(priority=0.1)
    run.add(priority=0.6, depends_on=[low])
    run.add(priority=0.4)
    assert [q.id for q in must_be_closed(run.research)] == [low, "q_003"]


@pytest.mark.rule("D10", "D18")
def test_an_equal_query_is_found_after_folding() -> None:
    run = Run()
    question_id = run.add()
    run.search("Plant's  OUTPUT, 2020?", question_id=question_id)
    assert already_asked(run.research, question_id, "plant s output 2020")
    assert not already_asked(run.research, question_id, "plant output 2021")
    assert not already_asked(run.research, ROOT, "plant s output 2020")
    assert [r.query for r in tried(run.research, question_id)] == ["Plant's  OUTPUT, 2020?"]


@pytest.mark.rule("D12")
def test_reaching_follows_dependencies() -> None:
    run = Run()
    one = run.add()
    two = run.add(depends_on=[one])
    three = run.add(depends_on=[two])
    assert reaches(run.research, three, one)
    assert not reaches(run.research, one, three)


@pytest.mark.rule("D6", "D39")
def test_the_summary_counts_and_names_what_comes_next() -> None:
    run = Run()
    run.add("Who built the plant in its first year?", priority=0.6)
    gone = run.add("How many turbines does the plant have?", priority=0.7)
    run.add("What does a turbine cost nowadays?", priority=0.55, depends_on=[gone])
    run.do(frontier_commands.decide_prune, gone, "not needed")
    run.challenge("question_answer", "q_002", target_text="Ann built it.", query="somebody else built it")
    assert frontier_summary(run.research).splitlines() == [
        "Frontier: 2 pending, 1 blocked, 1 pruned  (max_depth 3)",
        "Next up:",
        "- [q_002] pending (P 0.60, depth 1) Who built the plant in its first year?",
        "Blocked:",
        "- [q_004] blocked (P 0.55, depth 1) What does a turbine cost nowadays? | waits on q_003",
        "Open challenges (each needs record_challenge_result):",
        '- [ch_001] on q_002 by negation: not yet run: "somebody else built it"',
    ]


@pytest.mark.rule("D6")
def test_the_summary_names_what_was_answered() -> None:
    run = Run()
    run.add("Who built the plant?")
    run.answer("Ann built it.")
    assert "- [q_002] resolved: Who built the plant? -> Ann built it." in frontier_summary(run.research)


def frontier_of(size: int, *, waits: int = 0) -> Research:
    """Many questions, each waiting on some of those before it; built as events, past the cap on questions."""
    run = Run()
    questions = dict(run.research.questions)
    for number in range(2, size + 2):
        question_id = f"q_{number:03d}"
        questions[question_id] = Question(
            id=question_id,
            parent_id=ROOT,
            depth=1,
            question="Why? " * 200,
            priority=(number * 37 % 101) / 100,
            status=("pending", "blocked", "resolved", "pruned")[number % 4] if not waits else "pending",
            answer="Because. " * 200,
            created_at=run.now,
            updated_at=run.now,
        )
    names = list(questions)
    edges = {name: tuple(names[max(1, place - waits) : place]) for place, name in enumerate(names) if place > 1}
    return run.research.model_copy(update={"questions": questions, "dependencies": edges if waits else {}})


@pytest.mark.rule("D6", "D2")
def test_the_summary_does_not_grow_with_the_frontier() -> None:
    assert len(frontier_summary(frontier_of(10_000))) < 9_000
    everything_waits = frontier_of(3_000, waits=200)
    assert len(frontier_summary(everything_waits)) < 9_000
    assert question_line(everything_waits, everything_waits.questions["q_900"]).endswith("(+195 more)")


@pytest.mark.rule("D16")
def test_ten_thousand_questions_in_one_chain_are_selected_from() -> None:
    chosen = select_next(frontier_of(10_000, waits=1))
    assert chosen is not None
    assert chosen.id == "q_002"


@given(st.data())
@pytest.mark.rule("D16", "D24")
def test_selection_is_what_the_rule_says_word_for_word(data: st.DataObject) -> None:
    run = Run(max_questions=100, gate_priority=0.5)
    priorities = st.sampled_from([0.0, 0.1, 0.4, 0.5, 0.6, 0.9, 1.0])
    for _ in range(data.draw(st.integers(1, 8))):
        others = [q for q in run.research.questions if q != ROOT]
        needed = data.draw(st.lists(st.sampled_from(others), unique=True, max_size=3)) if others else []
        parents = [q.id for q in run.research.questions.values() if q.depth < 3]
        run.add(priority=data.draw(priorities), parent_id=data.draw(st.sampled_from(parents)), depends_on=needed)
    for question_id in list(run.research.questions)[1:]:
        status = data.draw(st.sampled_from(["pending", "pending", "resolved", "in_progress", "unresolvable"]))
        if status != "pending":
            question = run.question(question_id)
            run.happen(frontier_commands.moved(question, status, "selected", "code", run.now))  # type: ignore[arg-type]
    assert select_next(run.research) == by_the_book(run.research)


def by_the_book(r: Research) -> Question | None:
    """D16 and D24 without any care for speed."""
    is_open = {q.id for q in r.questions.values() if q.status in ("pending", "in_progress", "blocked")}

    def effective(question_id: str) -> float:
        waiting = [w for w, needs in r.dependencies.items() if question_id in needs and w in is_open and w != ROOT]
        return max([r.questions[question_id].priority, *(effective(w) for w in waiting)])

    def ready(q: Question) -> bool:
        needs = r.dependencies.get(q.id, ())
        return q.status == "pending" and all(r.questions[n].status in ("resolved", "unresolvable") for n in needs)

    root_waits = any(effective(i) >= r.thresholds.gate_priority for i in is_open if i != ROOT)
    able = [q for q in r.questions.values() if ready(q) and not (q.id == ROOT and root_waits)]
    return min(able, key=lambda q: (-effective(q.id), q.depth, q.id), default=None)


def test_an_event_on_an_unknown_question_changes_no_question() -> None:
    run = Run()
    before = run.research.questions
    ghost = Question(id="q_099", question="?", created_at=run.now, updated_at=run.now)
    run.happen(frontier_commands.moved(ghost, "pruned", "pruned_branch", "code", run.now))
    run.happen(ev.DependencyDropped(at=run.now, question_id="q_099", depends_on_id="q_098"))
    assert run.research.questions == before
