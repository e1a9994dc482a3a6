"""Key words by numpy: the slow twin of how keys are packed, part by part, and the keys of stores that are only words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.hashing.keys import HALF, NULL, NULL_BIT, WORD
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.index.keys import KeyLayout
from ivm.trace.index.search import Run


class KeysOf:
    """The keys of rows of which `give` says the words (n, W); see `ivm.trace.index.run.RunKeys`."""

    def __init__(self, give: Callable[[slice], Ints]) -> None:
        self.words = give
        self._held: list[object] = []

    def at(self, rows: int) -> Run:
        words = self.words(slice(0, rows))
        columns = [Column(column) for column in words.T.copy()]
        form = KeyLayout(((Physical.INT64, False),) * len(columns), "match").form
        places = places_of(columns)
        self._held.append((columns, places, form))  # what was told before is still read
        return places.ctypes.data, form.ctypes.data, len(form)


def words_by_hand(layout: KeyLayout, columns: Sequence[Column], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The words (n, W) of the rows of columns, and which rows have a NULL."""
    words, missing = np.zeros((rows, layout.words), np.int64), np.zeros(rows, np.bool_)
    halves = words.view(np.int32)
    for (physical, _), part, column in zip(layout.parts, layout.form, columns, strict=True):
        word, half, null, bit = (int(part[each]) for each in (WORD, HALF, NULL, NULL_BIT))
        there = np.ones(rows, np.bool_) if column.valid is None else column.valid
        missing |= ~there
        values = column.values
        if physical is Physical.FLOAT64:
            floats = values.astype(np.float64)
            values = np.where(np.isnan(floats), np.nan, floats + 0.0).view(np.int64)
        if null >= 0:
            values = np.where(there[:, None] if values.ndim == 2 else there, values, 0)
            halves[:, null] |= np.where(there, 0, np.int32(1 << bit) if bit < 31 else np.int32(-(1 << 31))).astype(
                np.int32
            )
        if half >= 0:
            halves[:, half] = values
        else:
            words[:, word : word + (2 if values.ndim == 2 else 1)] = values[:, None] if values.ndim == 1 else values
    return words, missing
