"""SQL over files: what it reads, and that it can do nothing else, proven by trying."""

import asyncio
import importlib.util
import json
import os
import re
import resource
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zetetic.sources import FetchFailure
from zetetic.sources.extracted import tidy
from zetetic.sources.tables import MISSING, NO_TABLES, Answer, TableCaps, Tables, query_digest, quotable
from zetetic.sources.tables import folder as module
from zetetic.sources.tables.files import safe_names
from zetetic.sources.tables.process import Engine
from zetetic.sources.tables.rendering import answer_text
from zetetic.state.quotes import find_quote

QUICK = TableCaps(seconds=2.0)
TOWERS = "year,name,height in m\n1911,Ortel,42.5\n1920,Marn,\n1933,Ortel Sands,12\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "towers.csv").write_text(TOWERS)
    return root


@pytest.fixture
async def tables(files: Path) -> Tables:
    return await Tables.open(files, QUICK)


async def refusal(tables: Tables, sql: str) -> FetchFailure:
    got = await tables.query(sql)
    assert isinstance(got, FetchFailure), got
    return got


async def rows(tables: Tables, sql: str) -> list[str]:
    """The rows of an answer as its text has them."""
    got = await tables.query(sql)
    assert isinstance(got, Answer), got
    assert got.page is not None
    return got.page.text.split("\n\n")[1:]


# what is read


def sqlite_file(path: Path) -> None:
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE people (id INTEGER, name TEXT, weight REAL, mixed)")
        con.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?)",
            [(1, "Ada", 61.5, b"\x01"), (2, "Bo", None, "text"), (3, "Cy", 7, 8)],
        )
        con.execute("CREATE VIEW secret AS SELECT 1")
        con.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    con.close()


async def test_each_kind_of_file_is_a_table_with_a_safe_name(files: Path) -> None:
    (files / "select.tsv").write_text("a\tb\n1\t2\n")
    (files / "2020 Sales (final).csv").write_text("a\n1\n")
    (files / "deep").mkdir()
    (files / "deep" / "towers.json").write_text('[{"k": 1, "v": {"x": [1, 2.5]}}, {"k": 2, "v": null}]')
    (files / "lines.jsonl").write_text('{"k": 1}\n{"k": 2}\n')
    duckdb.execute(
        f"COPY (SELECT range AS id, DATE '2020-01-01' + range::INT AS day FROM range(500)) TO '{files}/days.parquet'"
    )
    sqlite_file(files / "people.db")
    tables = await Tables.open(files)
    assert tables.unreadable == ()
    assert tables.schema.split("\n") == [
        "- t_2020_sales_final(a BIGINT) 1 rows; 2020 Sales (final).csv",
        "- days(id BIGINT, day DATE) 500 rows; days.parquet",
        "- towers(k BIGINT, v STRUCT(x DOUBLE[])) 2 rows; deep/towers.json",
        "- lines(k BIGINT) 2 rows; lines.jsonl",
        "- people_people(id BIGINT, name VARCHAR, weight DOUBLE, mixed VARCHAR) 3 rows; people.db, table people",
        "- t_select(a BIGINT, b BIGINT) 1 rows; select.tsv",
        '- towers_2(year BIGINT, name VARCHAR, "height in m" DOUBLE) 3 rows; towers.csv',
    ]
    assert await rows(tables, "SELECT max(day) AS last FROM days") == ["last: 2021-05-14"]
    assert await rows(tables, "SELECT * FROM towers ORDER BY k") == [
        'k: 1 | v: "{""x"": [1.0, 2.5]}"',
        "k: 2 | v: NULL",
    ]
    assert await rows(tables, "SELECT name, weight, mixed FROM people_people ORDER BY id") == [
        "name: Ada | weight: 61.5 | mixed: 01",
        "name: Bo | weight: NULL | mixed: text",
        "name: Cy | weight: 7.0 | mixed: 8",
    ]
    joined = "SELECT t.name, p.name AS who FROM towers_2 t JOIN people_people p ON p.id = t.year - 1910"
    assert await rows(tables, joined) == ["name: Ortel | who: Ada"]


