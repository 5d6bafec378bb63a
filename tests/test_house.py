"""What holds for the project as a whole: who may import whom, what no file may contain, what is pinned."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import rules_plugin
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "zetetic"
SHARED_RULES = ROOT.parent / "shared" / "RULES.md"

LINES_PER_MODULE = 500

# Room → the rooms that it may import. `zetetic` is the package's own `__init__`, the public API.
BELOW_GRAPH = {"nodes", "tools", "export", "store", "sources", "models", "state"}
MAY_IMPORT: dict[str, set[str]] = {
    "state": set(),
    "store": {"state"},
    "sources": {"state"},
    "models": {"state"},
    "testing": {"sources", "models", "state"},
    "tools": {"store", "sources", "models", "state"},
    "export": {"store", "state"},
    "nodes": {"tools", "export", "store", "sources", "models", "state"},
    "graph": BELOW_GRAPH,
    "zetetic": BELOW_GRAPH | {"graph"},
    "cli": BELOW_GRAPH | {"graph", "zetetic"},
    "__main__": {"cli"},
}

# What the pure core may not reach: clocks, chance, the machine, the network, other threads of control.
IMPURE_MODULES = {
    *("time", "random", "secrets", "os", "sys", "io", "pathlib", "shutil", "tempfile", "glob", "logging"),
    *("asyncio", "threading", "multiprocessing", "concurrent", "subprocess", "signal", "contextvars"),
    *("socket", "ssl", "http", "urllib", "sqlite3"),
}
IMPURE_CALLS = {"now", "utcnow", "today", "uuid1", "uuid4", "open", "print", "input"}
STATE_LIBRARIES = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions"}

HIDDEN_BUT_OURS = {".ci", ".github", ".gitignore"}
NOT_OURS = {"__pycache__", "venv", "build", "dist", "node_modules"}
PROVIDER_EXTRAS = {"anthropic", "google", "mistral", "groq", "deepseek", "openrouter", "xai"}
LOCK_FILES = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dotted(path: Path) -> list[str]:
    """`zetetic/state/gates.py` → zetetic, state, gates; a package's `__init__` is the package."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def room_of(path: Path) -> str:
    parts = dotted(path)
    return parts[1] if len(parts) > 1 else "zetetic"


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything a module imports, also inside functions and type-checking blocks."""
    package = dotted(path) if path.name == "__init__.py" else dotted(path)[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{origin}.{alias.name}"


def imported_room(name: str) -> str | None:
    """The room of ours that an imported name lies in, or None for a library."""
    top, _, rest = name.partition(".")
    if top != "zetetic":
        return None
    first = rest.partition(".")[0]
    is_module = (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").is_file()
    return first if first and is_module else "zetetic"


def project_files() -> list[Path]:
    """The files that belong to the project: no environment, cache, build or run."""

    def walk(folder: Path) -> Iterator[Path]:
        for entry in folder.iterdir():
            if entry.name.startswith(".") and entry.name not in HIDDEN_BUT_OURS:
                continue
            if entry.name in NOT_OURS or entry.name.endswith(".egg-info") or entry.is_symlink():
                continue
            if entry.is_dir():
                yield from walk(entry)
            else:
                yield entry

    return sorted(walk(ROOT))


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in project_files()
        for number, line in enumerate(path.read_bytes().decode("latin-1").splitlines(), start=1)
        if pattern.search(line)
    ]


def declared() -> list[Requirement]:
    """The dependencies of the project and of its extras, but for providers of chat models, which need a key to test."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in PROVIDER_EXTRAS}
    lines = [*project["dependencies"], *(line for extra in extras.values() for line in extra)]
    return [Requirement(line) for line in lines]


# imports


