"""What the changes of a batch come to, by cells and keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.ordered.batch import net_changes
from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Ints, readonly, readonly_diffs
from ivm.trace.text.dictionary import TextDictionary


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
