"""Columns of a store, and functions of its texts that it keeps, as kernels find them in one array of places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ivm.kernels.memory.append import NOTHING
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.columns.computed import ComputedColumns
from ivm.trace.columns.few_texts import WantedTexts
from ivm.trace.columns.growable import HotColumn


class Placed(NamedTuple):
    """What has a place, as long as these columns are `hot` and functions of this `version` are kept.

    `columns`: all that grow, by number, which batches have them under too: `reads` says so (see `append_rows`).
    `every`: the numbers of all columns, and of functions whose values are kept.
    """

    hot: Mapping[int, HotColumn] | None
    version: int
    columns: Mapping[int, HotColumn]
    reads: Ints
    every: Ints


NOTHING_PLACED = Placed(None, 0, {}, NOBODY, NOBODY)


def placed_in(
    rows: Sequence[Ints], wanted: WantedTexts, hot: Mapping[int, HotColumn], computed: ComputedColumns, width: int
) -> Placed | None:
    """Have values that are kept told of in `rows`, the places of `width` columns and of functions by their numbers.

    None if some function has no number. What has its place already keeps it, so that it may be called again if it is
    interrupted.
    """
    columns, version = dict(hot), computed.version
    for read, column in computed.each():
        number = wanted.number_of(*read)
        if number < 0:
            return None
        if column.place is not rows[number]:
            rows[number][:] = 0
            column.tell(rows[number])
        columns[number] = column
    reads: Ints = np.full((len(rows), 2), NOTHING)
    for number in columns:
        reads[number] = 0, number
    return Placed(hot, version, columns, reads, np.array(sorted({*range(width), *columns})))