@pytest.mark.parametrize("path", modules(), ids=module_id)
def test_imports_run_one_way(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is a new room: say in MAY_IMPORT what it may import"
    wrong = [
        f"{module_id(path)}:{line} imports {name}"
        for line, name in imports(path)
        if (target := imported_room(name)) is not None and target != room and target not in MAY_IMPORT[room]
    ]
    assert wrong == []


@pytest.mark.rule("D1")
@pytest.mark.parametrize("path", [path for path in modules() if room_of(path) == "state"], ids=module_id)
def test_the_core_reaches_no_clock_no_chance_and_no_machine(path: Path) -> None:
    wrong = []
    for line, name in imports(path):
        top = name.partition(".")[0]
        known = top in STATE_LIBRARIES or top == "zetetic" or top in sys.stdlib_module_names
        if not known or top in IMPURE_MODULES:
            wrong.append(f"{module_id(path)}:{line} imports {name}")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in IMPURE_CALLS:
                wrong.append(f"{module_id(path)}:{node.lineno} calls {called}")
        elif isinstance(node, ast.AsyncFunctionDef):
            wrong.append(f"{module_id(path)}:{node.lineno} is async")
    assert wrong == []


@pytest.mark.parametrize("path", modules(), ids=module_id)
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_PER_MODULE


# what no file contains


def test_no_file_names_a_package_registry() -> None:
    hosts = [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("anaconda", "org"),
        ("crates", "io"),
        ("debian", "org"),
        ("ubuntu", "com"),
    ]
    names = "|".join(re.escape(".".join(parts)) for parts in hosts)
    assert lines_matching(re.compile(rf"(?<![\w-])(?:{names})\b", re.IGNORECASE)) == []


def test_no_lock_file() -> None:
    found = [path.name for path in project_files() if path.name in LOCK_FILES or re.match(r"pylock.*\.toml", path.name)]
    assert found == []


def test_no_path_of_one_machine() -> None:
    places = [r"/(?:home|Users)/\w+/", r"/root/\w", r"[A-Z]:\\Users\\"]
    places += [re.escape(f"{place}/") for place in (ROOT, ROOT.parent) if str(place) not in ("/", "/tmp")]
    assert lines_matching(re.compile(rf"(?<![\w.-])(?:{'|'.join(places)})")) == []


# what is pinned


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines)


def test_constraints_are_plain_names_and_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!]+", line)] == []
    names = [canonicalize_name(name) for name in constraints()]
    assert len(set(names)) == len(lines)
    assert "zetetic" not in names


def test_every_declared_dependency_is_pinned_within_its_bounds() -> None:
    pinned = {canonicalize_name(name): version for name, version in constraints().items()}
    wrong = []
    for requirement in declared():
        version = pinned.get(canonicalize_name(requirement.name))
        if requirement.name != "zetetic" and (version is None or not requirement.specifier.contains(version, True)):
            wrong.append(f"{requirement}: pinned at {version}")
    assert wrong == [], "run scripts/constraints"


def test_every_library_that_is_imported_is_declared() -> None:
    # pydantic-core is the half of pydantic that pydantic pins exactly
    names = {canonicalize_name(requirement.name) for requirement in declared()} | {"pydantic-core"}
    distributions = packages_distributions()
    wrong = []
    for path in modules():
        for line, name in imports(path):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top == "zetetic":
                continue
            if not names & {canonicalize_name(found) for found in distributions.get(top, [top])}:
                wrong.append(f"{module_id(path)}:{line} imports {name}")
    assert wrong == []


def test_the_build_server_runs_what_the_readme_names() -> None:
    assert "bash scripts/check\n" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "bash scripts/check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


# rules and their tests


def test_rule_names_are_read_from_markers_comments_and_docstrings() -> None:
    letter = "D"
    source = f'''"""A module.

Rules: {letter}1, {letter}2
"""
import pytest

# {letter}3, {letter}4: why
@pytest.mark.rule("{letter}5", "{letter}6")
def test_it():
    """See {letter}7, which this does not name."""
    x = "{letter}8"  # about {letter}9
'''
    assert rules_plugin.rules_named_in(source) == {f"{letter}{number}" for number in range(1, 7)}


def test_the_list_of_unnamed_rules_round_trips() -> None:
    ids = {f"{letter}{number}" for letter, number in [("R", 2), ("D", 10), ("D", 9), ("L", 1)]}
    text = rules_plugin.render_missing(ids)
    assert text == "R 2\nD 9 10\nL 1\n"
    assert rules_plugin.parse_missing(text) == ids


def test_the_list_of_rules_is_the_specifications() -> None:
    known = rules_plugin.all_rules(rules_plugin.RULES_FILE.read_text(encoding="utf-8"))
    assert len(set(known)) == len(known)
    if SHARED_RULES.exists():
        assert known == re.findall(r"^- ([RADL]\d+) ", SHARED_RULES.read_text(encoding="utf-8"), re.MULTILINE)


def test_no_test_names_a_rule_that_does_not_exist() -> None:
    known = set(rules_plugin.all_rules(rules_plugin.RULES_FILE.read_text(encoding="utf-8")))
    assert {rule: sorted(where) for rule, where in rules_plugin.named_rules().items() if rule not in known} == {}


def test_no_further_rule_loses_its_test() -> None:
    unnamed = [rule for rule in rules_plugin.unnamed_rules() if rule not in rules_plugin.tolerated_rules()]
    assert unnamed == [], "no test names these rules; name them in the tests that hold them"
