"""Arrangements: what joins look up in."""

from __future__ import annotations

from ivm.catalog.types import Physical
from ivm.plan.estimate import IN_TREE, KEY, LONG_KEY, REFERENCE, STORED, Estimate, width
from ivm.plan.node import NamesOf, Plan, Sizes
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import TablePlan
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.scalar import Column, Scalar
from ivm.sql.ir.text import scalar_text


@compared_once
class ArrangementPlan:
    """A collection indexed by `key`. Of a base table: row references. Of a reduce by its group key: the groups that it
    keeps anyway. Of anything else: its own copy of the rows.

    With a `value`, an expression over the collection's columns, the rows of a key are in its order: a tree of
    references to rows. Rows whose value is NULL are not in it.
    """

    collection: Plan
    key: tuple[int, ...]
    value: Scalar | None = None

    @property
    def kind(self) -> str:
        """`index` over a base table's rows, `groups` of a reduce, `derived`, or `ordered`."""
        if self.value is not None:
            return "ordered"
        if isinstance(self.collection, TablePlan):
            return "index"
        grouped = isinstance(self.collection, ReducePlan) and self.key == tuple(range(self.collection.keys))
        return "groups" if grouped else "derived"

    @property
    def is_own(self) -> bool:
        """Whether the collection keeps it anyway: a table its keys, a reduce its groups."""
        if self.kind == "index" and isinstance(self.collection, TablePlan):
            return self.key in self.collection.unique
        return self.kind == "groups"

    def text(self, names_of: NamesOf) -> str:
        """`orders(o_custkey)` for an index, the kind of node and its key for a derived arrangement; then the order."""
        names = self.collection.names(names_of)
        parts = [", ".join(names[c] for c in self.key)] if self.key else []
        if self.value is not None:
            value = self.value
            text = names[value.index] if isinstance(value, Column) else scalar_text(value, names)
            parts.append(f"ordered by {text}")
        return f"{self.collection.short_text()}({' '.join(parts)})"

    def state(self, sizes: Sizes) -> Estimate:
        """The state to expect."""
        if self.is_own:
            return Estimate(0.0, 0.0)
        collection, rows = self.collection, sizes.count(self.collection)
        own = 0 if isinstance(collection, TablePlan) else width(collection.row) + STORED
        if self.value is not None:
            values = 2 if self.value.type.physical is Physical.WIDE else 1
            return Estimate(rows, rows * (IN_TREE * (len(self.key) + values + 2) + own))
        if self.kind == "derived":
            return Estimate(rows, rows * own)
        keys = min(rows, sizes.combinations(collection, self.key)) if self.key else 1.0
        return Estimate(rows, rows * REFERENCE + keys * (KEY if len(self.key) == 1 else LONG_KEY))
