"""A step of groups with aggregates: what its kernel is asked, and the rows that it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct

import numpy as np

from ivm.kernels.groups.step import (
    AFTER,
    AFTER_ROWS,
    CAPACITY,
    COLUMNS,
    DONE,
    FAILED,
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
from ivm.kernels.hashing.columns import COLUMN
from ivm.operators.accumulable import Accumulators, aggregate_values, overflow_error
from ivm.trace.column import Bools, Column, Ints, named
from ivm.trace.delta import Delta, delta_of
from ivm.trace.group_table import Cells
from ivm.trace.groups import Groups
from ivm.trace.keys import KeyLayout

Between = Callable[[Cells, Ints], None]
"""What is done when all is added up: it puts further fields of the cells."""
_MORE = 16


class GroupStep:
    """Steps of groups whose fields are `parts`. It remembers how many cells the last one had, to have room for more."""

    def __init__(self, parts: Accumulators, layout: KeyLayout) -> None:
        self.parts = parts
        self._layout = layout
        self._keys = len(layout.parts)
        self._request = _request(parts, layout)
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
        output = Output(self.parts, self._layout, 2 * least, not one)
        told = [*(OPENING, 0, 0, 0), *(id(after), least, id(output.room), 2 * least)]
        told += (id(changes), len(changes), id(each_time), groups.folds)
        for column in columns:
            told += named(column)
        request = self._request
        self._step.pack_into(self._words, 8 * STAGE, *told)
        while (wants := step_groups(groups.block(), cells.memory, request)) != DONE:
            if wants == NO_SLOTS:
                groups.make_room()
            elif wants == NO_FIELDS:
                after = cells.after = np.empty((len(cells), self.parts.fields), np.int64)
                request[AFTER], request[AFTER_ROWS] = id(after), len(after)
            elif wants == NO_ROOM:
                output = Output(self.parts, self._layout, 2 * len(cells), not one)
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
    request = _request(parts, _NO_KEYS)
    request[COLUMNS:] = [word for column in columns for word in named(column)]
    fields: Ints = np.empty((rows, parts.fields), np.int64)
    failed = add_apart(request, np.arange(rows, dtype=np.int32), fields)
    if failed >= 0:
        raise parts.overflow(failed)
    return fields


def _request(parts: Accumulators, layout: KeyLayout) -> Ints:
    """What is always the same, and room for the rest."""
    keys = len(layout.parts)
    request: Ints = np.zeros(COLUMNS + COLUMN * (keys + len(parts.arguments)), np.int64)
    request[:STAGE] = (
        *(id(parts.plan), len(parts.plan), id(parts.outputs), len(parts.outputs)),
        *(id(parts.scratch), parts.scratch.shape[1]),
        *(keys, id(layout.table), parts.fields, parts.words, parts.pauses),
    )
    return request


class Output:
    """Room for so many output rows, as `ivm.kernels.groups.emit` writes them."""

    def __init__(self, parts: Accumulators, layout: KeyLayout, capacity: int, many: bool) -> None:
        self._parts = parts
        self._layout = layout
        self.capacity = capacity
        self._many = many
        outputs = len(parts.placed)
        words = outputs + capacity * (parts.words + layout.words + 1 + many) + (outputs * capacity + 7 >> 3)
        self.room: Ints = np.empty(words, np.int64)

    def delta(self, rows: int, times: Ints | int, *, counted: bool = True) -> Delta:
        """The first `rows` rows as a delta: keys, then aggregates. `times` where all have one, else they are there.

        `counted`: whether each row has a diff, instead of all being one.
        """
        parts, layout, capacity, room = self._parts, self._layout, self.capacity, self.room
        outputs = len(parts.placed)
        at = outputs + capacity * parts.words
        behind = at + capacity * layout.words
        columns = layout.unpack(room[at : at + rows * layout.words].reshape(rows, layout.words))
        nulls = room[:outputs].tolist()
        for o, (at, words, spec) in enumerate(parts.placed):
            begin = outputs + at * capacity
            values = aggregate_values(room[begin : begin + rows * words].reshape(rows, words), spec)
            columns.append(Column(values, self._valid(o, rows) if nulls[o] else None))
        diffs = room[behind : behind + rows] if counted else None
        if self._many:
            times = room[behind + capacity : behind + capacity + rows]
        return delta_of(columns, times, diffs, rows)

    def _valid(self, output: int, rows: int) -> Bools:
        masks = len(self._parts.placed) * self.capacity
        begin = 8 * (len(self.room) - (masks + 7 >> 3)) + output * self.capacity
        return self.room.view(np.bool_)[begin : begin + rows]


NO_TIMES: Ints = np.empty(0, np.int64)
_NO_KEYS = KeyLayout((), nulls="match")
