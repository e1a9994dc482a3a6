"""Groups: the keyed state of reduces, top-k and threshold, written only when a batch becomes final."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ivm.kernels.group_table import CELLS, FREE, LIVE, USED, close_cells, open_cells, rebuild_index
from ivm.kernels.types import Int32s
from ivm.trace.column import Array, Ints
from ivm.trace.delta import Delta
from ivm.trace.growable import Growable

_SMALLEST_INDEX = 64


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

    def __len__(self) -> int:
        return len(self.slot)


class Groups:
    """A hash table from keys of `width` words to rows of `fields` int64 words, the first of them the multiplicity.

    `open` finds or makes the groups that a batch touches and changes nothing that `close(None)` would not take back;
    `close(after)` writes the groups' new fields, and forgets those whose fields are all zero.
    """

    def __init__(self, width: int, fields: int) -> None:
        self.width = width
        self.fields = fields
        self._clear()

    def _clear(self) -> None:
        self._rows: Growable[np.int64] = Growable(np.dtype(np.int64), self.width + 1 + self.fields)
        self._index = np.zeros(_SMALLEST_INDEX, np.int64)
        self._free = np.empty(0, np.int32)
        self._counts = np.zeros(4, np.int64)
        self._touched: Int32s = np.empty(0, np.int32)

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
        """Bytes of the slots in use, the index and the stack of free slots."""
        return self.used * self.state.shape[1] * 8 + self._index.nbytes + int(self._counts[FREE]) * 4

    def open(self, words: Ints, times: Ints | int) -> Cells:
        """The cells of a batch whose keys are `words` and whose times ascend. Cost: two random accesses a row."""
        n = len(words)
        keys = frozen(np.ascontiguousarray(words).reshape(n, self.width))
        many = not isinstance(times, int)
        row_cell, slot, previous = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
        cell_time = np.empty(n if many else 0, np.int64)
        ordered = frozen_times(times)
        at = 0
        while True:
            at = open_cells(
                keys, ordered, at, self.width, self._index, self.state, self._free, self._counts,
                row_cell, slot, previous, cell_time,
            )  # fmt: skip
            if at == n:
                break
            self._make_room()
        count = int(self._counts[CELLS])
        self._touched = slot[:count]
        return Cells(
            row_cell, self._touched, previous[:count], cell_time[:count] if not isinstance(times, int) else times
        )

    def close(self, after: Ints | None) -> None:
        """End the batch with the fields `after` of each cell, or with nothing changed; a random access a cell."""
        if self._counts[CELLS] == 0:
            return
        close_cells(
            after is not None, self._touched, self.state[:0] if after is None else after, self.width,
            self._index, self.state, self._free, self._counts,
        )  # fmt: skip
        self._touched = self._touched[:0]
        if self._counts[LIVE] == 0 and self.used > _SMALLEST_INDEX:
            self._clear()

    def replace_fields(self, fields: Ints) -> None:
        """Give every slot in use a new row of fields (used, any number), while no batch is open or after `open`."""
        head = self.state[: self.used, : self.width + 1]
        rows: Growable[np.int64] = Growable(np.dtype(np.int64), self.width + 1 + fields.shape[1])
        rows.append(np.concatenate([head, fields], axis=1))
        self._rows = rows
        self.fields = fields.shape[1]
        self._match_free()

    def _make_room(self) -> None:
        if 3 * self._counts[LIVE] + 3 > 2 * len(self._index):
            index = np.zeros(4 * len(self._index), np.int64)
            rebuild_index(self._index, index)
            self._index = index
        if self._counts[FREE] == 0 and self.used == self.capacity:
            self._rows.length = self.used
            self._rows.reserve(self.used + 1)
            self._match_free()

    def _match_free(self) -> None:
        """Let the stack hold every slot that there can be; what is not written takes no memory."""
        free = np.empty(self.capacity, np.int32)
        free[: self._counts[FREE]] = self._free[: self._counts[FREE]]
        self._free = free


_NO_TIME = np.zeros(1, np.int64)
_NO_DIFFS = np.empty(0, np.int64)
_Frozen = TypeVar("_Frozen", bound=np.generic)


def frozen(array: npt.NDArray[_Frozen]) -> npt.NDArray[_Frozen]:
    """The array, not to be written to, so that kernels are compiled for one kind of input only."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def frozen_times(times: Ints | int) -> Ints:
    """Times as kernels take them: of length one if all are the same."""
    return frozen(_NO_TIME if isinstance(times, int) else np.ascontiguousarray(times))


def frozen_diffs(diffs: Ints | None) -> Ints:
    """Diffs as kernels take them: of length zero if all are one."""
    return frozen(_NO_DIFFS if diffs is None else np.ascontiguousarray(diffs))


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
