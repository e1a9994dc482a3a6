"""A stored column in physical form: contiguous, ready for kernels."""

from __future__ import annotations

import numpy as np

from catalog.types import Physical
from ivm.trace.column import DTYPES, Array, Column
from ivm.trace.growable import Growable

_NO_CODES: Array = np.empty(0, np.int32)


class HotColumn:
    """Growing values, and a growing mask from the first NULL on. Size: the values, and a byte a row for the mask."""

    __slots__ = ("_physical", "_valid", "_values")

    def __init__(self, physical: Physical) -> None:
        self._physical = physical
        self._values = Growable(DTYPES[physical], 2 if physical is Physical.WIDE else None)
        self._valid: Growable[np.bool_] | None = None

    def __len__(self) -> int:
        return self._values.length

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        return self._values.nbytes + (0 if self._valid is None else self._valid.nbytes)

    def append(self, column: Column) -> None:
        """Copy the rows of `column` to the end."""
        before = len(self)
        self._values.append(column.values)
        if column.valid is not None and self._valid is None:
            valid = Growable(np.dtype(np.bool_))
            valid.fill(True, before)
            self._valid = valid
        if self._valid is not None:
            if column.valid is None:
                self._valid.fill(True, len(self))
            else:
                self._valid.append(column.valid)

    def truncate(self, rows: int) -> None:
        """Cut the tail off."""
        self._values.truncate(rows)
        if self._valid is not None:
            self._valid.truncate(rows)

    def codes(self) -> Array:
        """The codes if it is a column of texts, else none; nothing is written there again."""
        return self._values.view() if self._physical is Physical.CODE else _NO_CODES

    def part(self, start: int, end: int) -> Column:
        """The rows from `start` to `end`, not copied, whatever is appended or cut off behind them meanwhile."""
        valid = self._valid
        return Column(self._values.array[start:end], None if valid is None else valid.array[start:end])

    def empty(self) -> HotColumn:
        """No rows yet, of the same form."""
        return HotColumn(self._physical)
