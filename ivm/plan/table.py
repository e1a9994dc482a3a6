"""Tables and views, where the changes come from, and constants, which have none."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import ClassVar

from ivm.analysis.expected import Expected, constant, table
from ivm.plan.node import Change, Names, NamesOf, Plan, Sizes
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.relation import Get
from ivm.sql.ir.scalar import Value


class Named(Plan):
    """A table or a view."""

    name: str
    most_rows: ClassVar[None] = None

    @property
    def label(self) -> str:
        """With its name."""
        return f"{self.kind} {self.name}"

    @cached_property
    def tables_below(self) -> Names:
        """Itself."""
        return (self.name,)

    def named(self, names_of: NamesOf) -> Names:
        """As it was declared."""
        return names_of(self.name)

    def lines(self, names_of: NamesOf) -> list[str]:
        """The kind and the name."""
        return [self.label]

    def short_text(self) -> str:
        """The name."""
        return self.name

    called = short_text

    def expected(self, sizes: Sizes) -> Expected:
        """As many rows as given."""
        return table(self.name, self.row, sizes.rows, values=sizes.values)


@compared_once
class TablePlan(Named):
    """The changes of a base table. State: the table's own store, shared by everything.

    `append_only`: its rows never go. `static`: it has no changes while the plan runs. `refers`: see `Get`.
    """

    name: str
    row: Row
    unique: tuple[tuple[int, ...], ...] = ()
    append_only: bool = False
    static: bool = False
    refers: tuple[Reference, ...] = field(default=(), compare=False)

    def lines(self, names_of: NamesOf) -> list[str]:
        """With what is declared of its changes."""
        declared = (" static" if self.static else "") + (" append-only" if self.append_only else "")
        return [f"{self.label}{declared}"]

    @cached_property
    def is_static(self) -> bool:
        """As declared."""
        return self.static

    @cached_property
    def is_append_only(self) -> bool:
        """As declared."""
        return self.append_only or self.static

    @cached_property
    def most_rows(self) -> int | None:  # type: ignore[override]
        """One, if it is known to have no more."""
        return 1 if () in self.unique else None

    def expected(self, sizes: Sizes) -> Expected:
        """The rows as given, the values by keys and foreign keys."""
        return table(self.name, self.row, sizes.rows, self.unique, self.refers, sizes.values)

    def passed(self, change: Change, rate: float) -> float:
        """The change itself, if it is of this table."""
        return float(self.name == change.table)


@compared_once
class ViewPlan(Named):
    """The changes of an installed view. State: that view's own."""

    name: str
    row: Row
    is_static = is_append_only = False  # nothing is known of it


@compared_once
class ConstantPlan(Plan):
    """Rows that never change, in engine form."""

    rows: tuple[tuple[Value, ...], ...]
    row: Row

    def named(self, names_of: NamesOf) -> Names:
        """Columns have no names."""
        return tuple(f"#{i}" for i in range(len(self.row)))

    def lines(self, names_of: NamesOf) -> list[str]:
        """The number of rows."""
        return [f"constant rows={len(self.rows)}"]

    @cached_property
    def most_rows(self) -> int | None:
        """Those that there are."""
        return len(self.rows)

    def expected(self, sizes: Sizes) -> Expected:
        """Those that there are."""
        return constant(self.rows, len(self.row))


def lower_get(relation: Get) -> Plan:
    """The table or the view."""
    columns = row(relation)
    if not relation.is_table:
        return ViewPlan(relation.name, columns)
    return TablePlan(relation.name, columns, relation.keys, relation.append_only, relation.static, relation.refers)
