"""Groups: the keyed state of reduces, top-k and threshold, written only when a batch becomes final."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ivm.kernels.groups.lookup import link_back, look_up_groups
from ivm.kernels.groups.run import melt, open_ascending
from ivm.kernels.groups.table import (
    CELLS,
    COUNTS,
    FREE,
    INDEXED,
    LIVE,
    MELTED,
    OPEN,
    RUN,
    SEARCHED,
    USED,
    close_cells,
    open_cells,
    rebuild_index,
)
from ivm.kernels.types import Int32s
from ivm.trace.column import Array, Bools, Ints
from ivm.trace.delta import Delta
from ivm.trace.growable import Growable
from ivm.trace.time import BEGINNING, as_array

_SMALLEST_INDEX = 64
_LEAST_MELTED = 1024
_MELTED_EACH = 4
_FREE_PART = 4


@dataclass(slots=True)
class Cells:
    """What a batch touches: a cell is a group at one time; cells are numbered in the order of their times.

    `row_cell`: the cell of each row; `slot`: the group of each cell; `previous`: the same group's cell before it, or
    -1; `times`: the time of each cell, or the one time of all.
    """

    row_cell: Int32s
    slot: Int32s
    previous: Int32s
    times: Ints | int
    _jumps: Int32s | None = None

    def __len__(self) -> int:
        return len(self.slot)

    def jumps(self) -> Int32s:
        """The same group's cell further back, for those who look for one by its time; see `link_back`."""
        if self._jumps is None:
            self._jumps = self.previous
            if not isinstance(self.times, int):
                self._jumps = np.empty_like(self.previous)
                link_back(self.previous, self._jumps)
        return self._jumps

    def until(self, as_of: Ints | int) -> Ints:
        """For each time how many cells are no later, of length 1 if it is one. Cost: a binary search each if many."""
        wanted = as_array(as_of)
        if isinstance(self.times, int):
            return np.where(wanted >= self.times, len(self), 0)
        return np.searchsorted(self.times, wanted, side="right")


_NO_SLOTS: Int32s = np.empty(0, np.int32)
_NO_CELLS = Cells(_NO_SLOTS, _NO_SLOTS, _NO_SLOTS, BEGINNING)


