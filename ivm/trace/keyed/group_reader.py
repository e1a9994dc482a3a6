"""Reading groups as of a sealed time, while they go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import sleep
from typing import Generic, TypeVar

import numpy as np

from ivm.kernels.groups.block import BLOCK_WORDS, KEY_WORDS, USED
from ivm.kernels.groups.offer import OFFER, VERSION
from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.keyed.group_search import Seen
from ivm.trace.keyed.group_table import Form, coded, empty_store, name_arrays

_CHUNK = 1 << 16
AT_ONCE = 1 << 12
"""Keys between two looks at whether somebody wrote meanwhile."""
_SHORTLY = 1e-4

Found = TypeVar("Found")


class Written(Generic[Form]):
    """Groups as their readers see them, with keys of `width` words; see `ivm.trace.keyed.groups.Groups`.

    `offer` are words of which kernels know (see `ivm.kernels.groups.offer`), which stand at `offer_at`.
    """

    def __init__(self, width: int, fields: Form) -> None:
        self.width = width
        self.offer: Ints = np.zeros(OFFER, np.int64)
        self.offer_at: int = self.offer.ctypes.data
        self._view = self.offer.data
        self._store = empty_store(width, fields)

    @property
    def version(self) -> int:
        """Odd while something is written: who reads without a lock reads again if it was, or has changed."""
        return self._view[VERSION]

    @version.setter
    def version(self, version: int) -> None:
        self._view[VERSION] = version

    @property
    def used(self) -> int:
        """Slots below which all groups lie."""
        return int(self._store.counts[USED])

    @property
    def fields(self) -> Form:
        """What the fields are."""
        return self._store.table.fields

    @property
    def state(self) -> Ints:
        """Key words, a mark and the fields of each slot: (capacity, width + 1 + fields)."""
        return self._store.table.rows.array

    @property
    def index(self) -> tuple[int, Int32s, Ints, Ints]:
        """The arrays by which slots are found."""
        return self._store.index.arrays


class GroupReader(Generic[Form]):
    """Groups as of the time `as_of` at which they were sealed. It writes nothing of theirs, and needs no lock.

    A step that is about to change a group keeps an image of it here. When the rows of all groups move to another array,
    this one keeps the old one, which nobody writes to any more. No group gives its slot back meanwhile; one that was
    free has fields of zero until there is an image of it.
    """

    def __init__(self, groups: Written[Form], as_of: int) -> None:
        self.as_of = as_of
        self.used = groups.used
        self.fields = groups.fields
        self._groups = groups
        self._all = groups.state
        self._image_of: Int32s = np.zeros(self.used, np.int32)
        self._images: Growable[np.int64] = Growable(np.dtype(np.int64), len(self.fields.kinds))

    @property
    def nbytes(self) -> int:
        """Bytes of the images."""
        return self._image_of.nbytes + self._images.view().nbytes

    def keep(self, slots: Int32s, previous: Int32s) -> None:
        """A step is about to change the groups in these slots. Cost: a copy of those that have no image yet."""
        if self._all is not self._groups.state:
            return
        new = slots[(previous[: len(slots)] < 0) & (slots < len(self._image_of))]
        new = new[self._image_of[new] == 0]
        self._images.append(self._all[new, self._groups.width + 1 :])
        self._image_of[new] = np.arange(self._images.length - len(new) + 1, self._images.length + 1)

    def read(self, find: Callable[[Seen], Found]) -> Found:
        """What `find` gives of the groups as they were sealed, when nobody writes meanwhile."""
        while True:
            version = self._groups.version
            if version % 2 == 0:
                found = find(self._seen())
                if self._groups.version == version:
                    return found
            sleep(_SHORTLY)

    def _seen(self) -> Seen:
        size, *arrays = self._groups.index
        block = np.empty(BLOCK_WORDS, np.int64)
        block[KEY_WORDS] = self._groups.width
        name_arrays(block, size, (self._all[: self.used], *arrays))
        return Seen(block, None, 0, self._images.array, self._image_of)

    def rows(self, start: int, stop: int) -> Ints:
        """Copies of the rows in the slots from `start` to `stop`: key words, a mark, fields. Slots end at `used`.

        Those that somebody is changing meanwhile have images by then, which is why these are looked for last.
        """
        rows = self._all[start : min(stop, self.used)].copy()
        image = self._image_of[start : start + len(rows)].copy()
        there = np.flatnonzero(image)
        rows[there, self._groups.width + 1 :] = self._images.array[image[there] - 1]
        return rows

    def chunks(self) -> Iterator[Ints]:
        """Copies of the rows in all slots, so many at a time; see `rows`."""
        for start in range(0, self.used, _CHUNK):
            yield self.rows(start, start + _CHUNK)

    def codes(self) -> Iterator[Array]:
        """Those of fields that only this reader still sees."""
        yield from coded(self.fields, self._images.view())
        if self._all is not self._groups.state:
            rows, width = self._all[: self.used], self._groups.width
            yield from coded(self.fields, rows[rows[:, width] >= 0, width + 1 :])
