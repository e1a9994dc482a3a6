"""Arrays, and columns in physical form, that grow at their end, at amortized constant cost."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ivm.catalog.types import Physical
from ivm.kernels.memory.pages import EAGER_BYTES, LARGE_PAGE, stale, take_small_pages, zeros
from ivm.kernels.memory.places import ADDRESS, BIT, ROOM, SIZE, STRIDE, VALID_ROOM, VALIDITY, WORDS
from ivm.trace.columns.column import DTYPES, Array, Column, Ints, item_size

_Item = TypeVar("_Item", bound=np.generic)

_START = 1024
_AHEAD = 64
_AHEAD_BYTES = 1 << 32
_NO_CODES: Array = np.empty(0, np.int32)


class Growable(Generic[_Item]):
    """Rows of `dtype`, or of `width` items of it each, in `array[:length]`; what lies behind is spare.

    Small arrays double. Those above 256 KiB reserve address space of 4 GiB, or where that is not to be had, 64-fold,
    which the system backs with memory only as rows are written, so that no batch waits for the copy of a large array.
    All that was never written is zero, unless it `may_be_stale` (see `ivm.kernels.memory.pages`).
    Readers of `view()` keep what they have: growth moves to a new array and leaves the old one to them.
    A control `block` tells at `at` where the array is, and `behind` places further on how many rows fit.
    """

    __slots__ = ("_at", "_block", "_may_be_stale", "_room", "array", "length")

    def __init__(
        self,
        dtype: np.dtype[_Item],
        width: int | None = None,
        *,
        block: Ints | None = None,
        at: int = 0,
        behind: int = 1,
        may_be_stale: bool = False,
    ) -> None:
        self._may_be_stale = may_be_stale
        self.array: npt.NDArray[_Item] = np.empty(0 if width is None else (0, width), dtype)
        self.length = 0
        self._block, self._at, self._room = block, at, at + behind

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        return self.length * self.array.itemsize * (self.array.shape[1] if self.array.ndim == 2 else 1)

    def tell(self, block: Ints, at: int, behind: int) -> None:
        """From now on this block tells where the array is. The caller sees to it that nobody reads it half written."""
        block[at], block[at + behind] = self.bound(block, at, behind)

    def bound(self, block: Ints, at: int, behind: int) -> tuple[int, int]:
        """The address and the room that `tell` would write, for the caller to write; from now on growth writes them."""
        self._at, self._room, self._block = at, at + behind, block
        return self.array.ctypes.data, len(self.array)

    def reserve(self, length: int) -> npt.NDArray[_Item]:
        """The array, with room for `length` rows in all."""
        if length > len(self.array):
            self._grow(length)
        return self.array

    def append(self, rows: npt.NDArray[_Item]) -> None:
        """Copy `rows` to the end."""
        begin = self.length
        end = begin + len(rows)
        if end > len(self.array):
            self._grow(end)
        self.array[begin:end] = rows
        self.length = end

    def push(self, value: int) -> None:
        """Put one row of this value to the end."""
        length = self.length
        if length == len(self.array):
            self._grow(length + 1)
        self.array[length] = value
        self.length = length + 1

    def fill(self, value: int, length: int) -> None:
        """Grow to `length` rows, the new ones all `value`."""
        self.reserve(length)[self.length : length] = value
        self.length = max(self.length, length)

    def skip(self, length: int) -> None:
        """Grow to `length` rows, the new ones zero, of which only some are going to be written, far apart.

        They get memory in small pages first, lest a few of them wait for as many large ones; see `join_page`.
        """
        before = self.length
        if length > before:
            end = self.reserve(length)[before:length]
            self.length = length
            if end.nbytes >= LARGE_PAGE:
                take_small_pages(end)

    def view(self) -> npt.NDArray[_Item]:
        """The rows in use, not copied."""
        return self.array[: self.length]

    def truncate(self, length: int) -> None:
        """Cut the tail off."""
        self.length = min(self.length, length)

    def forget(self) -> None:
        """Let all rows go, which nobody reads any more, and their memory."""
        self.length = 0
        self._move(np.empty((0, *self.array.shape[1:]), self.array.dtype))

    def _grow(self, length: int) -> None:
        row_bytes = self.array.itemsize * (self.array.shape[1] if self.array.ndim == 2 else 1)
        wanted = [max(length + length // 2, 2 * len(self.array), _START)]
        if length * row_bytes >= EAGER_BYTES:
            # A system that commits memory when it is reserved has less to give; it gets what is needed soon.
            wanted = [_AHEAD_BYTES // row_bytes, min(_AHEAD * length, _AHEAD_BYTES // row_bytes), length + length // 4]
        made = stale if self._may_be_stale else zeros
        for rows in wanted:
            try:
                shape = max(rows, length), *self.array.shape[1:]
                grown = made(shape, self.array.dtype, (length - self.length) * row_bytes)
                break
            except (MemoryError, OSError) as error:
                if rows == wanted[-1]:
                    raise MemoryError(str(error)) from error
        grown[: self.length] = self.array[: self.length]
        self._move(grown)

    def _move(self, array: npt.NDArray[_Item]) -> None:
        """Let this be the array."""
        block, at, room = self._block, self._at, self._room
        if block is None:
            self.array = array
            return
        address, length = array.ctypes.data, len(array)
        # In one line, for nothing is raised between stores, and nobody else runs: the two always agree.
        block[at], block[room], self.array = address, length, array


class HotColumn:
    """Growing values, and a growing mask from the first NULL on. Size: the values, and a byte a row for the mask.

    Kernels are told in `place`, which stands at `address`, where it lies (see `ivm.kernels.memory.places`).
    """

    __slots__ = ("_physical", "address", "place", "valid", "values")

    def __init__(self, physical: Physical, place: Ints | None = None) -> None:
        self._physical = physical
        self.values: Growable[Any] = Growable(DTYPES[physical], 2 if physical is Physical.WIDE else None)
        self.valid: Growable[np.bool_] | None = None
        self.place: Ints = np.zeros(WORDS, np.int64)
        self.tell(self.place if place is None else place)

    def __len__(self) -> int:
        return self.values.length

    def tell(self, place: Ints) -> None:
        """From now on `place` tells where it lies. Until that is so it has no stride."""
        self.values.tell(place, ADDRESS, ROOM - ADDRESS)
        self.address: int = place.ctypes.data
        place[SIZE], place[BIT], self.place = self._bytes, -1, place
        if self.valid is not None:
            self.valid.tell(place, VALIDITY, VALID_ROOM - VALIDITY)
        place[STRIDE] = self._bytes

    @property
    def _bytes(self) -> int:
        return item_size(self._physical)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        return self.values.nbytes + (0 if self.valid is None else self.valid.nbytes)

    def begin_mask(self) -> None:
        """Have a mask, if there is none yet: so far no value is NULL."""
        if self.valid is not None:
            return
        mask, place = Growable(np.dtype(np.bool_)), self.place
        mask.fill(True, len(self))
        mask.reserve(1)
        address, room = mask.bound(place, VALIDITY, VALID_ROOM - VALIDITY)
        # In one line, for nothing is raised between stores: whoever is told of a mask finds one.
        self.valid, place[VALIDITY], place[VALID_ROOM] = mask, address, room

    def reserve(self, rows: int) -> None:
        """Have room for so many rows in all."""
        self.values.reserve(rows)
        if self.valid is not None:
            self.valid.reserve(rows)

    def lengthen(self, rows: int) -> None:
        """So many rows are there now; a kernel has written the last ones."""
        self.values.length = rows
        if self.valid is not None:
            self.valid.length = rows

    def append(self, column: Column) -> None:
        """Copy the rows of `column` to the end."""
        if column.valid is not None:
            self.begin_mask()
        self.values.append(column.values)
        if self.valid is not None:
            if column.valid is None:
                self.valid.fill(True, len(self))
            else:
                self.valid.append(column.valid)

    def truncate(self, rows: int) -> None:
        """Cut the tail off."""
        self.values.truncate(rows)
        if self.valid is not None:
            self.valid.truncate(rows)

    def codes(self) -> Array:
        """The codes if it is a column of texts, else none; nothing is written there again."""
        return self.values.view() if self._physical is Physical.CODE else _NO_CODES

    def part(self, start: int, end: int) -> Column:
        """The rows from `start` to `end`, not copied, whatever is appended or cut off behind them meanwhile."""
        valid = self.valid
        return Column(self.values.array[start:end], None if valid is None else valid.array[start:end])

    def empty(self) -> HotColumn:
        """No rows yet, of the same form."""
        return HotColumn(self._physical)
