"""The living rows of a store by all of their values: how a row without a key is found when it is taken out."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from ivm.kernels.hashing.function import WORDS, digest_rows
from ivm.trace.columns.column import Column, Ints, readonly
from ivm.trace.index.index import Index
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.changes import Applied
from ivm.trace.rows.row_store import RowStore
from ivm.trace.state import StateSize
from ivm.trace.time import ALIVE

_NEVER = ALIVE - 1
"""Who is dead is out: nobody reads as of a time before."""
_AT_ONCE = 1 << 20
"""About how many words are packed at a time."""


class LivingRows:
    """The rows of `store` that live, by all columns, where NULL equals NULL.

    A row of many words is known by a digest of them (see `ivm.kernels.hashing.function`), so that wide rows cost no
    more than narrow ones to keep. A row that dies leaves the index at once: of any number of equal rows the first one
    that is met lives. Size: a slot of up to 24 bytes for each distinct row, of which three quarters at most are used,
    and 4 bytes a row. Whoever changes `index`, by `words`, undoes it there; the store does so for itself.
    """

    def __init__(self, store: RowStore) -> None:
        self.store = store
        self._layout = KeyLayout(tuple((t.physical, True) for t in store.types), nulls="match")
        random = secrets.token_bytes(16 * WORDS * (self._layout.words + 1))
        self._factors = np.frombuffer(random, np.uint64).reshape(-1, WORDS, 2)
        self.index = Index(min(self._layout.words, WORDS))
        self.index.since = _NEVER

    def catch_up(self, most: int | None = None) -> int:
        """Index the rows that the store has gained, at most so many of them; how many are left.

        Cost: reads all columns, 20 ns a row and 3 ns a word.
        """
        end = self.store.rows if most is None else min(self.index.rows + most, self.store.rows)
        step = max(_AT_ONCE // self._layout.words, 1)
        while self.index.rows < end:
            rows = slice(self.index.rows, min(self.index.rows + step, end))
            self.index.insert(self.words_of(rows), None, self.store.died)
        return self.store.rows - self.index.rows

    def words(self, columns: Sequence[Column], length: int) -> Ints:
        """The words by which rows of these columns are known. Cost: packs them, 3 ns a word."""
        words, _ = self._layout.pack(columns, length)
        if self._layout.words <= WORDS:
            return words
        digests = np.empty((length, WORDS), np.int64)
        digest_rows(readonly(words.reshape(length, self._layout.words)), self._factors, digests)
        return digests

    def take_out(self, rows: Ints, stamps: Ints) -> None:
        """Rows die that are the first to be met of their kind. Those that are not indexed yet never will be."""
        known = rows < self.index.rows
        rows, stamps = rows[known], stamps[known]
        applied = Applied(len(rows))
        self.retract(self.words_of(rows), stamps, applied)
        assert np.array_equal(applied.killed, rows), "rows did not die in the order in which they are met"

    def retract(self, words: Ints, stamps: Ints, applied: Applied) -> None:
        """Let indexed rows of these words die, as `applied` is going to say, of which the store knows."""
        inserts = np.zeros(len(words), np.bool_)
        self.index.apply(words, inserts, stamps, self.store.mortal(self.store.rows), applied)

    def seal(self, since: int) -> None:
        """Make the rows final; there is no past to be read here."""
        self.index.seal(_NEVER, self.store.died)

    def over(self, store: RowStore) -> LivingRows:
        """The same, empty, over another store."""
        made = LivingRows(store)
        made._factors = self._factors
        return made

    def adopt(self, other: LivingRows) -> None:
        """Become what `other` is, whose store this one's has become."""
        self.index = other.index

    def size(self) -> StateSize:
        """Entries and bytes of the index alone."""
        return StateSize(entries=self.index.entries, bytes=self.index.nbytes)

    def words_of(self, rows: Ints | slice) -> Ints:
        """The words by which these rows are known. Cost: reads all columns."""
        length = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        return self.words([self.store.gather(c, rows) for c in range(len(self.store.types))], length)
