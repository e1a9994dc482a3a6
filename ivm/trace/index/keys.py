"""Key words: how the columns of a key become rows of int64 words, which hash tables compare and keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Literal

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.hashing.index import hash_rows, mark_hashes
from ivm.kernels.hashing.keys import COLUMN, FORM, INTEGER, pack_keys
from ivm.kernels.memory.places import STRIDE, VALIDITY
from ivm.kernels.types import Hashes
from ivm.trace.columns.column import ALL, KINDS, Array, Bools, Column, Ints
from ivm.trace.columns.places import places_of

_SMALL = (Physical.INT32, Physical.CODE, Physical.BOOL)
_HALF_BITS = 32
_BITS = 1 << 22


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part lies: from word `word` on, or in half word `half` only.

    Half word 2w is the low half of word w, 2w + 1 its high half. `null`: the half word and the bit in it that is set
    where the part is NULL.
    """

    physical: Physical
    word: int
    half: int | None = None
    null: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Places:
    """The places of all parts, the half words that hold null bits, and the number of words."""

    parts: tuple[_Place, ...]
    null_halves: tuple[int, ...]
    words: int


@dataclass(frozen=True)
class KeyLayout:
    """How columns of the forms `parts`, (physical form, nullable) each, become rows of `words` int64 words.

    Two rows have equal words exactly if all their parts are equal, where NaN equals NaN and -0.0 equals 0.0. 32-bit
    parts that stand side by side share a word, the first in its high half, so that words of non-negative integers are
    in the order of the parts. WIDE takes two words, everything else one.

    `nulls` = "match": NULL is a value like another (GROUP BY); the parts declared nullable have a bit each, in a free
    half word or in words of their own. `nulls` = "drop": NULL equals nothing (joins); the layout does not depend on
    what is nullable, so that both sides of a join agree, and rows with a NULL are to be dropped. `nulls` = "find": as
    words of "match" lie, for a join that looks in what is kept by them; rows with a NULL are to be dropped.
    """

    parts: tuple[tuple[Physical, bool], ...]
    nulls: Literal["drop", "match", "find"]

    @cached_property
    def words(self) -> int:
        """The number of words in a row, at least one."""
        return self._places.words

    @property
    def lead_shift(self) -> int:
        """By how many bits the first word is shifted right to give the first part alone, if that shares its word."""
        parts = self._places.parts
        return _HALF_BITS if parts and parts[0].half is not None and len(parts) > 1 else 0

    def pack(self, columns: Sequence[Column], length: int | None = None) -> tuple[Ints, Bools | None]:
        """The words of each row, and the mask (n,) of the rows to drop, None if there are none.

        Words are int64, of shape (n,) if `words` is 1, else (n, words) and C-contiguous; they share the memory of a
        single contiguous INT64 column. Words of rows to drop are unspecified. `length` is needed where there are no
        columns: then all rows have the same key, the word 0. Cost: one pass a column, about 1 ns a row.
        """
        n = len(columns[0]) if length is None else length
        if not columns:
            return np.zeros(n, np.int64), None
        if self._is_plain and (columns[0].valid is None or self.nulls == "match"):
            return np.ascontiguousarray(columns[0].values, np.int64), None
        words, missing = np.empty((n, self.words), np.int64), np.empty(n, np.int64)
        pack_keys(self.form, places_of(columns), words, missing)
        dropped = missing != 0 if self.nulls != "match" and missing.any() else None
        return (words.reshape(n) if self.words == 1 else words), dropped

    @cached_property
    def form(self) -> Ints:
        """How kernels pack keys of columns that follow each other in their order, those of one source.

        int64 (parts, FORM); see `ivm.kernels.hashing.keys`.
        """
        return self.form_of([(0, column) for column in range(len(self.parts))])

    def form_of(self, columns: Sequence[Sequence[int]]) -> Ints:
        """The same of other columns: of each the number of its source, and its own there."""
        rows = [
            (*column, KINDS.get(p.physical, INTEGER), p.word, -1 if p.half is None else p.half, *(p.null or (-1, 0)))
            for column, p in zip(columns, self._places.parts, strict=True)
        ]
        return np.array(rows, np.int64).reshape(len(rows), FORM)

    def unpack(self, words: Ints) -> list[Column]:
        """The columns that `pack` made `words` of, but for NaN and -0.0, which come back as the one NaN and 0.0.

        The columns share the memory of `words` where their form allows; values under NULL are zero.
        Cost: constant, but for BOOL, lone 32-bit parts and nulls.
        """
        if self._is_plain and self.parts[0][0] is Physical.INT64:
            return [Column(words.reshape(len(words)))]
        rows = words.reshape(len(words), self.words)
        return [_read(rows, place) for place in self._places.parts]

    def cut(self, room: Ints, at: int, rows: int) -> list[Column]:
        """As `unpack`, of the words of so many rows which begin at word `at` of `room`. Cost: mostly a slice a part."""
        views = self._views
        columns: list[Column] = []
        if views is None:
            return self.unpack(room[at : at + rows * self.words].reshape(rows, self.words))
        for items, first, step in views:
            values: Array
            if items == 2:
                values = room.view(np.int32)[2 * at + first : 2 * at + step * rows : step]
            else:
                values = (room if items else room.view(np.float64))[at + first : at + step * rows : step]
            columns.append(Column(values))
        return columns

    @property
    def is_cut(self) -> bool:
        """Whether all parts lie in words as they are, so that `cut` takes no time."""
        return self._views is not None

    def codes(self, words: Ints) -> Iterator[Array]:
        """Of each part that is a text the codes, NULL among them as 0; see `State.codes`."""
        rows = words.reshape(len(words), self.words)
        for place in self._places.parts:
            if place.physical is Physical.CODE:
                yield _target(rows, place)

    @cached_property
    def _views(self) -> tuple[tuple[int, int, int], ...] | None:
        """For each part how many items a word is made of, and with which item a row begins, of how many.

        Half words are int32, others int64, or float64 where that is what a part is: then the first number is 0. None if
        a part is not there as it is: WIDE, BOOL, and what may be NULL.
        """
        found, words = list[tuple[int, int, int]](), self.words
        for place in self._places.parts:
            if place.null is not None or place.physical in (Physical.WIDE, Physical.BOOL):
                return None
            if place.physical in _SMALL:
                found.append((2, 2 * place.word if place.half is None else place.half, 2 * words))
            else:
                found.append((place.physical is Physical.INT64, place.word, words))
        return tuple(found)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the key is one integer word, which a cast makes."""
        places = self._places
        return (
            len(places.parts) == 1
            and places.words == 1
            and not places.null_halves
            and places.parts[0].physical is not Physical.FLOAT64
        )

    @cached_property
    def _places(self) -> _Places:
        parts, word = _values(self.parts)
        if self.nulls == "drop":
            return _Places(tuple(parts), (), max(word, 1))
        nullable = [i for i, (_, nullable) in enumerate(self.parts) if nullable]
        halves = [2 * p.word + 1 for p in parts if p.physical in _SMALL and p.half is None]
        missing = -(-len(nullable) // _HALF_BITS) - len(halves)
        added = max(-(-missing // 2), 0)
        own = list(range(2 * word, 2 * (word + added)))
        for position, i in enumerate(nullable):
            half, bit = divmod(position, _HALF_BITS)
            parts[i] = replace(parts[i], null=((halves + own)[half], bit))
        used = {p.null[0] for p in parts if p.null is not None}
        # A lone small part spreads its sign over its word, unless null bits live in the other half.
        parts = [replace(p, half=2 * p.word) if 2 * p.word + 1 in used.intersection(halves) else p for p in parts]
        return _Places(tuple(parts), tuple(sorted(used.union(own))), max(word + added, 1))


def _values(forms: Sequence[tuple[Physical, bool]]) -> tuple[list[_Place], int]:
    """Places for the values alone, and the number of words that they take."""
    places: list[_Place] = []
    word = 0
    for physical, _ in forms:
        last = places[-1] if places else None
        if physical in _SMALL and last is not None and last.physical in _SMALL and last.half is None:
            places[-1] = replace(last, half=2 * last.word + 1)
            places.append(_Place(physical, last.word, 2 * last.word))
        else:
            places.append(_Place(physical, word))
            word += 2 if physical is Physical.WIDE else 1
    return places, word


def _target(words: Ints, place: _Place) -> Array:
    """The part's values as they lie in `words`, shape (n,), for WIDE (n, 2)."""
    if place.half is not None:
        return words.view(np.int32)[:, place.half]
    if place.physical is Physical.WIDE:
        return words[:, place.word : place.word + 2]
    return (words.view(np.float64) if place.physical is Physical.FLOAT64 else words)[:, place.word]


