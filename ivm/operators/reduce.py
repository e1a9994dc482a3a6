"""Reduce: groups with their aggregates. State: a row of accumulators for each group, ordered rows for some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catalog.types import SqlType
from ivm.kernels.groups.emit import emit, read_groups
from ivm.operators.accumulable import Accumulators, AggregateSpec, overflow_error
from ivm.operators.append_only_extremes import AppendOnlyExtremes
from ivm.operators.extremes import Extremes
from ivm.operators.group_rows import GroupRows, aggregate_values
from ivm.operators.groups import Cells, Groups, cell_times, live_input
from ivm.operators.operator import Contents, StateSize
from ivm.operators.ordered_aggregates import OrderedAggregates
from ivm.operators.present import Present
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.computed import Computed
from ivm.trace.delta import Delta, Group, delta_of
from ivm.trace.dictionary import TextDictionary
from ivm.trace.keys import KeyLayout
from ivm.trace.time import readable_as_of

__all__ = ["AggregateSpec", "Reduce"]

_CHUNK = 1 << 16


class Reduce(Present):
    """Groups its input by the first columns, `keys`, and keeps the aggregates of each group.

    A group exists while its multiplicity is not zero; with no keys there is one group that always exists. The output
    has the keys, then the aggregates. `step` writes to no group before `commit`, so undoing it is forgetting it; only
    the ordered rows of min, max and their like are changed at once, and changed back. `append_only`: no row of the
    input ever goes, so that min and max keep nothing but themselves.

    The groups are an arrangement of the output by its keys, for joins on them: see `look_up`.
    """

    def __init__(
        self,
        keys: tuple[tuple[SqlType, bool], ...],
        aggregates: Sequence[AggregateSpec],
        dictionary: TextDictionary,
        *,
        append_only: bool = False,
    ) -> None:
        self._layout = KeyLayout(tuple((type_.physical, nullable) for type_, nullable in keys), nulls="match")
        self.layout = replace(self._layout, nulls="find")
        self._keys = len(keys)
        self._parts = Accumulators(aggregates)
        self._groups = Groups(self._layout.words, self._parts.fields)
        self._extremes: Extremes | AppendOnlyExtremes = Extremes(self._parts, dictionary)
        if append_only:
            self._extremes = AppendOnlyExtremes(self._parts, dictionary)
        self._ordered = OrderedAggregates(self._parts, dictionary)
        self._trees = (*self._extremes.states, *self._ordered.states)
        self.at_once = self._ordered.shows_all_rows
        self._after: Ints | None = None

    @property
    def visited(self) -> int:
        """Nodes of ordered state visited so far."""
        return sum(tree.visited for tree in self._trees)

    @property
    def states(self) -> tuple[Any, ...]:
        """The groups, and the ordered rows of some aggregates."""
        return (self, *self._trees)

    def initial(self, time: int) -> Delta | None:
        """The output over an empty input: the row of the one group if there are no keys, else nothing."""
        if self._keys:
            return None
        nothing = np.zeros((1, self._layout.words + 1 + self._parts.fields), np.int64)
        return self._read(nothing, 0, 1, time)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the groups' rows. Cost: see the kernels; nothing grows with the groups or the input.

        Raises NumericError if a sum does not fit its type.
        """
        delta = live_input(inputs)
        if delta is None:
            return None
        words, _ = self._layout.pack([delta.column(i) for i in range(self._keys)], len(delta))
        cells = self._groups.open(words, delta.times)
        columns = self._parts.read(delta)
        if self._parts.doubles:
            self._widen(columns)
        after = np.zeros((len(cells), self._parts.fields), np.int64)
        self._parts.add(columns, delta.diffs, cells, after)
        self._extremes.apply(columns, delta, cells, self._groups.state, after)
        self._ordered.apply(delta, cells, after)
        self._after = after
        return self._emit(cells, after)

    def hold(self, time: int | None) -> None:
        """Lookups may be as of `time`, the present, also after later commits; None: no longer."""
        self._groups.hold(time)

    def _widen(self, columns: dict[int, Column]) -> None:
        moved = self._parts.widen(columns, self._groups.all_fields())
        if moved is not None:
            self._groups.replace_fields(moved)

    def _emit(self, cells: Cells, after: Ints) -> Delta | None:
        output = _Output(self._parts, self._layout, 2 * len(cells))
        cell, diffs = np.empty(output.capacity, np.int32), np.empty(output.capacity, np.int64)
        rows, summed, computed = emit(
            self._parts.plan, self._parts.outputs, self._keys == 0, self._layout.words, self._groups.state,
            cells.slot, cells.previous, after, self._parts.scratch,
            output.flat, output.valid, output.nulls, output.keys, cell, diffs,
        )  # fmt: skip
        if summed >= 0:
            raise self._parts.overflow(summed)
        if computed >= 0:
            raise overflow_error(self._parts.aggregates[computed])
        if rows == 0:
            return None
        return output.delta(rows, cell_times(cells.times, cell[:rows]), diffs[:rows])

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """The output's rows of the given keys as of their times, those of the last step included; see `Lookup`.

        The rows are copies of the groups' fields, and stay as they are. Cost: see `Groups.look_up`.
        """
        as_of, always = readable_as_of(times, inclusive), self._keys == 0
        positions, fields = self._groups.look_up(words, dropped, as_of, self._after, always)
        return positions, Group(GroupRows(self._layout, words[positions], self._parts, fields))

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """All columns can be read as they are."""
        yield from ()

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The groups' rows."""
        if self._keys == 0 and len(self._groups) == 0:
            initial = self.initial(time)
            if initial is not None:
                yield initial
            return
        for start in range(0, self._groups.used, _CHUNK):
            delta = self._read(self._groups.state, start, min(start + _CHUNK, self._groups.used), time)
            if delta is not None:
                yield delta

    def _read(self, state: Ints, start: int, stop: int, time: int) -> Delta | None:
        """The rows of the groups in slots from `start` to `stop`."""
        output = _Output(self._parts, self._layout, stop - start)
        rows = read_groups(
            self._parts.outputs, self._layout.words, state, start, stop, self._keys == 0, self._parts.scratch,
            output.flat, output.valid, output.nulls, output.keys,
        )  # fmt: skip
        return output.delta(rows, time, None) if rows else None

    def seal(self, upper: int, since: int) -> None:
        """Write the groups' new accumulators; groups that are empty go."""
        self._groups.close(self._after)
        self._after = None

    def rollback(self, mark: None) -> None:
        """Forget the step."""
        self._groups.close(None)
        self._after = None

    def size(self) -> StateSize:
        """Groups, distinct rows kept in order, bytes."""
        nbytes = self._groups.nbytes + sum(tree.nbytes for tree in self._trees)
        return StateSize(len(self._groups), sum(map(len, self._trees)), nbytes)


class _Output:
    """Room for output rows in columns: a stretch of `flat` for each aggregate, key words, masks and counts of NULL."""

    def __init__(self, parts: Accumulators, layout: KeyLayout, capacity: int) -> None:
        self._parts = parts
        self._layout = layout
        self.capacity = capacity
        self.flat = np.empty(capacity * parts.words, np.int64)
        self.valid = np.empty((len(parts.aggregates), capacity), np.bool_)
        self.nulls = np.zeros(len(parts.aggregates), np.int64)
        self.keys = np.empty((capacity, layout.words), np.int64)

    def delta(self, rows: int, times: Ints | int, diffs: Ints | None) -> Delta:
        """The first `rows` rows as a delta: keys, then aggregates."""
        columns = self._layout.unpack(self.keys[:rows])
        capacity = self.capacity
        for o, (at, words, spec) in enumerate(self._parts.placed):
            begin = at * capacity
            values = aggregate_values(self.flat[begin : begin + rows * words].reshape(rows, words), spec)
            columns.append(Column(values, self.valid[o, :rows] if self.nulls[o] else None))
        return delta_of(columns, times, diffs, rows)
