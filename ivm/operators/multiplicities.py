"""What makes other multiplicities of its inputs': union, negate and threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ivm.catalog.types import SqlType
from ivm.kernels.groups.clamp import LENGTH, NO_SLOTS, NOT_READABLE, step_multiplicities
from ivm.operators.operator import Contents, Kept, Operator, live_input
from ivm.operators.projection import Unsign, unsigned
from ivm.operators.stage import Stage
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.places import NONE
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Columns, Delta, Group, Layout, delta_of
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_table import Fields
from ivm.trace.keyed.groups import Groups
from ivm.trace.sources import Frame, Sources, id_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import all_or_each


class Union(Operator):
    """R'(r) = R1(r) + .. + Rn(r). State: none. Cost: that of the columns that somebody reads later."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The inputs' changes, one after the other."""
        return concat_deltas([delta for delta in inputs if delta is not None and len(delta)])

    def stages(self, source: int) -> Sequence[Stage]:
        """See `Operator.stages`: none."""
        return ()

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The inputs' contents."""
        return chain(*[contents() for contents in inputs])


class Negate(Operator):
    """R'(r) = -R(r). State: none. Cost: one pass over the diffs."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes with negated diffs; no column is touched."""
        delta = inputs[0]
        return None if delta is None else delta.with_diffs(-delta.diff_array())

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The input's contents with diffs of -1: what is negated counts down in whatever it is added to."""
        return (delta.with_diffs(-delta.diff_array()) for delta in inputs[0]())


class Passed(Operator):
    """The input as it is. State: none."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes."""
        return inputs[0]

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The input's contents."""
        return inputs[0]()


class Signed(Operator):
    """The input with one more column, which is 1. State: none."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes."""
        delta = inputs[0]
        if delta is None:
            return None
        signs = Column(np.ones(delta.length, np.int64))
        return delta.bind(Group(Columns([signs])), len(delta.layout), 1)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """Nobody reads it but a loop."""
        raise AssertionError("what is in a loop is read of its result")


class Unsigned(Operator):
    """R'(r) = sum of s * R(r, s) over the last column. State: none."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes without the last column, by which their diffs are multiplied."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        return unsigned(delta)

    def stages(self, source: int) -> Sequence[Stage]:
        """See `Operator.stages`."""
        return (Unsign(),)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """Nobody reads it but a loop."""
        raise AssertionError("what is in a loop is read of its result")


class Threshold(Kept):
    """R'(r) = max(R(r), 0). State: the input's distinct rows with their multiplicities.

    A row with NaN or -0.0 comes out with the one NaN, or 0.0, as equal rows are one row.
    """

    def __init__(self, types: Sequence[tuple[SqlType, bool]], dictionary: TextDictionary) -> None:
        self._groups = Groups(types, Fields((None,)), dictionary)
        self._layout = self._groups.layout
        self._steps: dict[Layout, tuple[Sources, Frame]] = {}
        self.states = (self._groups,)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the multiplicities above zero, sorted by time. Cost: two random accesses an update."""
        delta = live_input(inputs)
        if delta is None:
            return None
        sources, frame = self._steps.get(delta.layout) or self._begun(delta.layout)
        rows, times, diffs, width = len(delta), delta.times, delta.diffs, self._layout.words
        listed, (_, each_time) = sources.of(delta), all_or_each(times)
        many = each_time is not None
        cells = self._groups.begin(rows, times)
        after = cells.after = np.empty((rows, 1), np.int64)
        room: Ints = np.empty(rows * (width + 1 + many), np.int64)
        frame.tell(0, id(listed), id_of(each_time), id_of(diffs), id(after), id(room), rows)
        while (count := step_multiplicities(self._groups.block(), cells.memory, frame.words)) == NO_SLOTS:
            self._groups.make_room()
        if count == NOT_READABLE:
            self._groups.rollback(self._groups.mark() - 1)
            return self.step([delta.copied()])
        self._groups.end()
        if count == 0:
            return None
        behind = rows * width
        keys = self._layout.cut(room, 0, count)
        if many:
            times = room[behind + rows : behind + rows + count]
        return delta_of(keys, times, room[behind : behind + count], count)

    def _begun(self, layout: Layout) -> tuple[Sources, Frame]:
        """What steps by deltas of a layout are told."""
        width = len(self._layout.parts)
        sources = Sources(range(width), layout)
        form, reads = self._layout.form_of(sources.places.tolist()), sources.places
        frame = Frame((width, id(form), id(reads), NONE), LENGTH, sources.count, form)
        self._steps[layout] = sources, frame
        return sources, frame

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        return self._shown(self._groups.reader(time), time)

    def _shown(self, reader: GroupReader[Fields], time: int) -> Iterator[Delta]:
        """The rows of positive multiplicity, each as often as it is there."""
        width = self._layout.words
        for chunk in reader.chunks():
            rows = chunk[chunk[:, width + 1] > 0]
            columns = self._layout.unpack(np.ascontiguousarray(rows[:, :width]))
            yield delta_of(columns, time, rows[:, width + 1].copy(), len(rows))