def _read(words: Ints, place: _Place) -> Column:
    values = _target(words, place)
    if place.physical is Physical.BOOL:
        values = values != 0
    elif place.physical in _SMALL:
        values = values.astype(np.int32, copy=False)
    if place.null is None:
        return Column(values)
    half, bit = place.null
    null = (words.view(np.uint32)[:, half] & np.uint32(1 << bit)) != 0
    return Column(values, ~null if null.any() else None)


KeysAt = tuple[Ints, Ints, int, int]
"""The form of keys, the places of their columns, the first row, and how many there are; see
`ivm.kernels.hashing.packed`."""


def are_complete(keys: KeysAt) -> bool:
    """Whether kernels find all values there, none of which is NULL."""
    form, places, _, _ = keys
    columns = places[form[:, COLUMN]]
    return bool(columns[:, STRIDE].all() and not columns[:, VALIDITY].any())


class DistinctKeys:
    """About how many different keys there are, of many: a bit for each hash (Whang et al., linear counting).

    Within a percent up to 20 million; beyond, too few. Size: half a megabyte.
    """

    def __init__(self) -> None:
        self._seen = np.zeros(_BITS // 64, np.uint64)

    def add(self, words: Ints, dropped: Bools | None) -> None:
        """Count these keys; cost: 3 ns each."""
        hashes = np.empty(len(words), np.uint64)
        hash_rows(words.reshape(len(words), -1), hashes)
        mark_hashes(hashes, ALL if dropped is None else dropped, self._seen)

    @property
    def nbytes(self) -> int:
        """Bytes of the bits."""
        return self._seen.nbytes

    @property
    def count(self) -> float:
        """The estimate."""
        free = max(1, _BITS - int(np.bitwise_count(self._seen).sum()))
        return -_BITS * log(free / _BITS)


def hashed(words: Ints) -> Hashes:
    """The hash of each key."""
    hashes = np.empty(len(words), np.uint64)
    hash_rows(words, hashes)
    return hashes
