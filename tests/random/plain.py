"""Plain views, one operator each, over the tables as they are: quickly planned, so that many are tried a second."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.random.kinds import random_kind
from tests.random.names import quoted
from tests.random.queries import Queries
from tests.random.returning import lead_of
from tests.random.scope import Col, Scope
from tests.random.tables import Column, Table

_GROUPED = (
    "SELECT {a} AS c0, count(*) AS c1 FROM {t} AS l GROUP BY {a}",
    "SELECT {a} AS c0, count({b}) AS c1, min({b}) AS c2, max({b}) AS c3 FROM {t} AS l GROUP BY {a}",
    "SELECT {a} AS c0, count(DISTINCT {b}) AS c1 FROM {t} AS l GROUP BY {a}",
    "SELECT {a} AS c0, quantile_disc({b}, 0.5) AS c1 FROM {t} AS l GROUP BY {a}",
    "SELECT {a} AS c0, {b} AS c1, count(*) AS c2 FROM {t} AS l GROUP BY {a}, {b} HAVING count(*) > 1",
    "SELECT count(*) AS c0, max({a}) AS c1 FROM {t} AS l",
    "SELECT DISTINCT {a} AS c0 FROM {t} AS l",
    "SELECT DISTINCT {a} AS c0, {b} AS c1 FROM {t} AS l",
    "SELECT {a} AS c0, row_number() OVER (PARTITION BY {a} ORDER BY {all}) AS c1 FROM {t} AS l",
    "SELECT {a} AS c0, lag({b}) OVER (PARTITION BY {a} ORDER BY {all}) AS c1 FROM {t} AS l",
    "SELECT {a} AS c0, {b} AS c1 FROM {t} AS l ORDER BY 1, 2 LIMIT 3",
)
_JOINED = (
    "SELECT {a} AS c0, {d} AS c1 FROM {t} AS l JOIN {u} AS r ON {a} = {c}",
    "SELECT {a} AS c0, {d} AS c1 FROM {t} AS l LEFT JOIN {u} AS r ON {a} = {c}",
    "SELECT {a} AS c0, {d} AS c1 FROM {t} AS l LEFT JOIN {u} AS r ON {a} < {c}",
    "SELECT {a} AS c0, {c} AS c1 FROM {t} AS l FULL JOIN {u} AS r ON {a} = {c}",
    "SELECT {b} AS c0 FROM {t} AS l WHERE NOT EXISTS (SELECT 1 FROM {u} AS r WHERE {a} = {c})",
    "SELECT {b} AS c0 FROM {t} AS l WHERE EXISTS (SELECT 1 FROM {u} AS r WHERE {a} < {c})",
    "SELECT {b} AS c0 FROM {t} AS l WHERE {a} NOT IN (SELECT {c} FROM {u} AS r)",
    "SELECT {a} AS c0, (SELECT count(*) FROM {u} AS r WHERE {a} = {c}) AS c1 FROM {t} AS l",
    "SELECT {a} AS c0 FROM {t} AS l EXCEPT SELECT {c} FROM {u} AS r",
    "SELECT {a} AS c0 FROM {t} AS l EXCEPT ALL SELECT {c} FROM {u} AS r",
    "SELECT {a} AS c0 FROM {t} AS l INTERSECT ALL SELECT {c} FROM {u} AS r",
    "SELECT {a} AS c0 FROM {t} AS l UNION SELECT {c} FROM {u} AS r",
)
_COMPUTED = (
    "SELECT {a} AS c0, {b} AS c1, {c} AS c2 FROM {t} AS l",
    "SELECT {a} AS c0, {b} AS c1 FROM {t} AS l WHERE {condition}",
    "SELECT {a} AS c0, count(*) AS c1, min({b}) AS c2 FROM {t} AS l GROUP BY {a}",
    "SELECT DISTINCT {a} AS c0 FROM {t} AS l WHERE {condition}",
)


def plain_view(rng: Random, tables: Sequence[Table]) -> str:
    """The text of a view."""
    table, other = rng.choice(tables), rng.choice(tables)
    pairs = [(a, c) for a in table.columns for c in other.columns if a.kind == c.kind]
    if not pairs:
        other = table
        pairs = [(column, column) for column in table.columns]
    a, c = rng.choice([pair for pair in pairs if pair[0] == table.columns[lead_of(table)]] or pairs)
    if rng.random() < 0.3:
        a, c = rng.choice(pairs)
    return rng.choice(_JOINED if rng.random() < 0.4 else _GROUPED).format(
        t=quoted(table.name),
        u=quoted(other.name),
        a=_of("l", a),
        b=_of("l", rng.choice(table.columns)),
        c=_of("r", c),
        d=_of("r", rng.choice(other.columns)),
        all=", ".join(_of("l", column) for column in table.columns),
    )


def computed_view(rng: Random, tables: Sequence[Table]) -> str:
    """The text of a view of expressions over the rows of one table, or of groups by them."""
    table, queries = rng.choice(tables), Queries(rng, ())
    queries.subqueries = 0
    scope = Scope(tuple(Col(_of("l", column), column.kind) for column in table.columns))
    kinds = [rng.choice(scope.kinds()) if rng.random() < 0.4 else random_kind(rng) for _ in range(3)]
    a, b, c = (queries.value(kind, scope, 2) for kind in kinds)
    forms = _COMPUTED if any(column.text in a for column in scope.columns) else _COMPUTED[:2]
    return rng.choice(forms).format(a=a, b=b, c=c, t=quoted(table.name), condition=queries.condition(scope, 2))


def wide_view(rng: Random, tables: Sequence[Table]) -> str:
    """The text of a view of many expressions over the rows of one table, one call each."""
    table, queries = rng.choice(tables), Queries(rng, ())
    queries.subqueries = 0
    scope = Scope(tuple(Col(_of("l", column), column.kind) for column in table.columns))
    items = [f"{queries.call(random_kind(rng), scope)} AS c{number}" for number in range(8)]
    return f"SELECT {', '.join(items)} FROM {quoted(table.name)} AS l"


def _of(alias: str, column: Column) -> str:
    return f"{alias}.{quoted(column.name)}"
