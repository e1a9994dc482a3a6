"""Reduce: groups with their aggregates. State: a row of accumulators for each group, ordered rows for some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from catalog.types import SqlType
from ivm.kernels.groups.emit import read_groups
from ivm.kernels.groups.finalize import AT, WORDS, finalize
from ivm.kernels.hashing.keys import HALF, INTEGER, WORD
from ivm.operators.accumulable import Accumulators, AggregateSpec, aggregate_values
from ivm.operators.group_step import GroupStep, NotReadable, Output, OutputForm
from ivm.operators.operator import Contents, Kept, live_input
from ivm.operators.ordered_aggregates import AppendOnlyExtremes, Extremes, ordered_sets
from ivm.trace.columns.column import KINDS, Bools, Column, Ints, item_size
from ivm.trace.columns.computed import Read
from ivm.trace.delta import Delta, Group, Layout, Source, delta_of
from ivm.trace.index.follower import Lookup
from ivm.trace.index.keys import KeyLayout
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_search import GroupColumn, GroupWords, tell
from ivm.trace.keyed.group_table import Cells
from ivm.trace.keyed.groups import Groups
from ivm.trace.route import Route
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import readable_as_of


class Reduce(Kept):
    """Groups its input by the first columns, `keys`, and keeps the aggregates of each group.

    A group exists while its multiplicity is not zero; with no keys there is one group that always exists. The output
    has the keys, then the aggregates. State: the groups, whose fields are the accumulators, and the ordered rows of
    min, max and their like. `append_only`: no row of the input ever goes, so that min and max keep only themselves.

    The groups are an arrangement of the output by its keys, for joins on them: see `lookup`.
    """

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
        self.lookup = GroupLookup(self.groups)
        self._extremes = (AppendOnlyExtremes if append_only else Extremes)(parts, dictionary)
        self._ordered = ordered_sets(parts, dictionary)
        self.states = (self.groups, *self._extremes.states, *(each.tree for each in self._ordered))

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the groups' rows. Cost: see the kernels; nothing grows with the groups or the input.

        Raises NumericError if a sum does not fit its type.
        """
        delta = live_input(inputs)
        if delta is None:
            return None
        parts = self.groups.fields
        if parts.doubles:
            parts = self._widened(delta, parts)
        step = self._steps.get(delta.layout)
        if step is None or step.parts is not parts:
            step = self._begun(parts, delta.layout)
        try:
            return step.run(self.groups, delta, self._put_ordered)
        except NotReadable:
            return self.step([_copied(delta)])

    def _begun(self, parts: Accumulators, layout: Layout) -> GroupStep:
        """How deltas of a layout are stepped from now on, where the fields are `parts`."""
        if self._form.parts is not parts:
            self._form = OutputForm(parts, self._layout)
        step = self._steps[layout] = GroupStep(parts, self._form, range(self._keys), layout)
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
        output, width, always = Output(form, len(rows), False), self._layout.words, self._keys == 0
        count = read_groups(
            parts.outputs, width, parts.words, rows, always, parts.scratch, form.shown, output.room
        )  # fmt: skip
        return output.delta(count, time, counted=False)


def _copied(delta: Delta) -> Delta:
    """The same updates, all that they have in memory of its own."""
    columns = [Column(c.values.copy(), None if c.valid is None else c.valid.copy()) for c in delta.columns()]
    return delta_of(columns, delta.times, None if delta.diffs is None else delta.diffs.copy(), delta.length)


class GroupLookup(Lookup):
    """A reduce's groups by their keys, or what `sealed` reads of them, if it is there. Nothing is to be prepared."""

    def __init__(self, groups: Groups[Accumulators], sealed: GroupReader[Accumulators] | None = None) -> None:
        self.layout = replace(groups.layout, nulls="find")
        self._groups, self._sealed = groups, sealed
        keys, aggregates = self.layout.parts, groups.fields.aggregates
        self.types = (*(physical for physical, _ in keys), *(each.type.physical for each in aggregates))
        """The physical forms of the output's columns."""

    @property
    def is_sealed(self) -> bool:
        """Whether the groups are seen as they were sealed, while others commit."""
        return self._sealed is not None

    def words(self, form: Ints, read: Sequence[int], inclusive: bool) -> GroupWords:
        """What a route is told of a look-up by keys of a `form`, of which these columns are read."""
        parts, keys = self._groups.fields, len(self.layout.parts)
        columns = [self._key(c) if c < keys else self._aggregate(c, c - keys) for c in read]
        return GroupWords(form, len(self.types), columns, parts.outputs, inclusive)

    def _key(self, number: int) -> GroupColumn:
        word, half = self.layout.form[number, [WORD, HALF]].tolist()
        return GroupColumn(number, -1, 8 * word if half < 0 else 4 * half, item_size(self.types[number]))

    def _aggregate(self, number: int, output: int) -> GroupColumn:
        spec, physical = self._groups.fields.aggregates[output], self.types[number]
        encoded = KINDS.get(physical, INTEGER) if spec.is_encoded else INTEGER
        nullable = spec.may_be_null or not self.layout.parts
        _, words, _ = self._groups.fields.placed[output]
        return GroupColumn(number, output, words, item_size(physical), nullable, encoded)

    def tell(self, route: Route, leg: int) -> object:
        """Tell a look-up what groups there are now; what has to be there meanwhile."""
        seen, parts = self._groups.seen(), self._groups.fields
        tell(route, leg, seen, parts.outputs, parts.scratch.shape[1])
        return seen, parts

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """The output's rows of the given keys as of their times, those of the last step included.

        The rows are copies of the groups' fields, and stay as they are. Cost: see `Groups.look_up`.
        """
        always = not self.layout.parts
        if self._sealed is None:
            parts = self._groups.fields
            found = self._groups.look_up(words, dropped, readable_as_of(times, inclusive), always)
        else:
            parts = self._sealed.fields
            found = self._sealed.look_up(words, dropped, always)
        positions, fields = found
        return positions, Group(GroupRows(self._groups.layout, words[positions], parts, fields))

    def reader(self, time: int) -> GroupLookup:
        """The groups as of `time`, the present, which are kept."""
        return GroupLookup(self._groups, self._groups.reader(time))


@dataclass(slots=True)
class GroupRows(Source):
    """Groups as they were when they were looked up: `words`, their keys as `layout` packs them, and `fields`.

    A column is computed when it is first read, then kept; nothing depends on what becomes of the groups.
    """

    layout: KeyLayout
    words: Ints
    parts: Accumulators
    fields: Ints
    _made: dict[Read, Column] = field(init=False, default_factory=dict)

    def column(self, index: Read) -> Column:
        """A key, or behind the keys an aggregate. Cost: see `finalize`."""
        column = self._made.get(index)
        if column is None:
            assert not isinstance(index, tuple), "groups compute no functions of texts"
            keys = len(self.layout.parts)
            column = self._made[index] = self._key(index) if index < keys else self._aggregate(index - keys)
        return column

    def _key(self, index: int) -> Column:
        return self.layout.unpack(self.words)[index]

    def _aggregate(self, index: int) -> Column:
        output = self.parts.outputs[index : index + 1].copy()
        output[0, AT] = 0
        words = np.empty((int(output[0, WORDS]), len(self.fields)), np.int64)
        valid = np.empty((1, len(self.fields)), np.bool_)
        finalize(output, 0, False, self.fields, 0, 0, len(self.fields), words, valid, 0, self.parts.scratch)
        values = aggregate_values(np.ascontiguousarray(words.T), self.parts.aggregates[index])
        return Column(values, None if valid.all() else valid[0])
