"""Statements that change rows: INSERT, UPDATE, DELETE and MERGE in their forms, with RETURNING."""

from __future__ import annotations

from collections.abc import Callable

from tests.random.kinds import KIND_OF
from tests.random.queries import Queries
from tests.random.scope import Col, Scope
from tests.random.scripts.step import Step
from tests.random.scripts.tables import some_literal
from tests.random.scripts.world import Column, Table, World

_KEYS = 7
"""Keys are below, so that they meet."""


def change(world: World) -> list[Step]:
    """One statement that changes rows of a table."""
    if not world.tables:
        return []
    table = world.rng.choice(world.tables)
    forms: tuple[Callable[[World, Table], str], ...] = (
        _insert,
        _insert,
        _insert,
        _select,
        _update,
        _update,
        _update_from,
        _delete,
        _delete_using,
        _empty,
    )
    if table.keyed:
        forms = (*forms, _conflict, _conflict, _merge, _merge)
    return [Step(world.rng.choice(forms)(world, table))]


def _insert(world: World, table: Table) -> str:
    columns = table.given
    if world.rng.random() < 0.2:
        columns = [c for c in columns if (table.keyed and c is columns[0]) or world.rng.random() < 0.6]
    names = ", ".join(column.name for column in columns)
    if not columns:
        return f"INSERT INTO {table.name} DEFAULT VALUES"
    return f"INSERT INTO {table.name} ({names}) VALUES {_rows(world, table, columns)}{_returning(world, table)}"


def _rows(world: World, table: Table, columns: list[Column]) -> str:
    count = world.rng.choice((1, 1, 2, 4))
    keys = world.rng.sample(range(_KEYS), count)
    return ", ".join(f"({', '.join(_given(world, table, column, key) for column in columns)})" for key in keys)


def _given(world: World, table: Table, column: Column, key: int) -> str:
    if table.keyed and column is table.columns[0]:
        return str(key)
    roll = world.rng.random()
    if roll < 0.15:
        return "NULL"
    return "DEFAULT" if roll < 0.2 else some_literal(world, column)


def _select(world: World, table: Table) -> str:
    """Of another table, or of the rows themselves."""
    other = world.rng.choice(world.tables)
    names = ", ".join(column.name for column in table.given)
    values = [_value(world, column, other.cols("o")) for column in table.given]
    if table.keyed:
        values[0] = (
            f"({world.rng.randint(0, 20)} + row_number() OVER (ORDER BY {', '.join(c.text for c in other.cols('o'))}))"
        )
        values[0] = f"CAST({values[0]} AS INTEGER)"
    where = f" WHERE {_condition(world, other.cols('o'))}"
    return (
        f"INSERT INTO {table.name} ({names}) SELECT {', '.join(values)} FROM {other.name} AS o{where}"
        f"{_returning(world, table)}"
    )


def _update(world: World, table: Table) -> str:
    where = f" WHERE {_condition(world, table.cols('t'))}" if world.rng.random() < 0.9 else ""
    return f"UPDATE {table.name} AS t SET {_sets(world, table, table.cols('t'))}{where}{_returning(world, table, 't')}"


def _update_from(world: World, table: Table) -> str:
    """From the groups of another table, of which at most one is met."""
    met = _met(world, table)
    if met is None:
        return _update(world, table)
    groups, equal, columns = met
    sets = _sets(world, table, (*table.cols("t"), *columns))
    return f"UPDATE {table.name} AS t SET {sets} FROM {groups} WHERE {equal}{_returning(world, table, 't')}"


def _met(world: World, table: Table) -> tuple[str, str, tuple[Col, ...]] | None:
    """Groups of a table, what says which of them a row meets, and their columns."""
    other = world.rng.choice(world.tables)
    pairs = [(a, b) for a in table.columns for b in other.columns if a.type == b.type]
    if not pairs:
        return None
    a, b = world.rng.choice(pairs)
    groups = f"(SELECT {b.name} AS g, CAST(count(*) AS INTEGER) AS n FROM {other.name} GROUP BY {b.name}) AS o"
    return groups, f"t.{a.name} = o.g", (Col("o.g", b.kind), Col("o.n", "INT"))


def _delete(world: World, table: Table) -> str:
    return f"DELETE FROM {table.name} AS t WHERE {_condition(world, table.cols('t'))}{_returning(world, table, 't')}"


