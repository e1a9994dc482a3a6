"""The eight TPC-H relations as plain data, read from `schema.sql`, so that there is one place that declares them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import pyarrow as pa

from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.trace.columns.arrow import arrow_type

TIME = "_time"
DIFF = "_diff"


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
    found = {}
    for table in (statement.table for statement in parse(ddl()) if isinstance(statement, CreateTable)):
        fields = [pa.field(field.name, arrow_type(field.type), field.nullable) for field in table.fields]
        found[table.name] = Relation(table.name, pa.schema(fields), table.primary_key)
    return found


def update_schema(relation: Relation) -> pa.Schema:
    """The schema of a relation's updates in a stream: its columns, then `_time` and `_diff` as int64."""
    extra = [pa.field(TIME, pa.int64(), nullable=False), pa.field(DIFF, pa.int64(), nullable=False)]
    return pa.schema([*relation.schema, *extra])


def update_columns(relation: Relation) -> tuple[tuple[str, str], ...]:
    """The (name, Arrow type) of each column of a relation's updates."""
    return tuple((column.name, str(column.type)) for column in update_schema(relation))
