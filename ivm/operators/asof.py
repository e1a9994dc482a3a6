"""ASOF join: each row of the left with the row of the right that is nearest to it. State: both sides, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ivm.catalog.types import SqlType
from ivm.kernels.ordered.asof import (
    DIFF,
    FRAME,
    LEFT_AT,
    OF_CELL,
    PAIRING,
    PUT,
    RIGHT_AT,
    WRITTEN,
    pair_entries,
    step_asof,
)
from ivm.kernels.ordered.encode import decode_columns
from ivm.kernels.types import Int32s
from ivm.operators.operator import NOTHING, Contents, Kept, StateSize
from ivm.trace.columns.column import NOBODY, Ints, readonly_diffs
from ivm.trace.delta import Delta, Group, Layout
from ivm.trace.ordered.ordered_tree import OrderedReader, OrderedRows
from ivm.trace.ordered.row_order import DecodedRows, RowOrder, Term
from ivm.trace.text.dictionary import TextDictionary

Types = tuple[tuple[SqlType, bool], ...]

_MORE, _MOST_SPARE = 1 << 6, 1 << 8


@dataclass(frozen=True)
class AsofSide:
    """A side of an ASOF join: its columns, those of the key, that of the time, and how many of them are put out.

    No column is among those of key and time twice.
    """

    types: Types
    keys: tuple[int, ...]
    time: int
    width: int

    def order(self, other: AsofSide, *, forward: bool, last_first: bool) -> RowOrder:
        """By key, then by time, from late to early if one looks `forward`, then by all other columns.

        What key and time are made of is the same on both sides: whether there may be NULLs too, which come first. With
        `last_first` the others stand the other way round: descending, with NULLs first.
        """
        common = (*self.keys, self.time)
        terms = []
        for column, counterpart in zip(common, (*other.keys, other.time), strict=True):
            type_, nullable = self.types[column]
            descending = forward and column == self.time
            terms.append(Term(column, type_, nullable or other.types[counterpart][1], descending, True))
        rest = (c for c in range(len(self.types)) if c not in common)
        terms += [Term(c, *self.types[c], descending=last_first, nulls_first=True) for c in rest]
        return RowOrder(tuple(terms))


class Asof(Kept):
    """Each row of the left with the nearest row of the right: see `ivm.sql.ir.relation.Asof`. Inputs: right, left.

    A row of the left costs a look-up; one of the right O(log n), and the rows of the left that it moves: those up to
    the next time on the right.
    """

    def __init__(
        self, left: AsofSide, right: AsofSide, function: str, dictionary: TextDictionary, *, outer: bool
    ) -> None:
        forward, strict = function in ("le", "lt"), function in ("gt", "lt")
        self._left_order = left.order(right, forward=forward, last_first=False)
        self._right_order = right.order(left, forward=forward, last_first=True)
        made = tuple(replace(term, nullable=True) for term in self._right_order.terms)
        self._made_order = RowOrder(made) if outer else self._right_order
        self._places = np.fromiter(_places(self._right_order, self._made_order), np.int64)
        self._left, self._right = (
            OrderedRows(order, dictionary, grouped=False) for order in (self._left_order, self._right_order)
        )
        keyed = sum(term.words for term in self._left_order.terms[: len(left.keys)])
        time = self._left_order.terms[len(left.keys)]
        self._shape = np.array([keyed + time.words, keyed, strict, outer, keyed if time.nullable else -1], np.int64)
        self._layout = Layout([*((0, c) for c in range(left.width)), *((1, c) for c in range(right.width))])
        self._spare: _Room | None = None  # of a step that has put nothing out
        self.states = (self._right, self._left)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The rows that go and come at each time, by time."""
        right, left = inputs[0] or NOTHING, inputs[1] or NOTHING
        lefts, rights = left.length, right.length
        if lefts + rights == 0:
            return None
        times, cells = _cells(left, right)
        count = 1 if isinstance(times, int) else len(times)
        memories = _begin(self._left, left), _begin(self._right, right)
        wanted, strings = lefts + 2 * rights + _MORE, self._left.dictionary.now()
        room, self._spare = self._spare, None
        if room is None or len(room.about) < wanted or room.offsets.shape[1] != count + 1:
            room = self._room(wanted, count)
        frame, held = np.zeros(FRAME, np.int64), np.empty((2, len(self._right.kinds)), np.int64)
        while not step_asof(
            self._left.meta, self._left.kinds, memories[0], readonly_diffs(left.diffs), cells[:lefts], room.offsets[0],
            self._right.meta, self._right.kinds, memories[1], readonly_diffs(right.diffs), cells[lefts:],
            room.offsets[1], strings.heap, strings.places, room.scratch, self._shape, frame, held, self._places,
            *room.arrays,
        ):  # fmt: skip
            room = room.wider()
        written = frame.item(WRITTEN)
        if written == 0:
            if len(room.about) <= _MOST_SPARE:
                self._spare = room
            return None
        about = room.about[:written]
        return self._put(room, times if isinstance(times, int) else times[about[:, OF_CELL]], about[:, DIFF].copy())

    def _room(self, rows: int, cells: int = 0) -> _Room:
        return _Room(self._left_order, self._made_order, rows, cells)

    def _put(self, room: _Room, times: Ints | int, diffs: Ints) -> Delta:
        for made, order in ((room.left, self._left_order), (room.right, self._made_order)):
            made.rows = len(diffs)
            decode_columns(order.table, made.words(), made.places(()))
        return Delta([Group(room.left), Group(room.right)], self._layout, len(diffs), times, diffs)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        return self._shown(self._left.reader(), self._right.reader(), time)

    def _shown(self, left: OrderedReader, right: OrderedReader, time: int) -> Iterator[Delta]:
        """The entries of both sides side by side, each of which is read once."""
        rights, ended, words = right.read(), False, len(self._right.kinds)
        there, last = np.empty((0, words + 1), np.int64), np.zeros((1, words), np.int64)
        frame = np.zeros(PAIRING, np.int64)
        for entries in left.read():
            frame[LEFT_AT] = 0
            while (begun := frame.item(LEFT_AT)) < len(entries):
                left.kept, right.kept = (entries,), (there, last)
                room, diffs = self._room(len(entries) - begun), np.empty(len(entries) - begun, np.int64)
                strings = self._left.dictionary.now()
                frame[PUT] = 0
                pair_entries(
                    entries, there, ended, self._left.kinds, strings.heap, strings.places, self._shape, self._places,
                    last, frame, *room.arrays[:2], diffs,
                )  # fmt: skip
                put = frame.item(PUT)
                yield self._put(room, time, diffs[:put]) if put else NOTHING
                if frame[LEFT_AT] < len(entries):
                    more = next(rights, None)
                    there, ended = (there[:0], True) if more is None else (more, False)
                    frame[RIGHT_AT] = 0

    def size(self) -> StateSize:
        """Distinct rows, bytes."""
        return StateSize(len(self._left) + len(self._right), 0, self._left.nbytes + self._right.nbytes)


