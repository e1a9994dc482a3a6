"""A case: tables, views and batches of changes; as text, so that one that failed once stays with us.

    -- what the case showed
    CREATE TABLE t0 (k INTEGER NOT NULL, PRIMARY KEY (k));
    CREATE MATERIALIZED VIEW v0 AS SELECT ...;
    -- batch
    -- time
    INSERT INTO t0 VALUES (1), (2);
    DELETE FROM t0 VALUES (3);

A batch is one call, in which each `-- time` begins a logical time. DELETE names whole rows, each of which goes once.
`-- zone Europe/Zurich` says by whose clocks moments are told, `-- late` stands before the batch at which the views are installed late, `-- ways 7` says how: see `tests.random.ways`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

from tests.random.changes import Batch, Change
from tests.random.literals import literal
from tests.random.names import IDENTIFIER, quoted, unquoted
from tests.random.tables import Column, Row, Table, value_of


@dataclass(frozen=True, slots=True)
class Case:
    """What is run; `late` views are installed once so many batches have been applied, by the `Ways` of a seed."""

    tables: tuple[Table, ...]
    views: tuple[tuple[str, str], ...]
    batches: tuple[Batch, ...]
    late: int = 1
    ways: int = 0
    zone: str = "UTC"


def written(case: Case, comment: str = "") -> str:
    """The case as a script."""
    lines = [f"-- {line}".rstrip() for line in comment.splitlines()]
    lines += [f"{table.ddl()};" for table in case.tables]
    lines += [f"CREATE MATERIALIZED VIEW {quoted(name)} AS {text};" for name, text in case.views]
    if case.zone != "UTC":
        lines.append(f"-- zone {case.zone}")
    if case.ways:
        lines.append(f"-- ways {case.ways}")
    for number, batch in enumerate(case.batches):
        if number == case.late and case.late != 1:
            lines.append("-- late")
        lines.append("-- batch")
        for time in batch:
            lines.append("-- time")
            lines += _changes(time)
    return "\n".join(lines) + "\n"


def _changes(time: tuple[Change, ...]) -> list[str]:
    lines = []
    for name in dict.fromkeys(name for name, _, _ in time):
        for diff, words in ((-1, "DELETE FROM"), (1, "INSERT INTO")):
            rows = [row for table, row, d in time if table == name and d == diff]
            if rows:
                values = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
                lines.append(f"{words} {quoted(name)} VALUES {values};")
    return lines


_STATEMENT = re.compile(
    r"-- (batch|time|late|ways \d+|zone \S+)\b|((?:CREATE|INSERT|DELETE)\b(?:'[^']*'|[^;'])*);|--[^\n]*"
)
_CHANGE = re.compile(rf"(INSERT INTO|DELETE FROM) ({IDENTIFIER}) (VALUES .*)", re.DOTALL)
_VIEW = re.compile(rf"CREATE MATERIALIZED VIEW ({IDENTIFIER}) AS (.*)", re.DOTALL)
_COLLATED = re.compile(rf"({IDENTIFIER}) (VARCHAR COLLATE \w+)")
_REFERENCES = re.compile(rf"({IDENTIFIER}) \w+(?:\([\d,]+\))?(?: NOT NULL)? REFERENCES ({IDENTIFIER})")


def parsed(script: str) -> Case:
    """The case that `written` wrote; by hand, any columns of the types that random tables have."""
    tables: dict[str, Table] = {}
    views: list[tuple[str, str]] = []
    batches: list[list[list[Change]]] = []
    late, ways, zone = 1, 0, "UTC"
    with duckdb.connect() as connection:
        for found in _STATEMENT.finditer(script):
            mark, statement = found.groups()
            if mark == "batch":
                batches.append([])
            elif mark == "time":
                batches[-1].append([])
            elif mark == "late":
                late = len(batches)
            elif mark and mark.startswith("zone"):
                zone = mark.removeprefix("zone ")
            elif mark:
                ways = int(mark.removeprefix("ways "))
            elif statement and (change := _CHANGE.fullmatch(statement)):
                diff = 1 if change[1] == "INSERT INTO" else -1
                name = unquoted(change[2])
                batches[-1][-1] += [(name, row, diff) for row in _rows(connection, tables[name], change[3])]
            elif statement and (view := _VIEW.fullmatch(statement)):
                views.append((unquoted(view[1]), view[2]))
            elif statement:
                table = _table(connection, statement)
                tables[table.name] = table
    return Case(
        tuple(tables.values()), tuple(views), tuple(tuple(map(tuple, batch)) for batch in batches), late, ways, zone
    )


def _table(connection: duckdb.DuckDBPyConnection, statement: str) -> Table:
    """What DuckDB makes of the declaration; the primary key's columns must come first."""
    collated = {unquoted(column): type_ for column, type_ in _COLLATED.findall(statement)}
    targets = {unquoted(column): unquoted(target) for column, target in _REFERENCES.findall(statement)}
    connection.execute(re.sub(rf" REFERENCES {IDENTIFIER}", "", statement))
    match = re.search(rf"TABLE ({IDENTIFIER})", statement)
    assert match is not None, statement
    name = unquoted(match[1])
    columns = tuple(
        Column(column, collated.get(column, type_), not required, targets.get(column, ""))
        for _, column, type_, required, _, _ in connection.execute(
            "SELECT * FROM pragma_table_info(?)", [match[1]]
        ).fetchall()
    )
    keys = connection.execute(
        "SELECT constraint_column_names FROM duckdb_constraints()"
        " WHERE table_name = ? AND constraint_type = 'PRIMARY KEY'",
        [name],
    ).fetchall()
    return Table(name, columns, len(keys[0][0]) if keys else 0)


def _rows(connection: duckdb.DuckDBPyConnection, table: Table, values: str) -> list[Row]:
    types = ", ".join(f"CAST(c{i} AS {column.type.partition(' COLLATE')[0]})" for i, column in enumerate(table.columns))
    names = ", ".join(f"c{i}" for i in range(len(table.columns)))
    rows = connection.sql(f"SELECT {types} FROM ({values}) AS r ({names})").to_arrow_table()
    columns = [[value_of(value, c.type) for value in rows.column(i).to_pylist()] for i, c in enumerate(table.columns)]
    return list(zip(*columns, strict=True))
