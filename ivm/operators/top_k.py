"""Top-k: the first rows of each group in a total order. State: the input, in order; of what only comes, those rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ivm.catalog.types import SqlType
from ivm.kernels.groups.append_only import keep_first, window_changes
from ivm.kernels.ordered.top_k import (
    CAPACITY,
    CELL,
    DONE,
    ENDLESS,
    FIELDS,
    LENGTH,
    NO_SLOTS,
    NOT_READABLE,
    OPENING,
    ROOM,
    WRITTEN,
    show_windows,
    step_windows,
)
from ivm.operators.operator import Contents, Kept, StateSize, live_input
from ivm.trace.columns.column import Ints, readonly, readonly_diffs
from ivm.trace.columns.places import NONE
from ivm.trace.delta import Delta, Group, Layout, delta_of, plain_layout
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_table import Fields
from ivm.trace.keyed.groups import Groups
from ivm.trace.ordered.ordered_tree import OrderedReader, OrderedRows
from ivm.trace.ordered.row_order import DecodedRows, RowOrder, total_order
from ivm.trace.sources import Frame, Sources, id_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import all_or_each, chosen

Types = tuple[tuple[SqlType, bool], ...]

_HEAD = 2  # fields of a group of what only comes, before those of its rows


class _Output(DecodedRows):
    """Room for so many output rows, as `ivm.kernels.ordered.top_k` has it; then the source of those that are there.

    It begins with what is in the room `before`.
    """

    def __init__(self, order: RowOrder, rows: int, before: _Output | None) -> None:
        super().__init__(order, rows, len(order.kinds) + 2, 2 * rows)
        if before is not None:
            self.room[: len(before.room)] = before.room

    def delta(self, rows: int, times: Ints | int) -> Delta:
        """The first `rows` rows; `times` where all have one, else they are there."""
        behind, capacity, self.rows = self.begin + self.rows * self.width, self.rows, rows
        if not isinstance(times, int):
            times = self.room[behind + capacity : behind + capacity + rows]
        layout, diffs = plain_layout(len(self._order.terms)), self.room[behind : behind + rows]
        return Delta([Group(self)], layout, rows, times, diffs)


class TopK(Kept):
    """Per value of the columns `group`, the first `limit` rows after `offset`, counting each as often as it occurs.

    `order`: (column, descending, nulls first) terms; ties are broken by all columns, ascending, NULLs last, so the
    output is a function of the input. `limit` None: all rows after the offset. `ties`: also all rows that are equal to
    the last of them in what they are ordered by; there is no offset then. Cost: O(log n) a change, and the rows that
    enter or leave.
    """

    def __init__(
        self,
        types: Types,
        group: tuple[int, ...],
        order: tuple[tuple[int, bool, bool], ...],
        limit: int | None,
        offset: int,
        dictionary: TextDictionary,
        ties: bool = False,
    ) -> None:
        self._order = total_order(types, group, order)
        self._group = group
        self._begin, self._end = offset, ENDLESS if limit is None else offset + limit
        self._ties = 0
        if ties and limit:
            ordered = len({column for column, _, _ in order})
            self._ties = 1 + sum(term.words for term in self._order.terms[:ordered])
        self._groups = Groups([types[column] for column in group], Fields((None,) * FIELDS), dictionary)
        self._rows = OrderedRows(self._order, dictionary, places=True)
        self._steps: dict[Layout, tuple[Sources, Frame]] = {}
        self.states = (self._groups, self._rows)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the windows at each time, sorted by time."""
        delta = live_input(inputs)
        if delta is None:
            return None
        sources, frame = self._steps.get(delta.layout) or self._begun(delta.layout)
        rows, times, diffs, groups, tree = delta.length, delta.times, delta.diffs, self._groups, self._rows
        listed, (_, each_time) = sources.of(delta), all_or_each(times)
        output, scratch = None, np.empty(3 * rows + 1, np.int64)
        cells = groups.begin(rows, times)
        after = cells.after = np.empty((rows, FIELDS), np.int64)
        frame.tell(
            OPENING, 0, 0, id(listed), id_of(each_time), id_of(diffs), id(tree.begin(rows)),
            id(scratch), id(after), 0, 0,
        )  # fmt: skip
        words, strings = frame.words, tree.dictionary.now()
        while (
            said := step_windows(groups.block(), cells.memory, tree.meta, words, strings.heap, strings.places)
        ) != DONE:
            if said == NOT_READABLE:
                groups.rollback(groups.mark() - 1)
                tree.rollback(tree.mark())
                return self.step([delta.copied()])
            if said == NO_SLOTS:
                groups.make_room()
            else:
                output = _Output(self._order, 2 * words.item(CAPACITY), output)
                words[ROOM], words[CAPACITY] = id(output.room), output.rows
        groups.end()
        written = words.item(WRITTEN)
        return output.delta(written, times) if output is not None and written else None

    def _begun(self, layout: Layout) -> tuple[Sources, Frame]:
        """What steps by deltas of a layout are told."""
        order, rows, keys = self._order, self._rows, len(self._group)
        sources = Sources((*self._group, *(term.column for term in order.terms)), layout)
        form, reads = self._groups.layout.form_of(sources.places[:keys].tolist()), sources.places
        stays = (
            *(keys, id(form), id(reads), len(rows.kinds), id(rows.kinds), id(order.table), len(order.terms)),
            *(self._begin, self._end, self._ties, NONE, *(0,) * CELL),
        )
        self._steps[layout] = sources, Frame(stays, LENGTH, sources.count, form)
        return self._steps[layout]

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        return self._shown(self._rows.reader(), time)

    def _shown(self, reader: OrderedReader, time: int) -> Iterator[Delta]:
        words = len(self._rows.kinds)
        last = np.full(words + 1, -1, np.int64)
        for entries in reader.read():
            shown = np.empty(len(entries), np.int64)
            show_windows(entries, words, self._begin, self._end, self._ties, last, shown)
            present = shown != 0
            yield delta_of(self._order.decode(entries[present, 1:words]), time, shown[present], int(present.sum()))

    def size(self) -> StateSize:
        """Distinct rows, groups, bytes."""
        return StateSize(len(self._rows), len(self._groups), self._rows.nbytes + self._groups.nbytes)


