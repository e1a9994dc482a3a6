"""CREATE VIEW name (a, b) AS ...: a bound query under other column names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catalog.errors import BindError
from sql.bind.from_clause import renamed
from sql.bind.query import BoundQuery


def with_names(bound: BoundQuery, view: str, names: Sequence[str]) -> BoundQuery:
    """The query with its first columns called `names`; BindError if there are too many names, or one stands twice.

    The rest keep their names. ORDER BY, which a reader of the view sees, stays with the query.
    """
    if not names:
        return bound
    if len(names) > len(bound.schema):
        what = f"the query has {len(bound.schema)} columns, but {len(names)} names are given; drop some"
        raise BindError(f"cannot create view {view}: {what}")
    relation = renamed(bound.relation, names)
    called = [field.name for field in relation.schema]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise BindError(f"cannot create view {view}: two columns would be called {twice!r}; give one another name")
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in called)
    text = f"SELECT * FROM (\n{bound.oracle_sql}\n) AS named ({quoted})"
    return replace(bound, relation=relation, schema=relation.schema, oracle_sql=text)
