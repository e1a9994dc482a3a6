"""Rows of groups in order: an ordered tree whose keys are a group's slot and the words of a row; their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ivm.kernels.ordered.batch import TreeBatch
from ivm.kernels.ordered.changes import net_changes
from ivm.kernels.types import Int32s
from ivm.trace.column import Bools, Column, Ints, readonly, readonly_diffs
from ivm.trace.dictionary import TextDictionary
from ivm.trace.ordered_tree import ALL_COUNT, AS_THEY_COME, OrderedTree, changes_of
from ivm.trace.row_order import RowOrder
from ivm.trace.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.sequences import numbers_from

_KIND = "ordered rows"
_MANY = 4096  # rows; a sort of fewer costs more than it saves
_BITS = 63
_WORD = 2**64 - 1


class OrderedRows(OrderedTree):
    """Rows, which stand in `order` within each group.

    `places`: whether kernels count places. State: see `OrderedTree`, with a word more for the slot.
    """

    def __init__(self, order: RowOrder, dictionary: TextDictionary, *, places: bool) -> None:
        super().__init__(np.insert(order.kinds, 0, 0), 2 if places else 1, dictionary)
        self.row_order = order
        self._types = [term.type for term in sorted(order.terms, key=lambda term: term.column)]

    def batch(
        self, columns: Sequence[Column], slots: Ints, valid: Bools = ALL_COUNT, diffs: Ints | None = None
    ) -> TreeBatch:
        """The changes of rows of these groups, to be taken as they come; what is not `valid` does not count."""
        keys = self.row_order.encode(columns, len(slots), ahead=1)
        keys[:, 0] = slots
        changes = changes_of(readonly(keys), valid)
        return changes if diffs is None else changes._replace(diffs=readonly(np.ascontiguousarray(diffs)))

    def segments(self) -> Iterator[Segment]:
        """The entries in order: slots, multiplicities, and the columns of the rows."""
        width = len(self.kinds)
        for entries in self.reader().read():
            arrays = {"slot": numbers_from(entries[:, 0]), "count": numbers_from(entries[:, width])}
            columns = self.row_order.decode(np.ascontiguousarray(entries[:, 1:width]))
            yield segment_of(_KIND, arrays | columns_to_arrow(columns, self._types, self.dictionary))

    def restore(self, segments: Iterable[Segment]) -> None:
        """Become what the segments say; there must be nothing yet."""
        for segment in Segments(segments).all_of(_KIND):
            columns = segment.columns(self._types, self.dictionary)
            changes = self.batch(columns, segment.ints("slot"), diffs=segment.ints("count"))
            self.add(changes._replace(order=readonly(np.arange(segment.rows))))
            super().seal(0, 0)


def in_order(keys: Ints, kinds: Ints, times: Ints | int) -> Ints:
    """The order in which a batch's keys are best brought to a tree: near each other.

    Of length 0 where they should come as they are: few, of many times, or texts. Keys that agree in the 63 bits that
    are compared come in any order. Cost: a few passes, and a sort of one word.
    """
    if not isinstance(times, int) or len(keys) < _MANY or kinds[1] != 0:
        return AS_THEY_COME
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
    return readonly(np.argsort(joined.view(np.int64)))


class NetChanges(NamedTuple):
    """Cell c has the rows `order[offsets[c] : offsets[c + 1]]`, by their keys, each with its one of `diffs`, not 0.

    Rows of a cell with equal keys are one.
    """

    diffs: Ints
    order: Ints
    offsets: Ints


def net_of(
    keys: Ints, kinds: Ints, dictionary: TextDictionary, diffs: Ints | None, row_cell: Int32s, cells: int
) -> NetChanges:
    """The changes of rows whose first words are keys that compare as `kinds` says. Cost: a sort of each cell's rows."""
    order, net, scratch = np.empty((3, len(keys)), np.int64)
    offsets, strings = np.empty(cells + 1, np.int64), dictionary.now()
    net_changes(
        readonly(keys), kinds, strings.heap, strings.places, readonly_diffs(diffs), row_cell, order, net, offsets,
        scratch,
    )  # fmt: skip
    return NetChanges(readonly(net), readonly(order[: offsets[-1]]), offsets)
