"""Schemas: the fields of a relation, tables with their keys, and view definitions. Plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.names import key
from catalog.types import SqlType


@dataclass(frozen=True, slots=True)
class Field:
    """One named, typed column of a relation."""

    name: str
    type: SqlType
    nullable: bool = True


Schema = tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of this table name a row of `table` by its `referenced` columns; checked only if `enforced`."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]
    enforced: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A declared base table. An empty `primary_key` means a multiset of rows.

    `append_only`: no row is ever deleted or replaced. `static`: it does not change while a maintained view reads it.
    """

    name: str
    fields: Schema
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    append_only: bool = False
    static: bool = False

    def index(self, column: str) -> int:
        """Position of `column`, in any case; KeyError if there is none."""
        for i, field in enumerate(self.fields):
            if key(field.name) == key(column):
                return i
        raise KeyError(column)

    @property
    def key_indexes(self) -> tuple[int, ...]:
        """Positions of the primary key's columns."""
        return tuple(self.index(name) for name in self.primary_key)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class View:
    """A view by its SQL. `maintained` views are kept up to date; others run only inside what uses them.

    `sql` is the SELECT text as the user wrote it, `schema` its output, `uses` the tables and views that
    it reads directly. `order` says how a reader sees the rows: (position in `columns`, descending, nulls_first).
    `hidden` are columns that only ORDER BY names: they are kept after those of `schema`, and no reader sees them.
    """

    name: str
    sql: str
    schema: Schema
    uses: tuple[str, ...]
    maintained: bool
    order: tuple[tuple[int, bool, bool], ...] = ()
    hidden: Schema = ()

    @property
    def columns(self) -> Schema:
        """The columns of what is kept: those that readers see, then the hidden ones."""
        return self.schema + self.hidden
