"""Differences as rows: a collection whose rows may be there less than not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, SqlType
from ivm.trace.columns.column import Bools, Column, Ints
from ivm.trace.columns.segment import Segment
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of
from ivm.trace.rows.changes import Changes
from ivm.trace.rows.row_store import RowStore
from ivm.trace.rows.rows import Arranged, DerivedRows
from ivm.trace.text.dictionary import TextDictionary

_MOST_COPIES, _MANY = 1 << 22, 256
"""So many rows of one change are not kept if each is there so often: it only gets worse from round to round."""


class SignedRows(DerivedRows[Arranged]):
    """Rows of columns of `types` and a last one, the sign: of a row that is taken back, and is not there, -1.

    Who looks rows up multiplies by the sign. A row and its opposite are never both there. `arrange`: see `DerivedRows`;
    its store has the sign. `are_net`: all changes of one time are of different rows.
    """

    def __init__(
        self,
        types: Sequence[SqlType],
        dictionary: TextDictionary,
        arrange: Callable[[RowStore], Arranged],
        *,
        are_net: bool = False,
    ) -> None:
        super().__init__((*types, BIGINT), dictionary, arrange)
        self._are_net = are_net
        self._has_negative = False
        """Whether a row with the sign -1 may be there; that is only asked to save looking for one."""

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `State.restore`."""
        super().restore(segments)
        self._has_negative = True

    def apply(self, delta: Delta) -> None:
        """Add the changes, all of one time; what follows the columns of theirs is not looked at.

        NumericError where they are few rows, each very often. Cost: 20-100 ns a row, as often as it is there, and hash.
        """
        if not delta.length:
            return
        assert isinstance(delta.times, int), "changes of a loop come one tick after the other"
        types = self.store.types[:-1]
        columns = delta.columns()[: len(types)]
        if delta.diffs is None and not self._has_negative:  # nothing is taken back, here or there
            added = delta_of([*columns, Column(np.ones(len(delta), np.int64))], delta.times, None)
            self.come(added, len(delta), delta.times)
            return
        net = delta if self._are_net else consolidate(delta, types, columns)
        if net is None:
            return
        if net is not delta:
            columns = net.columns()[: len(types)]
        rows, signs = self._one_by_one(net.diff_array())
        if self._has_negative or not (signs > 0).any():  # each may have an opposite
            left = np.flatnonzero(self._without_opposite(columns, rows, signs, delta.times))
        else:
            left_out = signs > 0
            at = np.flatnonzero(~left_out)
            left_out[at] = self._without_opposite(columns, rows[at], signs[at], delta.times)
            left = np.flatnonzero(left_out)
        if len(left):
            self._has_negative = self._has_negative or bool((signs[left] < 0).any())
            self.come(_with_signs(columns, rows[left], signs[left], delta.times), len(left), delta.times)

    @staticmethod
    def _one_by_one(diffs: Ints) -> tuple[Ints, Ints]:
        """Of changes which row each is of, and its sign, where one of several copies is several changes."""
        copies: Ints = np.abs(diffs)
        if copies.max() == 1:
            return np.arange(len(diffs)), diffs
        many = float(copies.sum(dtype=np.float64))
        if many > max(_MOST_COPIES, _MANY * len(diffs)):
            raise NumericError(
                f"rows within a loop are there more and more often, some {many:.0f} times by now; where UNION ALL goes "
                "round in a circle it has no end: write UNION, or let its branch stop"
            )
        rows = np.repeat(np.arange(len(diffs)), copies)
        return rows, np.sign(diffs)[rows]

    def _without_opposite(self, columns: Sequence[Column], rows: Ints, signs: Ints, time: int) -> Bools:
        """Let the opposites of these rows die, where they are there; which have none."""
        opposite = _with_signs(columns, rows, -signs, time)
        changes = Changes(len(rows), None, time, np.zeros(len(rows), np.bool_))
        applied, _ = self.change(opposite.columns(), changes, go_on=True)
        left = np.zeros(len(rows), np.bool_)
        left[applied.failed] = True
        return left


def _with_signs(columns: Sequence[Column], rows: Ints, signs: Ints, time: int) -> Delta:
    """Rows of the columns, with their signs."""
    return delta_of([*(each.take(rows) for each in columns), Column(signs)], time, None, len(rows))
