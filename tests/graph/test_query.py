"""`query` in a run: its answer is a source like a page, is quoted, cited, and not asked for twice."""

import json
import re
from pathlib import Path

import pytest
from cli.commands import QUESTION, documents, zetetic
from graph.rig import (
    ANSWER,
    OBJECTIVE,
    OFFICE,
    PAGES,
    REPORT,
    Rig,
    Step,
    arms,
    attack,
    conclude,
    fetch,
    finish,
    plan,
    report,
    run_attacks,
    run_last_attack,
    search,
    survived,
    text_of,
    whole,
    worker,
)
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from zetetic import Context, ResearchResult, aresearch
from zetetic.nodes.small_prompts import EXTRACT_SYSTEM
from zetetic.nodes.workbench import workbench
from zetetic.sources.tables import NO_TABLES, query_digest
from zetetic.state.independence import common_origin
from zetetic.testing import FixtureSearch, FixtureWeb, ScriptedModel, call, turn

SQL = "SELECT name, height FROM towers WHERE name = 'Ortel lighthouse'"
ROW = "name: Ortel lighthouse | height: 42"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "towers.csv").write_text("name,height,lit\nOrtel lighthouse,42,1911\nMarn lighthouse,37,1920\n")
    (folder / "ports.csv").write_text("name,berths\nOrtel,12\n")
    return folder


def query(*statements: str) -> AIMessage:
    return turn(*(call("query", sql=sql) for sql in statements))


def noted() -> AIMessage:
    """A claim from the page, the row as its second source, and the row's figure as a datapoint."""
    claim = {"text": "The Ortel lighthouse is 42 metres tall.", "quote": PAGES[OFFICE].text[:39], "source_id": "s_001"}
    figure = {"value": "42", "unit": "metres", "context": "height of the Ortel lighthouse", "quote": ROW}
    added = {"source_id": "s_002", "quote": ROW, "independence": "the register was measured by the port itself"}
    return turn(
        call("notes_append", claims=[claim], datapoints=[{**figure, "source_id": "s_002"}]),
        call("notes_update", id="c_001", add_source=added),
        attack("claim", target_id="c_001", strategy="discrepancy", query="Ortel lighthouse other height discrepancy"),
        attack("question_answer", target_text=ANSWER, strategy="criticism", query="Ortel lighthouse height disputed"),
    )


def resolved() -> AIMessage:
    return turn(
        survived("ch_001"),
        survived("ch_002"),
        call("notes_update", id="c_001", status="VERIFIED"),
        call("resolve_question", id="q_001", answer=ANSWER, claim_ids=["c_001", "d_001"]),
    )


def both() -> AIMessage:
    return turn(*fetch(OFFICE).tool_calls, call("query", sql=SQL))


def steps_with(*between: Step) -> list[Step]:
    written = REPORT.replace("## Gaps", "The register has 42 metres too [d_001].\n\n## Gaps")
    ending = [run_attacks(), resolved(), conclude(), run_last_attack(), finish(), report(written)]
    return [plan(), search(), both(), *between, noted(), *ending]


def uninterested(messages: list[BaseMessage], tools: object) -> AIMessage:
    """An extractor to which no page says anything."""
    shown = re.findall(r'<page source_id="(s_\d+)"', text_of(messages))
    return turn(call("notes_append", nothing_relevant=shown))


async def researched(
    home: Path, docs: Path, model: ScriptedModel, extractor: ScriptedModel | None = None
) -> ResearchResult:
    context = Context(
        model=model,
        evaluator=arms(),
        extractor=extractor or ScriptedModel(script=uninterested),
        search=[FixtureSearch(PAGES)],
        fetcher=FixtureWeb(PAGES),
        documents=str(docs),
        home=str(home),
        min_sources=2,
        min_domains=2,
        window_max_tokens=20_000,
    )
    return await aresearch(OBJECTIVE, context=context)


def told(messages: list[BaseMessage]) -> str:
    return text_of(m for m in messages if isinstance(m, ToolMessage))