class AppendOnlyTopK(Kept):
    """`TopK` with a limit, over an input of which no row ever goes. State: the rows up to the last one that is shown.

    Per change a binary search, and a pass over `offset` + `limit` rows for each group and time that a batch touches.
    The other one keeps every row: for the first 3 of 100 rows a group it takes ten times as long, and fifty times the
    memory.
    """

    def __init__(
        self,
        types: Types,
        group: tuple[int, ...],
        order: tuple[tuple[int, bool, bool], ...],
        limit: int,
        offset: int,
        dictionary: TextDictionary,
    ) -> None:
        self._order = total_order(types, group, order)
        self._group = group
        self._begin, self._end = offset, offset + limit
        self._dictionary = dictionary
        self._width = len(self._order.kinds) + 1
        fields = (*(None,) * _HEAD, *(*self._order.word_types, None) * self._end)
        self._groups = Groups([types[column] for column in group], Fields(fields), dictionary)
        self._layout = self._groups.layout
        self._first = self._layout.words + 1
        self.states = (self._groups,)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the windows at each time, sorted by time; AssertionError for a row that goes."""
        delta = live_input(inputs)
        if delta is None:
            return None
        assert delta.diffs is None or not bool((delta.diffs < 0).any()), "the plan says that rows only come"
        words, _ = self._layout.pack([delta.column(c) for c in self._group], len(delta))
        cells = self._groups.open(words, delta.times)
        after = np.zeros((len(cells), len(self._groups.fields.kinds)), np.int64)
        strings = self._dictionary.now()
        keep_first(
            readonly(self._order.encode_delta(delta)), readonly_diffs(delta.diffs), cells.row_cell, cells.slot,
            cells.previous, self._groups.state, self._first, self._end, self._order.kinds, strings.heap,
            strings.places, after,
        )  # fmt: skip
        self._groups.put(after)
        out = np.empty((2 * len(cells), self._width + 1), np.int64)
        while True:
            rows = window_changes(
                cells.slot, cells.previous, self._groups.state, self._first, self._begin, self._width, after, out
            )
            if rows <= len(out):
                break
            out = np.empty((rows, self._width + 1), np.int64)
        if rows == 0:
            return None
        out = out[:rows]
        times = chosen(cells.times, out[:, self._width])
        key = out[:, : self._width - 1]
        return delta_of(self._order.decode(key), times, out[:, self._width - 1].copy(), int(rows))

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        return self._shown(self._groups.reader(time), time)

    def _shown(self, reader: GroupReader[Fields], time: int) -> Iterator[Delta]:
        """The rows in the windows."""
        for rows in reader.chunks():
            kept = rows[:, self._first + _HEAD :].reshape(len(rows), self._end, self._width)
            copies = kept[:, :, -1]
            until = copies.cumsum(axis=1)
            shown = np.maximum(until - self._begin, 0) - np.maximum(until - copies - self._begin, 0)
            present = shown > 0
            columns = self._order.decode(np.ascontiguousarray(kept[present][:, :-1]))
            yield delta_of(columns, time, shown[present], int(present.sum()))

    def size(self) -> StateSize:
        """Rows kept, groups, bytes."""
        kept = int(self._groups.state[: self._groups.used, self._first + 1].sum())
        return StateSize(kept, len(self._groups), self._groups.nbytes)
