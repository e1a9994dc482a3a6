"""Random tables: a few columns of every type, small ranges of values so that joins and groups meet."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

from tests.random.kinds import KIND_OF, KINDS, TYPES, Pairs, Record, Value, random_kind
from tests.random.names import keyword, named, quoted

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `target` names the table whose only key column it refers to."""

    name: str
    type: str
    nullable: bool = True
    target: str = ""

    @property
    def kind(self) -> str:
        """The class of its type."""
        return KIND_OF[self.type].name


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first `keys` columns are its primary key (0: none)."""

    name: str
    columns: tuple[Column, ...]
    keys: int = 0

    def ddl(self) -> str:
        """The CREATE TABLE statement."""
        parts = [
            f"{quoted(c.name)} {c.type}{'' if c.nullable else ' NOT NULL'}"
            f"{f' REFERENCES {quoted(c.target)}' if c.target else ''}"
            for c in self.columns
        ]
        if self.keys:
            parts.append(f"PRIMARY KEY ({', '.join(quoted(c.name) for c in self.columns[: self.keys])})")
        return f"CREATE TABLE {quoted(self.name)} ({', '.join(parts)})"

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types."""
        return pa.schema([(c.name, TYPES[c.type].arrow) for c in self.columns])

    def arrow(self, rows: list[Row]) -> pa.Table:
        """Rows as an Arrow table."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        arrays = [pa.array(list(values), field.type) for values, field in zip(columns, self.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def value_of(value: Any, type_: str) -> Value:
    """A value as pyarrow gives it, as one of a row."""
    match value:
        case list():
            return Pairs(value) if KIND_OF[type_].name == "MAP" else tuple(value)
        case dict():
            return Record(**value)
        case datetime.datetime() if value.tzinfo:
            return value.astimezone(datetime.UTC)
    return value


def has_collations(tables: Iterable[Table]) -> bool:
    """Whether some texts are equal though they differ, so that it is open which of them a group shows."""
    return any("COLLATE" in column.type for table in tables for column in table.columns)


def random_tables(rng: Random) -> tuple[Table, ...]:
    """One to four tables; a later one may refer to an earlier one."""
    tables: list[Table] = []
    for number in range(rng.choice((1, 2, 2, 3, 3, 4))):
        name = f"t{number}"
        tables.append(_table(rng, named(rng, name) if rng.random() < 0.12 else name, tables))
    return tuple(tables)


def _table(rng: Random, name: str, earlier: list[Table]) -> Table:
    keys = rng.choice((0, 0, 1, 1, 1, 2))
    columns = [Column(f"k{i or ''}", rng.choice(("INTEGER", "BIGINT")), nullable=False) for i in range(keys)]
    targets = [t for t in earlier if t.keys == 1]
    if targets and rng.random() < 0.6:
        target = rng.choice(targets)
        columns.append(Column(f"r{len(earlier)}", target.columns[0].type, rng.random() < 0.6, target.name))
    counts: dict[str, int] = {}
    for _ in range(rng.randint(1 if columns else 2, 4)):
        kind = KINDS[random_kind(rng)]
        type_, letter = rng.choice(tuple(kind.types)), kind.letter
        counts[letter] = counts.get(letter, 0) + 1
        columns.append(Column(f"{letter}{counts[letter]}", type_, rng.random() < 0.75))
    if rng.random() < 0.15:
        columns = [replace(c, name=named(rng, c.name)) if rng.random() < 0.6 else c for c in columns]
        columns[-1] = replace(columns[-1], name=keyword(rng))
    return Table(name, tuple(columns), keys)
