"""Constants."""

from __future__ import annotations

from functools import cached_property

from ivm.plan.node import Names, NamesOf, Plan, Sizes
from sql.ir.compared_once import compared_once
from sql.ir.rebuild import Row
from sql.ir.scalar import Value


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

    def count(self, sizes: Sizes) -> float:
        """Those that there are."""
        return float(len(self.rows))
