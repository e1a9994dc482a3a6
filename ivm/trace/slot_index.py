"""The index of a table of groups: its memory, and how that grows. See `ivm.kernels.groups.slots`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.groups.slots import BITS, PARTITION, widen_partitions
from ivm.kernels.types import Int32s
from ivm.trace.column import Ints
from ivm.trace.growable import Growable

_SMALLEST, _LARGEST = 1 << 6, 1 << 12
_MOST_DIRECTIONS = 1 << 20


class SlotIndex(NamedTuple):
    """Partitions of `size` places. To be exchanged as a whole, since its parts belong together."""

    size: int
    directory: Int32s
    parts: Growable[np.int64]
    entries: Growable[np.int64]

    @property
    def arrays(self) -> tuple[int, Int32s, Ints, Ints]:
        """As kernels take them."""
        return self.size, self.directory, self.parts.array, self.entries.array

    def nbytes(self, partitions: int) -> int:
        """Bytes of so many partitions and of the directory."""
        return partitions * (self.size * 8 + PARTITION * 8) + self.directory.nbytes

    def grown(self, partitions: int) -> SlotIndex:
        """An index with more room, where these partitions are in use and one is full.

        Cost: a copy of the directory; of everything while there is a single small partition, or where more keys than
        chance allows have equal hashes.
        """
        if partitions == 1 and self.size < _LARGEST:
            return self._with_larger(partitions, 4 * self.size)
        if partitions == min(len(self.parts.array), len(self.entries.array) // self.size):
            self.parts.length, self.entries.length = partitions, partitions * self.size
            self.parts.reserve(partitions + 1)
            self.entries.reserve((partitions + 1) * self.size)
            return self
        if len(self.directory) < _MOST_DIRECTIONS:
            return self._replace(directory=np.repeat(self.directory, 2))
        return self._with_larger(partitions, 2 * self.size)

    def _with_larger(self, partitions: int, size: int) -> SlotIndex:
        wider = _empty(size, self.directory, partitions)
        wider.parts.array[:partitions, BITS] = self.parts.array[:partitions, BITS]
        widen_partitions(partitions, self.size, self.entries.array, *wider.arrays)
        return wider


def empty_index() -> SlotIndex:
    """An index of one partition, with nothing in it."""
    return _empty(_SMALLEST, np.zeros(1, np.int32), 1)


def _empty(size: int, directory: Int32s, partitions: int) -> SlotIndex:
    parts: Growable[np.int64] = Growable(np.dtype(np.int64), PARTITION)
    entries: Growable[np.int64] = Growable(np.dtype(np.int64))
    parts.append(np.zeros((partitions, PARTITION), np.int64))
    entries.append(np.zeros(partitions * size, np.int64))
    return SlotIndex(size, directory, parts, entries)