class Groups:
    """A hash table from keys of `width` words to rows of `fields` int64 words, the first of them the multiplicity.

    Keys that come in ascending order, as numbers and days of events do, need no hash: see `ivm.kernels.groups.run`.
    `open` finds or makes the groups that a batch touches and changes nothing that `close(None)` would not take back;
    `close(after)` writes the groups' new fields, and forgets those whose fields are all zero.
    """

    def __init__(self, width: int, fields: int) -> None:
        self.width = width
        self.fields = fields
        self._held = BEGINNING
        self._past: Groups | None = None
        self._clear()

    def _clear(self) -> None:
        self._rows: Growable[np.int64] = Growable(np.dtype(np.int64), self.width + 1 + self.fields)
        self._index = np.zeros(_SMALLEST_INDEX, np.int64)
        self._free = np.empty(0, np.int32)
        self._counts = np.zeros(COUNTS, np.int64)
        self._counts[OPEN] = 1
        self._cells = _NO_CELLS

    def __len__(self) -> int:
        """Groups that there are, those included that a batch has opened."""
        return int(self._counts[LIVE])

    @property
    def used(self) -> int:
        """Slots below which all groups lie."""
        return int(self._counts[USED])

    @property
    def capacity(self) -> int:
        """Slots that there is room for."""
        return len(self._rows.array)

    @property
    def state(self) -> Ints:
        """Key words, a word for the batch and the fields of each slot: (capacity, width + 1 + fields)."""
        return self._rows.array

    @property
    def nbytes(self) -> int:
        """Bytes of the slots in use, the index and the stack of free slots, and of what is remembered."""
        past = 0 if self._past is None else self._past.nbytes
        return self.used * self.state.shape[1] * 8 + self._index.nbytes + int(self._counts[FREE]) * 4 + past

    def open(self, words: Ints, times: Ints | int) -> Cells:
        """The cells of a batch whose keys are `words` and whose times ascend. Cost: two random accesses a row."""
        n = len(words)
        keys = frozen(np.ascontiguousarray(words).reshape(n, self.width))
        many = not isinstance(times, int)
        row_cell, slot, previous = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
        cell_time = np.empty(n if many else 0, np.int64)
        ordered = frozen_times(times)
        self._melt()
        cells = row_cell, slot, previous, cell_time
        at = self._open_ascending(keys, ordered, cells)
        while at < n:
            at = open_cells(
                keys, ordered, at, self.width, self._index, self.state, self._free, self._counts, *cells
            )  # fmt: skip
            if at < n:
                self._make_room()
        count = int(self._counts[CELLS])
        of_cells = times if isinstance(times, int) else cell_time[:count]
        self._cells = Cells(row_cell, slot[:count], previous[:count], of_cells)
        return self._cells

    def _open_ascending(self, keys: Ints, times: Ints, cells: tuple[Int32s, Int32s, Int32s, Ints]) -> int:
        """The cells of the first rows, as far as they go on with the run; how many they are."""
        counts, at = self._counts, 0
        # Slots of the run are not used again: where groups come and go, others have to take their place.
        if _FREE_PART * counts[FREE] > counts[USED]:
            counts[OPEN] = 0
        while counts[OPEN] and at < len(keys):
            at = open_ascending(keys, times, at, self.width, self.state, counts, *cells)
            if counts[USED] < self.capacity:
                break
            self._make_slots()
        return int(at)

    def _melt(self) -> None:
        """Between batches: move groups of the run to the index, in proportion to the keys that were searched for in it.

        So nobody pays for the whole run at once, and who asks again and again soon finds an index.
        """
        counts = self._counts
        if counts[SEARCHED] == 0:
            return
        left = int(counts[RUN] - counts[MELTED])
        count = min(max(_MELTED_EACH * int(counts[SEARCHED]), _LEAST_MELTED), left)
        counts[SEARCHED] = 0
        if count:
            self._make_room(count)
            melt(count, self.width, self._index, self.state, self._free, counts)

    def look_up(
        self, words: Ints, dropped: Bools | None, as_of: Ints | int, after: Ints | None, always: bool
    ) -> tuple[Ints, Ints]:
        """The groups of the given keys at the given times: (position of the key, ascending; fields of the group).

        `after` are the fields of the open batch's cells, None if there are none. Keys with a True in `dropped` find
        nothing, nor do groups whose multiplicity is zero unless `always`. The fields are copies. Cost: two or three
        random accesses a key.
        """
        if self._past is not None and isinstance(as_of, int) and as_of <= self._held:
            return self._look_up_past(self._past, words, dropped, as_of, always)
        return self._look_up(words, dropped, as_of, after, always)

    def _look_up(
        self, words: Ints, dropped: Bools | None, as_of: Ints | int, after: Ints | None, always: bool
    ) -> tuple[Ints, Ints]:
        n = len(words)
        positions, fields = np.empty(n, np.int64), np.empty((n, self.fields), np.int64)
        cells, skipped = self._cells, _NO_MASK if dropped is None else frozen(dropped)
        found = look_up_groups(
            frozen(np.ascontiguousarray(words).reshape(n, self.width)), skipped, frozen(cells.until(as_of)), always,
            self.width, self._index, self.state, self._counts, cells.previous, cells.jumps(),
            self.state[:0] if after is None else after, positions, fields,
        )  # fmt: skip
        if self._counts[CELLS] == 0:
            self._melt()
        return positions[:found], fields[:found]

    def close(self, after: Ints | None) -> None:
        """End the batch with the fields `after` of each cell, or with nothing changed; a random access a cell."""
        if self._counts[CELLS] == 0:
            return
        if after is not None and self._held != BEGINNING:
            self._remember()
        close_cells(
            after is not None, self._cells.slot, self.state[:0] if after is None else after, self.width,
            self._index, self.state, self._free, self._counts,
        )  # fmt: skip
        self._cells = _NO_CELLS
        if self._counts[LIVE] == 0 and self.used > _SMALLEST_INDEX:
            self._clear()

    def hold(self, time: int | None) -> None:
        """Let groups be looked up as of `time`, the present, also when they have changed; None: no longer.

        Size: a copy of each group that changes meanwhile, as it is before.
        """
        self._held = BEGINNING if time is None else time
        self._past = None

    def all_fields(self) -> list[Ints]:
        """The fields of all slots in use, and of what is kept beside them."""
        past = [] if self._past is None else [self._past.state[: self._past.used, self._past.width + 2 :]]
        return [self.state[: self.used, self.width + 1 :], *past]

    def replace_fields(self, fields: Sequence[Ints]) -> None:
        """Give everything that `all_fields` showed new rows of fields, while no batch is open or after `open`."""
        self._replace_fields(fields[0])
        if self._past is not None:
            known = np.ones((len(fields[1]), 1), np.int64)
            self._past._replace_fields(np.concatenate([known, fields[1]], axis=1))

    def _look_up_past(
        self, past: Groups, words: Ints, dropped: Bools | None, as_of: int, always: bool
    ) -> tuple[Ints, Ints]:
        """What has changed since from what is remembered of it, the rest from what there is."""
        changed, remembered = past._look_up(words, dropped, as_of, None, False)
        others = np.zeros(len(words), np.bool_) if dropped is None else dropped.copy()
        others[changed] = True
        unchanged, fields = self._look_up(words, others, as_of, None, always)
        there = np.ones(len(changed), np.bool_) if always else remembered[:, 1] != 0
        positions = np.concatenate([changed[there], unchanged])
        order = np.argsort(positions, kind="stable")
        return positions[order], np.concatenate([remembered[there, 1:], fields])[order]

    def _remember(self) -> None:
        """Keep the groups that the open batch changes as they are, unless that was done before.

        They are kept under their keys, behind a one that says that they are known, since one that is new has no fields.
        """
        if self._past is None:
            self._past = Groups(self.width, 1 + self.fields)
        past, touched = self._past, self._cells.slot[self._cells.previous < 0]
        keys = np.ascontiguousarray(self.state[touched, : self.width])
        known = np.zeros(len(keys), np.bool_)
        known[past._look_up(keys, None, BEGINNING, None, False)[0]] = True
        cells = past.open(keys[~known], 0)
        fields = np.ones((len(cells), 1 + self.fields), np.int64)
        fields[:, 1:] = self.state[touched[~known], self.width + 1 :]
        past.close(fields)

    def _replace_fields(self, fields: Ints) -> None:
        head = self.state[: self.used, : self.width + 1]
        rows: Growable[np.int64] = Growable(np.dtype(np.int64), self.width + 1 + fields.shape[1])
        rows.append(np.concatenate([head, fields], axis=1))
        self._rows = rows
        self.fields = fields.shape[1]
        self._match_free()

    def _make_room(self, entries: int = 1) -> None:
        """Room for one more group, and so many more entries of the index."""
        size = len(self._index)
        while 3 * (int(self._counts[INDEXED]) + entries) > 2 * size:
            size *= 4
        if size > len(self._index):
            index = np.zeros(size, np.int64)
            rebuild_index(self._index, index)
            self._index = index
        if self._counts[FREE] == 0 and self.used == self.capacity:
            self._make_slots()

    def _make_slots(self) -> None:
        self._rows.length = self.used
        self._rows.reserve(self.used + 1)
        self._match_free()

    def _match_free(self) -> None:
        """Let the stack hold every slot that there can be; what is not written takes no memory."""
        free = np.empty(self.capacity, np.int32)
        free[: self._counts[FREE]] = self._free[: self._counts[FREE]]
        self._free = free


