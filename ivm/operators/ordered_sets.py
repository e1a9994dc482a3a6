"""Ordered multisets, a treap for each group."""

from __future__ import annotations

import numpy as np

from ivm.kernels.ordered_set import LIVE, USED, VISITED
from ivm.trace.column import Ints
from ivm.trace.growable import Growable


class OrderedSets:
    """An ordered multiset of key words for each group, in `nodes`, with `roots` by the group's slot."""

    def __init__(self, kinds: Ints) -> None:
        self.kinds = kinds
        self._clear()

    def _clear(self) -> None:
        self._nodes: Growable[np.int64] = Growable(np.dtype(np.int64), len(self.kinds) + 3)
        self.roots = np.zeros(0, np.int32)
        self.sizes = np.zeros(4, np.int64)

    @property
    def nodes(self) -> Ints:
        """The nodes (see `ivm.kernels.ordered_set`)."""
        return self._nodes.array

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return int(self.sizes[VISITED])

    @property
    def entries(self) -> int:
        """Nodes in use."""
        return int(self.sizes[LIVE])

    @property
    def used(self) -> int:
        """Nodes below which all in use lie."""
        return int(self.sizes[USED])

    @property
    def nbytes(self) -> int:
        """Bytes of all nodes that were ever in use, and of the roots."""
        return int(self.sizes[USED]) * self.nodes.shape[1] * 8 + self.roots.nbytes

    def make_room(self, more: int, groups: int) -> None:
        """Room for as many new nodes, and for the roots of groups in slots below `groups`; amortized."""
        self._nodes.length = int(self.sizes[USED])
        self._nodes.reserve(self._nodes.length + more)
        if groups > len(self.roots):
            roots = np.zeros(groups, np.int32)
            roots[: len(self.roots)] = self.roots
            self.roots = roots

    def give_back(self) -> None:
        """Free everything where no node is in use; keep the count of nodes visited."""
        if self.sizes[LIVE] == 0 and self.sizes[USED] > 0:
            visited = self.visited
            self._clear()
            self.sizes[VISITED] = visited