@pytest.mark.rule("D33")
async def test_an_answer_is_a_page_that_names_its_files_and_its_statement(files: Path) -> None:
    (files / "a b.csv").write_text("x\n1\n")
    tables = await Tables.open(files)
    sql = "SELECT count(*) AS n FROM towers, a_b"
    got = await tables.query(sql)
    assert isinstance(got, Answer)
    page = got.page
    assert page is not None
    assert page.text == f"Query: {sql}\nFiles: a b.csv, towers.csv\nRows: 1\n\nn: 3"
    assert page.url == f"query:{query_digest(sql)}@a%20b.csv+towers.csv"
    assert page.title == f"Query of a b.csv, towers.csv: {sql}"
    assert page.domain == "local:a b.csv + local:towers.csv"
    assert page.location == f"{files}/a b.csv, {files}/towers.csv"
    assert page.links == ()


async def test_how_tables_are_laid_out_is_told_and_is_no_page(tables: Tables) -> None:
    for sql in ("SHOW TABLES", "DESCRIBE towers", "EXPLAIN SELECT name FROM towers"):
        got = await tables.query(sql)
        assert isinstance(got, Answer)
        assert got.page is None
        assert "towers" in got.text or "height in m" in got.text or "name" in got.text
    assert (await rows(tables, "SUMMARIZE towers"))[0].startswith("column_name: year | column_type: BIGINT | min: 1911")


