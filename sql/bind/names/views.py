"""CREATE VIEW name (a, b) AS ...: a bound query under other column names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catalog.errors import BindError
from catalog.names import quoted, twice
from sql.bind.clauses.from_clause import renamed
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
    called = (*names, *(field.name for field in bound.schema[len(names) :]))
    again = twice(called)
    if again is not None:
        raise BindError(f"cannot create view {view}: two columns would be called {again!r}; give one another name")
    relation = renamed(bound.relation, names)
    text, told = (
        f"SELECT * FROM (\n{each}\n) AS named ({', '.join(map(quoted, called))})"
        for each in (bound.text, bound.oracle_sql)
    )
    return replace(bound, relation=relation, schema=relation.schema[: len(called)], text=text, oracle_sql=told)
