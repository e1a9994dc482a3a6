"""What kernels are told of an index: the words of its block; see `ivm.kernels.hashing.block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.hashing.block import (
    FOLLOWED,
    LAST,
    LINKED,
    NONE,
    NOTED,
    NOTES,
    NOTES_ROOM,
    ROWS,
    SINCE,
    START,
    STOP,
)
from ivm.trace.columns.column import Ints
from ivm.trace.time import BEGINNING

_MOST_NOTED = 1 << 12
"""Of so many rows at most kernels note the keys: more are worth a call for each index."""


class IndexBlock:
    """The `block` of an index by keys of so many words, which stands at `address`."""

    def __init__(self, words: int) -> None:
        self.block: Ints = np.zeros(LAST + words, np.int64)
        self.address: int = self.block.ctypes.data
        self.block[LINKED] = NONE
        self._notes: Ints = np.empty((0, words), np.int64)
        self._expected = 0
        self.since = BEGINNING

    @property
    def rows(self) -> int:
        """How many rows are indexed."""
        return self.block.item(ROWS)

    @rows.setter
    def rows(self, rows: int) -> None:
        self.block[ROWS] = rows

    @property
    def linked(self) -> int:
        """From which row on some have chains that no step tells of; all that there are have come before, if none."""
        return min(self.block.item(LINKED), self.rows)

    def noted(self, row: int) -> Ints:
        """The keys (n, W) of the rows from `row` on that have chains of which no step tells."""
        linked = self.block.item(LINKED)
        return self._notes[max(row - linked, 0) : self.block.item(NOTED)] if linked != NONE else self._notes[:0]

    def cut_off(self, row: int) -> None:
        """There are no rows from `row` on any more, in chains neither."""
        block = self.block
        block[ROWS], block[FOLLOWED] = min(block.item(ROWS), row), min(block.item(FOLLOWED), row)
        if block[LINKED] >= row:
            block[LINKED] = NONE
        else:
            block[NOTED] = min(block.item(NOTED), row - block.item(LINKED))

    def expect(self, rows: int) -> None:
        """So many rows have come at once that no kernel has taken: it could not note so many."""
        self._expected = max(self._expected, rows)

    def make_notes(self) -> None:
        """Let kernels have memory to note as many rows as are expected, if these are few; nothing is noted now."""
        rows, block = self._expected, self.block
        if block.item(NOTES_ROOM) < rows <= _MOST_NOTED:
            block[NOTES_ROOM] = 0
            self._notes = np.empty((1 << (rows - 1).bit_length(), self._notes.shape[1]), np.int64)
            block[NOTES] = self._notes.ctypes.data
            block[NOTES_ROOM] = len(self._notes)
        self._expected = 0

    @property
    def run_rows(self) -> int:
        """Up to which row the run goes."""
        return self.block.item(STOP)

    @property
    def backlog(self) -> int:
        """Rows that wait in the ascending run."""
        return self.block.item(STOP) - self.block.item(START)

    @property
    def since(self) -> int:
        """Nobody reads as of a time whose stamp is before this."""
        return self.block.item(SINCE)

    @since.setter
    def since(self, since: int) -> None:
        self.block[SINCE] = since
