"""Which rules of the specification does a test name, and which does none?

A test names rules with `@pytest.mark.rule("D34", "D35")` (or `pytestmark`), with a comment that starts with them
(`# D34, D35: why`), or with a line `Rules: D34, D35` in a docstring. `pytest --rules` prints the rules that no test
names. The unnamed ones that are tolerated stand in `rules_missing.txt`, a list that only shrinks: a test fails when a
rule outside it is unnamed, and `pytest --rules --update-rules` takes out those that are named by now.

`rules.txt` holds a letter and how many rules it has; `rules_missing.txt` a letter and the numbers.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RULES_FILE = TESTS / "rules.txt"
MISSING_FILE = TESTS / "rules_missing.txt"

_ID = r"[RADL]\d+"
_COMMENT = re.compile(rf"#\s*(?:Rules?:\s*)?({_ID}(?:(?:\s*,\s*|\s+and\s+|\s+){_ID})*)\b")
_LINE = re.compile(rf"^\s*Rules?:\s*({_ID}(?:(?:\s*,\s*|\s+and\s+|\s+){_ID})*)\b", re.MULTILINE)


def all_rules(text: str) -> list[str]:
    """The ids of the specification, in its order, from lines such as `D 55`."""
    counts = (line.split() for line in text.splitlines() if line.strip())
    return [f"{letter}{number}" for letter, count in counts for number in range(1, int(count) + 1)]


def parse_missing(text: str) -> set[str]:
    """The ids in lines such as `D 3 17`."""
    lines = (line.split() for line in text.splitlines() if line.strip())
    return {f"{letter}{number}" for letter, *numbers in lines for number in numbers}


def render_missing(ids: Iterable[str]) -> str:
    """The inverse of `parse_missing`, one line a letter."""
    held = set(ids)
    lines = []
    for letter in "RADL":
        numbers = sorted(int(rule[1:]) for rule in held if rule[0] == letter)
        if numbers:
            lines.append(" ".join([letter, *map(str, numbers)]) + "\n")
    return "".join(lines)


def rules_named_in(source: str) -> set[str]:
    """The rules that one test module names."""
    return {rule for found in _names(source) for rule in re.findall(_ID, found)}


def _names(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (match := _COMMENT.match(token.string)):
            yield match[1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rule":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _LINE.findall(ast.get_docstring(node) or "")


def named_rules() -> dict[str, set[str]]:
    """Rule id → the test modules that name it. This plugin is no test and names none."""
    named: dict[str, set[str]] = {}
    for module in sorted(TESTS.rglob("test_*.py")):
        for rule in rules_named_in(module.read_text(encoding="utf-8")):
            named.setdefault(rule, set()).add(module.relative_to(TESTS).as_posix())
    return named


def unnamed_rules() -> list[str]:
    """The rules that no test names, in the specification's order."""
    named = named_rules()
    return [rule for rule in all_rules(RULES_FILE.read_text(encoding="utf-8")) if rule not in named]


def tolerated_rules() -> set[str]:
    """The rules that may be unnamed."""
    return parse_missing(MISSING_FILE.read_text(encoding="utf-8")) if MISSING_FILE.exists() else set()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rules", "rules of the specification")
    group.addoption("--rules", action="store_true", help="print the rules that no test names, and run nothing")
    group.addoption(
        "--update-rules", action="store_true", help="with --rules: take out of rules_missing.txt what is named by now"
    )


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.getoption("rules"):
        return None
    unnamed = unnamed_rules()
    for rule in unnamed:
        print(rule)
    print(f"{len(unnamed)} of {len(all_rules(RULES_FILE.read_text(encoding='utf-8')))} rules are named by no test")
    if config.getoption("update_rules"):
        kept = tolerated_rules() & set(unnamed) if MISSING_FILE.exists() else set(unnamed)
        MISSING_FILE.write_text(render_missing(kept), encoding="utf-8")
        print(f"{len(kept)} left in {MISSING_FILE.name}")
    return 0
