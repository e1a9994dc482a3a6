"""Relations as of a time, in a text: one name in the place of `t AT (VERSION => 5)`, so that nothing behind this knows
of times but who reads the rows.

`SELECT .. AS OF 5` is of all tables and views that the query reads, but for those that have a time of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from ivm.catalog.names import quoted
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.edits import Edit, edited
from ivm.sql.past_words import AS_OF, CLAUSE, moment_of
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import Syntax, statements
from ivm.sql.tree import nodes_of, tables_read

_MARK = "\u2063"
"""Stands in the names that are made here, and is not seen in messages."""
_SAID = re.compile(
    r"\bas\s+of\b|\bfor\s+(?:system(?:_|\s+)time|timestamp|version)\b|\bat\s*\(\s*(?:timestamp|version)\b",
    re.IGNORECASE,
)
_READ = (exp.From, exp.Join, exp.Subquery, exp.Table, exp.Select, exp.Pivot, exp.Merge, exp.Lateral)
"""What reads a table that stands in it."""


class Moment(NamedTuple):
    """A time as SQL says it: VERSION or TIMESTAMP, and the text of the expression."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"AT ({self.kind} => {self.text})"


def past_of(name: str) -> tuple[str, Moment] | None:
    """The relation, and as of when, that a name stands for that was made here; None for any other name."""
    relation, mark, said = name.partition(_MARK)
    if not mark:
        return None
    kind, _, text = said.removeprefix(" AT (").removesuffix(")").partition(" => ")
    return relation, Moment(kind, text)


def with_times(text: str, dialect: str = "duckdb") -> str:
    """The text with one name for each relation as of a time. Cost: a search; reading the text, where it may hold times.

    What is to be planned, a view or for EXPLAIN, stays as it is; the binder refuses it.
    """
    if _SAID.search(text) is None:
        return text
    source, edits = SqlText(text), list[Edit]()
    for syntax in statements(source, dialect):
        is_view = isinstance(syntax.tree, exp.Create) and syntax.tree.kind == "VIEW"
        if not is_view and (syntax.analyze or not syntax.explain):
            edits += _edits(syntax, source, dialect)
    return edited(text, edits)


def _edits(syntax: Syntax, source: SqlText, dialect: str) -> Iterator[Edit]:
    tables = [table for table in tables_read(syntax.tree) if "start" in table.this.meta]
    for query in nodes_of(syntax.tree):
        if query.args.get(AS_OF):
            yield *query.args[AS_OF].meta[CLAUSE], ""
    for table in tables:
        own = table.args.get("version") or table.args.get("when")
        time = own or _around(table)
        if time is None:
            continue
        if own:
            yield *own.meta[CLAUSE], ""
            if not isinstance(table.parent, _READ):
                source.refuse(own, f"{table.name} is changed as it is now; leave the time out")
        moment = moment_of(time)
        if moment is None:
            source.refuse(own, "only one time can be read: AS OF, or AT (VERSION => ..) or (TIMESTAMP => ..)")
        if isinstance(table.parent, _READ):
            yield _edit(table, Moment(moment[0], duckdb_text(moment[1])), dialect)


def _around(table: exp.Table) -> exp.Expr | None:
    """The time of the nearest query around a table that has one. What ends the last part of UNION is of the whole."""
    node = table.parent
    while node is not None:
        last = node
        while isinstance(last, exp.SetOperation) and not last.args.get(AS_OF):
            last = last.expression
        if isinstance(last, exp.Query) and last.args.get(AS_OF):
            time: exp.Expr = last.args[AS_OF]
            return time
        node = node.parent
    return None


def _edit(table: exp.Table, moment: Moment, dialect: str) -> Edit:
    parts = [table.args[arg] for arg in ("catalog", "db", "this") if table.args.get(arg)]
    name, called = _quoted(f"{table.name}{_MARK} {moment}", dialect), _quoted(table.name, dialect)
    return parts[0].meta["start"], parts[-1].meta["end"] + 1, name if table.alias else f"{name} AS {called}"


def _quoted(name: str, dialect: str) -> str:
    return quoted(name) if dialect == "duckdb" else exp.to_identifier(name, quoted=True).sql(dialect)
