"""The commands and their options. Each imports what it works with when it is called."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from zetetic.state.thresholds import MODES

from .bounds import with_bounds, with_room
from .terminal import UserError, as_typed, deaf_stdout, say, typed_or_read

USAGE = 2
FAILED = 5
INTERRUPTED = 130

app = typer.Typer(
    name="zetetic",
    help="Deep research that has to prove what it reports. The report goes to stdout, everything else to stderr.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: 0 complete, 2 usage, 3 reported with gaps, 4 blocked, 5 failed, 130 stopped.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Give one JSON value instead of text.")]
Home = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder of the databases and run folders; .zetetic without one.")
]
Database = Annotated[
    str | None,
    typer.Option(metavar="DATABASE", help="SQLite file of the log, if not zetetic.db in home; or postgresql://…"),
]
User = Annotated[str | None, typer.Option(metavar="NAME", help="Whose run it is.")]
Documents = Annotated[str | None, typer.Option(metavar="DIR", help="Folder of documents to search and read.")]
Search = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Search providers by name, with commas between; a wrong name lists them all."),
]
Fetch = Annotated[
    bool | None,
    typer.Option("--fetch/--no-fetch", help="Whether pages of the web are read; as --search needs it without one."),
]
Model = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Chat model, such as openai:NAME or ollama:NAME; offline without one."),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="Address of an OpenAI-compatible server.")]
Mode = Annotated[str | None, typer.Option(metavar="MODE", help=f"One of {', '.join(MODES)}; {MODES[1]} without one.")]
Loop = Annotated[
    str | None,
    typer.Option(metavar="LOOP", help="investigative, or simple: the plain tool-calling loop; the former without one."),
]
Fallback = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Chat model that is asked where another one fails for good.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say every turn, not only what begins and ends.")]
Run = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of the run, or its first characters (4 or more), or latest.")
]
RunOrLatest = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="Id of the run, or its first characters; the latest without one."),
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"zetetic {version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Give the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
@with_bounds
def research(
    objective: Annotated[
        str | None, typer.Argument(metavar="OBJECTIVE", help="What is to be found out; - reads stdin.")
    ] = None,
    documents: Documents = None,
    search: Search = None,
    fetch: Fetch = None,
    model: Model = None,
    fallback: Fallback = None,
    base_url: BaseUrl = None,
    mode: Mode = None,
    loop: Loop = None,
    criteria: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="What the report must do; give it several times.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="What is out of scope; give it several times.")
    ] = None,
    directive: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Words to the first attempt; give it several times.")
    ] = None,
    home: Home = None,
    database: Database = None,
    user: User = None,
    own_workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Workers of this process, if fewer than --max-parallel; see `zetetic work`."
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="In place of OBJECTIVE: one objective or JSON object a line, a result each; - is stdin.",
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of a batch at once.")] = 4,
    again: Annotated[bool, typer.Option("--again", help="Begin every run of a batch anew, also those done.")] = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    **bounds: Any,
) -> int:
    """Research an objective and give the report; or with --batch many, a line of JSON each, as they come to their end.

    The same --batch command given again goes on with what is unfinished and does not redo what is done.
    """
    given = {
        "documents": documents,
        "search": search,
        "fetch": fetch,
        "model": model,
        "fallback": fallback,
        "base_url": base_url,
        "mode": mode,
        "loop": loop,
        "home": home,
        "database": database,
        "user": user,
        "own_workers": own_workers,
        **bounds,
    }
    if batch is not None:
        if objective is not None or criteria or exclude or directive:
            raise UserError("With --batch, objective, criteria, exclusions and directives stand in the file's lines.")
        from .batch import research_all

        return _awaited(research_all(batch, given, concurrency=concurrency, again=again, verbose=verbose))
    if again:
        raise UserError("--again is for --batch; a single run is new each time.")
    if objective is None:
        raise UserError("Say what is to be found out: zetetic research OBJECTIVE, or --batch FILE.")
    objective = typed_or_read(objective)
    from .running import Asked, start

    asked = Asked(objective, *([as_typed(text) for text in texts or ()] for texts in (criteria, exclude, directive)))
    return _awaited(start(asked, given, verbose=verbose, as_json=as_json))


@app.command()
@with_room
def resume(
    run: Run,
    documents: Documents = None,
    search: Search = None,
    fetch: Fetch = None,
    model: Model = None,
    fallback: Fallback = None,
    base_url: BaseUrl = None,
    home: Home = None,
    database: Database = None,
    user: User = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    **room: Any,
) -> int:
    """Let a run go on, as it was started. Options replace what it was started with; a reported run needs room."""
    from .running import go_on

    given = {
        "documents": documents,
        "search": search,
        "fetch": fetch,
        "model": model,
        "fallback": fallback,
        "base_url": base_url,
        "home": home,
        "database": database,
        "user": user,
    }
    return _awaited(go_on(run, given, room, verbose=verbose, as_json=as_json))


@app.command()
def fork(
    run: Run,
    at: Annotated[int, typer.Option("--at", metavar="N", min=0, help="After which turn; 0 is the run's start.")],
    changed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another bound than the run had; give it several times."),
    ] = None,
    directive: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Words to the next attempt; give it several times.")
    ] = None,
    documents: Documents = None,
    search: Search = None,
    fetch: Fetch = None,
    model: Model = None,
    fallback: Fallback = None,
    base_url: BaseUrl = None,
    home: Home = None,
    database: Database = None,
    user: User = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> int:
    """Go on from an earlier turn of a run as a new run; the old one stays as it is."""
    from .fork import branch_off

    given = {
        "documents": documents,
        "search": search,
        "fetch": fetch,
        "model": model,
        "fallback": fallback,
        "base_url": base_url,
        "home": home,
        "database": database,
        "user": user,
    }
    words = [as_typed(text) for text in directive or ()]
    return _awaited(branch_off(run, at, changed or (), words, given, verbose=verbose, as_json=as_json))


@app.command()
def work(
    run: Run,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Workers in this process.")] = 1,
    documents: Documents = None,
    search: Search = None,
    fetch: Fetch = None,
    model: Model = None,
    fallback: Fallback = None,
    base_url: BaseUrl = None,
    home: Home = None,
    database: Database = None,
    user: User = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> int:
    """Join a run that another process leads, with more workers, until its questions are answered.

    All workers together hold at most as many questions as the run's --max-parallel. Ctrl-C gives back what they hold.
    """
    from .work import join

    given = {
        "documents": documents,
        "search": search,
        "fetch": fetch,
        "model": model,
        "fallback": fallback,
        "base_url": base_url,
        "home": home,
        "database": database,
        "user": user,
    }
    return _awaited(join(run, workers, given, verbose=verbose, as_json=as_json))


@app.command()
def steer(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words to the next attempt; - reads stdin.")],
    home: Home = None,
    database: Database = None,
    user: User = None,
    as_json: AsJson = False,
) -> int:
    """Say something to a run: the next attempt gets it, word for word."""
    words = typed_or_read(text)
    from .looking import direct

    return _awaited(direct(run, words, {"home": home, "database": database, "user": user}, as_json=as_json))


@app.command()
def status(run: RunOrLatest = None, home: Home = None, database: Database = None, as_json: AsJson = False) -> int:
    """Show how a run stands."""
    from .looking import show_status

    return _awaited(show_status(run, {"home": home, "database": database}, as_json=as_json))


@app.command()
def runs(home: Home = None, database: Database = None, as_json: AsJson = False) -> int:
    """List the runs, the newest first."""
    from .looking import list_runs

    return _awaited(list_runs({"home": home, "database": database}, as_json=as_json))


@app.command()
def show(
    run: Run,
    what: Annotated[
        str,
        typer.Argument(metavar="[WHAT]", help="report, frontier, claims, challenges, notes, transitions or calls."),
    ] = "report",
    home: Home = None,
    database: Database = None,
    as_json: AsJson = False,
) -> int:
    """Show what a run found, and how."""
    from .looking import show_part

    return _awaited(show_part(run, what, {"home": home, "database": database}, as_json=as_json))


@app.command()
def policy(
    mode: Mode = None,
    table: Annotated[bool, typer.Option("--table", help="The ladder and all bounds; given without an option.")] = False,
    jq: Annotated[bool, typer.Option("--jq", help="The ladder as a program for jq, one routing object in.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show what decides after an attempt, and every bound with its meaning and unit."""
    from .policy import show_policy, show_program

    if jq and table:
        raise UserError("--table and --jq are two answers: give one of them.")
    shown = show_program if jq else show_policy
    return _given(lambda: shown({"mode": mode}, as_json=as_json))


