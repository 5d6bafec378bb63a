"""Which queries are carried out: one statement that only reads, tables only, and no words of its own in the answer.

Pure. It judges what DuckDB's own parser made of the text, so no spelling gets around it; and it is the first of two
walls: the process in which the query runs could not do what is refused here either (see `engine`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROW_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
"""Functions that may stand in FROM; all others read files, the network or the engine's own state."""
OWN_STATE = frozenset({"current_setting", "getenv", "getvariable", "nextval", "currval", "setseed", "write_log"})
"""Functions that read or change the engine's state, or the machine's."""
TRUTH_FUNCTIONS = frozenset(
    {
        *("~~", "!~~", "~~*", "!~~*", "~~~", "like_escape", "ilike_escape", "not_like_escape", "not_ilike_escape"),
        *("contains", "starts_with", "ends_with", "prefix", "suffix", "regexp_matches", "regexp_full_match"),
        *("list_contains", "array_contains", "list_has", "array_has", "strpos", "instr", "position"),
    }
)
"""Functions whose texts are looked for and do not come out again."""
SHOWN_LISTS = frozenset({'"tables"', "__show_tables_expanded", "all tables"})
ALIAS_WORDS = 8
ALIAS_CHARACTERS = 60

_PHRASE = re.compile(r"[^\W\d_]{2,}\W+(?:\S*\W+)*?[^\W\d_]{2,}")
_WHY = {
    "INSERT": "it would write",
    "UPDATE": "it would write",
    "DELETE": "it would write",
    "MERGE_INTO": "it would write",
    "CREATE": "it would write",
    "DROP": "it would write",
    "ALTER": "it would write",
    "COPY": "it would read or write a file of its own choice",
    "EXPORT": "it would write files",
    "ATTACH": "it would open another database",
    "DETACH": "it would close a database",
    "LOAD": "it would load an extension",
    "SET": "it would change the settings",
    "VARIABLE_SET": "it would change the settings",
    "PRAGMA": "it would change the settings",
    "CALL": "it would call a procedure",
    "MULTI": "it is more than one statement inside: write PIVOT as SELECT … FROM (PIVOT …) or with FILTER",
}
ALLOWED = "One SELECT, WITH, DESCRIBE, SHOW TABLES or EXPLAIN is carried out."


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a query reads, or in `refused` the sentence why it is not carried out."""

    tables: frozenset[str] = frozenset()
    refused: str = ""
    lists_tables: bool = False
    """It asks which tables there are."""
    shows_rows: bool = True
    """Its answer shows what files hold, and not only how they are laid out or how a query would run."""


def judged(parsed: Mapping[str, Any], tables: Collection[str]) -> Judgement:
    """The judgement on what DuckDB's parser made of a text, given the names of the tables."""
    kinds: Sequence[str] = parsed["kinds"]
    if len(kinds) != 1:
        return Judgement(
            refused=f"{'There is no statement' if not kinds else 'It holds several statements'}. {ALLOWED}"
        )
    if kinds[0] not in ("SELECT", "EXPLAIN"):
        why = _WHY.get(kinds[0], f"{kinds[0]} is not among them")
        return Judgement(refused=f"It is refused since {why}. {ALLOWED}")
    tree = parsed["tree"]
    if tree.get("error"):
        return Judgement(refused=f"It is refused: {tree.get('error_message') or 'it is no SELECT'}. {ALLOWED}")
    found = list(_nodes(tree))
    known = {name.casefold(): name for name in tables}
    named_here = {str(entry["key"]).casefold() for node in found for entry in _entries(node.get("cte_map"))}
    named_here |= {str(node["cte_name"]).casefold() for node in found if node.get("cte_name")}
    used: set[str] = set()
    listed = layout = False
    for node in found:
        if why := _function_fault(node) or _alias_fault(node):
            return Judgement(refused=why)
        if node.get("type") not in ("BASE_TABLE", "SHOW_REF"):
            continue
        path = [str(part) for part in (node.get("qualified_name") or {}).get("path") or [node.get("table_name", "")]]
        name = path[-1].casefold()
        if node["type"] == "SHOW_REF":
            layout = layout or node.get("show_type") != "SUMMARY"
            if not name:  # what it shows is a query below it
                continue
            if name in SHOWN_LISTS:
                listed = True
                continue
        if len(path) == 1 and name in named_here:
            continue
        if name not in known or [p.casefold() for p in path[:-1]] not in ([], ["main"], ["memory", "main"]):
            return Judgement(refused=f"There is no table {'.'.join(path)!r}. {_there_are(tables)}")
        used.add(known[name])
    if listed and not used:
        return Judgement(lists_tables=True, shows_rows=False)
    if not used:
        why = "It reads none of the tables, so it would show nothing but itself."
        return Judgement(refused=f"{why} {_there_are(tables)}")
    shows_rows = kinds[0] == "SELECT" and not layout
    if shows_rows and (why := _own_words(found, tree)):
        return Judgement(refused=why)
    return Judgement(frozenset(used), shows_rows=shows_rows)


