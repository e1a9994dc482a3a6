"""What kernels are told of an index: the words of its block; see `ivm.kernels.hashing.block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.hashing.block import FOLLOWED, LAST, LINKED, NONE, ROWS, SINCE, START, STOP
from ivm.trace.columns.column import Ints
from ivm.trace.time import BEGINNING


class IndexBlock:
    """The `block` of an index by keys of so many words, which stands at `address`."""

    def __init__(self, words: int) -> None:
        self.block: Ints = np.zeros(LAST + words, np.int64)
        self.address: int = self.block.ctypes.data
        self.block[LINKED] = NONE
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

    def cut_off(self, row: int) -> None:
        """There are no rows from `row` on any more, in chains neither."""
        block = self.block
        block[ROWS], block[FOLLOWED] = min(block.item(ROWS), row), min(block.item(FOLLOWED), row)
        if block[LINKED] >= row:
            block[LINKED] = NONE

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