@app.command()
def init(
    documents: Documents = None,
    search: Search = None,
    fetch: Fetch = None,
    model: Model = None,
    fallback: Fallback = None,
    base_url: BaseUrl = None,
    home: Home = None,
    database: Database = None,
    as_json: AsJson = False,
) -> int:
    """Check whether a run can start as things are configured, and say what to do where it cannot.

    A model is asked one small question, a search service one query; with the offline model and documents, nothing.
    """
    from .init import check_setup

    given = {
        "documents": documents,
        "search": search,
        "fetch": fetch,
        "model": model,
        "fallback": fallback,
        "base_url": base_url,
        "home": home,
        "database": database,
    }
    return _awaited(check_setup(given, as_json=as_json))


def version() -> str:
    """The version of the package that is installed, or of the checkout it runs from."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("zetetic")
    except PackageNotFoundError:
        import tomllib

        try:
            project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
        except OSError:
            return "unknown"
        return str(project["project"]["version"])


def _awaited(work: Coroutine[Any, Any, int]) -> int:
    return _given(lambda: asyncio.run(work))


def _given(work: Callable[[], int]) -> int:
    try:
        return work()
    except BrokenPipeError:  # whoever read stdout has seen enough
        deaf_stdout()
        return 0


def main() -> NoReturn:
    """The entry point: runs a command and ends the process with its exit code."""
    sys.exit(_code(lambda: app(prog_name="zetetic", standalone_mode=False)))


_VALUE = re.compile(r"Invalid value for '(?P<name>[^']+)': (?P<says>.*)", re.DOTALL)
_SAYS = (
    (re.compile(r"Input should be a valid integer"), "give a whole number"),
    (re.compile(r"Input should be a valid number"), "give a number"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), "give {} or more"),
    (re.compile(r"Input should be less than or equal to (\S+)"), "give {} or less"),
)
"""How the parser of the command line refuses a value, and what is wanted in its place."""


def in_own_words(said: str) -> str:
    """The parser's refusal of a value as every other refusal is put: the option, and what it wants."""
    found = _VALUE.fullmatch(said.strip())
    if found is None:
        return said
    for pattern, wanted in _SAYS:
        if kind := pattern.match(found["says"]):
            return f"{found['name']}: {wanted.format(*kind.groups())}"
    return f"{found['name']}: {found['says']}"


def _code(command: Callable[[], Any]) -> int:
    try:
        return int(command() or 0)
    except UserError as error:
        say(f"zetetic: {error}")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        deaf_stdout()
        say(f"zetetic: {error.strerror or error}.")
        return FAILED
    except Exception as error:
        said = getattr(error, "format_message", None)  # the parser's own errors, whichever library they come from
        if said is None:
            raise
        if said():  # nothing where the help was shown in place of a command
            refused = in_own_words(said()).rstrip(".")
            say(f"zetetic: {refused}{'' if refused.endswith('?') else '.'} See `zetetic --help`.")
        return USAGE
