"""Macros that are always there: TUMBLE, HOP and SESSION, query(), query_table() and repeat() in FROM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.macro import Macro, Macros, Overload, Parameter
from ivm.catalog.names import quoted
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query
from ivm.sql.time_windows import WINDOWS, with_hops

_QUERY = Macro("query", True, (Overload((Parameter("text"),), "SELECT 1"),))
_QUERY_TABLE = Macro("query_table", True, (Overload((Parameter("tables"), Parameter("by_name", "false")), "SELECT 1"),))
_REPEAT = Macro("repeat", True, (Overload((Parameter("value"), Parameter("count")), "SELECT 1"),))

OWN: Macros = {**WINDOWS, **{each.key: each for each in (_QUERY, _QUERY_TABLE, _REPEAT)}}
"""By their keys, as other macros; those that somebody creates come before them."""

_MENTIONED = re.compile(rf"\b(?:{'|'.join(name for _, name in OWN)})\s*\(")
_PLAIN = re.compile(r"\w+(?:\.\w+)*")


def mentions_own(folded: str) -> bool:
    """Whether a text in lower case may call one of them. Cost: a search."""
    return _MENTIONED.search(folded) is not None


def completed(macro: Macro, overload: Overload, values: Mapping[str, str]) -> tuple[Overload, Mapping[str, str]]:
    """The form with what follows from its arguments: windows, or the query that they tell of.

    ValueError for arguments that cannot be what they are for.
    """
    if macro is _QUERY:
        return Overload((), _query(values["text"])), {}
    if macro is _QUERY_TABLE:
        return Overload((), _tables(values["tables"], values["by_name"])), {}
    if macro is _REPEAT:
        node = _constant(values["value"])
        name = quoted(node.name if node.is_string else values["value"])
        return replace(overload, body=f"SELECT value AS {name} FROM range(count)"), values
    if macro is WINDOWS.get(macro.key) and "slide" in values:
        return with_hops(overload, values), values
    return overload, values


def _query(text: str) -> str:
    """The query that a text literal holds."""
    node = _constant(text)
    if not node.is_string:
        raise ValueError(f"{text} is no text literal; write the query in quotes")
    found = query(SqlText(node.name), "duckdb").tree
    if not isinstance(found, exp.Query | exp.Values):
        raise ValueError(f"{text} is no SELECT; write one")
    return node.name.strip().rstrip(";")


def _tables(text: str, by_name: str) -> str:
    """The rows of tables, one after the other: of each column by its place, or by its name."""
    node, word = _constant(text), _constant(by_name)
    if not isinstance(word, exp.Boolean):
        raise ValueError(f"{by_name} is no BOOLEAN; write true to have columns by their names")
    names = [_name(each) for each in (node.expressions if isinstance(node, exp.Array) else [node])]
    if not names or "" in names:
        raise ValueError(f"{text} is no name; write that of a table or view, or a list of such, in quotes")
    both = f" UNION ALL {'BY NAME ' if word.this else ''}"
    return both.join(f"SELECT * FROM {name}" for name in names)


def _constant(text: str) -> exp.Expr:
    found: exp.Expr = query(SqlText(f"SELECT {text}"), "duckdb").tree.expressions[0].unnest()
    return found


def _name(node: exp.Expr) -> str:
    """A name as SQL spells it; "" for what is none."""
    if node.is_string:
        return node.name if _PLAIN.fullmatch(node.name) else quoted(node.name)
    return node.sql("duckdb") if isinstance(node, exp.Column) else ""
