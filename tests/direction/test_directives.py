"""A person's words to a run: taken once, in order, word for word, at the next attempt; code obeys none (A24)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from direction.scenes import answer, plan_with_question, steer_in
from graph.rig import OBJECTIVE, REPORT, Rig, Step, arms, buried, search, text_of, whole, worker
from graph.test_resume import Killed, die_after
from langchain_core.messages import BaseMessage

from zetetic import SetupError, aresearch, aresume, build_graph, open_store, sqlite_saver, workbench
from zetetic.graph.run import checkpoints_path
from zetetic.nodes.channels import pending_directives
from zetetic.state.runs import decide_direct
from zetetic.testing import ScriptedModel, call, turn

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}, "recursion_limit": 500}


def attempts_told(model: ScriptedModel, text: str, attempts: dict[int, set[int]]) -> set[int]:
    """In which attempts' prompts a directive stood; `attempts` maps them to the numbers of their prompts."""
    told = {n for n, prompt in enumerate(model.prompts) if text in text_of(prompt)}
    return {attempt for attempt, prompts in attempts.items() if prompts & told}


def directives_in(prompt: list[BaseMessage]) -> list[str]:
    return [line for line in text_of(prompt[-1:]).split("\n") if line.startswith("Directive ")]


def receipt(home: Path, run: str) -> str:
    return (home / run / "DIRECTIVES.md").read_text(encoding="utf-8")


class Opened:
    """The graph on a thread of its own, to be stopped and edited as in Studio."""

    def __init__(self, graph: Any, context: Any) -> None:
        self.graph = graph
        self.context = context

    async def go(self, given: Any = None, **more: Any) -> dict[str, Any]:
        done = await self.graph.ainvoke(given, CONFIG, context=self.context, durability="sync", **more)
        return dict(done)

    async def edit(self, directives: Any) -> None:
        await self.graph.aupdate_state(CONFIG, {"directives": directives})

    async def values(self) -> dict[str, Any]:
        return dict((await self.graph.aget_state(CONFIG)).values)

    async def accounts(self) -> list[str]:
        return [s.values.get("account", "") async for s in self.graph.aget_state_history(CONFIG)]


@asynccontextmanager
async def opened(rig: Rig, **bounds: Any) -> AsyncIterator[Opened]:
    context = rig.context(**bounds)
    async with workbench(context), sqlite_saver(checkpoints_path(context)) as saver:
        yield Opened(build_graph().compile(checkpointer=saver), context)


# Delivery.


@pytest.mark.rule("A24")
async def test_directives_of_the_start_stand_word_for_word_above_all_else_in_one_attempt(home: Path) -> None:
    texts = ["Ask the  harbour office\nfirst – «日本語».", "No blogs.", "x" * 2000]
    model = worker(whole())
    rig = Rig(home, model)
    context = rig.context().model_copy(update={"user": "ann"})
    result = await aresearch(OBJECTIVE, context=context, directives=texts)
    assert result.status == "complete"
    for number, prompt in enumerate(model.prompts):
        now = text_of(prompt[-1:])
        shown = all(f"Directive {n} from ann: {text}\n" in now for n, text in enumerate(texts, 1))
        assert shown == (1 <= number <= 5), number
        if shown:
            assert now.index("Directive 1 ") < now.index("Directive 2 ") < now.index("Directive 3 ")
            assert now.index("Directive 3 ") < now.index("Question: [q_001]")
    assert receipt(home, result.run_id).count("Delivered in attempt 1.") == 3


@pytest.mark.rule("A24")
async def test_a_directive_stands_above_the_steer(home: Path) -> None:
    steps: list[Step] = [plan_with_question(), search("Ortel height"), answer("It is tall.")]
    model = worker(steps, "…")
    rig = Rig(home, model, arms(verify=turn(call("verify_answer", passed=False, failures=["no page says so"]))))

    async def direct(research: Any) -> None:
        async with open_store(rig.context()) as store:
            await store.execute(research.run_id, lambda r: decide_direct(r, "Read the register.", at=r.updated_at))

    said: list[asyncio.Task[None]] = []

    def progress(update: dict[str, Any], research: Any) -> None:
        if research.turns == 2 and not said:
            said.append(asyncio.ensure_future(direct(research)))

    await aresearch(OBJECTIVE, context=rig.context(max_turns=8), progress=progress)
    await asyncio.gather(*said)
    prompt = next(p for p in model.prompts if directives_in(p))
    now = text_of(prompt[-1:])
    assert "no page says so" in steer_in(prompt)
    assert now.index("Read the register.") < now.index("Tried:") < now.index("From the last attempt: ")
    assert all(not directives_in(p) for p in model.prompts[:3]), "not in the attempt under way"


# The channel in mid-run.


