"""The ordered trees of a reduce, and what a step did to them, to take it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ivm.operators.groups import frozen
from ivm.trace.column import Bools, Ints
from ivm.trace.ordered_tree import OrderedTree


@dataclass(frozen=True, slots=True)
class OrderedBatch:
    """Keys (n, W), a mask (n, 1) of those that count, of length 0 if all do, and diffs, of length 0 if all are one."""

    keys: Ints
    valid: Bools
    diffs: Ints


def in_order(keys: Ints, kinds: Ints, times: Ints | int) -> Ints:
    """The order in which to bring a batch's keys to a tree: near each other, as `near` of its kernels wants them.

    Of length 0 where they should come as they are: few, of many times, or texts. Keys that agree in the 63 bits that
    are compared come in any order. Cost: a few passes, and a sort of one word.
    """
    if not isinstance(times, int) or len(keys) < _MANY or kinds[1] != 0:
        return _AS_THEY_COME
    joined, room = np.zeros(len(keys), np.uint64), _BITS
    for word, kind in enumerate(kinds):
        if kind != 0 or room == 0:  # the order of codes is not that of their texts
            break
        column = keys[:, word]
        low = int(column.min())
        bits = (int(column.max()) - low).bit_length()
        taken = min(bits, room)
        part = (column.view(np.uint64) - np.uint64(low & _WORD)) >> np.uint64(bits - taken)
        joined = (joined << np.uint64(taken)) | part
        room -= taken
    return frozen(np.argsort(joined.view(np.int64)))


_MANY = 4096  # rows; a sort of fewer costs more than it saves
_BITS = 63
_WORD = 2**64 - 1
_AS_THEY_COME: Ints = frozen(np.empty(0, np.int64))


def take_back(tree: OrderedTree, batch: OrderedBatch | None) -> None:
    """Take a batch, if there is one, out of the tree again. Cost: that of the batch."""
    if batch is None:
        return
    keys, diffs = batch.keys, batch.diffs
    if len(batch.valid):
        keep = batch.valid[:, 0]
        keys, diffs = keys[keep], diffs[keep] if len(diffs) else diffs
    tree.add(frozen(keys), frozen(diffs), sign=-1)


class OrderedPart:
    """A tree that aggregates share; a step changes it at once, `abort` takes that back, `commit` makes it final."""

    def __init__(self, tree: OrderedTree) -> None:
        self.tree = tree
        self.batch: OrderedBatch | None = None

    def commit(self) -> None:
        """The last batch is final."""
        self.batch = None
        self.tree.give_back()

    def abort(self) -> None:
        """Take the last batch back."""
        take_back(self.tree, self.batch)
        self.commit()


Part = TypeVar("Part", bound=OrderedPart)


class OrderedParts(Generic[Part]):
    """All the trees of a kind of aggregates."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._all = tuple(parts)

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return sum(each.tree.visited for each in self._all)

    @property
    def entries(self) -> int:
        """Distinct values or rows kept."""
        return sum(len(each.tree) for each in self._all)

    @property
    def nbytes(self) -> int:
        """Bytes of all trees."""
        return sum(each.tree.nbytes for each in self._all)

    def commit(self) -> None:
        """The last batch is final."""
        for each in self._all:
            each.commit()

    def abort(self) -> None:
        """Take the last batch back."""
        for each in self._all:
            each.abort()
