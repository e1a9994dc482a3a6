"""About how many rows of a log differ, counted bit by bit: whether it is worth to merge equal ones."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.catalog.types import SqlType
from ivm.trace.columns.column import Column, part_of
from ivm.trace.index.keys import DistinctKeys, KeyLayout

_MOST = 0.75
_AT_ONCE = 1 << 13


class DistinctRows:
    """Of the first `length` rows of `columns`, which nobody writes to. Size: half a megabyte."""

    def __init__(self, columns: Sequence[Column], types: Sequence[SqlType], length: int) -> None:
        self.length = length
        self._columns = columns
        kinds = zip(columns, types, strict=True)
        self._layout = KeyLayout(tuple((type_.physical, c.valid is not None) for c, type_ in kinds), nulls="match")
        self._keys, self._done = DistinctKeys(), 0

    @property
    def nbytes(self) -> int:
        """Bytes of what is counted by."""
        return self._keys.nbytes

    @property
    def are_most(self) -> bool:
        """Whether most of those that are counted differ from all others."""
        return self._keys.count >= _MOST * self._done

    def work(self, rows: int) -> bool:
        """Count so many more; whether that were the last. Cost: a hash each, a twentieth of merging it."""
        end = min(self._done + rows, self.length)
        for begin in range(self._done, end, _AT_ONCE):
            part = slice(begin, min(begin + _AT_ONCE, end))
            columns = [part_of(column, part) for column in self._columns]
            self._keys.add(*self._layout.pack(columns, part.stop - begin))
        self._done = end
        return end == self.length