def _there_are(tables: Collection[str]) -> str:
    names = sorted(tables)
    more = f" and {len(names) - 20} more (SHOW TABLES)" if len(names) > 20 else ""
    return f"There are: {', '.join(names[:20])}{more}."


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every node of a tree, without recursion: how deep it is was the query's choice."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _entries(cte_map: Any) -> list[dict[str, Any]]:
    return (cte_map.get("map") or []) if isinstance(cte_map, dict) else []


def _function_fault(node: Mapping[str, Any]) -> str:
    name = str(node.get("function_name") or "").casefold()
    if name in OWN_STATE:
        return f"The function {name} is refused: it would read or change the state of the database or the machine."
    if node.get("type") == "TABLE_FUNCTION":
        called = str((node.get("function") or {}).get("function_name") or "").casefold()
        if called not in ROW_FUNCTIONS:
            return (
                f"The function {called} is refused: what stands in FROM are the tables, "
                f"{', '.join(sorted(ROW_FUNCTIONS))}. Files, addresses and other databases are not read."
            )
    return ""


def _alias_fault(node: Mapping[str, Any]) -> str:
    """Names of columns stand before every value of the answer, so they must be names and not statements."""
    names = [node.get("alias"), *(node.get("column_name_alias") or ()), *(node.get("aliases") or ())]
    names += [entry.get("value") for entry in _pairs(node.get("rename_list"))]
    names += [argument.get("name") for argument in node.get("arguments") or () if isinstance(argument, dict)]
    for name in names:
        if isinstance(name, str) and (len(name) > ALIAS_CHARACTERS or len(re.findall(r"[^\W_]+", name)) > ALIAS_WORDS):
            return f"The name {name[:80]!r} is too long for a column or a table: name it in a few words."
    return ""


def _pairs(renamed: Any) -> list[dict[str, Any]]:
    return [entry for entry in renamed if isinstance(entry, dict)] if isinstance(renamed, list) else []


# What the query itself says is no evidence: its own sentences and figures may not come out as if a file held them.


def _own_words(found: Sequence[Mapping[str, Any]], tree: Mapping[str, Any]) -> str:
    for node in found:
        given = [*(node.get("select_list") or ()), *(v for row in node.get("values") or () for v in _listed(row))]
        for text in (text for expression in given for text in _flowing(expression)):
            if _PHRASE.search(text):
                return (
                    f"The text {text[:80]!r} stands in the query and would come out as if a file held it: "
                    "select what the tables hold."
                )
    for statement in tree.get("statements") or ():
        for expression in _outermost(statement.get("node") or {}):
            if not any(_carries(node) for node in _nodes(expression)):
                return "A column of the answer holds only what the query itself states: select what the tables hold."
    return ""


def _listed(row: Any) -> list[Any]:
    return row if isinstance(row, list) else [row]


def _outermost(node: Mapping[str, Any]) -> Iterator[Any]:
    """The columns of the answer, of each part of a UNION."""
    yield from node.get("select_list") or ()
    for key in ("children", "left", "right"):
        for part in _listed(node.get(key) or []):
            if isinstance(part, dict):
                yield from _outermost(part)


def _carries(node: Mapping[str, Any]) -> bool:
    """Whether a part of an expression depends on the tables' rows."""
    if node.get("class") in ("COLUMN_REF", "STAR", "POSITIONAL_REFERENCE", "SUBQUERY", "WINDOW"):
        return True
    return node.get("class") == "FUNCTION" and str(node.get("function_name")).casefold() in ("count", "count_star")


def _flowing(expression: Any) -> Iterator[str]:
    """The texts of a query that can come out of an expression; those that are only compared cannot."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
            continue
        if not isinstance(node, dict):
            continue
        kind, sort = node.get("class"), str(node.get("type") or "")
        if kind in ("COMPARISON", "BETWEEN", "CONJUNCTION", "SUBQUERY") or sort.startswith("COMPARE_"):
            continue
        if kind == "FUNCTION" and str(node.get("function_name")).casefold() in TRUTH_FUNCTIONS:
            continue
        if kind == "STAR" and node.get("columns"):
            continue
        if kind == "CONSTANT":
            literal = node.get("literal") or node.get("value") or {}
            if isinstance(literal, dict) and isinstance(literal.get("text", literal.get("value")), str):
                yield str(literal.get("text", literal.get("value")))
            continue
        skipped = ("filter", "filter_expr", "when_expr", "order_bys", "orders", "partitions")
        waiting += [value for key, value in node.items() if key not in skipped]
