"""The rows that an expression is evaluated over: columns of a delta, fetched once, and the maps before it."""

from __future__ import annotations

from ivm.render.scalars.columns import pick
from ivm.trace.column import Array, Column
from ivm.trace.delta import Delta

Passed = tuple[Array | None, list[Column | None]]
"""Positions of the rows that pass (None: all do), and each map's column over them (None: nobody reads it)."""


class Rows:
    """Columns by position for `length` rows; a column is gathered when it is first read and then kept.

    `take` gives some of the rows: columns already here are narrowed from here, others come straight from the
    source.
    """

    __slots__ = ("columns", "delta", "length", "positions")

    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self.length = len(delta)
        self.columns: dict[int, Column] = {}
        self.positions: Array | None = None

    def column(self, index: int) -> Column:
        """Column `index`, of length `self.length` (or one, see `columns`)."""
        column = self.columns.get(index)
        if column is None:
            column = self._fetch(index)
            self.columns[index] = column
        return column

    def _fetch(self, index: int) -> Column:
        if self.positions is None:
            return self.delta.column(index)
        place = self.delta.layout.places[index]
        assert place is not None, f"column {index} is not bound"
        group = self.delta.groups[place[0]]
        rows = self.positions if group.refs is None else group.refs[self.positions]
        return group.source.gather(place[1], rows)

    def append(self, index: int, column: Column) -> None:
        """Give the rows another column, computed here."""
        self.columns[index] = column

    def take(self, rows: Array) -> Rows:
        """The rows at positions `rows` (distinct integers)."""
        taken = Rows.__new__(Rows)
        taken.delta = self.delta
        taken.length = len(rows)
        taken.positions = rows if self.positions is None else self.positions[rows]
        taken.columns = {i: pick(c, rows) for i, c in self.columns.items()} if self.columns else {}
        return taken
