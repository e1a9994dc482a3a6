"""What was made of an Arrow dictionary: small batches come with the same one, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Physical
from ivm.kernels.memory.in_place import pick
from ivm.trace.columns.column import Array, Column
from ivm.trace.columns.computed import TextFunction
from ivm.trace.text.dictionary import Codes, TextDictionary
from ivm.trace.text.texts import arrow_texts

_MOST = 1 << 16
"""Texts of a dictionary of which nothing more is remembered."""
_WIDTHS = {pa.int8(): 1, pa.int16(): 2, pa.int32(): 4}

_Identity = tuple[Any, ...]


class SeenTexts:
    """The dictionary that the last arrays of a column had, the codes of its texts, and values of functions of them.

    They are made once as many rows have come as it takes to be worth a pass over it: half as many as it has texts.
    `number` is the one that the dictionary is known by where batches are looked at, see `FirstLook`; 0 if it is not.
    """

    def __init__(self, identity: _Identity, texts: pa.Array, dictionary: TextDictionary) -> None:
        self.identity = identity
        self.number = 0
        self._texts = texts  # whose memory is not used for another one, so that the identity holds
        self._dictionary = dictionary
        self._rows = 0
        self._codes: Column | None = None
        self._values: WeakKeyDictionary[TextFunction, Column] = WeakKeyDictionary()
        dictionary.memos.add(self)

    def is_worth(self, rows: int) -> bool:
        """Whether something is to be made of the dictionary, as so many rows more have come."""
        self._rows += rows
        return 2 * self._rows >= len(self._texts)

    def codes_of(self, array: pa.DictionaryArray) -> Column:
        """The codes of an array of this dictionary, without NULLs. Cost: 1 ns a row."""
        if self._codes is None:
            with self._dictionary.lock:  # a sweep sees none of what is given out here, or all of it
                self._codes = self._dictionary.encode(self._texts)
        return _picked(self._codes, array)

    def values_of(self, array: pa.DictionaryArray, function: TextFunction) -> Column:
        """The values of a function of the texts of such an array. Cost: 1 ns a row."""
        values = self._values.get(function)
        if values is None:
            with self._dictionary.lock:
                values = self._values[function] = function.of_texts(arrow_texts(self._texts))
        return _picked(values, array)

    def known(self, function: TextFunction | None, address: int, width: int, rows: int) -> Column | None:
        """The codes, or values of a function, of so many places in the dictionary at an address, of `width` bytes each.

        None if they were not made yet, or are not one word. Cost: 1 ns a row.
        """
        values = self._codes if function is None else self._values.get(function)
        if values is None or values.valid is not None or values.values.ndim == 2:
            return None
        found = np.empty(rows, values.values.dtype)
        pick(values.values, address, width, found)
        return Column(found)

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


def seen_texts(last: SeenTexts | None, array: pa.Array, dictionary: TextDictionary) -> SeenTexts | None:
    """What was made of the dictionary of an array, and that is `last` if it is the same one.

    None if the array has none, or one with NULLs, or a large one, or there are NULLs in the array.
    """
    if not isinstance(array, pa.DictionaryArray) or array.null_count:
        return None
    texts = array.dictionary
    identity = (*(0 if each is None else each.address for each in texts.buffers()), texts.offset, len(texts))
    if last is not None and last.identity == identity:
        return last
    if len(texts) > _MOST or texts.null_count or array.type.index_type not in _WIDTHS:
        return None
    return SeenTexts(identity, texts, dictionary)


def _picked(values: Column, array: pa.DictionaryArray) -> Column:
    """The values of each of the array's indices."""
    if values.valid is not None or values.values.ndim == 2:
        return values.take(array.indices.to_numpy())
    width = array.type.index_type.bit_width // 8
    found = np.empty(len(array), values.values.dtype)
    if len(array):
        pick(values.values, array.buffers()[1].address + array.offset * width, width, found)
    return Column(found)