@pytest.mark.rule("A24")
async def test_an_edit_of_the_state_before_an_attempt_is_delivered_in_it(home: Path) -> None:
    model = worker(whole())
    async with opened(Rig(home, model)) as thread:
        await thread.go({"objective": OBJECTIVE, "directives": ["one"]}, interrupt_before=["decide"])
        run = (await thread.values())["run_id"]
        assert (await thread.values())["directives"] == []
        assert "one\n\nGiven" in receipt(home, run)
        assert "Not yet delivered." in receipt(home, run)
        await thread.edit(["two", "three"])
        final = await thread.go()
        assert (await thread.values())["directives"] == []
    assert final["status"] == "complete"
    assert directives_in(model.prompts[0]) == []
    told = [f"Directive {n} from user: {text}" for n, text in enumerate(("one", "two", "three"), 1)]
    assert [directives_in(p) for p in model.prompts[1:6]] == [told] * 5
    assert all(not directives_in(p) for p in model.prompts[6:])


@pytest.mark.rule("A24")
async def test_an_edit_within_an_attempt_waits_for_the_next_and_has_its_receipt_at_once(home: Path) -> None:
    model = worker(whole())
    async with opened(Rig(home, model)) as thread:
        await thread.go({"objective": OBJECTIVE}, interrupt_before=["decide"])
        for _ in range(2):
            await thread.go(interrupt_before=["decide"])
        await thread.edit(["two"])
        await thread.go(interrupt_before=["decide"])
        run = (await thread.values())["run_id"]
        assert "two\n\nGiven" in receipt(home, run)
        assert "Not yet delivered." in receipt(home, run)
        while (await thread.values())["stage"] != "synthesizing":
            await thread.go(interrupt_before=["decide"])
        assert "Delivered in attempt 2." in receipt(home, run), "before the attempt's first call"
        assert len(model.prompts) == 9
        final = await thread.go()
    assert final["status"] == "complete"
    assert [n for n, p in enumerate(model.prompts) if directives_in(p)] == [9]


@pytest.mark.rule("A24")
async def test_new_input_with_nothing_but_directives_goes_on_with_the_run(home: Path) -> None:
    model = worker(whole())
    rig = Rig(home, model)
    async with opened(rig) as thread:
        first = await thread.go({"objective": OBJECTIVE}, interrupt_after=["state"])
        final = await thread.go({"directives": ["Ask the office."]})
        assert final["run_id"] == first["run_id"]
    assert final["status"] == "complete"
    assert [n for n, p in enumerate(model.prompts) if directives_in(p)] == [1, 2, 3, 4, 5]
    async with open_store(rig.context()) as store:
        assert len(await store.runs()) == 1


@pytest.mark.rule("A24")
@pytest.mark.parametrize("given", [["", "x" * 2001, "Ask the office.", 7], "Ask the office."], ids=["list", "text"])
async def test_a_bad_one_is_told_in_the_account_and_the_run_goes_on(home: Path, given: Any) -> None:
    model = worker(whole())
    async with opened(Rig(home, model)) as thread:
        await thread.go({"objective": OBJECTIVE}, interrupt_before=["decide"])
        await thread.edit(given)
        final = await thread.go()
        accounts = "\n".join(await thread.accounts())
    assert final["status"] == "complete"
    assert "directive 1 waits for the next attempt" in accounts
    assert directives_in(model.prompts[1]) == ["Directive 1 from user: Ask the office."]
    if isinstance(given, list):
        assert "directive refused: The directive is blank" in accounts
        assert "directive refused: The directive has 2001 characters; at most 2000 are taken." in accounts
    assert "\n## 2" not in receipt(home, final["run_id"])


@pytest.mark.rule("A24")
@pytest.mark.parametrize("bad", [" \n", "x" * 2001])
async def test_at_the_start_a_bad_one_is_an_error_and_nothing_is_written(home: Path, bad: str) -> None:
    rig = Rig(home, worker(whole()))
    with pytest.raises(SetupError, match="The directive"):
        await aresearch(OBJECTIVE, context=rig.context(), directives=["good", bad])
    async with open_store(rig.context()) as store:
        assert await store.runs() == []
    assert rig.worker.prompts == []


@pytest.mark.rule("A24")
async def test_what_comes_too_late_is_kept_as_waiting(home: Path) -> None:
    async with opened(Rig(home, worker(whole()))) as thread:
        await thread.go({"objective": OBJECTIVE}, interrupt_before=["decide"])
        while (await thread.values())["stage"] != "synthesizing":
            await thread.go(interrupt_before=["decide"])
        await thread.go(interrupt_before=["judge"])
        await thread.graph.aupdate_state(CONFIG, {"directives": ["One more look."]}, as_node="update")
        final = await thread.go()
    assert final["status"] == "complete"
    assert "One more look." in receipt(home, final["run_id"])
    assert "Not delivered: the run was complete before another attempt began." in receipt(home, final["run_id"])


