"""What groups and rows of a loop hold in each round, as their states have it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ivm.kernels.groups.block import USED
from ivm.kernels.groups.round_block import CELLS, HEADS, NEXT, ROUND
from ivm.trace.columns.column import Ints
from ivm.trace.columns.segment import column_to_arrow
from ivm.trace.keyed.round_groups import RoundExtremes, RoundGroups
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.time import ALIVE

Row = tuple[Any, ...]
Cells = dict[Row, dict[int, tuple[int, ...]]]
"""Of each group, by its key, the fields that each round adds."""


def found_cells(groups: RoundGroups) -> Cells:
    """The groups that there are; each is there once, and its rounds ascend."""
    table, cells, width = groups._store.table.rows.array, groups._arrays[CELLS].array, groups.layout.words
    table = table[: int(groups._store.counts[USED])]
    table = table[table[:, width] >= 0]
    types, texts = groups._keys.types, groups._keys.dictionary.now()
    columns = groups.layout.unpack(np.ascontiguousarray(table[:, :width]))
    keys = [column_to_arrow(each, type_, texts).to_pylist() for each, type_ in zip(columns, types, strict=True)]
    found: Cells = {}
    for *key, first in zip(*keys, table[:, width + 1].tolist(), strict=True):
        assert tuple(key) not in found, "a group is there once"
        of_key, at = found.setdefault(tuple(key), {}), first
        while at:
            cell = cells[at - 1].tolist()
            assert cell[ROUND] > max(of_key, default=-1), "the rounds of a group ascend"
            of_key[cell[ROUND]] = tuple(cell[HEADS : HEADS + groups.fields])
            at = cell[NEXT]
    return found


def found_values(groups: RoundExtremes) -> Counter[Row]:
    """Of each key, value and round how many there are; each is there once."""
    (segment,) = groups.segments()
    columns = {name: segment.batch.column(name).to_pylist() for name in segment.batch.schema.names}
    numbers = [columns.pop(name) for name in ("value", "round", "count")]
    found: Counter[Row] = Counter()
    for *key, value, number, count in zip(*columns.values(), *numbers, strict=True):
        row = (*key, value, number)
        assert row not in found, "a value is there once in a round"
        found[row] = count
    return found


def found_signed(state: SignedRows[Any]) -> Counter[Row]:
    """The rows that live, each with the sum of its signs; a row and its opposite are not both there."""
    store = state.store
    living: Ints = np.flatnonzero(store.died == ALIVE) if len(store.died) else np.arange(store.rows)
    columns = [store.columns.arrow(c, living).to_pylist() for c in range(len(store.types))]
    found, signs = Counter[Row](), set[Row]()
    for *row, sign in zip(*columns, strict=True):
        found[tuple(row)] += sign
        signs.add((*row, sign))
    assert len(signs) == len(found), "a row and its opposite are both there"
    return found
