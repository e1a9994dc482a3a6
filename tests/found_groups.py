"""Groups by their keys, with all their fields, as the engine looks them up."""

from __future__ import annotations

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.groups.finalize import COUNTS, OutputRow
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_search import GroupColumn, GroupSearch, Wanted
from ivm.trace.keyed.group_table import Fields
from ivm.trace.keyed.groups import Groups


def found_groups(
    groups: Groups[Fields] | GroupReader[Fields], words: Ints, dropped: Bools | None = None, as_of: int = 0
) -> dict[int, tuple[int, ...]]:
    """By the positions of keys (n, width) the fields of those groups that there are; a field is read as a count is."""
    count = len(groups.fields.kinds)
    outputs = [OutputRow(COUNTS, 1, at=field, source=field) for field in range(count)]
    columns = [GroupColumn(field, 8, field) for field in range(count)]
    search = GroupSearch(words.shape[1], Wanted((Physical.INT64,) * count, columns, outputs, always=False))
    table: Ints = np.array(outputs, np.int64)
    if isinstance(groups, GroupReader):
        positions, made = groups.read(lambda seen: search.find(words, dropped, 0, seen, table, 0))
    else:
        positions, made = search.find(words, dropped, as_of, groups.seen(), table, 0)
    fields = zip(*(made.column(field).values.tolist() for field in range(count)), strict=True)
    return dict(zip(positions.tolist(), fields, strict=True))
