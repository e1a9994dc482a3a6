"""Order as words: columns become rows of int64 words that compare, word by word, as SQL orders the values.

Numbers are words that compare as signed integers, doubles included (NaN is the greatest, as DuckDB has it); text is
its code, which the comparison looks up in the dictionary. The columns can be made of the words again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catalog.types import Physical, SqlType
from ivm.kernels.hashing.keys import INTEGER
from ivm.kernels.ordered.encode import TERM, encode_rows
from ivm.trace.columns.column import KINDS, Array, Column, Ints, zeroed
from ivm.trace.columns.places import places_of

_SIGN = np.int64(-(2**63))
_REST = np.int64(2**63 - 1)
_NAN = np.float64("nan").view(np.int64)


def ordered_words(values: Array, physical: Physical) -> Ints:
    """Words (n, 1), for WIDE (n, 2), in the order of the values; -0.0 is 0.0, and there is one NaN."""
    if physical is Physical.WIDE:
        words = np.empty((len(values), 2), np.int64)
        words[:, 0] = values[:, 1]
        np.bitwise_xor(values[:, 0], _SIGN, out=words[:, 1])
        return words
    if physical is Physical.FLOAT64:
        plain = values.astype(np.float64) + 0.0
        bits = plain.view(np.int64)
        bits[np.isnan(plain)] = _NAN
        return (bits ^ ((bits >> 63) & _REST)).reshape(-1, 1)
    return np.ascontiguousarray(values, np.int64).reshape(-1, 1)


def values_of(words: Ints, physical: Physical) -> Array:
    """The values that `ordered_words` made these words (n, words) of."""
    if physical is Physical.WIDE:
        return np.stack([words[:, 1] ^ _SIGN, words[:, 0]], axis=1)
    if physical is Physical.FLOAT64:
        bits = words[:, 0]
        return (bits ^ ((bits >> 63) & _REST)).view(np.float64)
    values = words[:, 0]
    if physical in (Physical.INT32, Physical.CODE):
        return values.astype(np.int32)
    return values != 0 if physical is Physical.BOOL else values


def word_kinds(physical: Physical, descending: bool = False) -> list[int]:
    """How each of the words that `ordered_words` makes of a value compares (see `ivm.kernels.ordered.tree`)."""
    if physical is Physical.CODE:
        return [-1 if descending else 1]
    return [0, 0] if physical is Physical.WIDE else [0]


@dataclass(frozen=True)
class Term:
    """One column in an order."""

    column: int
    type: SqlType
    nullable: bool
    descending: bool = False
    nulls_first: bool = False

    @cached_property
    def physical(self) -> Physical:
        """The form of the column's values."""
        return self.type.physical

    @cached_property
    def is_flipped(self) -> bool:
        """Whether its words are inverted, so that they ascend where the values descend. Codes tell it to kernels."""
        return self.descending and self.physical is not Physical.CODE

    @cached_property
    def words(self) -> int:
        """Words that it takes: one for NULL or not where it can be NULL, then those of the value."""
        return self.nullable + (2 if self.physical is Physical.WIDE else 1)

    @property
    def kinds(self) -> list[int]:
        """How each word compares (see `ivm.kernels.ordered.tree`)."""
        return [0] * self.nullable + word_kinds(self.physical, self.descending)


@dataclass(frozen=True)
class RowOrder:
    """A total order of rows by `terms`, in which every column occurs once."""

    terms: tuple[Term, ...]

    @cached_property
    def kinds(self) -> Ints:
        """How each word of a row compares."""
        return np.array([kind for term in self.terms for kind in term.kinds], np.int64)

    @property
    def word_types(self) -> list[SqlType | None]:
        """For each word the type of text or list that it is a code of, None if it is a number."""
        found: list[SqlType | None] = []
        for term in self.terms:
            found += [None] * (term.words - 1) + [term.type if term.physical is Physical.CODE else None]
        return found

    def encode(self, columns: Sequence[Column], count: int, ahead: int = 0) -> Ints:
        """The `count` rows as words (n, ahead + K), the first `ahead` for the caller to fill. Cost: a pass a column."""
        rows = np.empty((count, ahead + len(self.kinds)), np.int64)
        places = places_of([columns[term.column] for term in self.terms])
        encode_rows(places, self.table, ahead, rows)
        return rows

    @cached_property
    def table(self) -> Ints:
        """The terms as kernels take them."""
        table = np.zeros((len(self.terms), TERM), np.int64)
        at = 0
        for row, term in zip(table, self.terms, strict=True):
            kind = KINDS.get(term.physical, INTEGER)
            row[:] = kind, at, term.nullable, term.nulls_first, term.is_flipped
            at += term.words
        return table

    def decode(self, rows: Ints) -> list[Column]:
        """The columns that `encode` made these words of, by their positions. Cost: a pass a column."""
        columns: dict[int, Column] = {}
        at = 0
        for term in self.terms:
            words = rows[:, at + term.nullable : at + term.words]
            valid = None
            if term.nullable:
                valid = (rows[:, at] == 0) != term.nulls_first
                valid = None if valid.all() else valid
            if term.is_flipped:
                words = ~words
            values = values_of(words, term.physical)
            columns[term.column] = Column(values if valid is None else zeroed(values, valid), valid)
            at += term.words
        return [columns[i] for i in range(len(columns))]


def total_order(
    types: Sequence[tuple[SqlType, bool]], group: Sequence[int], order: Sequence[tuple[int, bool, bool]]
) -> RowOrder:
    """The terms (column, descending, nulls first) of `order`, then all other columns, ascending, NULLs last.

    The columns of the group stand last, as they are equal within a group.
    """
    terms: dict[int, Term] = {}
    for column, descending, nulls_first in order:
        type_, nullable = types[column]
        terms.setdefault(column, Term(column, type_, nullable, descending, nulls_first))
    others = [c for c in range(len(types)) if c not in terms and c not in group]
    for column in (*others, *(c for c in group if c not in terms)):
        terms[column] = Term(column, *types[column])
    return RowOrder(tuple(terms.values()))
