"""Queries of which each row follows from one row of what they scan, so that many can answer them side by side.

It is proved from the query as DuckDB reads it: scans, and above them nothing but columns that are computed of a row,
conditions on a row, and UNION ALL. Whatever is not known here is no such query. A *joined* query may have joins and
groups too: it is certain in that its answer follows from what it scans, whoever answers it, and how often.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import duckdb

from ivm.duck import Use, connection

_NODE: dict[str, Any] = {
    "modifiers": [], "cte_map": {"map": []}, "group_expressions": [], "group_sets": [],
    "aggregate_handling": "STANDARD_HANDLING", "having": None, "sample": None, "qualify": None,
}  # fmt: skip
"""What a SELECT has that does no more than that."""
_PARTS = {*_NODE, "type", "select_list", "from_table", "where_clause"}
_UNION: dict[str, Any] = {
    "modifiers": [], "cte_map": {"map": []}, "setop_type": "UNION", "left": None, "right": None, "setop_all": True,
}  # fmt: skip
"""What UNION ALL has."""
_GROUPED = ("group_expressions", "group_sets", "having")
"""What a joined one may have besides."""
_JOINS = frozenset({"INNER", "LEFT", "RIGHT", "OUTER", "SEMI", "ANTI"})
_AGGREGATES = frozenset({"avg", "count", "count_star", "max", "min", "sum"})
_CLASSES = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION",
        "OPERATOR", "STAR", "TYPE",
    }
)  # fmt: skip
"""What there may be in expressions: no windows, subqueries, lambdas, parameters."""
_OF_SESSION = ("current_", "localtime", "session_user", "user")
"""How names begin, or what they are, that stand for a time or a user where no column is called so."""
_MORE = frozenset({"nullif", "split_part", "error"})
"""DuckDB's own macros, which are written by functions of a row, and the function that only raises."""


def scans_of(duck: duckdb.DuckDBPyConnection, text: str, *, joined: bool = False) -> list[dict[str, Any]] | None:
    """What a query scans, as DuckDB reads it, if it does nothing with it that needs more than a row, or is `joined`;
    None if it does.

    KeyError or ValueError, if DuckDB is of another release, and tells it in another form.
    """
    ((found,),) = duck.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    said = json.loads(found)
    if said["error"] or len(said["statements"]) != 1 or said["statements"][0].get("named_param_map"):
        return None
    return _scanned(said["statements"][0]["node"], joined)


def is_of_a_row(said: Any, more: frozenset[str] = frozenset()) -> bool:
    """Whether what DuckDB has read of expressions needs no more than a row, and gives the same wherever it is run.

    `more`: functions that it may call besides.
    """
    if isinstance(said, list):
        return all(is_of_a_row(each, more) for each in said)
    if not isinstance(said, dict):
        return True
    kind = said.get("class")
    if kind is not None and kind not in _CLASSES:
        return False
    if kind == "FUNCTION" and not (
        (said["function_name"] in _functions() or said["function_name"] in more)
        and not (said["schema"] or said["catalog"] or said["filter"] or said["distinct"] or said["export_state"])
        and not said["order_bys"]["orders"]
    ):
        return False
    if kind == "COLUMN_REF":
        name = said["column_names"][-1].lower()
        return not (name.startswith(_OF_SESSION[:2]) or name in _OF_SESSION[2:])
    return all(is_of_a_row(each, more) for each in said.values())


def is_named(reference: dict[str, Any]) -> bool:
    """Whether a scan is that of a table, a view or a file by its name alone."""
    return reference["type"] == "BASE_TABLE" and not reference["schema_name"] and reference["at_clause"] is None


def _scanned(node: dict[str, Any], joined: bool) -> list[dict[str, Any]] | None:
    if node["type"] == "SET_OPERATION_NODE":
        if set(node) != {*_UNION, "type", "children"} or any(node[name] != said for name, said in _UNION.items()):
            return None
        return _together(_scanned(child, joined) for child in node["children"])
    if node["type"] != "SELECT_NODE" or set(node) != _PARTS:
        return None
    if any(node[name] != none for name, none in _NODE.items() if not (joined and name in _GROUPED)):
        return None
    aggregates = _AGGREGATES if joined else frozenset()
    if len(node["group_sets"]) > 1 or not (
        is_of_a_row([node["where_clause"], node["group_expressions"]])
        and is_of_a_row([node["select_list"], node["having"]], aggregates)
    ):
        return None
    return _referenced(node["from_table"], joined)


def _referenced(reference: dict[str, Any], joined: bool) -> list[dict[str, Any]] | None:
    """What stands in FROM."""
    if reference.get("sample") is not None:
        return None
    if reference["type"] == "SUBQUERY":
        inner = reference["subquery"]
        return None if inner.get("named_param_map") else _scanned(inner["node"], joined)
    if joined and reference["type"] == "JOIN":
        if reference["join_type"] not in _JOINS or reference["ref_type"] not in ("REGULAR", "CROSS"):
            return None
        if not is_of_a_row(reference["condition"]):
            return None
        return _together(_referenced(reference[side], joined) for side in ("left", "right"))
    if is_named(reference) or (
        reference["type"] == "TABLE_FUNCTION" and reference["with_ordinality"] == "WITHOUT_ORDINALITY"
    ):
        return [reference]
    return None


def _together(each: Iterable[list[dict[str, Any]] | None]) -> list[dict[str, Any]] | None:
    """All scans; None if one of them is none."""
    found = list(each)
    return None if None in found else [scan for scans in found for scan in scans or ()]


@cache
def _functions() -> frozenset[str]:
    """DuckDB's functions of a row, whose values follow from their arguments alone."""
    text = (
        "SELECT function_name FROM duckdb_functions() GROUP BY function_name "
        "HAVING bool_and(function_type = 'scalar' AND coalesce(stability = 'CONSISTENT', false))"
    )
    with connection(Use.OWN) as duck:
        return _MORE.union(name for (name,) in duck.sql(text).fetchall())
