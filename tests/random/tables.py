"""Random tables: a few columns of every type, small ranges of values so that joins and groups meet."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import NamedTuple

import pyarrow as pa

from tests.random.names import keyword, named, quoted

Value = object
Row = tuple[Value, ...]


class Record(NamedTuple):
    """A value of STRUCT(a INTEGER, b VARCHAR)."""

    a: int | None
    b: str | None


TYPES: dict[str, tuple[str, pa.DataType]] = {
    "INTEGER": ("INT", pa.int32()),
    "BIGINT": ("INT", pa.int64()),
    "DECIMAL(9,2)": ("DEC", pa.decimal128(9, 2)),
    "DOUBLE": ("DBL", pa.float64()),
    "VARCHAR": ("STR", pa.string()),
    "DATE": ("DATE", pa.date32()),
    "TIMESTAMP": ("TS", pa.timestamp("us")),
    "TIMESTAMP_S": ("TS", pa.timestamp("s")),
    "TIMESTAMP_NS": ("TS", pa.timestamp("ns")),
    "BOOLEAN": ("BOOL", pa.bool_()),
    "INTEGER[]": ("LIST", pa.list_(pa.int32())),
    "INTEGER[2]": ("ARR", pa.list_(pa.int32(), 2)),
    "STRUCT(a INTEGER, b VARCHAR)": ("REC", pa.struct([("a", pa.int32()), ("b", pa.string())])),
}
"""SQL type: the class of types that a query may mix it with, and its Arrow type."""

# DOUBLEs are sums of powers of two, so that adding them up is exact in any order.
DOMAINS: dict[str, tuple[Value, ...]] = {
    "INTEGER": (-1, 0, 1, 2, 3, 4),
    "BIGINT": (0, 1, 2, 3, 4, 5),
    "DECIMAL(9,2)": tuple(Decimal(text) for text in ("-1.00", "0.00", "0.25", "1.00", "1.50", "2.75", "3.00")),
    "DOUBLE": (-1.5, 0.0, 0.5, 1.0, 1.25, 2.0, 3.0),
    "VARCHAR": ("", "a", "ab", "b", "B", "a b", "é", "abc"),
    "DATE": tuple(
        datetime.date.fromisoformat(text)
        for text in ("2019-12-31", "2020-01-01", "2020-01-31", "2020-02-29", "2020-03-01", "2021-01-31")
    ),
    "TIMESTAMP": tuple(
        datetime.datetime.fromisoformat(text)
        for text in ("2019-12-31T23:59:59.999999", "2020-01-31", "2020-02-29T12:30:00", "2020-03-01T00:00:01")
    ),
    "TIMESTAMP_S": tuple(
        datetime.datetime.fromisoformat(text) for text in ("2019-12-31T23:59:59", "2020-01-31", "2020-02-29T12:30:00")
    ),
    "TIMESTAMP_NS": tuple(
        datetime.datetime.fromisoformat(text)
        for text in ("2019-12-31T23:59:59.999999", "2020-01-31", "2020-02-29T12:30:00", "2020-03-01T00:00:01")
    ),
    "BOOLEAN": (True, False),
    "INTEGER[]": ((), (1,), (2,), (1, 2), (None,), (1, None), (0, 3)),
    "INTEGER[2]": ((0, 1), (1, 0), (1, 2), (None, 1), (None, None)),
    "STRUCT(a INTEGER, b VARCHAR)": tuple(
        Record(*pair) for pair in ((1, "a"), (1, "b"), (None, "a"), (2, None), (None, None))
    ),
}
LETTERS = {"INT": "i", "DEC": "d", "DBL": "f", "STR": "s", "DATE": "t", "TS": "u", "BOOL": "b", "LIST": "l", "REC": "o",
           "ARR": "v"}  # fmt: skip


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
        return TYPES[self.type][0]


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
        return pa.schema([(c.name, TYPES[c.type][1]) for c in self.columns])

    def arrow(self, rows: list[Row]) -> pa.Table:
        """Rows as an Arrow table."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        arrays = [pa.array(list(values), field.type) for values, field in zip(columns, self.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def value_of(value: object) -> Value:
    """A value as DuckDB gives it, as one of a row."""
    if isinstance(value, list):
        return tuple(value)
    return Record(**value) if isinstance(value, dict) else value


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
        type_ = rng.choice(tuple(TYPES))
        letter = LETTERS[TYPES[type_][0]]
        counts[letter] = counts.get(letter, 0) + 1
        columns.append(Column(f"{letter}{counts[letter]}", type_, rng.random() < 0.75))
    if rng.random() < 0.15:
        columns = [replace(c, name=named(rng, c.name)) if rng.random() < 0.6 else c for c in columns]
        columns[-1] = replace(columns[-1], name=keyword(rng))
    return Table(name, tuple(columns), keys)
