"""A step of groups with aggregates: what its kernel is asked, and the rows that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Physical
from ivm.kernels.groups.emit import AGGREGATE, KEY, NO_PLACE, SHOWN
from ivm.kernels.groups.step import (
    AFTER,
    BLOCK,
    CAPACITY,
    DONE,
    FAILED,
    LENGTH,
    LISTED,
    NO_MEMORY,
    NO_SLOTS,
    NOT_READABLE,
    OPENING,
    PAUSED,
    ROOM,
    SUM_OVERFLOWED,
    WRITTEN,
    add_apart,
    step_groups,
)
from ivm.kernels.hashing.keys import HALF, NULL, NULL_BIT, WORD
from ivm.kernels.memory.places import STRIDE, VALIDITY, WORDS
from ivm.operators.accumulable import Accumulators, aggregate_values, overflow_error
from ivm.trace.columns.column import DTYPES, Bools, Column, Ints, item_size
from ivm.trace.columns.computed import Read
from ivm.trace.columns.places import NONE, tell_of
from ivm.trace.delta import Delta, Group, Layout, Source, plain_layout
from ivm.trace.index.keys import KeyLayout
from ivm.trace.keyed.group_table import Cells
from ivm.trace.keyed.groups import Groups
from ivm.trace.sources import Frame, Sources, id_of, source_of
from ivm.trace.time import all_or_each

Between = Callable[[Delta, Cells, Ints], None]
"""What is done when all is added up: it puts further fields of the cells."""


class GroupStep:
    """Steps of groups that show rows of a `form`, by deltas of one layout."""

    def __init__(self, form: OutputForm, layout: Layout) -> None:
        self.parts = form.parts
        self._form = form
        self._sources = Sources(form.reads, layout)
        key_form = form.layout.form_of(self._sources.places[: form.keys].tolist())
        self._frame = _frame(form, key_form, self._sources.places, self._sources.count)

    def run(self, groups: Groups[Accumulators], delta: Delta, between: Between) -> Delta | None:
        """The changes of the groups' rows by a delta whose times ascend.

        Raises NumericError if a sum does not fit its type, and NotReadable, before anything is done, if some column
        cannot be read where it lies.
        """
        times, diffs, listed = delta.times, delta.diffs, self._sources.of(delta)
        _, each_time = all_or_each(times)
        cells, request = groups.begin(delta.length, times), self._frame.words
        output = self._form.room(cells, min(delta.length, groups.expected))
        self._frame.tell(
            id(groups.block()), id(cells.memory), OPENING, 0, id(cells.after), len(cells.after), id(output.room),
            0, 0, 0, id_of(each_time), id_of(diffs), id(listed),
        )  # fmt: skip
        while (said := step_groups(request)) != DONE:
            if said == NO_SLOTS:
                groups.make_room()
                request[BLOCK] = id(groups.block())
            elif said == NO_MEMORY:
                output = self._form.room(cells, len(cells))
                request[[AFTER, CAPACITY, ROOM]] = id(cells.after), len(cells.after), id(output.room)
            elif said == PAUSED:
                groups.end()
                between(delta, cells.filled(), cells.after[: len(cells)])
                groups.version |= 1
            elif said == NOT_READABLE:
                groups.rollback(groups.mark() - 1)
                raise NotReadable
            else:
                groups.end()
                raise self._overflow(said, request.item(FAILED))
        groups.end()
        written = request.item(WRITTEN)
        return output.delta(written, times) if written else None

    def _overflow(self, said: int, failed: int) -> NumericError:
        """What does not fit: an accumulator, or an aggregate that is made of some."""
        parts = self.parts
        return parts.overflow(failed) if said == SUM_OVERFLOWED else overflow_error(parts.aggregates[failed])


class NotReadable(Exception):
    """Some column is to be copied first."""


def fields_of(parts: Accumulators, columns: Sequence[Column], rows: int) -> Ints:
    """The fields (rows, fields) that each row by itself adds up to; `columns` are the arguments."""
    form = OutputForm(parts, _NO_KEYS)
    listed, reads = source_of(columns)
    request = _frame(form, _NO_KEYS.form, reads, 1).words
    request[LISTED] = id(listed)
    fields: Ints = np.empty((rows, parts.fields), np.int64)
    failed = add_apart(request, np.arange(rows, dtype=np.int32), fields)
    if failed >= 0:
        raise parts.overflow(failed)
    return fields


def _frame(form: OutputForm, key_form: Ints, reads: Ints, sources: int) -> Frame:
    """A request about rows of so many sources. It holds the form of the key; the caller holds the rest."""
    return Frame(what_stays(form, key_form, reads), LENGTH, sources, key_form)


def what_stays(form: OutputForm, key_form: Ints, reads: Ints) -> tuple[int, ...]:
    """The words that all requests of a form begin with. The caller holds what they point to.

    `reads`: of each column of the key, and of each argument, its source, and its number there.
    """
    parts = form.parts
    return (
        *(id(parts.plan), len(parts.plan), id(parts.outputs), len(parts.outputs)),
        *(id(parts.scratch), parts.scratch.shape[1]),
        *(len(key_form), id(key_form), parts.fields, parts.words, parts.pauses),
        *(id(reads), len(reads), id(form.shown), len(form.shown), NONE),
    )


class OutputForm:
    """Where output rows, as `ivm.kernels.groups.emit` writes them, have their columns: the keys, then the aggregates.

    `shown`: what the kernel is told of that; `unplaced`: the columns of which it tells no place; `flat`: the word of
    the room with which the outputs' columns begin; `outputs`: how many these are; `masks`: how many masks there may be;
    `words`: how many an output row takes there, with its key and diff. `reads`: the columns of the key and the
    arguments, in the rows that come. `types`: those of the columns.
    """

    __slots__ = (
        "columns", "flat", "keys", "layout", "masks", "outputs", "parts", "plain", "reads", "shown", "types",
        "unplaced", "words",
    )  # fmt: skip

    def __init__(self, parts: Accumulators, layout: KeyLayout) -> None:
        self.parts, self.layout, self.keys = parts, layout, len(layout.parts)
        self.reads = (*range(self.keys), *parts.arguments)
        self.outputs = self.masks = len(parts.placed)
        shown = list[tuple[int, ...]]()
        for (physical, _), where in zip(
            layout.parts, layout.form[:, [WORD, HALF, NULL, NULL_BIT]].tolist(), strict=True
        ):
            word, half, null, bit = where
            shown.append((KEY, 8 * word if half < 0 else 4 * half, item_size(physical), self.masks, null, bit))
            self.masks += null >= 0
        for output, (at, words, spec) in enumerate(parts.placed):
            from_ = NO_PLACE if spec.is_encoded and spec.type.physical is not Physical.INT64 else AGGREGATE
            shown.append((from_, at, 8 * words, output, -1, 0))
        self.shown: Ints = np.array(shown, np.int64).reshape(len(shown), SHOWN)
        self.columns = tuple(shown)
        self.unplaced = frozenset(index for index, (from_, *_) in enumerate(shown) if from_ == NO_PLACE)
        self.flat = WORDS * len(shown) + self.outputs
        self.words = parts.words + layout.words + 2
        self.plain = plain_layout(len(shown))
        self.types = (*(physical for physical, _ in layout.parts), *(each.type.physical for each in parts.aggregates))

    def room(self, cells: Cells, count: int) -> Output:
        """Room for the rows of a step with so many cells, and for their fields, which are `cells.after`.

        It is what these cells had for an earlier step, if that is large enough, and nobody has anything of it.
        """
        output = cells.output
        if isinstance(output, Output) and output.form is self and count <= len(cells.after) and output.is_free():
            return output
        cells.output = None  # until both fit each other
        cells.after = np.empty((count, self.parts.fields), np.int64)
        output = Output(self, 2 * count)
        if len(output.room) <= _MOST_KEPT:
            cells.output = output
        return output


class Output(Source):
    """Room for so many output rows; once they are there, the source of their columns. See `ivm.kernels.groups.emit`."""

    __slots__ = ("_is_lent", "_places", "_rows", "capacity", "form", "made", "room")

    def __init__(self, form: OutputForm, capacity: int) -> None:
        self.form = form
        self._rows, self._is_lent = 0, False
        self.capacity = capacity
        self.made: dict[Read, Column] = {}
        self.room: Ints = np.empty(form.flat + capacity * form.words + (form.masks * capacity + 7 >> 3), np.int64)
        self._places: Ints = np.ndarray((len(form.columns), WORDS), np.int64, self.room)

    def delta(self, rows: int, times: Ints | int, *, counted: bool = True) -> Delta:
        """The first `rows` rows as a delta: keys, then aggregates. `times` where all have one, else they are there.

        `counted`: whether each row has a diff, instead of all being one.
        """
        self._rows, self._is_lent = rows, True
        room, form, diffs = self.room, self.form, None
        if counted:
            behind = form.flat + self.capacity * (form.words - 2)
            diffs = room[behind : behind + rows]
            if not isinstance(times, int):
                times = room[behind + self.capacity : behind + self.capacity + rows]
        return Delta([Group(self)], form.plain, rows, times, diffs)

    def is_free(self) -> bool:
        """See `Room.is_free`; to be called by who has a variable of it besides the cells."""
        if not self._is_lent:
            return True
        self.made.clear()
        self._is_lent = getrefcount(self) > _OURS + 1 or getrefcount(self.room) > _OURS
        return not self._is_lent

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`: the kernel has written down where they lie, but for what is to be made of words."""
        form, places = self.form, self._places
        for index in form.unplaced and form.unplaced.intersection(columns):
            if not places.item(index, STRIDE):
                tell_of(self.column(index), places, index)
        return places

    def column(self, index: Read) -> Column:
        """A key, or behind the keys an aggregate."""
        column = self.made.get(index)
        if column is None:
            assert not isinstance(index, tuple), "groups compute no functions of texts"
            column = self.made[index] = self._key(index) if index < self.form.keys else self._aggregate(index)
        return column

    def _key(self, index: int) -> Column:
        form, layout = self.form, self.form.layout
        _, begin, _, mask, _, _ = form.columns[index]
        keys = 8 * (form.flat + self.capacity * form.parts.words)
        column = self._at(layout.parts[index][0], keys + begin, 8 * layout.words)
        if self.room[WORDS * index + VALIDITY]:
            column.valid = self._mask(mask)
        return column

    def _aggregate(self, index: int) -> Column:
        form, rows = self.form, self._rows
        from_, at, stride, output, _, _ = form.columns[index]
        spec, begin = form.parts.aggregates[output], 8 * (form.flat + self.capacity * at)
        if from_ == NO_PLACE:
            words: Ints = np.ndarray((rows, stride // 8), np.int64, self.room, begin)
            column = Column(aggregate_values(words, spec))
        else:
            column = self._at(spec.type.physical, begin, stride)
        if self.room[form.flat - form.outputs + output]:
            column.valid = self._mask(output)
        return column

    def _mask(self, number: int) -> Bools:
        masks = 8 * len(self.room) - (self.form.masks * self.capacity + 7 >> 3 << 3)
        return np.ndarray((self._rows,), np.bool_, self.room, masks + number * self.capacity)

    def _at(self, physical: Physical, begin: int, stride: int) -> Column:
        """The values that begin at a byte of the room, so many bytes apart."""
        if physical is Physical.WIDE:
            return Column(np.ndarray((self._rows, 2), np.int64, self.room, begin, (stride, 8)))
        return Column(np.ndarray((self._rows,), DTYPES[physical], self.room, begin, (stride,)))


_NO_KEYS = KeyLayout((), nulls="match")
NO_OUTPUT = Output(OutputForm(Accumulators(()), _NO_KEYS), 0)
_OURS = 3
"""The references that what a step has used is found to have: an attribute, a variable or a view, and an argument."""
_MOST_KEPT = 1 << 15
"""How many words of room are used again."""
