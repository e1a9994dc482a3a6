"""Window functions: every row of a partition with values that depend on the rows around it.

State: the rows in order, a node for each copy, with the values shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.kernels.windows.functions import CELL, DIFF
from ivm.operators.operator import Contents, Kept, StateSize, live_input
from ivm.operators.window_functions import FunctionSpec
from ivm.operators.window_layout import Types, WindowLayout
from ivm.trace.columns.column import Ints
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of
from ivm.trace.keyed.group_table import Cells, Fields
from ivm.trace.keyed.groups import Groups
from ivm.trace.ordered.row_order import total_order
from ivm.trace.ordered.window_tree import WindowReader, WindowTree
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import chosen


class Window(Kept):
    """Each input row, once for each copy, with the values of `functions`, in partitions by the columns `partition`.

    `types` are the input's: `width` columns of the row, then computed arguments, which the output leaves out. Rows
    stand by `order`, (column, descending, nulls first) terms, then by all columns of the row, ascending, NULLs last.
    A change costs O(log n), and for each function what its reach takes it to: see `ivm.kernels.windows.reach`.
    """

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
        rows = total_order(types[:width], partition, order)
        self._rows = WindowTree(WindowLayout(types, width, rows, terms, functions, dictionary), dictionary)
        self._partition = partition
        self._groups = Groups([types[column] for column in partition], Fields((None,)), dictionary)
        self.states = (self._groups, self._rows)
        self._types = [type_ for type_, _ in types[:width]] + [f.type for f in functions]

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The rows that go and come at each time, by time. Raises NumericError if a sum does not fit its type."""
        delta = live_input(inputs)
        if delta is None:
            return None
        words, _ = self._groups.layout.pack([delta.column(c) for c in self._partition], len(delta))
        cells = self._groups.open(words, delta.times)
        wider = self._rows.layout.widened(delta)
        if wider is not None:
            self._rows.widen(wider)
        out, counts, enough = self._rows.apply(self._rows.layout.encode(delta), delta.diffs, cells.row_cell, cells.slot)
        self._groups.put(counts)
        if not enough:
            raise AssertionError(
                "internal error: a window function has no row to retract; the view that feeds it is wrong. Please "
                "report this with the view's SQL"
            )
        return self._output(out, cells) if len(out) else None

    def _output(self, out: Ints, cells: Cells) -> Delta | None:
        layout = self._rows.layout
        delta = delta_of(layout.columns(out), chosen(cells.times, out[:, CELL]), out[:, DIFF].copy(), len(out))
        return delta if layout.is_settled else consolidate(delta, self._types)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        return _shown(self._rows.reader(), time)

    def size(self) -> StateSize:
        """Rows, partitions, bytes."""
        own = self._rows.size()
        return StateSize(own.rows, len(self._groups), own.bytes + self._groups.nbytes)


def _shown(reader: WindowReader[WindowLayout], time: int) -> Iterator[Delta]:
    for layout, rows, diffs in reader.read():
        yield delta_of(layout.columns(rows), time, diffs, len(rows))
