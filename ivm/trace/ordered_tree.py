"""An ordered collection of rows of words, with room for what a batch adds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ivm.kernels.ordered.nodes import DEEPEST, ENTRIES, FANOUT, FREE, LEAF, LIVE, META, ROOT, USED, VISITED
from ivm.kernels.ordered.tree import add_rows
from ivm.kernels.ordered.walk import copy_entries
from ivm.kernels.texts.dictionary import Bytes
from ivm.trace.column import Ints
from ivm.trace.dictionary import TextDictionary
from ivm.trace.growable import Growable

_CHUNK = 1 << 16


class OrderedTree:
    """Entries of `len(kinds)` key words, compared as `kinds` says, and `payload` words, the first the multiplicity.

    With two payload words or more places can be counted (see `ivm.kernels.ordered.ranks`). Kernels take
    `arrays`, or `arguments` with what it takes to compare, anew for each call, since making room may move them.
    State: (W + P) * 8 bytes an entry, in nodes that are half to completely full.
    """

    def __init__(self, kinds: Ints, payload: int, dictionary: TextDictionary) -> None:
        self.kinds = kinds
        self.payload = payload
        self._dictionary = dictionary
        self._meta = np.zeros(META, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._rows: Growable[np.int64] = Growable(np.dtype(np.int64), len(self.kinds) + self.payload)
        self._heads: Growable[np.int64] = Growable(np.dtype(np.int64), 3)
        self._meta[: LEAF + 1] = 0
        self._meta[[ROOT, FREE, LEAF]] = -1

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """`rows`, `heads` and `meta` (see `ivm.kernels.ordered.nodes`)."""
        return self._rows.array, self._heads.array, self._meta

    @property
    def arguments(self) -> tuple[Ints, Ints, Ints, Ints, Bytes, Ints]:
        """The arrays, `kinds`, and the dictionary's heap and offsets, as kernels take them."""
        return *self.arrays, self.kinds, self._dictionary.heap, self._dictionary.offsets

    def __len__(self) -> int:
        """Entries."""
        return int(self._meta[ENTRIES])

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return int(self._meta[VISITED])

    @property
    def nodes(self) -> int:
        """Nodes in use."""
        return int(self._meta[LIVE])

    @property
    def nbytes(self) -> int:
        """Bytes of all nodes that were ever in use."""
        node = FANOUT * self._rows.array.shape[1] + self._heads.array.shape[1]
        return int(self._meta[USED]) * node * 8

    def make_room(self, more: int) -> None:
        """Room for the nodes that `more` new entries may need; amortized.

        A new entry splits a leaf if it is full, and all leaves that there are may be.
        """
        splits = min(more, self.nodes + 1) + 2 * more // FANOUT
        used = int(self._meta[USED])
        nodes = used + splits + splits // 8 + DEEPEST
        if nodes * FANOUT > len(self._rows.array):
            self._rows.length = used * FANOUT
            self._rows.reserve(nodes * FANOUT)
        if nodes > len(self._heads.array):
            self._heads.length = used
            self._heads.reserve(nodes)

    def add(self, keys: Ints, diffs: Ints, sign: int = 1, near: bool = False) -> None:
        """Add `sign` times `diffs` (n,), of length 0 if all are one, to the multiplicities of `keys`.

        `near`: the keys come in order, or nearly. An entry of multiplicity 0 goes. Cost: O(log n) a key.
        """
        self.make_room(len(keys))
        add_rows(*self.arguments, keys, diffs, sign, near)

    def read(self) -> Iterator[Ints]:
        """All entries in order, in chunks (n, W + P), while the tree stays as it is."""
        at = -1
        left = len(self)
        while left:
            out = np.empty((min(left, _CHUNK), self._rows.array.shape[1]), np.int64)
            _, at = copy_entries(*self.arrays, at, out)
            left -= len(out)
            yield out

    def give_back(self) -> None:
        """Free everything where no entry is left; keep the count of nodes visited."""
        if self._meta[ENTRIES] == 0 and self._meta[USED] > 0:
            visited = self.visited
            self._clear()
            self._meta[VISITED] = visited
