"""A step of groups with aggregates: what its kernel is asked, and the rows that it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct

import numpy as np

from catalog.types import Physical
from ivm.kernels.groups.step import (
    AFTER,
    AFTER_ROWS,
    CAPACITY,
    DONE,
    FAILED,
    LENGTH,
    NO_FIELDS,
    NO_ROOM,
    NO_SLOTS,
    OPENING,
    PAUSED,
    ROOM,
    STAGE,
    SUM_OVERFLOWED,
    WRITTEN,
    add_apart,
    step_groups,
)
from ivm.operators.accumulable import Accumulators, AggregateSpec, aggregate_values, overflow_error
from ivm.trace.columns.column import Array, Bools, Column, Ints
from ivm.trace.columns.places import Places
from ivm.trace.delta import Delta, delta_of
from ivm.trace.index.keys import KeyLayout
from ivm.trace.keyed.group_table import Cells
from ivm.trace.keyed.groups import Groups

Between = Callable[[Cells, Ints], None]
"""What is done when all is added up: it puts further fields of the cells."""
_MORE = 16


class GroupStep:
    """Steps of groups whose fields are `parts`. It remembers how many cells the last one had, to have room for more."""

    def __init__(self, parts: Accumulators, layout: KeyLayout) -> None:
        self.parts = parts
        self._form = OutputForm(parts, layout)
        self._keys = len(layout.parts)
        self._places = Places(self._keys + len(parts.arguments))
        self._request = _request(parts, layout, self._places)
        self._words = self._request.data
        self._step = Struct(f"{len(self._request) - STAGE}q")
        self._cells = 0

    def run(
        self, groups: Groups[Accumulators], columns: Sequence[Column], delta: Delta, between: Between
    ) -> Delta | None:
        """The changes of the groups' rows by a delta whose times ascend; `columns` are its keys, then its arguments.

        Raises NumericError if a sum does not fit its type.
        """
        times, diffs, rows = delta.times, delta.diffs, len(delta)
        one = isinstance(times, int)
        least = 1 if one and not self._keys else min(rows, 2 * self._cells + _MORE)
        each_time = NO_TIMES if one else np.ascontiguousarray(times)
        changes = NO_TIMES if diffs is None else np.ascontiguousarray(diffs)
        cells = groups.begin(rows, times)
        after = cells.after = np.empty((least, self.parts.fields), np.int64)
        output = Output(self._form, 2 * least, not one)
        told = [*(OPENING, 0, 0, 0), *(id(after), least, id(output.room), 2 * least)]
        told += (id(changes), len(changes), id(each_time), groups.folds)
        self._places.tell(columns)
        request = self._request
        self._step.pack_into(self._words, 8 * STAGE, *told)
        while (wants := step_groups(groups.block(), cells.memory, request)) != DONE:
            if wants == NO_SLOTS:
                groups.make_room()
            elif wants == NO_FIELDS:
                after = cells.after = np.empty((len(cells), self.parts.fields), np.int64)
                request[AFTER], request[AFTER_ROWS] = id(after), len(after)
            elif wants == NO_ROOM:
                output = Output(self._form, 2 * len(cells), not one)
                request[ROOM], request[CAPACITY] = id(output.room), output.capacity
            elif wants == PAUSED:
                groups.end()
                between(cells.filled(), after[: len(cells)])
                groups.version |= 1
            else:
                failed = request.item(FAILED)
                groups.end()
                raise (
                    self.parts.overflow(failed)
                    if wants == SUM_OVERFLOWED
                    else overflow_error(self.parts.aggregates[failed])
                )
        groups.end()
        self._cells = len(cells)
        written = request.item(WRITTEN)
        return output.delta(written, times) if written else None


def fields_of(parts: Accumulators, columns: Sequence[Column], rows: int) -> Ints:
    """The fields (rows, fields) that each row by itself adds up to; `columns` are the arguments."""
    places = Places(len(columns))
    places.tell(columns)
    request = _request(parts, _NO_KEYS, places)
    fields: Ints = np.empty((rows, parts.fields), np.int64)
    failed = add_apart(request, np.arange(rows, dtype=np.int32), fields)
    if failed >= 0:
        raise parts.overflow(failed)
    return fields


def _request(parts: Accumulators, layout: KeyLayout, places: Places) -> Ints:
    """What is always the same, and room for the rest."""
    keys = len(layout.parts)
    request: Ints = np.zeros(LENGTH, np.int64)
    request[:STAGE] = (
        *(id(parts.plan), len(parts.plan), id(parts.outputs), len(parts.outputs)),
        *(id(parts.scratch), parts.scratch.shape[1]),
        *(keys, id(layout.form), parts.fields, parts.words, parts.pauses, places.address, 0),
    )
    return request


class OutputForm:
    """Where output rows, as `ivm.kernels.groups.emit` writes them, have their columns."""

    __slots__ = ("columns", "key_words", "layout", "outputs", "words")

    def __init__(self, parts: Accumulators, layout: KeyLayout) -> None:
        self.layout = layout
        self.key_words = layout.words
        self.outputs, self.words = len(parts.placed), parts.words
        self.columns = tuple((at, _cut(spec), words, spec) for at, words, spec in parts.placed)


class Output:
    """Room for so many output rows; `many`: at times of their own."""

    __slots__ = ("_form", "_many", "capacity", "room")

    def __init__(self, form: OutputForm, capacity: int, many: bool) -> None:
        self._form = form
        self.capacity = capacity
        self._many = many
        words = form.outputs + capacity * (form.words + form.key_words + 1 + many)
        self.room: Ints = np.empty(words + (form.outputs * capacity + 7 >> 3), np.int64)

    def delta(self, rows: int, times: Ints | int, *, counted: bool = True) -> Delta:
        """The first `rows` rows as a delta: keys, then aggregates. `times` where all have one, else they are there.

        `counted`: whether each row has a diff, instead of all being one.
        """
        form, capacity, room = self._form, self.capacity, self.room
        outputs = form.outputs
        behind = outputs + capacity * form.words
        columns = form.layout.cut(room, behind, rows)
        if outputs:
            doubles = room.view(np.float64)
            for output, none in enumerate(room[:outputs].tolist()):
                at, cut, words, spec = form.columns[output]
                begin = outputs + at * capacity
                values: Array
                if cut == _NUMBERS:
                    values = room[begin : begin + rows]
                elif cut == _DOUBLES:
                    values = doubles[begin : begin + rows]
                else:
                    values = room[begin : begin + rows * words].reshape(rows, words)
                    if cut == _MADE:
                        values = aggregate_values(values, spec)
                columns.append(Column(values, self._valid(output, rows) if none else None))
        behind += capacity * form.key_words
        diffs = room[behind : behind + rows] if counted else None
        if self._many:
            times = room[behind + capacity : behind + capacity + rows]
        return delta_of(columns, times, diffs, rows)

    def _valid(self, output: int, rows: int) -> Bools:
        masks = self._form.outputs * self.capacity
        begin = 8 * (len(self.room) - (masks + 7 >> 3)) + output * self.capacity
        return self.room.view(np.bool_)[begin : begin + rows]


_NUMBERS, _DOUBLES, _PAIRS, _MADE = range(4)
"""What a column is: a stretch of the room, of it as doubles, as pairs; or made of its words."""


def _cut(spec: AggregateSpec) -> int:
    physical = spec.type.physical
    if physical is Physical.INT64:
        return _NUMBERS
    if spec.function in ("min", "max") or spec.ordered is not None:
        return _MADE
    return _PAIRS if physical is Physical.WIDE else _DOUBLES if physical is Physical.FLOAT64 else _NUMBERS


NO_TIMES: Ints = np.empty(0, np.int64)
_NO_KEYS = KeyLayout((), nulls="match")
