"""OBSERVE: registers sources, logs queries, marks what must be extracted first, and tells the model what came back."""

from __future__ import annotations

import json
from typing import Any

from langgraph.runtime import Runtime

from zetetic.state import events as ev
from zetetic.state.challenges import where_logged
from zetetic.state.decision import Accepted, Decision
from zetetic.state.evolve import fold
from zetetic.state.guiding import is_guided
from zetetic.state.research import Research
from zetetic.state.values import PendingExtraction
from zetetic.state.wording import content_words
from zetetic.tools.reading import ReadResult, best_parts, due_for_extraction, observed, with_text

from .channels import Channels
from .context import Context
from .keys import step_key, task_key
from .past_turns import kept_answer
from .windows import within
from .workbench import Workbench, bench_of


async def observe(channels: Channels, runtime: Runtime[Context]) -> dict[str, Any]:
    """Turns stored results into events, once, and into what the model reads of them."""
    bench = await bench_of(runtime)
    run_id, worker = channels["run_id"], channels.get("worker") or ""
    turn = channels.get("turn")
    if turn is None or not turn.act:
        return {}
    key = task_key(runtime)
    kept = await kept_answer(bench, turn.answer)
    stored = await bench.store.effects(turn.act)
    results = [
        ReadResult.model_validate_json(stored[call["id"]].payload)
        for call in kept["calls"]
        if call["id"] in stored and stored[call["id"]].payload
    ]
    if not results:
        return {"turn": turn.model_copy(update={"observe": key})}
    texts = await _texts(bench, run_id, results)

    def decision(r: Research) -> Decision:
        at = bench.clock()
        r = within(r, bench.rooms)
        happened, told = observed(r, results, at=at)
        after = fold(r, happened)
        due = _due(after, happened, results, texts)
        events = (*happened, ev.ExtractionDue(at=at, items=due)) if due else happened
        sources = {e.source.sha256: e.source.id for e in happened if isinstance(e, ev.SourceRegistered)}
        return Accepted(events, json.dumps({"told": told, "sources": sources}, ensure_ascii=False))

    done = await bench.store.execute(
        run_id,
        decision,
        effect=(key, "observed"),
        worker=worker,
        step_key=step_key(runtime),
        reason="observe",
    )
    noted = json.loads(done.text)
    said: dict[str, tuple[str, str]] = {}
    for result in results:
        text = noted["told"].get(result.call_id, "")
        if result.page is not None and text.endswith("\n@text"):
            source_id = noted["sources"].get(result.page.sha256, "")
            text = with_text(text, source_id, texts.get(result.page.sha256, ""))
        said[result.call_id] = text, ""
    await bench.store.put_effects(run_id, key, said)
    return {"turn": turn.model_copy(update={"observe": key})}


async def _texts(bench: Workbench, run_id: str, results: list[ReadResult]) -> dict[str, str]:
    """The texts of the pages that were read, by their hash."""
    hashes = [x.page.sha256 for x in results if x.page is not None]
    if seen := {x.seen for x in results if x.seen}:
        sources = (await bench.store.load(run_id, at_least=0)).sources
        hashes += [sources[source_id].sha256 for source_id in seen if source_id in sources]
    texts: dict[str, str] = {}
    for sha256 in hashes:
        page = await bench.store.page(sha256)
        texts[sha256] = page.text if page is not None else ""
    return texts


def _due(
    r: Research, happened: tuple[ev.Event, ...], results: list[ReadResult], texts: dict[str, str]
) -> tuple[PendingExtraction, ...]:
    """The pages just read that are too large to stay in the prompt (D30); one step at a time, where there is no prompt
    for them to stay in, all of them, also those that were read for another question."""
    t = r.thresholds
    guided = is_guided(r)
    new = [(e.source, e.source.question_id) for e in happened if isinstance(e, ev.SourceRegistered)]
    due = [(source, question_id) for source, question_id in new if guided or source.length > t.extraction_threshold]
    if guided:
        due += [(r.sources[x.seen], where_logged(r)) for x in results if x.seen in r.sources]
    items: list[PendingExtraction] = []
    for source, question_id in due:
        text = texts.get(source.sha256, "")
        question = r.questions[question_id]
        wanted = content_words(f"{question.question} {question.validation_criteria} {r.objective}")
        parts = best_parts(text, wanted, t.extraction_prompt_chars, t.max_page_parts)
        items += due_for_extraction(source, len(text), question_id, t.extraction_prompt_chars, parts)
    return tuple(items)
