"""Order as words: columns become rows of int64 words that compare, word by word, as SQL orders the values.

Numbers are words that compare as signed integers, doubles included (NaN is the greatest, as DuckDB has it); text is
its code, which the comparison looks up in the dictionary. The columns can be made of the words again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.hashing.keys import INTEGER
from ivm.kernels.memory.places import SOURCE, VALIDITY, WORDS
from ivm.kernels.ordered.encode import TERM, decode_columns, encode_columns
from ivm.trace.columns.column import DTYPES, KINDS, Array, Column, Ints, item_size
from ivm.trace.columns.computed import Read
from ivm.trace.columns.places import NONE
from ivm.trace.delta import Delta, Source
from ivm.trace.sources import SourcesByLayout, source_of

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

    def encode(self, columns: Sequence[Column], count: int, ahead: int = 0, rows: Ints | None = None) -> Ints:
        """The `count` rows as words (n, ahead + K), the first `ahead` for the caller to fill. Cost: a pass a column.

        They are written to `rows`, if there are these.
        """
        rows = self._rows(count, ahead) if rows is None else rows
        listed, reads = source_of([columns[term.column] for term in self.terms])
        are_read = encode_columns(id(listed), NONE, reads, np.zeros(SOURCE, np.int64), self.table, ahead, rows)
        assert are_read or count == 0, "columns that are there can be read"
        return rows

    def encode_delta(self, delta: Delta, rows: Ints | None = None) -> Ints:
        """The rows of a delta as words (n, K), read where they lie; written to `rows`, if there are these."""
        rows = self._rows(delta.length, 0) if rows is None else rows
        sources = self._sources[delta.layout]
        listed, room = sources.of(delta), np.zeros(SOURCE * sources.count, np.int64)
        are_read = encode_columns(id(listed), NONE, sources.places, room, self.table, 0, rows)
        return rows if are_read else self.encode(delta.copied().columns(), delta.length, 0, rows)

    def _rows(self, count: int, ahead: int) -> Ints:
        return np.empty((count, ahead + len(self.kinds)), np.int64)

    @cached_property
    def _sources(self) -> SourcesByLayout:
        return SourcesByLayout([term.column for term in self.terms])

    @cached_property
    def table(self) -> Ints:
        """The terms as kernels take them."""
        table = np.zeros((len(self.terms), TERM), np.int64)
        at = 0
        for row, term in zip(table, self.terms, strict=True):
            kind, item = KINDS.get(term.physical, INTEGER), item_size(term.physical)
            row[:] = kind, at, term.nullable, term.nulls_first, term.is_flipped, term.column, item
            at += term.words
        return table

    @cached_property
    def values(self) -> tuple[tuple[Physical, int], ...]:
        """For each column its form, and with which word of a row its value begins."""
        ends = accumulate(term.words for term in self.terms)
        found = {t.column: (t.physical, end - t.words + t.nullable) for t, end in zip(self.terms, ends, strict=True)}
        return tuple(found[column] for column in range(len(found)))

    def decode(self, rows: Ints) -> list[Column]:
        """The columns that `encode` made these words of, by their positions. Cost: a copy, and a pass a column."""
        made = DecodedRows(self, *rows.shape)
        words = made.words()
        words[:] = rows
        decode_columns(self.table, words, made.places(()))
        return [made.column(column) for column in range(len(self.terms))]


class DecodedRows(Source):
    """Rows whose words kernels have made values again (see `ordered.encode`), and the columns that these are.

    `room` has the columns' places; from `begin` on the words of `rows` rows, `width` each; then so many `behind` them.
    """

    __slots__ = ("_made", "_order", "begin", "room", "rows", "width")

    def __init__(self, order: RowOrder, rows: int, width: int, behind: int = 0) -> None:
        self._order, self.rows, self.width = order, rows, width
        self._made: dict[Read, Column] = {}
        self.begin = WORDS * len(order.terms)
        self.room: Ints = np.empty(self.begin + rows * width + behind, np.int64)

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`: kernels have written down where all of them lie."""
        return self.room[: self.begin].reshape(len(self._order.terms), WORDS)

    def column(self, index: Read) -> Column:
        """Column `index`, whose values stay where they are."""
        column = self._made.get(index)
        if column is None:
            assert not isinstance(index, tuple), "rows in order compute no functions of texts"
            physical, word = self._order.values[index]
            column = self._made[index] = Column(self._at(physical, word))
            if self.room[WORDS * index + VALIDITY]:
                column.valid = np.ascontiguousarray(self._at(Physical.BOOL, word - 1))
        return column

    def words(self) -> Ints:
        """The words (rows, width)."""
        return self.room[self.begin : self.begin + self.rows * self.width].reshape(self.rows, self.width)

    def _at(self, physical: Physical, word: int) -> Array:
        """The values of all rows that begin with a word of these."""
        if physical is Physical.WIDE:
            return self.words()[:, word : word + 2]
        dtype = DTYPES[physical]
        return self.words().view(dtype)[:, word * (8 // dtype.itemsize)]


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
