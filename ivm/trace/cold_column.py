"""A stored column that nobody computes with: the Arrow chunks as they came, not copied."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ivm.trace.column import Ints

_FAN = 16
_SEALED = 9
_SMALL = 4096
_LARGE = 1 << 16


class ColdColumn:
    """Arrow chunks one after the other. Small ones are put together by the sixteen in `tidy`, so that the number of
    chunks grows with the logarithm of the number of small batches and a value is copied four times at most.
    """

    __slots__ = ("_chunks", "_levels", "_starts", "_type")

    def __init__(self, arrow_type: pa.DataType) -> None:
        self._type = arrow_type
        self._chunks: list[pa.ChunkedArray] = []
        self._starts: list[int] = [0]
        self._levels: list[int] = []

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def nbytes(self) -> int:
        """Bytes of the values of the chunks, whoever else may hold them."""
        return sum(chunk.nbytes for chunk in self._chunks)

    def append(self, values: pa.ChunkedArray) -> None:
        """Add `values` (of any encoding that fits the column) at the end; nothing is copied."""
        if len(values) == 0:
            return
        self._chunks.append(values)
        self._starts.append(self._starts[-1] + len(values))
        self._levels.append(0 if len(values) < _SMALL else _SEALED)

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on; cost: at most one slice."""
        while self._starts[-1] > rows:
            chunk = self._chunks.pop()
            self._starts.pop()
            level = self._levels.pop()
            left = rows - self._starts[-1]
            if left > 0:
                self._chunks.append(chunk.slice(0, left))
                self._starts.append(rows)
                self._levels.append(level)

    def tidy(self) -> None:
        """Put small chunks together, amortized."""
        while len(self._levels) >= _FAN and self._levels[-1] != _SEALED and self._levels[-_FAN] == self._levels[-1]:
            whole = pa.concat_arrays([self._plain(part) for chunk in self._chunks[-_FAN:] for part in chunk.chunks])
            level = self._levels[-1] + 1 if len(whole) < _LARGE else _SEALED
            del self._chunks[-_FAN:], self._levels[-_FAN:], self._starts[-_FAN:]
            self._chunks.append(pa.chunked_array([whole]))
            self._starts.append(self._starts[-1] + len(whole))
            self._levels.append(level)

    def parts(self) -> Iterator[pa.Array]:
        """The arrays in order, each in the encoding that it came in."""
        for chunk in self._chunks:
            yield from chunk.chunks

    def gather(self, rows: Ints | slice) -> list[pa.Array]:
        """The values of `rows`, in arrays as they came; cost: one gather for each stretch of rows from one chunk."""
        if isinstance(rows, slice):
            return self._sliced(rows.start, rows.stop)
        owner = np.searchsorted(np.array(self._starts), rows, side="right") - 1
        bounds = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(rows)]
        parts: list[pa.Array] = []
        for begin, end in pairwise(bounds):
            if begin < end:
                number = int(owner[begin])
                inside = pa.array(rows[begin:end] - self._starts[number], pa.int64())
                parts.extend(self._chunks[number].take(inside).chunks)
        return parts

    def arrow(self, rows: Ints | slice) -> pa.ChunkedArray:
        """The values of `rows` in the column's own Arrow type; a slice is not copied where chunks have that type."""
        return pa.chunked_array([self._plain(part) for part in self.gather(rows)], type=self._type)

    def keep(self, rows: Ints) -> ColdColumn:
        """A column of the rows `rows` of this one."""
        kept = ColdColumn(self._type)
        for part in self.gather(rows):
            kept.append(pa.chunked_array([part]))
        return kept

    def _plain(self, part: pa.Array) -> pa.Array:
        return part if part.type == self._type else part.cast(self._type)

    def _sliced(self, begin: int, end: int) -> list[pa.Array]:
        parts: list[pa.Array] = []
        number = bisect.bisect_right(self._starts, begin) - 1
        while number < len(self._chunks) and self._starts[number] < end:
            offset = max(begin - self._starts[number], 0)
            length = end - self._starts[number] - offset
            parts.extend(self._chunks[number].slice(offset, length).chunks)
            number += 1
        return parts
