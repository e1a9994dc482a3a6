"""What was made of an Arrow dictionary: small batches come with the same one, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Physical
from ivm.kernels.memory.in_place import pick
from ivm.trace.columns.column import NOBODY, Array, Column
from ivm.trace.columns.computed import TextFunction
from ivm.trace.columns.exported import PAGE, READABLE
from ivm.trace.text.dictionary import Codes, TextDictionary
from ivm.trace.text.texts import arrow_texts

MOST_TEXTS = 1 << 16
"""Texts of a dictionary of which nothing more is remembered."""
_CODES: dict[int, np.dtype[Any]] = {width: np.dtype(f"i{width}") for width in (1, 2, 4)}


class SeenTexts:
    """The dictionary that the last batches of a column had, the codes of its texts, and values of functions of them.

    They are made once as many rows have come as it takes to be worth a pass over it: half as many as it has texts.
    `number` is the one that the dictionary is known by where batches are looked at, see `FirstLook`.
    """

    def __init__(self, number: int, texts: pa.Array, dictionary: TextDictionary) -> None:
        self.number = number
        self._texts = texts
        self._dictionary = dictionary
        self._rows = 0
        self._codes: Column | None = None
        self._values: WeakKeyDictionary[TextFunction, Column] = WeakKeyDictionary()
        dictionary.memos.add(self)

    def read(self, address: int, width: int, rows: int, function: TextFunction | None = None) -> Column | None:
        """The codes, or values of a function, of so many places in the dictionary at an address, of `width` bytes each.

        None if they are not worth a pass over the dictionary yet. Cost: 1 ns a row.
        """
        values = self._codes if function is None else self._values.get(function)
        if values is None:
            self._rows += rows
            if 2 * self._rows < len(self._texts):
                return None
            values = self._made(function)
        if values.valid is not None or values.values.ndim == 2:
            return values.take(np.ndarray((rows,), _CODES[width], READABLE, address - PAGE) if rows else NOBODY)
        found = np.empty(rows, values.values.dtype)
        pick(values.values, address, width, found)
        return Column(found)

    def _made(self, function: TextFunction | None) -> Column:
        """The codes of all texts, or values of a function of them."""
        with self._dictionary.lock:  # a sweep sees none of what is given out here, or all of it
            if function is None:
                made = self._codes = self._dictionary.encode(self._texts)
            else:
                made = self._values[function] = function.of_texts(arrow_texts(self._texts))
        return made

    def codes(self) -> Iterator[Codes]:
        """The codes that it answers with."""
        with self._dictionary.lock:
            made = [values for function, values in self._values.items() if function.type.physical is Physical.CODE]
            if self._codes is not None:
                made.append(self._codes)
        for values in made:
            yield values.values.astype(np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of codes and values; the texts are Arrow's."""
        kept = [values for values in (self._codes, *self._values.values()) if values is not None]
        return sum(values.values.nbytes for values in kept)

    def forget(self, marks: Array, begin: int, end: int) -> None:
        """Nothing: all that it answers with stays."""