_Frozen = TypeVar("_Frozen", bound=np.generic)


def frozen(array: npt.NDArray[_Frozen]) -> npt.NDArray[_Frozen]:
    """The array, not to be written to, so that kernels are compiled for one kind of input only."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


_NO_MASK: Bools = frozen(np.empty(0, np.bool_))
_ONE_TIME: Ints = frozen(np.zeros(1, np.int64))
_ALL_ONE: Ints = frozen(np.empty(0, np.int64))


def frozen_times(times: Ints | int) -> Ints:
    """Times as kernels take them: of length one if all are the same."""
    return _ONE_TIME if isinstance(times, int) else frozen(np.ascontiguousarray(times))


def frozen_diffs(diffs: Ints | None) -> Ints:
    """Diffs as kernels take them: of length zero if all are one."""
    return _ALL_ONE if diffs is None else frozen(np.ascontiguousarray(diffs))


def in_time_order(delta: Delta) -> Delta:
    """The same updates with times ascending, one int if there is only one. Cost: a sort where they are not in order."""
    times = delta.times
    if isinstance(times, int):
        return delta
    if len(times) > 1 and not bool((times[1:] >= times[:-1]).all()):
        delta = delta.take(np.argsort(times, kind="stable"))
        times = delta.time_array()
    if times[0] == times[-1]:
        return Delta(delta.groups, delta.layout, delta.length, int(times[0]), delta.diffs)
    return delta


def cell_times(times: Ints | int, cells: Array) -> Ints | int:
    """The times of the given cells, or the one time of all."""
    return times if isinstance(times, int) else times[cells]


def live_input(inputs: Sequence[Delta | None]) -> Delta | None:
    """The first input's updates in the order of time; None if there are none."""
    delta = inputs[0]
    return None if delta is None or len(delta) == 0 else in_time_order(delta)
