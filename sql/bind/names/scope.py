"""The columns that an expression may name: those of its own row, and those of the rows of enclosing blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn, Protocol

from sqlglot import exp

from ivm.catalog.names import NO_ROWID, key, suggestion, written
from ivm.catalog.schema import Field, Schema
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.scalar import Column, Outer, Scalar, rewrite, walk


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """Column `column` of the input row, called `name` in `table`; `merged` if USING has joined it to one before."""

    table: str
    name: str
    column: Column
    merged: bool = False


@dataclass(frozen=True)
class Scope:
    """The columns of a FROM clause in order, and the tables that they come from. Names are found in any case.

    `padded`: the keys of tables of which an outer join may have no row, in whose place NULLs stand.
    """

    columns: tuple[ScopeColumn, ...] = ()
    tables: tuple[str, ...] = ()
    padded: frozenset[str] = frozenset()

    @property
    def width(self) -> int:
        """Number of columns of the row."""
        return len(self.columns)

    def find(self, name: str, table: str = "") -> tuple[ScopeColumn, ...]:
        """The columns called `name`, in `table` if that is given; merged ones only if their table is named."""
        found, of = self._by_name.get(key(name), ()), key(table)
        return tuple(c for c in found if (key(c.table) == of if table else not c.merged))

    @cached_property
    def _by_name(self) -> dict[str, list[ScopeColumn]]:
        named: dict[str, list[ScopeColumn]] = {}
        for column in self.columns:
            named.setdefault(key(column.name), []).append(column)
        return named

    def visible(self, table: str = "") -> tuple[ScopeColumn, ...]:
        """The columns that * stands for, or `table`.* if one is given."""
        of = key(table)
        return tuple(c for c in self.columns if (key(c.table) == of if table else not c.merged))

    def has(self, table: str) -> bool:
        """Whether a table of that name is there."""
        return written(table, self.tables) is not None

    def knows(self, name: str, table: str = "") -> bool:
        """Whether a column is called so, or, where no table is named, a table, which stands for its row."""
        return bool(self.find(name, table)) or (not table and self.has(name))

    def at(self, index: int) -> ScopeColumn:
        """The column at position `index` of the row."""
        return next(c for c in self.columns if c.column.index == index)

    def merge(self, gone: int, kept: int) -> Scope:
        """The scope in which the columns at two positions are one: `kept`, which stands where the first of them did."""
        one, other = self.at(gone), self.at(kept)
        hidden = replace(one, merged=True)
        if self.columns.index(other) < self.columns.index(one):
            return replace(self, columns=tuple(hidden if c is one else c for c in self.columns))
        rest = (c for c in self.columns if c is not other)
        return replace(self, columns=tuple(new for c in rest for new in ((other, hidden) if c is one else (c,))))

    def unite(self, left: int, right: int, column: Column) -> Scope:
        """The scope in which `column`, a new one at the end of the row, takes the place of two that are merged."""
        one, other = self.at(left), self.at(right)
        # No table has this name: only a star that expands to the column gives it.
        united = ScopeColumn(f"{one.table} and {other.table}", one.name, column)
        columns = [replace(c, merged=True) if c in (one, other) else c for c in self.columns]
        columns.insert(self.columns.index(one), united)
        return replace(self, columns=tuple(columns))

    def typed(self, schema: Schema, padded: Iterable[str]) -> Scope:
        """The scope of an outer join: columns may be NULL where those of `schema`, by position, may be. Of the tables
        called `padded` it may have no row.
        """

        def as_there(c: ScopeColumn) -> ScopeColumn:
            nullable = schema[c.column.index].nullable
            return c if c.column.nullable == nullable else replace(c, column=replace(c.column, nullable=nullable))

        return replace(self, columns=tuple(map(as_there, self.columns)), padded=self.padded | {*map(key, padded)})

    def unknown(self, name: str, table: str) -> str:
        """The message for a column that is not there."""
        if table and not self.has(table):
            return f"there is no table {table!r} in FROM{suggestion(table, self.tables)}"
        where = f"table {table!r} has" if table else "there is"
        names = [c.name for c in self.columns if not table or key(c.table) == key(table)]
        hint = NO_ROWID if key(name) == "rowid" else suggestion(name, names)
        return f"{where} no column {name!r}{hint}"


def join(left: Scope, right: Scope) -> Scope:
    """The scope of the concatenated rows."""
    moved = (replace(c, column=replace(c.column, index=c.column.index + left.width)) for c in right.columns)
    return Scope((*left.columns, *moved), left.tables + right.tables, left.padded | right.padded)


def scope_of(table: str, fields: Iterable[Field]) -> Scope:
    """The scope of one relation, called `table`."""
    columns = (ScopeColumn(table, f.name, Column(i, f.type, f.nullable)) for i, f in enumerate(fields))
    return Scope(tuple(columns), (table,))


class Names(Protocol):
    """What is known by name in an enclosing block."""

    @property
    def scope(self) -> Scope:
        """The columns of its row."""

    @property
    def is_grouped(self) -> bool:
        """Whether its aggregates may be named."""

    def lookup(self, node: exp.Column) -> Operand | None:
        """The column or alias of the block that `node` names, or None."""

    def bind(self, node: exp.Expr) -> Operand:
        """The expression over its row."""

    def refuse(self, node: exp.Expr, message: str) -> NoReturn:
        """Raise UnsupportedError with the position of `node`."""


@dataclass(slots=True, eq=False)
class OuterRow:
    """The row of the block around a subquery, which stands on the right of the Apply numbered `binding`.

    `read` holds the nodes that have named its columns.
    """

    names: Names
    binding: int
    read: list[exp.Expr] = field(default_factory=list)

    def column(self, node: exp.Column) -> Operand | None:
        """The column that `node` names, as the subquery sees it; None if there is none."""
        found = self.names.lookup(node)
        return None if found is None else self._seen(node, found)

    def bind(self, node: exp.Expr) -> Operand:
        """An expression of the block around, as the subquery sees it."""
        return self._seen(node, self.names.bind(node))

    def _seen(self, node: exp.Expr, operand: Operand) -> Operand:
        held = without_column(operand.scalar)
        if held is not None:
            what = f"this is {held} of the query around, whose value a subquery cannot read"
            self.names.refuse(node, f"{what}; compute it in FROM")
        self.read.append(node)
        return Operand(node, seen_from_inside(operand.scalar, self.binding))


WINDOWED = -(1 << 40)
"""The number of the Outers that stand for window functions until they have columns (see the module `nested`)."""
UNNESTED = -(1 << 41)
"""The same of elements of lists, see the module `unnest`."""
_INSIDE = {WINDOWED: "a window function", UNNESTED: "UNNEST"}


def without_column(scalar: Scalar) -> str | None:
    """What the expression holds that has no column yet; None if there is nothing such."""
    found = (_INSIDE.get(s.binding) for s in walk(scalar) if isinstance(s, Outer))
    return next((what for what in found if what is not None), None)


def seen_from_inside(scalar: Scalar, binding: int) -> Scalar:
    """An expression over the row of an Apply's left side, as its right side reads it."""

    def move(s: Scalar) -> Scalar:
        return Outer(binding, s.index, s.type, s.nullable) if isinstance(s, Column) else s

    return rewrite(scalar, move)