@pytest.mark.rule("D30", "D31", "D33", "D44")
async def test_a_row_is_quoted_anchored_and_cited_in_the_report(home: Path, docs: Path) -> None:
    model = worker(steps_with())
    result = await researched(home, docs, model)
    assert result.status == "complete", result.stop_reason
    r = result.research
    source = r.sources["s_002"]
    assert source.url == f"query:{query_digest(SQL)}@towers.csv"
    assert (source.domain, source.location) == ("local:towers.csv", str(docs / "towers.csv"))
    figure = r.claims["d_001"]
    assert (figure.value, figure.evidence[0].quote) == ("42", ROW)
    assert r.claims["c_001"].status == "VERIFIED"
    log = [(record.tool, record.query, record.outcome) for record in r.queries["q_001"]]
    assert ("query", SQL, "read as s_002") in log
    assert f"Query of towers.csv: {SQL}" in result.report
    assert f"<{source.url}> (local:towers.csv; " in result.report
    assert f"file: {docs / 'towers.csv'}" in result.report
    assert "The register has 42 metres too [2, unverified]." in result.report
    context = Context(model="offline", documents=str(docs), search=["documents"], home=str(home))
    async with workbench(context) as bench:
        page = await bench.store.page(source.sha256)
    assert page is not None
    link = figure.evidence[0]
    assert page.text[link.start : link.end] == ROW
    assert page.text.startswith(f"Query: {SQL}\nFiles: towers.csv\nRows: 1\n\n")


async def test_the_tables_stand_in_the_prompt_where_there_are_tables(home: Path, docs: Path, tmp_path: Path) -> None:
    model = worker(steps_with())
    await researched(home, docs, model)
    listed = (
        "# Tables\n- ports(name VARCHAR, berths BIGINT) 1 rows; ports.csv\n"
        "- towers(name VARCHAR, height BIGINT, lit BIGINT) 2 rows; towers.csv\n\n# Notes\n"
    )
    assert all(listed in prompt[1].text for prompt in model.prompts)
    without = worker(whole())
    await Rig(tmp_path / "other", without).research()
    assert all("# Tables" not in text_of(prompt) for prompt in without.prompts)
    assert without.offered[0] == model.offered[0]  # one list of tools for all runs


async def test_where_there_are_no_tables_the_tool_says_so(home: Path) -> None:
    steps: list[Step] = whole()
    steps.insert(1, query("SELECT 1"))
    model = worker(steps)
    result = await Rig(home, model).research()
    assert result.status == "complete"
    assert f"Refused. {NO_TABLES}" in told(model.prompts[2])


@pytest.mark.rule("D10", "D30")
async def test_the_same_query_is_not_run_twice(home: Path, docs: Path) -> None:
    failing = "SELECT nothing FROM towers"
    again: list[Step] = [query(SQL, failing), query(SQL.replace("SELECT name", "select  name") + " ;", SQL, failing)]
    model = worker(steps_with(*again))
    result = await researched(home, docs, model)
    assert result.status == "complete", result.stop_reason
    assert "s_002 is this page and was read already" in told(model.prompts[4])
    last = told(model.prompts[5])
    assert last.count("s_002 is this page and was read already") == 2
    assert "Not executed: the same as query before it in this answer" in last
    assert "This query was run before and failed: unreadable: The query failed: Binder Error" in last
    asked = [record.query for record in result.research.queries["q_001"] if record.tool == "query"]
    assert asked == [SQL, failing]


async def test_a_refusal_reaches_the_model_and_is_no_query_of_the_log(home: Path, docs: Path) -> None:
    steps = steps_with(query("DROP VIEW towers", "SELECT * FROM read_csv('/etc/passwd')", "SHOW TABLES"))
    model = worker(steps)
    result = await researched(home, docs, model)
    assert result.status == "complete"
    heard = told(model.prompts[4])
    assert "Refused. It is refused since it would write." in heard
    assert "Refused. The function read_csv is refused" in heard
    assert "- towers(name VARCHAR, height BIGINT, lit BIGINT) 2 rows; towers.csv" in heard
    asked = [record.query for record in result.research.queries["q_001"] if record.tool == "query"]
    assert asked == [SQL, "SHOW TABLES"]
    assert list(result.research.sources) == ["s_001", "s_002"]


@pytest.mark.rule("D30", "D41")
async def test_a_large_answer_is_read_in_a_turn_of_its_own(home: Path, docs: Path) -> None:
    (docs / "long.csv").write_text("n,word\n" + "".join(f"{n},w{n}\n" for n in range(150)))
    steps = steps_with(query("SELECT n, word, repeat(word, 12) AS filler FROM long ORDER BY n"))
    found = {"value": "77", "context": "the number beside w77", "quote": "n: 77 | word: w77", "source_id": "s_003"}
    extractor = ScriptedModel(script=[turn(call("notes_append", datapoints=[found]))])
    # The second datapoint of the notes is the register's, so the report cites that one.
    result = await researched(home, docs, worker([_renamed(step) for step in steps]), extractor)
    assert result.status == "complete", result.stop_reason
    (prompt,) = extractor.prompts
    assert prompt[0].text == EXTRACT_SYSTEM
    assert '<page source_id="s_003"' in prompt[1].text
    assert "n: 149 | word: w149" in prompt[1].text
    assert result.research.claims["d_001"].evidence[0].quote.startswith("n: 77 | word: w77 | filler: w77w77")


