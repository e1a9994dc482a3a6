"""An array that grows at its end, at amortized constant cost."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

_Item = TypeVar("_Item", bound=np.generic)

_START = 1024
_EAGER_BYTES = 1 << 20
_AHEAD = 64
_AHEAD_BYTES = 1 << 32


class Growable(Generic[_Item]):
    """Rows of `dtype`, or of `width` items of it each, in `array[:length]`; what lies behind is spare and unspecified.

    Small arrays double. Those above a megabyte reserve address space 64-fold, up to 4 GiB, which the system backs with
    memory only as rows are written, so that no batch waits for the copy of a large array.
    Readers of `view()` keep what they have: growth moves to a new array and leaves the old one to them.
    """

    __slots__ = ("array", "length")

    def __init__(self, dtype: np.dtype[_Item], width: int | None = None) -> None:
        self.array: npt.NDArray[_Item] = np.empty(0 if width is None else (0, width), dtype)
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        return self.length * self.array.itemsize * (self.array.shape[1] if self.array.ndim == 2 else 1)

    def reserve(self, length: int) -> npt.NDArray[_Item]:
        """The array, with room for `length` rows in all."""
        if length > len(self.array):
            self._grow(length)
        return self.array

    def append(self, rows: npt.NDArray[_Item]) -> None:
        """Copy `rows` to the end."""
        end = self.length + len(rows)
        self.reserve(end)[self.length : end] = rows
        self.length = end

    def fill(self, value: int, length: int) -> None:
        """Grow to `length` rows, the new ones all `value`."""
        self.reserve(length)[self.length : length] = value
        self.length = max(self.length, length)

    def view(self) -> npt.NDArray[_Item]:
        """The rows in use, not copied."""
        return self.array[: self.length]

    def copy(self) -> Growable[_Item]:
        """The rows in use in an array of their own."""
        copied = Growable(self.array.dtype)
        copied.array, copied.length = self.view().copy(), self.length
        return copied

    def truncate(self, length: int) -> None:
        """Cut the tail off."""
        self.length = min(self.length, length)

    def drop_front(self, count: int) -> None:
        """Take the first `count` rows out; cost: moving the rest."""
        self.array[: self.length - count] = self.array[count : self.length].copy()
        self.length -= count

    def _grow(self, length: int) -> None:
        row_bytes = self.array.itemsize * (self.array.shape[1] if self.array.ndim == 2 else 1)
        ahead = min(length * _AHEAD, _AHEAD_BYTES // row_bytes) if length * row_bytes >= _EAGER_BYTES else 0
        wanted = max(ahead, length + length // 2, 2 * len(self.array), _START)
        try:
            grown = np.empty((wanted, *self.array.shape[1:]), self.array.dtype)
        except MemoryError:
            # A system that commits memory when it is reserved: take no more than is needed soon.
            grown = np.empty((length + length // 4, *self.array.shape[1:]), self.array.dtype)
        grown[: self.length] = self.array[: self.length]
        self.array = grown
