"""Reduce: groups with their aggregates. State: a row of accumulators for each group, ordered rows for some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ivm.catalog.types import SqlType
from ivm.kernels.groups.emit import read_groups
from ivm.kernels.groups.finalize import OutputRow
from ivm.kernels.hashing.keys import HALF, INTEGER, WORD
from ivm.operators.accumulable import Accumulators, AggregateSpec
from ivm.operators.group_step import GroupStep, NotReadable, Output, OutputForm
from ivm.operators.operator import Contents, Kept, Leading
from ivm.operators.ordered_aggregates import AppendOnlyExtremes, Extremes, ordered_sets
from ivm.operators.reduce_leg import ReduceStage
from ivm.operators.walk import LastStage, Onward, Walk
from ivm.trace.columns.column import KINDS, Bools, Ints, item_size
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta, Group, Layout, in_time_order
from ivm.trace.index.follower import Lookup
from ivm.trace.keyed.group_reader import AT_ONCE, GroupReader
from ivm.trace.keyed.group_search import GroupColumn, GroupSearch, Wanted, tell
from ivm.trace.keyed.group_table import Cells
from ivm.trace.keyed.groups import Groups
from ivm.trace.route import Route
from ivm.trace.state import Marks
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import readable_as_of


class Reduce(Kept, Leading):
    """Groups its input by the first columns, `keys`, and keeps the aggregates of each group.

    A group exists while its multiplicity is not zero; with no keys there is one group that always exists. The output
    has the keys, then the aggregates. State: the groups, whose fields are the accumulators, and the ordered rows of
    min, max and their like. `append_only`: no row of the input ever goes, so that min and max keep only themselves.

    The groups are an arrangement of the output by its keys, for joins on them: see `lookup`.
    """

    is_end = True

    def __init__(
        self,
        keys: tuple[tuple[SqlType, bool], ...],
        aggregates: Sequence[AggregateSpec],
        dictionary: TextDictionary,
        *,
        append_only: bool = False,
    ) -> None:
        self._keys = len(keys)
        parts = Accumulators(aggregates)
        self.groups = Groups(keys, parts, dictionary)
        self._layout = self.groups.layout
        self._form = OutputForm(parts, self._layout)
        self._steps: dict[Layout, GroupStep] = {}
        self._led: tuple[ReduceStage, Walk] | None = None
        self.lookup = GroupLookup(self.groups)
        self._extremes = (AppendOnlyExtremes if append_only else Extremes)(parts, dictionary)
        self._ordered = ordered_sets(parts, dictionary)
        self.states = (self.groups, *self._extremes.states, *(each.tree for each in self._ordered))

    def step(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> Delta | None:
        """The changes of the groups' rows. Cost: see the kernels; nothing grows with the groups or the input.

        Raises NumericError if a sum does not fit its type.
        """
        delta, parts = inputs[0], self.groups.fields
        if delta is None or not delta.length:
            return None
        if onward is not None and not (parts.doubles or parts.pauses):
            stage, walk = self._led or self._leading(onward.ends[0].marks)
            stage.rows = 0
            found = walk.all(delta, onward)
            if stage.rows:  # else it is as it was
                return concat_deltas(found)
        delta = in_time_order(delta)
        if parts.doubles:
            parts = self._widened(delta, parts)
        step = self._steps.get(delta.layout)
        if step is None or step.parts is not parts:
            step = self._begun(parts, delta.layout)
        try:
            return step.run(self.groups, delta, self._put_ordered)
        except NotReadable:
            return self.step([delta.copied()])

    def onward(self, marks: Marks) -> LastStage | None:
        """See `Operator.onward`: where nothing but the groups is to be stepped, and their fields stay as they are."""
        parts = self.groups.fields
        return None if parts.doubles or parts.pauses else ReduceStage(self.groups, self._form, marks)

    def _leading(self, marks: Marks) -> tuple[ReduceStage, Walk]:
        """The walk through the groups alone, which may go onward."""
        stage = ReduceStage(self.groups, self._form, marks)
        self._led = stage, Walk([stage])
        return self._led

    def _begun(self, parts: Accumulators, layout: Layout) -> GroupStep:
        """How deltas of a layout are stepped from now on, where the fields are `parts`."""
        if self._form.parts is not parts:
            self._form = OutputForm(parts, self._layout)
        step = self._steps[layout] = GroupStep(self._form, layout)
        return step

    def _widened(self, delta: Delta, narrow: Accumulators) -> Accumulators:
        """The fields, with room in the sums for the doubles that come."""
        wide = narrow.widened({column: delta.column(column) for column in narrow.doubles})
        if wide is None:
            return narrow
        self.groups.widen(wide, partial(wide.move, narrow))
        return wide

    def _put_ordered(self, delta: Delta, cells: Cells, after: Ints) -> None:
        """Put what comes of rows that are kept in order."""
        self._extremes.apply(delta, cells, self.groups.state, after)
        for each in self._ordered:
            each.apply(delta, cells, after)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        reader = self.groups.reader(time)
        chunks = reader.chunks()
        if self._keys == 0 and len(self.groups) == 0:  # the one group is there although nothing has come
            chunks = iter([np.zeros((1, self.groups.state.shape[1]), np.int64)])
        return (self._read(reader.fields, rows, time) for rows in chunks)

    def _read(self, parts: Accumulators, rows: Ints, time: int) -> Delta:
        """What these rows of the groups show."""
        form = OutputForm(parts, self._layout)
        output = Output(form, len(rows))
        width, always = self._layout.words, self._keys == 0
        count = read_groups(
            parts.outputs, width, parts.words, rows, always, parts.scratch, form.shown, output.room
        )  # fmt: skip
        return output.delta(count, time, counted=False)


class GroupLookup(Lookup):
    """A reduce's groups by their keys, or what `sealed` reads of them, if it is there. Nothing is to be prepared."""

    def __init__(self, groups: Groups[Accumulators], sealed: GroupReader[Accumulators] | None = None) -> None:
        self.layout = replace(groups.layout, nulls="find")
        self._groups, self._sealed = groups, sealed
        self._searches: dict[tuple[int, ...], GroupSearch] = {}
        if sealed is not None:
            self.at_once = AT_ONCE

    @property
    def is_sealed(self) -> bool:
        """Whether the groups are seen as they were sealed, while others commit."""
        return self._sealed is not None

    def wanted(self, read: Iterable[int]) -> Wanted:
        """What is made of the output's columns, where these are read."""
        parts, layout = self._groups.fields, self.layout
        form, columns = layout.form[:, [WORD, HALF]].tolist(), list[GroupColumn]()
        types = (*(physical for physical, _ in layout.parts), *(each.type.physical for each in parts.aggregates))
        for number in read:
            output, size = number - len(form), item_size(types[number])
            if output < 0:
                word, half = form[number]
                columns.append(GroupColumn(number, size, -1, 8 * word if half < 0 else 4 * half))
                continue
            spec = parts.aggregates[output]
            encoded = KINDS.get(types[number], INTEGER) if spec.is_encoded else INTEGER
            columns.append(GroupColumn(number, size, output, 0, spec.may_be_null or not form, encoded))
        return Wanted(types, columns, [OutputRow(*row) for row in parts.outputs.tolist()], not form)

    def tell(self, route: Route, leg: int) -> object:
        """Write down for a leg where the groups lie now; what the caller holds until the walk is over."""
        seen, parts = self._groups.seen(), self._groups.fields
        tell(route, leg, seen, parts.outputs, parts.scratch.shape[1])
        return seen, parts

    def look_up(
        self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool, read: Sequence[int] = ()
    ) -> tuple[Ints, Group]:
        """The output's rows of the given keys as of their times, those of the last step included.

        They stay as they are, whatever becomes of the groups. Cost: see `GroupSearch.find`.
        """
        search = self._searches.get(tuple(read))
        if search is None:
            search = self._searches[tuple(read)] = GroupSearch(self.layout.words, self.wanted(read))
        parts = (self._sealed or self._groups).fields
        find = partial(search.find, outputs=parts.outputs, scratch=parts.scratch.shape[1])
        if self._sealed is not None:
            positions, made = self._sealed.read(partial(find, words, dropped, 0))
        else:
            positions, made = find(words, dropped, readable_as_of(times, inclusive), self._groups.seen())
        return positions, Group(made)

    def reader(self, time: int) -> GroupLookup:
        """The groups as of `time`, the present, which are kept."""
        return GroupLookup(self._groups, self._groups.reader(time))
