"""Reading groups by round as they were sealed, while they go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from ivm.trace.columns.column import Ints
from ivm.trace.state import Apart

_CHUNK = 1 << 16

Found = TypeVar("Found")


class RoundReader:
    """The slots of groups and their cells, as they were sealed. It needs no lock.

    What is read is the groups' own until somebody is about to change them, who has it copied first: see `keep`.
    """

    def __init__(self, slots: Ints, cells: Ints) -> None:
        self._slots, self._cells = slots, cells
        self._is_kept = self._is_changing = False
        self._apart = Apart(lambda: self._is_changing)

    @property
    def kept(self) -> Ints | None:
        """The slots, if they are of this reader alone."""
        return self._slots if self._is_kept else None

    @property
    def nbytes(self) -> int:
        """Bytes of what this reader alone has."""
        return self._slots.nbytes + self._cells.nbytes if self._is_kept else 0

    def keep(self) -> None:
        """Somebody is about to change the groups. Cost: the first time a copy of all."""
        if self._is_kept:
            return
        self._is_changing = True
        try:
            self._apart.wait()
            slots, cells = self._slots.copy(), self._cells.copy()
            self._slots, self._cells, self._is_kept = slots, cells, True
        finally:
            self._is_changing = False

    def read(self, find: Callable[[Ints, Ints], Found]) -> Iterator[Found]:
        """What `find` gives of so many slots at a time, and of the cells."""
        for start in range(0, len(self._slots), _CHUNK):
            yield self._apart.read(partial(self._found, find, start))

    def _found(self, find: Callable[[Ints, Ints], Found], start: int) -> Found:
        return find(self._slots[start : start + _CHUNK], self._cells)
