"""Window functions: every row of a partition with values that depend on the rows around it.

State: the rows in order, a node for each copy, with the values shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivm.kernels.windows.functions import apply_window, living
from ivm.kernels.windows.tree import KEY, LIVE, USED, VALUES, VISITED, WORDS
from ivm.operators.groups import Cells, Groups, cell_times, frozen, frozen_diffs, live_input
from ivm.operators.operator import Contents, StateSize
from ivm.operators.present import Present
from ivm.operators.window_layout import FunctionSpec, Types, WindowLayout
from ivm.trace.column import Ints
from ivm.trace.consolidate import consolidate, sum_equal
from ivm.trace.delta import Delta, delta_of
from ivm.trace.dictionary import TextDictionary
from ivm.trace.growable import Growable
from ivm.trace.keys import KeyLayout
from ivm.trace.row_order import total_order

__all__ = ["FunctionSpec", "Window"]

_CHUNK = 1 << 16
_MANY = 512


@dataclass(slots=True)
class _Batch:
    """What a step applied, by cells, to take it back or make it final."""

    rows: Ints
    diffs: Ints
    order: Ints
    begin: Ints
    cells: Cells
    after: Ints
    progress: Ints


class Window(Present):
    """Each input row, once for each copy, with the values of `functions`, in partitions by the columns `partition`.

    `types` are the input's: `width` columns of the row, then computed arguments, which the output leaves out. Rows
    stand by `order`, (column, descending, nulls first) terms, then by all columns of the row, ascending, NULLs last.
    A change costs O(log n), and for each function what its reach takes it to: see `ivm.kernels.windows.reach`.
    """

    at_once = True

    def __init__(
        self,
        types: Types,
        width: int,
        partition: tuple[int, ...],
        order: tuple[tuple[int, bool, bool], ...],
        functions: Sequence[FunctionSpec],
        dictionary: TextDictionary,
    ) -> None:
        terms = len({column for column, _, _ in order})
        self._layout = WindowLayout(types, width, total_order(types[:width], partition, order), terms, functions)
        self._partition = partition
        parts = tuple((types[column][0].physical, types[column][1]) for column in partition)
        self._keys = KeyLayout(parts, nulls="match")
        self._dictionary = dictionary
        self._defaults = self._layout.defaults(dictionary)
        self._groups = Groups(self._keys.words, 1)
        self._types = [type_ for type_, _ in types[:width]] + [f.type for f in functions]
        self._batch: _Batch | None = None
        self._clear()

    def _clear(self) -> None:
        self._nodes: Growable[np.int64] = Growable(np.dtype(np.int64), self._layout.node_words)
        self._roots = np.zeros(0, np.int32)
        self._sizes = np.zeros(4, np.int64)

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return int(self._sizes[VISITED])

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The rows that go and come at each time, by time. Raises NumericError if a sum does not fit its type."""
        delta = live_input(inputs)
        if delta is None:
            return None
        words, _ = self._keys.pack([delta.column(c) for c in self._partition], len(delta))
        cells = self._groups.open(words, delta.times)
        self._widen(delta)
        layout = self._layout
        keys = layout.order.encode([delta.column(c) for c in range(layout.width)], len(delta))
        rows = layout.encode(delta, keys)
        batch = self._batched(rows, keys.shape[1], frozen_diffs(delta.diffs), cells)
        self._make_room(batch)
        self._batch = batch
        out, count = apply_window(*self._arguments(batch, False))
        if batch.progress[0] < len(batch.order):
            raise AssertionError(
                "internal error: a window function has no row to retract; the view that feeds it is wrong. Please "
                "report this with the view's SQL"
            )
        return self._output(out[:count], cells) if count else None

    def _batched(self, rows: Ints, width: int, diffs: Ints, cells: Cells) -> _Batch:
        """The batch by cells; diffs of equal rows of a cell added up where some of them are negative."""
        row_cell = cells.row_cell
        if len(diffs) and len(diffs) > 1 and bool((diffs < 0).any()):
            whole = np.concatenate([rows[:, :width], row_cell[:, None]], axis=1)
            first, sums = sum_equal(whole, diffs)
            rows, diffs, row_cell = rows[first], frozen(sums), row_cell[first]
        order = np.argsort(row_cell, kind="stable")
        if len(order) >= _MANY:  # what goes to one place of a tree goes there one after the other
            order = np.lexsort((*(rows[:, w] for w in range(min(width, 3) - 1, -1, -1)), row_cell))
        begin = np.zeros(len(cells) + 1, np.int64)
        np.cumsum(np.bincount(row_cell, minlength=len(cells)), out=begin[1:])
        return _Batch(rows, diffs, order, begin, cells, np.zeros((len(cells), 1), np.int64), np.zeros(1, np.int64))

    def _arguments(self, batch: _Batch, undo: bool) -> tuple[Any, ...]:
        layout = self._layout
        return (
            self._nodes.array, self._roots, self._sizes, layout.kinds, self._dictionary.heap, self._dictionary.offsets,
            layout.shape, layout.carries, layout.extremes, layout.plan, self._defaults, batch.rows, batch.diffs,
            batch.order, batch.begin, batch.cells.slot, layout.uses_peers, batch.after, batch.progress, undo,
        )  # fmt: skip

    def _output(self, out: Ints, cells: Cells) -> Delta | None:
        layout = self._layout
        width = int(layout.shape[KEY]) - 1
        end = width + int(layout.shape[WORDS])
        columns = layout.columns(out[:, :width], out[:, width:end])
        diffs = np.ascontiguousarray(out[:, end])
        delta = delta_of(columns, cell_times(cells.times, out[:, end + 1]), diffs, len(out))
        return delta if layout.is_settled else consolidate(delta, self._types)

    def _widen(self, delta: Delta) -> None:
        moved = self._layout.widened(delta, self._nodes.array[: int(self._sizes[USED])])
        if moved is not None:
            self._nodes = Growable(np.dtype(np.int64), self._layout.node_words)
            self._nodes.append(moved)

    def _make_room(self, batch: _Batch) -> None:
        """Room for as many new nodes as there are changes, and for the roots of all groups; amortized."""
        more = int(np.abs(batch.diffs).sum()) if len(batch.diffs) else len(batch.rows)
        self._nodes.length = int(self._sizes[USED])
        self._nodes.reserve(self._nodes.length + more)
        if self._groups.capacity > len(self._roots):
            roots = np.zeros(self._groups.capacity, np.int32)
            roots[: len(self._roots)] = self._roots
            self._roots = roots

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """All rows with their present values."""
        shape = self._layout.shape
        width, values = int(shape[KEY]) - 1, int(shape[VALUES])
        used = int(self._sizes[USED])
        for start in range(0, used, _CHUNK):
            nodes = self._nodes.array[living(self._nodes.array, shape, start, min(start + _CHUNK, used))]
            if len(nodes):
                columns = self._layout.columns(nodes[:, :width], nodes[:, values : values + int(shape[WORDS])])
                yield delta_of(columns, time, None, len(nodes))

    def seal(self, upper: int, since: int) -> None:
        """Write the partitions' sizes; those without rows go."""
        self._groups.close(None if self._batch is None else self._batch.after)
        self._batch = None
        self._give_back()

    def rollback(self, mark: None) -> None:
        """Take the last batch back."""
        if self._batch is not None:
            self._make_room(self._batch)
            apply_window(*self._arguments(self._batch, True))
        self._groups.close(None)
        self._batch = None
        self._give_back()

    def _give_back(self) -> None:
        """Free everything where no node is in use; keep the count of nodes visited."""
        if self._sizes[LIVE] == 0 and self._sizes[USED] > 0:
            visited = self.visited
            self._clear()
            self._sizes[VISITED] = visited

    def size(self) -> StateSize:
        """Rows, partitions, bytes."""
        used = int(self._sizes[USED]) * self._layout.node_words * 8
        return StateSize(int(self._sizes[LIVE]), len(self._groups), used + self._roots.nbytes + self._groups.nbytes)
