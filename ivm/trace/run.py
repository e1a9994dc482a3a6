"""The ascending run: the first rows of an index, as long as their keys arrive in ascending order.

Such rows prove by their order that their keys are unique, and need no place in a hash table before somebody asks for
them. Only every 16th key is kept, as a fence; the others are read from the store when a key is looked up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ivm.kernels.ascending import fence_of, is_ascending, match_blocks
from ivm.trace.column import Bools, Ints
from ivm.trace.growable import Growable

BLOCK = 16

WordsOf = Callable[["Ints | slice"], Ints]
"""The key words (n, W) of rows of the store, given by their numbers or as a slice."""


class AscendingRun:
    """Rows [start, stop) of a store, their keys strictly ascending. Size: a key for every 16 rows."""

    def __init__(self, words: int) -> None:
        self.start = 0
        self.stop = 0
        self._fences = Growable(np.dtype(np.int64), words)
        self._last: Ints | None = None

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def nbytes(self) -> int:
        """Bytes of the fences."""
        return self._fences.nbytes

    def extend(self, words: Ints, words_of: WordsOf) -> bool:
        """Take the rows from `stop` on, with these keys, if they go on ascending; else change nothing and say False.

        Cost: a comparison a row.
        """
        if len(words) == 0:
            return True
        if self.stop:
            last = words_of(slice(self.stop - 1, self.stop)) if self._last is None else self._last
            if tuple(last[0].tolist()) >= tuple(words[0].tolist()):
                return False
        if not is_ascending(words):
            return False
        self._fences.append(words[-self.stop % BLOCK :: BLOCK])
        self._last = words[-1:].copy()
        self.stop += len(words)
        return True

    def truncate(self, row: int) -> None:
        """Cut off the rows from `row` on."""
        if row < self.stop:
            self.stop = row
            self.start = min(self.start, row)
            self._last = None
            self._fences.truncate(-(-row // BLOCK))

    def find(self, words: Ints, words_of: WordsOf) -> Ints:
        """The row of each key, -1 where the run has none.

        Cost: a binary search among the fences, and reading one block of the store for each key.
        """
        blocks = np.empty(len(words), np.int64)
        fence_of(self._fences.view(), words, blocks)
        first = np.maximum(blocks, 0) * BLOCK
        candidates = (first[:, None] + np.arange(BLOCK)).reshape(-1)
        present: Bools = (candidates >= self.start) & (candidates < self.stop)
        offsets = np.empty(len(words), np.int64)
        match_blocks(words_of(np.minimum(candidates, self.stop - 1)), present, words, BLOCK, offsets)
        return np.where((offsets >= 0) & (blocks >= 0), first + offsets, -1)

    def renumber(self, survivors_before: Ints, words_of: WordsOf) -> None:
        """Rows got new numbers: row r is now survivors_before[r]. Cost: reading every 16th key anew."""
        self.start = int(survivors_before[self.start])
        self.stop = int(survivors_before[self.stop])
        self._last = None
        self._fences.truncate(0)
        if self.stop:
            self._fences.append(words_of(np.arange(0, self.stop, BLOCK)))