def _renamed(step: Step) -> Step:
    """The step with the second datapoint in place of the first."""
    assert isinstance(step, AIMessage)
    changed = step.model_copy(deep=True)
    for asked in changed.tool_calls:
        asked["args"] = {
            name: value.replace("d_001", "d_002")
            if isinstance(value, str)
            else ["d_002" if one == "d_001" else one for one in value]
            if isinstance(value, list)
            else value
            for name, value in asked["args"].items()
        }
    return changed


@pytest.mark.rule("D33")
async def test_two_queries_over_one_file_are_one_origin(home: Path, docs: Path) -> None:
    joined = "SELECT p.berths, t.height FROM ports p, towers t"
    model = worker(steps_with(query("SELECT max(height) AS most FROM towers", joined, "SELECT berths FROM ports")))
    r = (await researched(home, docs, model)).research
    row, most, both_files, ports = (r.sources[name] for name in ("s_002", "s_003", "s_004", "s_005"))
    t = r.thresholds
    assert common_origin(row, most, t) == "s_002 and s_003 are both from local:towers.csv"
    assert common_origin(row, both_files, t) == "s_002 and s_004 are both from local:towers.csv"
    assert common_origin(ports, both_files, t) == "s_005 and s_004 are both from local:ports.csv"
    assert "both from" not in common_origin(row, ports, t)


@pytest.mark.rule("D31")
async def test_what_the_statement_says_is_no_quote(home: Path, docs: Path) -> None:
    lie = "The Marn lighthouse is 99 metres tall"
    forged = {"text": f"{lie}.", "quote": lie, "source_id": "s_003"}
    steps = steps_with(
        query(f"SELECT name, height FROM towers WHERE name <> '{lie}'"), turn(call("notes_append", claims=[forged]))
    )
    model = worker(steps)
    result = await researched(home, docs, model)
    assert result.status == "complete"
    assert "does not stand in s_003" in told(model.prompts[5])
    assert "99" not in result.report.split("## Sources")[0]


@pytest.mark.rule("D42")
async def test_a_folder_with_nothing_but_tables_can_be_asked(home: Path, docs: Path) -> None:
    context = Context(model="offline", documents=str(docs), home=str(home))
    async with workbench(context) as bench:
        held = bench.holdings()
    assert (held.local_only, held.sources, held.domains) == (True, 2, 2)
    assert held.tables.startswith("- ports(")


async def test_whoever_looks_on_sees_the_query(home: Path, docs: Path) -> None:
    result = await researched(home, docs, worker(steps_with()))

    def looked(*args: str) -> str:
        done = zetetic(*args, "--home", str(home), cwd=home.parent)
        assert done.code == 0, done.err
        return done.out

    assert "[d_001] UNVERIFIED" in looked("show", result.run_id, "notes")
    shown = json.loads(looked("status", result.run_id, "--json"))
    assert f"query:{query_digest(SQL)}@towers.csv" in shown["loop"]["progress"]["visited_urls"]
    for what in ("frontier", "claims", "challenges", "transitions", "calls"):
        assert looked("show", result.run_id, what)
    assert (home / result.run_id / "report.md").read_text() == result.report


async def test_the_offline_model_is_not_disturbed_by_tables(home: Path, tmp_path: Path) -> None:
    """It works on the documents as if there were no tables."""
    ended = []
    for name in ("without", "with"):
        folder = documents(tmp_path / name)
        if name == "with":
            (folder / "barrages.csv").write_text("name,megawatts\nKestrow,999\n")
            (folder / "more.json").write_text('[{"turbines": 4}]')
        context = Context(model="offline", documents=str(folder), home=str(home / name), min_sources=2, min_domains=2)
        result = await aresearch(QUESTION, context=context)
        claims = [(claim.text, claim.status) for claim in result.research.claims.values()]
        ended.append((result.status, claims, result.research.turns, [s["url"] for s in result.sources]))
    assert ended[0] == ended[1]
    assert ended[0][0] == "complete"
