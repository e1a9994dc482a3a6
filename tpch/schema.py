"""The eight TPC-H relations as plain data, read from `schema.sql`, so that there is one place that declares them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

import pyarrow as pa

TIME = "_time"
DIFF = "_diff"

_TABLE = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n\);", re.DOTALL)
_COLUMN = re.compile(r"(\w+) (BIGINT|INTEGER|DATE|VARCHAR|DECIMAL\((\d+), (\d+)\)) NOT NULL( PRIMARY KEY)?")
_KEY = re.compile(r"PRIMARY KEY \(([^)]*)\)")
_PLAIN_TYPES = {"BIGINT": pa.int64(), "INTEGER": pa.int32(), "DATE": pa.date32(), "VARCHAR": pa.string()}


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation: its columns in order, none of which is nullable, and its primary key."""

    name: str
    schema: pa.Schema
    primary_key: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.schema.names)


@cache
def ddl() -> str:
    """The text of `schema.sql`: eight CREATE TABLE statements, referenced relations before those that refer."""
    return resources.files("tpch").joinpath("schema.sql").read_text(encoding="utf-8")


@cache
def relations() -> dict[str, Relation]:
    """The eight relations by name, in the order of `schema.sql`."""
    found = {match[1]: _relation(match[1], match[2]) for match in _TABLE.finditer(ddl())}
    assert len(found) == 8, "schema.sql does not declare the eight relations in the expected form"
    return found


def update_schema(relation: Relation) -> pa.Schema:
    """The schema of a relation's updates in a stream: its columns, then `_time` and `_diff` as int64."""
    extra = [pa.field(TIME, pa.int64(), nullable=False), pa.field(DIFF, pa.int64(), nullable=False)]
    return pa.schema([*relation.schema, *extra])


def update_columns(relation: Relation) -> tuple[tuple[str, str], ...]:
    """The (name, Arrow type) of each column of a relation's updates."""
    return tuple((column.name, str(column.type)) for column in update_schema(relation))


def _relation(name: str, body: str) -> Relation:
    fields: list[pa.Field] = []
    key: tuple[str, ...] = ()
    for line in body.splitlines():
        if column := _COLUMN.match(line.strip()):
            type_ = _PLAIN_TYPES.get(column[2]) or pa.decimal128(int(column[3]), int(column[4]))
            fields.append(pa.field(column[1], type_, nullable=False))
            key = (column[1],) if column[5] else key
        elif declared := _KEY.match(line.strip()):
            key = tuple(part.strip() for part in declared[1].split(","))
    return Relation(name, pa.schema(fields), key)