async def test_what_is_left_out_of_a_long_answer_is_said(files: Path) -> None:
    (files / "long.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(5000)))
    tables = await Tables.open(files, TableCaps(rows=50))
    got = await tables.query("SELECT n FROM long ORDER BY n")
    assert isinstance(got, Answer)
    assert got.page is not None
    note = "Only the first 50 rows are shown: aggregate, filter or order to see others."
    assert got.page.note == note
    assert note in got.page.text
    assert got.page.text.endswith("n: 49")
    wide = await Tables.open(files, TableCaps(characters=300))
    short = await wide.query("SELECT repeat('x', 5000) || n AS t FROM long")
    assert isinstance(short, Answer)
    assert short.page is not None
    assert len(short.page.text) < 2_500  # one cell's cap, since a first row is always shown


async def test_no_tables_and_no_duckdb_are_said(tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    assert (await refusal(await Tables.open(tmp_path / "empty"), "SELECT 1")).message == NO_TABLES
    monkeypatch.setattr(module, "is_installed", lambda: importlib.util.find_spec("duckdb_that_is_not") is not None)
    without = await Tables.open(files)
    assert without.unreadable == (("towers.csv", MISSING),)
    assert (await refusal(without, "SELECT * FROM towers")).message == MISSING
    assert "pip install" in MISSING


async def test_a_broken_file_is_named_with_the_reason_and_stops_nothing(files: Path) -> None:
    (files / "broken.parquet").write_bytes(b"PAR1")
    (files / "broken.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 2000)
    (files / "nowhere.csv").symlink_to(files / "gone.csv")
    tables = await Tables.open(files)
    assert [table.name for table in tables.tables] == ["towers"]
    assert [name for name, _ in tables.unreadable] == ["broken.db", "broken.parquet", "nowhere.csv"]
    assert [reason for _, reason in tables.unreadable] == [
        "The file could not be read as a table: file is not a database.",
        "The file could not be read as a table: Invalid Input Error: File 'broken.parquet' too small to be a Parquet "
        "file.",
        "The link leads nowhere.",
    ]


def most_memory(pid: int) -> int:
    """What a process has held of the memory at most, in bytes."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) * 1024


async def test_a_large_file_is_not_loaded(files: Path) -> None:
    big = files / "big.csv"
    made = "SELECT range AS id, 'row number ' || range AS name, md5(range::VARCHAR) AS h FROM range(4000000)"
    duckdb.execute(f"COPY ({made}) TO '{big}'")
    size = big.stat().st_size
    assert size > 220_000_000
    tables = await Tables.open(files)
    assert "- big(id BIGINT, name VARCHAR, h VARCHAR) rows not counted; big.csv" in tables.schema
    wanted = "SELECT id, name FROM big WHERE id = 3234567"
    assert await rows(tables, wanted) == ["id: 3234567 | name: row number 3234567"]
    engine = Engine(memory=1_500_000_000, seconds=30)
    try:
        table = {"name": "big", "path": str(big), "kind": "csv", "sqlite_table": "", "most_rows": 10}
        request = {"do": "run", "sql": wanted, "paths": [str(big)], "tables": [table]}
        assert engine.ask({**request, "rows": 5, "characters": 1000, "cell": 100})["rows"]
        peak = most_memory(engine._process.pid)
    finally:
        engine.close()
    assert peak < size


# what is refused, told in words

REFUSED = {
    "INSERT INTO towers VALUES (1, 'x', 2)": "it would write",
    "UPDATE towers SET year = 1": "it would write",
    "DELETE FROM towers": "it would write",
    "CREATE TABLE mine AS SELECT * FROM towers": "it would write",
    "CREATE OR REPLACE VIEW towers AS SELECT 1": "it would write",
    "DROP VIEW towers": "it would write",
    "COPY towers TO '{marker}'": "a file of its own choice",
    "COPY (SELECT 1) TO '{marker}' (FORMAT json)": "a file of its own choice",
    "EXPORT DATABASE '{marker}'": "it would write files",
    "ATTACH '{marker}' AS other": "it would open another database",
    "INSTALL httpfs": "it would load an extension",
    "LOAD httpfs": "it would load an extension",
    "PRAGMA enable_profiling": "",
    "SET threads = 8": "it would change the settings",
    "RESET lock_configuration": "it would change the settings",
    "SET VARIABLE x = 1": "it would change the settings",
    "CALL pragma_version()": "it would call a procedure",
    "PREPARE p AS SELECT 1": "PREPARE is not among them",
    "SELECT 1; SELECT 2": "It holds several statements",
    "SELECT * FROM towers; COPY towers TO '{marker}'": "It holds several statements",
    "WITH x AS (INSERT INTO towers VALUES (1, 'x', 2) RETURNING *) SELECT * FROM x": "",
    "EXPLAIN ANALYZE INSERT INTO towers VALUES (1, 'x', 2)": "",
    "SELECT * FROM read_csv('/etc/passwd', sep = ':')": "The function read_csv is refused",
    "SELECT * FROM read_text('/etc/passwd')": "The function read_text is refused",
    "SELECT * FROM towers WHERE name IN (SELECT content FROM read_text('{csv}'))": "The function read_text is refused",
    "FROM (DESCRIBE SELECT * FROM read_blob('/etc/passwd'))": "The function read_blob is refused",
    "SELECT * FROM glob('/**')": "The function glob is refused",
    "SELECT * FROM sniff_csv('/etc/passwd')": "The function sniff_csv is refused",
    "SELECT * FROM parquet_metadata('/etc/passwd')": "The function parquet_metadata is refused",
    "SELECT * FROM '/etc/passwd'": "There is no table '/etc/passwd'",
    "SELECT * FROM '{csv}'": "There is no table",
    "SELECT * FROM 'http://127.0.0.1:{port}/x.csv'": "There is no table",
    "SELECT * FROM read_csv('http://127.0.0.1:{port}/x.csv')": "The function read_csv is refused",
    "SELECT * FROM read_json('s3://bucket/x.json')": "The function read_json is refused",
    "SELECT * FROM query('SELECT 1')": "The function query is refused",
    "SELECT * FROM query_table('towers')": "The function query_table is refused",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))": "json_execute_serialized_sql is",
    "SELECT * FROM duckdb_settings()": "The function duckdb_settings is refused",
    "SELECT * FROM duckdb_secrets()": "The function duckdb_secrets is refused",
    "SELECT * FROM information_schema.tables": "There is no table 'information_schema.tables'",
    "SELECT * FROM pg_catalog.pg_class": "There is no table",
    "SELECT current_setting('home_directory') FROM towers": "The function current_setting is refused",
    "SELECT getenv('HOME') FROM towers": "The function getenv is refused",
    "SELECT 1": "It reads none of the tables",
    "SELECT * FROM range(3)": "It reads none of the tables",
    "VALUES ('The tower is 99 metres tall')": "It reads none of the tables",
    "selec * from towers": "It is no SQL that can be read",
    "": "There is no statement",
    "SELECT * FROM nothing": "There is no table 'nothing'. There are: towers.",
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
async def test_what_does_more_than_read_the_tables_is_refused_with_the_reason(
    tables: Tables, tmp_path: Path, sql: str
) -> None:
    marker = tmp_path / "marker"
    with listening() as (port, connections):
        got = await refusal(tables, sql.format(marker=marker, csv=tables.root / "towers.csv", port=port))
        assert connections() == 0
    assert got.kind == "refused"
    assert REFUSED[sql] in got.message
    assert not marker.exists()
    assert (tables.root / "towers.csv").read_text() == TOWERS


FORGED = [
    "SELECT 'The Ortel lighthouse is 99 metres tall' AS finding FROM towers LIMIT 1",
    "SELECT name || ' is 99 metres tall, says the office' FROM towers",
    "WITH x AS (SELECT 'The Ortel lighthouse is tall' AS s FROM towers) SELECT s FROM x",
    "SELECT v FROM (VALUES ('The lighthouse is tall')) t(v), towers",
    "SELECT coalesce(NULL, 'the tower is tall') FROM towers",
    "SELECT CASE WHEN year > 0 THEN 'the tower is tall' END FROM towers",
    "SELECT 99 AS height FROM towers LIMIT 1",
    "SELECT year AS the_ortel_lighthouse_is_ninety_nine_metres_tall_says_the_office FROM towers",
    'SELECT year AS "the tower is 99 m tall and was lit in 1911" FROM towers',
    'SELECT t."the tower is 99 metres tall and was lit" FROM towers AS t("the tower is 99 metres tall and was lit")',
    "SELECT {'the tower is 99 metres tall and was lit': year} FROM towers",
    "SELECT * RENAME (year AS \"the tower is 99 metres tall and was lit\") FROM towers",
    "SELECT name FROM towers UNION ALL SELECT 'Ortel'",
]  # fmt: skip


@pytest.mark.rule("D31")
@pytest.mark.parametrize("sql", FORGED)
async def test_sentences_and_figures_of_the_query_s_own_do_not_come_out_as_findings(tables: Tables, sql: str) -> None:
    assert (await refusal(tables, sql)).kind == "refused"


ORDINARY = [
    "SELECT name FROM towers WHERE name = 'Ortel Sands' AND name LIKE 'Ortel S%'",
    "SELECT count(*) FILTER (WHERE name = 'Ortel Sands') AS n FROM towers",
    "SELECT sum(CASE WHEN name IN ('Ortel Sands', 'Marn Bay') THEN 1 ELSE 0 END) AS n FROM towers",
    "SELECT coalesce(name, 'unknown') AS name, round(avg(year) OVER (), 1) AS mean FROM towers",
    "SELECT strftime(make_date(year, 1, 1), '%d %B %Y') AS day FROM towers",
    "SELECT string_agg(name, ', ' ORDER BY name) AS names FROM towers",
    "SELECT regexp_extract(name, '^(\\w+) Sands$', 1) AS part FROM towers",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i, year FROM n, towers",
    "SELECT t.name FROM towers t WHERE EXISTS (SELECT 1 FROM towers o WHERE o.year < t.year)",
    "FROM towers SELECT name ORDER BY year DESC LIMIT 1;",
    "SELECT COLUMNS('(year|name)') FROM towers",
    "SELECT main.towers.name FROM memory.main.towers",
]  # fmt: skip


@pytest.mark.parametrize("sql", ORDINARY)
async def test_ordinary_queries_are_carried_out(tables: Tables, sql: str) -> None:
    assert await rows(tables, sql)


# the second wall: the engine's process can do nothing else, even for SQL that nobody judged


class listening:
    """A listener on loopback that counts who comes."""

    def __enter__(self) -> tuple[int, Any]:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        return self._socket.getsockname()[1], self._came

    def _came(self) -> int:
        try:
            self._socket.accept()[0].close()
        except BlockingIOError:
            return 0
        return 1

    def __exit__(self, *_: object) -> None:
        self._socket.close()


@pytest.fixture
def unjudged(files: Path) -> Iterator[Any]:
    """Runs SQL in the engine as it is, with the towers' file as the one that may be opened."""
    engines: list[Engine] = []

    def run(sql: str, seconds: float = 5.0) -> dict[str, Any]:
        engine = Engine(memory=1_000_000_000, seconds=seconds + 2)
        engines.append(engine)
        path = str(files / "towers.csv")
        table = {"name": "towers", "path": path, "kind": "csv", "sqlite_table": "", "most_rows": 10}
        request = {"do": "run", "sql": sql, "paths": [path], "tables": [table], "seconds": round(seconds)}
        return engine.ask({**request, "rows": 5, "characters": 1000, "cell": 100})

    yield run
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("sql", [sql for sql in REFUSED if re.search(r"marker|/etc/|\{port|glob|httpfs|s3:", sql)])
def test_the_engine_itself_opens_nothing_but_the_tables_files(unjudged: Any, tmp_path: Path, sql: str) -> None:
    marker = tmp_path / "marker"
    with listening() as (port, connections):
        got = unjudged(sql.format(marker=marker, csv=marker, port=port))
        assert connections() == 0
    assert "error" in got, got
    assert not marker.exists()


@pytest.mark.parametrize(
    "sql", ["SET enable_external_access = true", "SET lock_configuration = false", "SET allowed_directories = ['/']",
            "SET memory_limit = '100GB'", "SET temp_directory = '/tmp'", "PRAGMA memory_limit = '100GB'"],
)  # fmt: skip
def test_the_engine_s_settings_are_locked(unjudged: Any, sql: str) -> None:
    assert "locked" in unjudged(sql)["error"] or "cannot" in unjudged(sql)["error"].lower()


def test_the_engine_gets_no_key_of_the_environment(unjudged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    engine = Engine(memory=1_000_000_000, seconds=5)
    try:
        assert "sk-secret" not in Path(f"/proc/{engine._process.pid}/environ").read_text()
    finally:
        engine.close()


async def test_a_link_out_of_the_folder_is_no_table(files: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("secret\n1\n")
    (files / "link.csv").symlink_to(outside)
    (files / "inside.csv").symlink_to(files / "towers.csv")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.csv").write_text("secret\n1\n")
    (files / "folder").symlink_to(tmp_path / "elsewhere")
    tables = await Tables.open(files)
    assert [table.file for table in tables.tables] == ["towers.csv"]
    assert tables.unreadable == (("link.csv", "The link leads out of the documents folder."),)
    assert (await refusal(tables, "SELECT * FROM link")).kind == "refused"


async def test_a_file_that_becomes_a_link_out_of_the_folder_is_not_followed(files: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("year,name\n1,secret\n")
    tables = await Tables.open(files)
    (files / "towers.csv").unlink()
    (files / "towers.csv").symlink_to(outside)
    got = await refusal(tables, "SELECT * FROM towers")
    assert (got.kind, got.message) == ("refused", "towers.csv now leads out of the documents folder.")


# bounds

FOR_EVER = [
    "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT max(n), max(year) FROM a, towers",
    "SELECT sum(a.range * b.range + year) FROM range(100000000) a, range(100000000) b, towers",
    "SELECT max(year + i) FROM generate_series(1, 1000000000000) g(i), towers",
    "SELECT count(*) FROM towers, range(3000000) a, range(3000000) b WHERE a.range + year < b.range + length(name)",
]
TOO_LARGE = [
    "SELECT length(repeat('x', 4000000000) || name) AS n FROM towers",
    "SELECT length(string_agg(repeat(name, 1000000), '')) FROM towers, range(100000)",
    "SELECT len(array_agg(range + year)) AS n FROM range(100000000000), towers",
    "SELECT len(range(2000000000 + year)) AS n FROM towers",
    "SELECT * FROM range(300000000), towers ORDER BY range DESC, name",
]


@pytest.mark.parametrize("sql", FOR_EVER)
async def test_a_query_that_would_run_for_ever_ends_within_its_time(tables: Tables, sql: str) -> None:
    began = time.monotonic()
    got = await refusal(tables, sql)
    assert time.monotonic() - began < 8
    assert got.kind in ("timeout", "unreadable"), got.message
    assert "took longer than 2 seconds" in got.message or "memory" in got.message


@pytest.mark.parametrize("sql", TOO_LARGE)
async def test_a_query_that_would_fill_the_memory_is_ended(tables: Tables, sql: str) -> None:
    got = await refusal(tables, sql)
    assert got.kind in ("unreadable", "timeout")
    assert "Ask for less" in got.message
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < 1_600_000_000


async def test_a_statement_that_breaks_the_reader_ends_itself_only(tables: Tables) -> None:
    deep = "SELECT " + "(" * 200_000 + "year" + ")" * 200_000 + " FROM towers"
    assert (await refusal(tables, deep)).kind in ("refused", "unreadable", "timeout")
    assert await rows(tables, "SELECT count(*) AS n FROM towers") == ["n: 3"]


def children() -> set[int]:
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(pid) for path in found for pid in path.read_text().split()}


async def until(holds: Callable[[], object]) -> None:
    while not holds():  # noqa: ASYNC110 (the kernel tells nobody)
        await asyncio.sleep(0.01)


async def test_cancelling_ends_the_query_at_once(files: Path) -> None:
    tables = await Tables.open(files, TableCaps(seconds=60))
    before = children()
    asked = asyncio.ensure_future(tables.query(FOR_EVER[1]))
    async with asyncio.timeout(10):
        await until(lambda: children() - before)
    await asyncio.sleep(0.3)  # the query is under way
    began = time.monotonic()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    async with asyncio.timeout(10):
        await until(lambda: not children() - before)
    assert time.monotonic() - began < 2


async def test_queries_run_side_by_side_and_the_loop_goes_on(files: Path) -> None:
    tables = await Tables.open(files, TableCaps(seconds=2))
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.02)
            ticks += 1

    tick = asyncio.ensure_future(ticking())
    got = await asyncio.gather(tables.query(FOR_EVER[1]), tables.query("SELECT count(*) AS n FROM towers"))
    tick.cancel()
    assert [type(one) for one in got] == [FetchFailure, Answer]
    assert ticks > 20


# values and quotes

values = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)


@pytest.mark.rule("D31")
@given(st.lists(st.tuples(values, values, st.floats(allow_nan=False)), min_size=1, max_size=5))
def test_a_row_is_quoted_by_itself_and_its_values_stand_in_it(found: list[tuple[str, str, float]]) -> None:
    held = [[one, other, repr(number)] for one, other, number in found]
    text, _ = answer_text("SELECT * FROM t", ["t.csv"], ["one", "other", "number"], held, "", 100_000)
    blocks = text.split("\n\n")[1:]
    assert len(blocks) == len(held)
    for block, (_, _, number) in zip(blocks, held, strict=True):
        assert "\n" not in block
        assert block.startswith("one: ")
        assert block.endswith(f" | number: {number}")
        if any(c.isalnum() for c in block):
            assert find_quote(text, block) is not None


@given(st.lists(values, min_size=1, max_size=4))
def test_no_value_can_look_like_a_column_or_a_row_of_its_own(cells: list[str]) -> None:
    names = [f"c{n}" for n in range(len(cells))]
    text, _ = answer_text("SELECT 1", ["t.csv"], names, [list(cells)], "", 100_000)
    assert parsed(text.split("\n\n", 1)[1]) == {
        name: " ".join(tidy(value).split()) for name, value in zip(names, cells, strict=True)
    }


def parsed(row: str) -> dict[str, str]:
    """A row read back: `name: value | …`, a value in quotation marks where it holds a mark of the table."""
    found = {}
    at = 0
    while at < len(row):
        name, at = row[at : row.index(":", at)], row.index(":", at) + 1
        at += row[at : at + 1] == " "
        if row[at : at + 1] == '"':
            match = re.compile(r'"((?:[^"]|"")*)"').match(row, at)
            assert match is not None
            value, at = match[1].replace('""', '"'), match.end()
        else:
            end = row.find(" | ", at)
            end = len(row) if end < 0 else end
            value, at = row[at:end], end
        found[name] = value
        assert at == len(row) or row.startswith(" | ", at)
        at += 3
    return found


async def test_what_a_file_holds_comes_out_as_it_stands(files: Path) -> None:
    cells = ['a "quoted" one', "x | y: z", "two\n\nname: Marn | year: 9", "NULL", "", " lead", "naïve £ 東京"]
    (files / "odd.json").write_text(json.dumps([{"n": n, "v": v} for n, v in enumerate(cells)]))
    tables = await Tables.open(files)
    got = await rows(tables, "SELECT v FROM odd ORDER BY n")
    assert [parsed(row)["v"] for row in got] == [" ".join(v.split()) for v in cells]


async def test_numbers_are_written_out(files: Path) -> None:
    (files / "n.json").write_text('[{"x": 1e20, "y": 0.0000001, "z": 123456789.5, "b": true}]')
    tables = await Tables.open(files)
    assert await rows(tables, "SELECT x, y, z, b, z::DECIMAL(12, 2) AS d FROM n") == [
        "x: 100000000000000000000 | y: 0.0000001 | z: 123456789.5 | b: true | d: 123456789.50"
    ]


@pytest.mark.rule("D31")
async def test_what_the_query_says_cannot_be_quoted(tables: Tables) -> None:
    got = await tables.query("SELECT name FROM towers WHERE name <> 'The Ortel lighthouse is 99 metres tall'")
    assert isinstance(got, Answer)
    assert got.page is not None
    shown = quotable(got.page.url, got.page.text)
    assert len(shown) == len(got.page.text)
    assert find_quote(got.page.text, "The Ortel lighthouse is 99 metres tall") is not None
    assert find_quote(shown, "The Ortel lighthouse is 99 metres tall") is None
    span = find_quote(shown, "name: Ortel Sands")
    assert span == find_quote(got.page.text, "name: Ortel Sands")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT a FROM t", "select  a\nfrom T ;", True),
        ("SELECT a FROM t WHERE b = 'X'", "SELECT a FROM t WHERE b = 'x'", False),
        ("SELECT a FROM t WHERE b = 'x  y'", "SELECT a FROM t WHERE b = 'x y'", False),
        ("SELECT a -- b\n, c FROM t", "SELECT a -- b , c FROM t", False),
    ],
)
def test_a_query_is_known_again(one: str, other: str, same: bool) -> None:
    assert (query_digest(one) == query_digest(other)) is same


@given(st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=8))
def test_names_of_tables_are_safe_and_unique(wanted: list[tuple[str, str]]) -> None:
    names = safe_names(wanted)
    assert len(set(names)) == len(wanted)
    assert all(re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", name) for name in names)
