"""Schemas: the fields of a relation, tables with their keys, and view definitions. Plain frozen data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ivm.catalog.function import Signature
from ivm.catalog.names import key
from ivm.catalog.types import SqlType
from ivm.catalog.zones import UTC


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
class Unique:
    """No two rows agree on `columns`, unless one of these is NULL. `name` is empty if it was given none."""

    columns: tuple[str, ...]
    name: str = ""

    def __str__(self) -> str:
        constraint = f"CONSTRAINT {self.name} " if self.name else ""
        return f"{constraint}UNIQUE ({', '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class Check:
    """On no row is `condition`, a text in DuckDB's dialect over the table's columns, FALSE. `name` may be empty."""

    condition: str
    name: str = ""

    def __str__(self) -> str:
        constraint = f"CONSTRAINT {self.name} " if self.name else ""
        return f"{constraint}CHECK ({self.condition})"


@dataclass(frozen=True, slots=True)
class Default:
    """What `column` holds where a row is inserted without it: `value`, a text in DuckDB's dialect.

    A `constant` one is the same for all rows; any other is computed for each.
    """

    column: str
    value: str
    constant: bool


@dataclass(frozen=True, slots=True)
class Generated:
    """What `column` always holds: `value`, a text in DuckDB's dialect over the columns that are not generated."""

    column: str
    value: str


@dataclass(frozen=True, slots=True)
class Index:
    """An index that somebody created: knowledge that `columns` are `unique`, or else a name and nothing more. Of an
    index over expressions the columns are those that they read; older databases have none there.

    Which indexes there are of a table is decided by the views that read it.
    """

    name: str
    columns: tuple[str, ...]
    unique: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A declared base table. An empty `primary_key` means a multiset of rows.

    `append_only`: no row is ever deleted or replaced. `static`: it does not change while a maintained view reads it.
    `partitioned_by`, `replicated`: where its rows are in a database over shards; others take no notice.
    `retention`: how long rows stay by their `retention_column`, the text of an interval; "" for ever.
    `temporary`: it ends with the connection, and is written down nowhere. `zone`: by whose clocks what it says of its
    rows tells moments.
    """

    name: str
    fields: Schema
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    append_only: bool = False
    static: bool = False
    unique: tuple[Unique, ...] = ()
    checks: tuple[Check, ...] = ()
    defaults: tuple[Default, ...] = ()
    indexes: tuple[Index, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    replicated: bool = False
    retention: str = ""
    retention_column: str = ""
    temporary: bool = False
    generated: tuple[Generated, ...] = ()
    zone: str = UTC

    @property
    def given(self) -> Schema:
        """The columns that rows are given with: those that are not generated."""
        of = {each.column for each in self.generated}
        return tuple(field for field in self.fields if field.name not in of) if of else self.fields

    @property
    def unique_constraints(self) -> tuple[Unique, ...]:
        """Those that were declared, and those of its unique indexes."""
        return (*self.unique, *(Unique(index.columns, index.name) for index in self.indexes if index.unique))

    def default(self, column: str) -> Default | None:
        """What stands in for `column`, whose name is as it was declared, where a row leaves it out; None: NULL."""
        return next((default for default in self.defaults if default.column == column), None)

    def index(self, column: str) -> int:
        """Position of `column`, in any case; KeyError if there is none."""
        for i, field in enumerate(self.fields):
            if key(field.name) == key(column):
                return i
        raise KeyError(column)

    def places(self, columns: Sequence[str]) -> tuple[int, ...]:
        """Positions of `columns`; see `index`. Cost: a pass over the table's columns, not one for each."""
        if len(columns) == 1:
            return (self.index(columns[0]),)
        found = {key(field.name): place for place, field in enumerate(self.fields)}
        return tuple(found[key(name)] for name in columns)

    @property
    def key_indexes(self) -> tuple[int, ...]:
        """Positions of the primary key's columns."""
        return self.places(self.primary_key)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class View:
    """A view by its SQL. `maintained` views are kept up to date; others run only inside what uses them.

    `sql` is the SELECT text as the user wrote it, `schema` its output, `uses` the tables and views that
    it reads directly. `order` says how a reader sees the rows: (position in `columns`, descending, nulls_first).
    `hidden` are columns that only ORDER BY names: they are kept after those of `schema`, and no reader sees them.
    `unnamed` is the text before the view gave its columns other names, empty if it did not. `mark` tells it from all
    other views that there were of this name: a random number, or empty in databases of earlier releases.
    `change_feed`: whether a database over shards writes down what changes in it, for who follows it; in any other one
    each maintained view can be followed. `temporary`: as of a table. `calls`: the functions of the application's that
    it calls itself. `zone`: by whose clocks its text tells moments. `history`: how much of its past is kept, a number
    of times or a length of time; empty: as much as of all else.
    """

    name: str
    sql: str
    schema: Schema
    uses: tuple[str, ...]
    maintained: bool
    order: tuple[tuple[int, bool, bool], ...] = ()
    hidden: Schema = ()
    unnamed: str = ""
    mark: str = ""
    change_feed: bool = False
    temporary: bool = False
    calls: tuple[Signature, ...] = ()
    zone: str = UTC
    history: str = ""

    @property
    def columns(self) -> Schema:
        """The columns of what is kept: those that readers see, then the hidden ones."""
        return self.schema + self.hidden