@pytest.mark.rule("A24")
def test_the_channel_only_grows_until_it_is_taken() -> None:
    assert pending_directives(["a"], ["b"]) == ["a", "b"]
    assert pending_directives(["a"], ["a", "b"]) == ["a", "b"], "the whole list, as an edit in Studio sends it"
    assert pending_directives(None, "a") == ["a"]
    assert pending_directives(["a"], []) == []
    assert pending_directives(["a"], None) == []


# No power.


ORDERS = ("Mark it answered.", "End now and accept the report.", "Restart from the beginning.")


def obedient(steps: list[Step]) -> ScriptedModel:
    """A worker that does at once what a directive says, as far as its tools let it, before it goes on."""
    left = worker(steps, "…")
    done: set[str] = set()

    def script(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> Any:
        said = "\n".join(directives_in(messages))
        if "Mark it" in said and "mark" not in done:
            done.add("mark")
            return turn(call("resolve_question", id="q_001", answer="It is answered."),
                        call("record_challenge_result", challenge_id="ch_001", outcome="survived", evidence="told"),
                        call("notes_update", id="c_001", status="VERIFIED"))  # fmt: skip
        if "End now" in said and "end" not in done:
            done.add("end")
            return turn(call("finish_exploration", why="told so"), call("finalize_report", report=REPORT))
        return left.script(messages, tools)  # type: ignore[operator]

    return ScriptedModel(script=script)


@pytest.mark.rule("A24", "A19", "D17", "D42")
@pytest.mark.parametrize("obeys", [False, True])
async def test_an_order_changes_no_route_no_status_and_no_counter(home: Path, obeys: bool) -> None:
    def unverified() -> Any:
        return arms(verify=turn(call("verify_answer", passed=False, failures=["no page says so"])))

    steps = [*whole()[:6], *whole()[1:6]]
    plain = await Rig(home / "plain", worker(steps, "…"), unverified()).research(max_turns=30, max_attempts=1)
    model = obedient(steps) if obeys else worker(steps, "…")
    rig = Rig(home / "told", model, unverified())
    told = await aresearch(OBJECTIVE, context=rig.context(max_turns=30, max_attempts=1), directives=ORDERS)
    ends = [
        (
            [(e.kind, e.question_id, e.routing.route, e.routing.attempts, e.verified) for e in r.evaluations],
            [(q.id, q.status, q.attempts, q.unverified_streak, q.unproductive_streak) for q in r.questions.values()],
            (r.status, r.stop_reason, r.reopens, r.report.accepted, r.report.attempts),
        )
        for r in (plain.research, told.research)
    ]
    assert ends[0] == ends[1]
    assert told.status == "reported"
    assert told.research.questions["q_001"].status == "unresolvable"


# Crashes.


@pytest.mark.rule("A24", "D47")
# Only points outside the arms' superstep: a raised death leaves the other arms running in this process, where a killed
# process would not; kills there are made with real processes (tests/graph/test_kill.py).
@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 6, 7, 9, 12, 30])
async def test_death_anywhere_loses_no_directive_and_delivers_none_twice(
    home: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    rig = Rig(home, worker(whole()))
    with monkeypatch.context() as patch:
        die_after(after, patch)
        with pytest.raises(Killed):
            await aresearch(OBJECTIVE, context=rig.context(), run_id="victim", directives=["first", "second"])
        await buried()
    async with open_store(rig.context()) as store:
        begun = (await store.load("victim")).attempts
        await store.execute("victim", lambda r: decide_direct(r, "third", "ann", at=r.updated_at), reason="directive")
    result = await aresume("victim", context=rig.context())
    assert (result.status, len(rig.worker.prompts)) == ("complete", 10)
    expected = [("first", 1), ("second", 1), ("third", begun + 1)]
    assert [(d.text, d.delivered_in) for d in result.research.directives] == expected
    attempts = {1: set(range(1, 6)), 2: {9}}
    assert attempts_told(rig.worker, "Directive 1 from user: first", attempts) == {1}
    assert attempts_told(rig.worker, "Directive 3 from ann: third", attempts) == {begun + 1}
    assert receipt(home, "victim").count("Delivered in attempt") == 3


@pytest.mark.rule("A24", "D47")
@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 8])
async def test_death_between_the_edit_and_its_delivery(home: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    model = worker(whole())
    async with opened(Rig(home, model)) as thread:
        await thread.go({"objective": OBJECTIVE}, interrupt_before=["decide"])
        await thread.go(interrupt_before=["update"])
        await thread.edit(["first", " ", "second"])
        with monkeypatch.context() as patch:
            die_after(after, patch)
            with pytest.raises(Killed):
                await thread.go()
        final = await thread.go()
    assert (final["status"], len(model.prompts)) == ("complete", 10)
    told = ["Directive 1 from user: first", "Directive 2 from user: second"]
    assert [directives_in(p) for p in model.prompts[1:6]] == [told] * 5
    assert all(not directives_in(p) for p in [model.prompts[0], *model.prompts[6:]])
    assert "## 3" not in receipt(home, final["run_id"])
