"""Top-k: the first rows of each group in a total order. State: the input, in order, with what of it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from catalog.types import SqlType
from ivm.kernels.top_k import FIELDS, apply_windows, undo_windows
from ivm.operators.groups import Cells, Groups, cell_times, frozen, frozen_diffs, frozen_times, live_input
from ivm.operators.hierarchical import OrderedSets
from ivm.operators.operator import Contents, StateSize
from ivm.operators.ordering import total_order
from ivm.operators.present import Present
from ivm.trace.column import Ints
from ivm.trace.delta import Delta, delta_of
from ivm.trace.dictionary import TextDictionary
from ivm.trace.keys import KeyLayout

_CHUNK = 1 << 16

Types = tuple[tuple[SqlType, bool], ...]


@dataclass(slots=True)
class _Batch:
    """What a step applied, to take it back or make it final."""

    keys: Ints
    diffs: Ints
    cells: Cells
    after: Ints


class TopK(Present):
    """Per value of the columns `group`, the first `limit` rows after `offset`, counting each as often as it occurs.

    `order`: (column, descending, nulls first) terms; ties are broken by all columns, ascending, NULLs last, so the
    output is a function of the input. `limit` None: all rows after the offset. Per change O(log n); per group and
    time that a change within or before the window touches, O(offset + limit), or O(offset) without a limit.
    """

    def __init__(
        self,
        types: Types,
        group: tuple[int, ...],
        order: tuple[tuple[int, bool, bool], ...],
        limit: int | None,
        offset: int,
        dictionary: TextDictionary,
    ) -> None:
        self._order = total_order(types, group, order)
        self._group = group
        parts = tuple((types[column][0].physical, types[column][1]) for column in group)
        self._layout = KeyLayout(parts, nulls="match")
        # Without a limit the output is everything but the first rows, so it is these that are kept track of.
        self._rest = limit is None
        self._begin, self._end = (0, offset) if limit is None else (offset, offset + limit)
        self._dictionary = dictionary
        self._groups = Groups(self._layout.words, FIELDS)
        self._sets = OrderedSets(self._order.kinds)
        self._batch: _Batch | None = None

    @property
    def visited(self) -> int:
        """Nodes of ordered state visited so far."""
        return self._sets.visited

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the windows at each time, sorted by time."""
        delta = live_input(inputs)
        if delta is None:
            return None
        columns = delta.columns()
        words, _ = self._layout.pack([columns[c] for c in self._group], len(delta))
        cells = self._groups.open(words, delta.times)
        batch = _Batch(
            frozen(self._order.encode(columns, len(delta))),
            frozen_diffs(delta.diffs),
            cells,
            np.zeros((len(cells), FIELDS), np.int64),
        )
        sets = self._sets
        sets.make_room(len(delta), self._groups.capacity)
        self._batch = batch
        out, rows = apply_windows(
            sets.nodes, sets.roots, sets.sizes, sets.kinds, self._dictionary.heap, self._dictionary.offsets,
            batch.keys, batch.diffs, frozen_times(delta.times), self._begin, self._end, self._rest,
            self._layout.words, self._groups.state, cells.row_cell, cells.slot, cells.previous, batch.after,
        )  # fmt: skip
        if rows == 0:
            return None
        width = len(self._order.kinds)
        out = out[:rows]
        times = cell_times(cells.times, out[:, width + 1])
        return delta_of(self._order.decode(out[:, :width]), times, out[:, width].copy(), rows)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The rows in the windows, or outside of them where there is no limit."""
        width = len(self._order.kinds)
        for start in range(0, self._sets.used, _CHUNK):
            nodes = self._sets.nodes[start : min(start + _CHUNK, self._sets.used)]
            nodes = nodes[nodes[:, width] != 0]
            diffs = nodes[:, width] - nodes[:, width + 2] if self._rest else nodes[:, width + 2]
            present = diffs != 0
            if present.any():
                yield delta_of(self._order.decode(nodes[present, :width]), time, diffs[present], int(present.sum()))

    def commit(self, since: int) -> None:
        """Write the groups' counts; groups without rows go."""
        self._groups.close(None if self._batch is None else self._batch.after)
        self._batch = None
        self._sets.give_back()

    def abort(self) -> None:
        """Take the last batch back."""
        batch, sets = self._batch, self._sets
        if batch is not None:
            sets.make_room(len(batch.keys), self._groups.capacity)
            undo_windows(
                sets.nodes, sets.roots, sets.sizes, sets.kinds, self._dictionary.heap, self._dictionary.offsets,
                batch.keys, batch.diffs, self._begin, self._end, self._layout.words, self._groups.state,
                batch.cells.row_cell, batch.cells.slot, batch.after,
            )  # fmt: skip
        self._groups.close(None)
        self._batch = None
        sets.give_back()

    def size(self) -> StateSize:
        """Distinct rows, groups, bytes."""
        return StateSize(self._sets.entries, len(self._groups), self._sets.nbytes + self._groups.nbytes)
