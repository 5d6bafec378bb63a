"""`zetetic policy`: the ladder and the bounds as tables, and the program that recomputes a run's routes by jq alone."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jq
import pytest
from cli.commands import CORPUS, QUESTION, ROOT, Ended, documents, environment, run_of, started, zetetic
from cli.commands import ended as to_its_end

from zetetic.state.thresholds import MODES, Thresholds, thresholds_for

Here = Callable[..., Ended]


# The program.


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    done = zetetic("policy", "--jq", cwd=tmp_path_factory.mktemp("policy"))
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.mark.rule("A18", "L2")
@pytest.mark.parametrize(
    "options", [["--min-sources", "2", "--min-domains", "2"], ["--min-challenges", "3", "--max-attempts", "2"]]
)
def test_jq_recomputes_every_route_of_a_run_from_its_ledger_alone(
    program: str, tmp_path: Path, options: list[str]
) -> None:
    documents(tmp_path / "docs", sorted(path.name for path in CORPUS.iterdir() if path.suffix in (".md", ".html")))
    done = zetetic("research", QUESTION, "--documents", "docs", "--home", "home", *options, cwd=tmp_path)
    assert done.code in (0, 3)
    ledger = tmp_path / "home" / run_of(tmp_path / "home") / "iterations.jsonl"
    lines = ledger.read_text(encoding="utf-8").splitlines()
    compiled = jq.compile(program)
    routed = []
    for line in lines:
        record = json.loads(line)
        found = compiled.input_text(json.dumps(record["routing"])).all()
        assert found == [record["routing"]["route"]], line
        routed += found
    assert len(routed) >= 2
    assert jq.compile(f".routing | ({program})").input_text("\n".join(lines)).all() == routed


@pytest.mark.rule("A18")
def test_the_program_is_the_same_in_every_mode(program: str, here: Here) -> None:
    for mode in MODES:
        assert here("policy", "--jq", "--mode", mode) == Ended(0, program, "")
    assert here("policy", "--jq", "--json").json == {"jq": program}


# The tables.


@pytest.mark.rule("A10", "A17")
def test_the_table_shows_the_ladder_with_the_modes_numbers(tmp_path: Path) -> None:
    done = zetetic("policy", "--mode", "monitor", "--table", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:10] == [
        "Mode: monitor. After an attempt, the first rung that holds:",
        "RUNG  ROUTE      WHEN",
        "1     Blocked    blocked",
        "1b    Reported   expired",
        "2     Answered   verified and complete",
        "3     Reported   attempts >= 2 (max_attempts)",
        "4     Diversify  verified",
        "5     Diversify  unverified_streak >= 2 (unverified_streak_limit); resets the unverified streak",
        "6     Diversify  unproductive_streak >= 1 (unproductive_streak_limit); resets the unproductive streak",
        "7     Retry      otherwise",
    ]
    assert list(tmp_path.iterdir()) == [], "nothing is made"


@pytest.mark.rule("A17")
@pytest.mark.parametrize("mode", MODES)
def test_the_table_shows_every_bound_with_its_meaning_and_unit(mode: str, here: Here) -> None:
    lines = here("policy", "--mode", mode).out.splitlines()
    bounds = thresholds_for(mode)  # type: ignore[arg-type]
    for name, field in Thresholds.model_fields.items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        _, value, rest = line.split(maxsplit=2)
        assert float(value) == getattr(bounds, name)
        meaning, unit = str(field.description).removesuffix(")").rsplit(" (", 1)
        assert rest.startswith(unit)
        assert rest.endswith(meaning)


@pytest.mark.rule("A17")
def test_json_has_the_same(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZETETIC_MAX_TURNS", "33")
    given = here("policy", "--json", "--mode", "panel-loop").json
    assert given["mode"] == "panel-loop"
    assert given["ladder"][3] == {
        "number": "3",
        "when": "attempts >= 4 (max_attempts)",
        "route": "Reported",
        "resets": "",
    }
    assert [row["name"] for row in given["bounds"]] == list(Thresholds.model_fields)
    assert given["bounds"][0] == {
        "name": "max_turns",
        "value": 33,
        "default": 60,
        "unit": "turns",
        "meaning": "model turns of the worker, both phases together",
    }
    assert "33 (default 60)" in here("policy", "--table").out, "what the environment sets is what a run would have"


def test_the_tables_go_into_a_pipe_that_closes_early(tmp_path: Path) -> None:
    process = started("policy", cwd=tmp_path, env=environment(PYTHONUNBUFFERED="1"))
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    done = to_its_end(process)
    assert (done.code, done.err) == (0, "")


# What cannot be worked with.


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["policy", "--jq", "--table"], "--table and --jq are two answers: give one of them."),
        (["policy", "--mode", "quick"], "--mode: give one of monitor, bounded-research, "),
        (["policy", "--jq", "--mode", "quick"], "--mode: give one of monitor, bounded-research, "),
        (
            ["research", "x", "--documents", ".", "--min-challenges", "4"],
            "min_challenges 4 is more than max_challenges_per_target 3 allows: no claim could ever be verified.",
        ),
        (
            ["research", "x", "--documents", ".", "--min-challenges", "8", "--max-challenges-per-target", "9"],
            "min_challenges 8 is more than the 7 strategies of a challenge, each used once: no claim could",
        ),
        (
            ["research", "x", "--documents", ".", "--synthesis-reserve", "1"],
            "synthesis_reserve 1 keeps everything for the report: give less, so that some is researched.",
        ),
        (
            ["research", "x", "--documents", ".", "--near-duplicate-share", "0"],
            "near_duplicate_share 0 makes any two sources one: min_independent_sources 2 could never be reached.",
        ),
        (
            ["research", "x", "--documents", ".", "--near-duplicate-question", "0"],
            "near_duplicate_question 0 makes any two questions one: none could be added after the first.",
        ),
    ],
)
@pytest.mark.rule("A17")
def test_what_could_never_work_is_one_sentence(args: list[str], says: str, here: Here, tmp_path: Path) -> None:
    done = here(*args)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"zetetic: {says}")
    assert len(done.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("A17")
def test_bounds_of_the_environment_that_do_not_go_together_are_said(tmp_path: Path) -> None:
    process = started("policy", cwd=tmp_path, env=environment(ZETETIC_MIN_CHALLENGES="5"))
    assert to_its_end(process) == Ended(
        2,
        "",
        "zetetic: min_challenges 5 is more than max_challenges_per_target 3 allows: no claim could ever be verified.\n",
    )


# The page.


@pytest.mark.rule("A17")
def test_the_page_of_thresholds_is_what_the_script_writes(tmp_path: Path) -> None:
    written = tmp_path / "thresholds.md"
    script = ["bash", str(ROOT / "scripts" / "thresholds"), str(written)]
    subprocess.run(script, check=True, cwd=tmp_path, env=environment(PYTHON=sys.executable))
    page = (ROOT / "docs" / "thresholds.md").read_text(encoding="utf-8")
    assert page == written.read_text(encoding="utf-8"), "run scripts/thresholds"
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(Thresholds.model_fields)
    assert all(mode in page for mode in MODES)