class _Room:
    """Room for the words of so many output rows, for their diffs and cells, and for how a step goes through so many."""

    def __init__(self, left: RowOrder, right: RowOrder, rows: int, cells: int) -> None:
        self._orders = left, right
        self.left, self.right = DecodedRows(left, rows, len(left.kinds)), DecodedRows(right, rows, len(right.kinds))
        self.about = np.empty((rows, 2), np.int64)
        self.offsets: Ints = np.empty((2, cells + 1), np.int64)
        self.scratch: Ints = np.empty(rows if cells else 0, np.int64)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """The words of both sides, and the rest."""
        return self.left.words(), self.right.words(), self.about

    def wider(self) -> _Room:
        """One with room for twice as many, which begins with what is in this one."""
        made = _Room(*self._orders, 2 * len(self.about), 0)
        made.offsets, made.scratch = self.offsets, self.scratch
        for mine, its in zip(self.arrays, made.arrays, strict=True):
            its[: len(mine)] = mine
        return made


def _begin(tree: OrderedRows, delta: Delta) -> Ints:
    """The memory of a batch whose keys are there."""
    if not delta.length:
        return NOBODY
    memory, width = tree.begin(delta.length), len(tree.kinds)
    tree.row_order.encode_delta(delta, memory[: delta.length * width].reshape(delta.length, width))
    return memory


def _cells(left: Delta, right: Delta) -> tuple[Ints | int, Int32s]:
    """The times of both, ascending, an int if there is one; which of them each row has, of the left, then the right."""
    rows, times = left.length + right.length, left.times if left.length else right.times
    if isinstance(times, int) and (rows in (left.length, right.length) or right.times is times):
        return times, np.zeros(rows, np.int32)
    found, cells = np.unique(np.concatenate([left.time_array(), right.time_array()]), return_inverse=True)
    return found, cells.astype(np.int32)


def _places(kept: RowOrder, made: RowOrder) -> Iterator[int]:
    """For each word of a row that is put out which word of a kept one it is; -1: whether there is one."""
    at = 0
    for before, after in zip(kept.terms, made.terms, strict=True):
        if after.nullable and not before.nullable:
            yield -1
        yield from range(at, at + before.words)
        at += before.words
