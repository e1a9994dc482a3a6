"""At which shard a row is: the hash of some of its columns, by value, so that it is the same whoever computes it.

Equal values have equal hashes, however Arrow holds them: a number in 4 bytes or in 8, a text in a dictionary or not.
Never changed, as what was stored by it would be looked for elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.hashing.text import hash_texts
from ivm.kernels.types import Hashes
from ivm.trace.columns.arrow import NO_TEXTS, to_column
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import text_buffers

_FIRST = np.uint64(0xD6E8FEB86659FD93)
_SECOND = np.uint64(0xCF3BCCDCE7A3C36D)
_HALF = np.uint64(32)
_NULL = np.uint64(0x9E3779B97F4A7C15)


def shards_of(columns: Sequence[pa.Array], types: Sequence[SqlType], rows: int, shards: int) -> Ints:
    """The shard of each row, int64 (rows,), by these of its columns; of none, one and the same for all.

    Cost: some nanoseconds for each row and column; of text, for each distinct one where Arrow has it as a dictionary.
    """
    return (hashes_of(columns, types, rows) % np.uint64(shards)).astype(np.int64)


def hashes_of(columns: Sequence[pa.Array], types: Sequence[SqlType], rows: int) -> Hashes:
    """A word for each row, by these of its columns. Cost: see `shards_of`."""
    hashes: Hashes = np.zeros(rows, np.uint64)
    for column, type_ in zip(columns, types, strict=True):
        hashes ^= _hashed(column, type_)
        hashes = (hashes ^ (hashes >> _HALF)) * _FIRST
    hashes = (hashes ^ (hashes >> _HALF)) * _SECOND
    hashes ^= hashes >> _HALF
    return hashes


def _hashed(array: pa.Array, type_: SqlType) -> Hashes:
    """A word for each value, equal for equal ones."""
    if type_.is_nested:
        texts = TextDictionary()
        found = to_column(array, type_, texts)
        return _of_texts(texts.now().decode(found.values, found.valid))
    if type_.physical is Physical.CODE:
        return _of_texts(array)
    column = to_column(array, type_, NO_TEXTS)
    return _with_nulls(_words(column.values, type_), column.valid)


def _words(values: Any, type_: SqlType) -> Hashes:
    if type_.physical is Physical.FLOAT64:
        numbers = values.astype(np.float64) + 0.0  # -0.0 is 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)
    if type_.physical is Physical.WIDE:
        low, high = values[:, 0].astype(np.uint64), values[:, 1].astype(np.uint64)
        narrow = high == (values[:, 0] >> 63).astype(np.uint64)
        return np.where(narrow, low, low ^ (high * _FIRST))
    return values.astype(np.int64).view(np.uint64)


def _of_texts(array: pa.Array) -> Hashes:
    if pa.types.is_dictionary(array.type):
        distinct = _of_texts(array.dictionary)
        places = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        words = distinct[places] if len(distinct) else np.zeros(len(array), np.uint64)
        return _with_nulls(words, _valid(array))
    data, where, valid = text_buffers(array)
    words = np.empty(len(array), np.uint64)
    bounds = where.astype(np.int64)
    hash_texts(data, bounds[:-1], bounds[1:], words)
    return _with_nulls(words, valid)


def _valid(array: pa.Array) -> Bools | None:
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def _with_nulls(words: Hashes, valid: Bools | None) -> Hashes:
    return words if valid is None else np.where(valid, words, _NULL)
