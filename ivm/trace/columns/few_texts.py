"""What is read of the texts of few rows, again and again: their codes, and functions of them, all by one call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from weakref import ref

import numpy as np

from ivm.catalog.types import Kind, SqlType
from ivm.kernels.texts.lying import WANTED
from ivm.trace.columns.column import NOBODY, Ints, item_size
from ivm.trace.columns.computed import TextFunction
from ivm.trace.text.dictionary import TextDictionary

MOST_ROWS = 1 << 6
"""So many rows are few. Of more, what is known of the dictionaries that they came with is quicker."""
_MOST_NUMBERED = 16
_CODE = 4
_ROWS: Ints = np.arange(MOST_ROWS)
_numberings = count(2)


class WantedTexts:
    """What somebody has wanted of the text columns of a table, whose columns are of these `types`.

    Functions have numbers behind those of columns, up to `most`, under which `places` tell of their values; they keep
    them while anybody has them. The same number means the same as long as the `numbering` is the same: no other table's
    is, and it is above 1. Codes are learnt: of what was not wanted before, nothing is found at first. Size: some words
    for each that is wanted.
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary) -> None:
        self._width, self._dictionary = len(types), dictionary
        self._texts = frozenset(index for index, each in enumerate(types) if each.kind is Kind.VARCHAR)
        self.most = len(types) + _MOST_NUMBERED
        self.numbering = next(_numberings)
        self._codes = set[int]()
        self._functions: list[tuple[int, ref[TextFunction]] | None] = [None] * _MOST_NUMBERED
        self._lay()

    @property
    def columns(self) -> frozenset[int]:
        """Those whose texts are read."""
        if self._is_stale:
            self._lay()
        return self._columns

    def want(self, index: int) -> None:
        """From now on the codes of column `index` are wanted, if it has texts."""
        if index in self._texts and index not in self._codes:
            self._codes.add(index)
            self._is_stale = True

    def known(self, index: int, function: TextFunction) -> int:
        """The number of a function of column `index`; -1 if it has none."""
        if self._is_stale:
            self._lay()
        return self._numbers.get((index, id(function)), -1)

    def number_of(self, index: int, function: TextFunction) -> int:
        """The same of one that is wanted from now on; -1 if there are too many."""
        number = self.known(index, function)
        if number < 0 and index in self._texts and None in self._functions:
            self._functions[self._functions.index(None)] = index, ref(function, self._forget)
            self._lay()
            return self._numbers[index, id(function)]
        return number

    def numbered(self, number: int) -> tuple[int, TextFunction] | None:
        """The function of a number, and of which column it is; None if it is a column's."""
        known = None if number < self._width else self._functions[number - self._width]
        function = None if known is None else known[1]()
        return None if known is None or function is None else (known[0], function)

    def _forget(self, _: object) -> None:
        self._is_stale = True

    def _lay(self) -> None:
        """Lay out what the kernel is told."""
        self._is_stale = False
        numbers, memos = dict[tuple[int, int], int](), list[tuple[int, int, int, Ints]]()
        for place in range(_MOST_NUMBERED):
            number = self._width + place
            known = self.numbered(number)
            if known is None:
                self._functions[place] = None
                continue
            index, function = known
            numbers[index, id(function)] = number
            if (memo := function.memo) is not None:
                memos.append((index, number, item_size(function.type.physical), memo))
        self._columns = frozenset((*self._codes, *(index for index, *_ in memos)))
        laid = [(index, index, 0, _CODE) for index in self._columns]
        laid += [(index, number, memo.ctypes.data, size) for index, number, size, memo in memos]
        laid.sort(key=lambda each: (each[0], each[1]))
        self._wanted: Ints = np.array(laid, np.int64).reshape(len(laid), WANTED)
        self._numbers, self._memos, self._bytes = numbers, memos, sum(size for *_, size in laid)

    def of_batch(self, rows: int, places: Ints) -> Ints | None:
        """As `of_rows`, of the first rows of a batch whose texts lie as the `places` themselves say."""
        return self.of_rows(_ROWS[:rows], NOBODY, NOBODY, places)

    def of_rows(self, rows: Ints, lies: Ints, pieces: Ints, places: Ints) -> Ints | None:
        """Let `places` tell of what is known of few `rows` in pieces, see `read_texts`; the memory that this lies in.

        None where nothing is wanted.
        """
        if self._is_stale:
            self._lay()
        if not self._bytes:
            return None
        room: Ints = np.empty((len(rows) + 7 >> 3) * self._bytes, np.int64)
        self._dictionary.read(self._wanted, rows, lies, pieces, room, places)
        return room