def _delete_using(world: World, table: Table) -> str:
    met = _met(world, table)
    if met is None:
        return _delete(world, table)
    groups, equal, columns = met
    return f"DELETE FROM {table.name} AS t USING {groups} WHERE {equal} AND {_condition(world, (*table.cols('t'), *columns))}"


def _empty(world: World, table: Table) -> str:
    return world.rng.choice((f"DELETE FROM {table.name}", f"TRUNCATE {table.name}"))


def _conflict(world: World, table: Table) -> str:
    names = ", ".join(column.name for column in table.given)
    rows, key = _rows(world, table, table.given), table.columns[0].name
    insert = f"INTO {table.name} ({names}) VALUES {rows}"
    roll = world.rng.random()
    if roll < 0.3:
        return f"INSERT OR {world.rng.choice(('REPLACE', 'IGNORE'))} {insert}{_returning(world, table)}"
    if roll < 0.45:
        return f"INSERT {insert} ON CONFLICT DO NOTHING{_returning(world, table)}"
    bare = table.name.rpartition(".")[2]
    excluded = tuple(Col(f"excluded.{column.name}", column.kind) for column in table.given)
    sets = _sets(world, table, (*table.cols(bare), *excluded))
    where = f" WHERE {_condition(world, table.cols(bare))}" if roll > 0.8 else ""
    return f"INSERT {insert} ON CONFLICT ({key}) DO UPDATE SET {sets}{where}{_returning(world, table)}"


def _merge(world: World, table: Table) -> str:
    """By the rows of another table, or by values, of which no two have one key."""
    names = [column.name for column in table.given]
    rows, key = _rows(world, table, table.given).replace("DEFAULT", "NULL"), table.columns[0].name
    source = f"(VALUES {rows}) AS s({', '.join(names)})"
    typed = ", ".join(f"CAST(s.{c.name} AS {c.type}) AS {c.name}" for c in table.given)
    source = f"(SELECT {typed} FROM {source}) AS s"
    both = (*table.cols("t"), *(Col(f"s.{column.name}", column.kind) for column in table.given))
    update = f"UPDATE SET {_sets(world, table, both)}" if len(table.given) > 1 else "DO NOTHING"
    clauses = [
        f"WHEN MATCHED AND {_condition(world, both)} THEN {world.rng.choice(('DELETE', update))}",
        f"WHEN MATCHED THEN {world.rng.choice((update, 'DO NOTHING'))}",
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})",
        f"WHEN NOT MATCHED BY SOURCE AND {_condition(world, table.cols('t'))} THEN DELETE",
    ]
    chosen = [clause for clause in clauses if world.rng.random() < 0.6] or clauses[2:3]
    returning = " RETURNING merge_action, *" if world.rng.random() < 0.3 else ""
    return f"MERGE INTO {table.name} AS t USING {source} ON t.{key} = s.{key} {' '.join(chosen)}{returning}"


def _sets(world: World, table: Table, columns: tuple[Col, ...]) -> str:
    """New values of columns that are no key."""
    free = table.given[1:] if table.keyed else table.given
    chosen = world.rng.sample(free, min(len(free), world.rng.choice((1, 1, 2)))) or table.given[:1]
    return ", ".join(f"{column.name} = {_value(world, column, columns)}" for column in chosen)


def _value(world: World, column: Column, columns: tuple[Col, ...]) -> str:
    """An expression of the column's type."""
    return f"CAST({_queries(world).value(column.kind, Scope(columns), 1)} AS {column.type})"


def _condition(world: World, columns: tuple[Col, ...]) -> str:
    return f"({_queries(world).condition(Scope(columns), 1)})"


def _queries(world: World) -> Queries:
    queries = Queries(world.rng, ())
    queries.subqueries = 0
    return queries


def _returning(world: World, table: Table, alias: str = "") -> str:
    """What a change gives back, now and then."""
    if world.rng.random() > 0.3:
        return ""
    if world.rng.random() < 0.5:
        return " RETURNING *"
    column = world.rng.choice(table.columns)
    return f" RETURNING {alias + '.' if alias else ''}{column.name} AS a, {KIND_OF[column.type].name == 'INT'} AS b"
