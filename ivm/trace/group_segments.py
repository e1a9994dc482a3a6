"""Groups as segments: keys and fields of each slot, so that whatever refers to slots finds its groups again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.types import SqlType
from ivm.kernels.groups.table import GONE, LIVE, MELTED, OPEN, RUN, USED
from ivm.trace.column import Ints
from ivm.trace.dictionary import TextDictionary
from ivm.trace.group_fields import Table
from ivm.trace.keys import KeyLayout
from ivm.trace.segment import (
    Segment,
    Segments,
    keys_from_arrow,
    keys_to_arrow,
    segment_of,
    words_from_arrow,
    words_to_arrow,
)

_HEAD, _ROWS = "groups", "groups.rows"
_CHUNK = 1 << 16


@dataclass(frozen=True)
class GroupKeys:
    """Keys of `types` as `layout` makes words of them; codes are those of `dictionary`."""

    layout: KeyLayout
    types: tuple[SqlType, ...]
    dictionary: TextDictionary


def group_segments(keys: GroupKeys, table: Table[Any], counts: Ints) -> Iterator[Segment]:
    """The groups, and those of the run that are gone, without which it has no order."""
    begin, end, used = int(counts[MELTED]), int(counts[RUN]), int(counts[USED])
    run = {"run_begins": begin, "run_ends": end, "run_goes_on": bool(counts[OPEN])}
    yield segment_of(_HEAD, {}, {"slots": used, **run, "fields": table.fields.saved})
    names = [f"key {i}" for i in range(len(keys.types))] + [f"field {i}" for i in range(len(table.fields.kinds))]
    width = keys.layout.words
    for start in range(0, used, _CHUNK):
        rows = table.rows.array[start : min(start + _CHUNK, used)]
        slots = np.arange(start, start + len(rows))
        kept = (rows[:, width + 1 :] != 0).any(axis=1) | ((begin <= slots) & (slots < end))
        rows = rows[kept]
        arrays = keys_to_arrow(rows[:, :width], keys.layout, keys.types, keys.dictionary)
        arrays += words_to_arrow(rows[:, width + 1 :], table.fields.kinds, keys.dictionary)
        yield segment_of(_ROWS, {"slot": pa.array(slots[kept]), **dict(zip(names, arrays, strict=True))})


def take_groups(segments: Segments, keys: GroupKeys, table: Table[Any], counts: Ints) -> int:
    """Fill an empty table with what `group_segments` wrote, all of it as a run; the slot up to which to index it.

    Keys that are codes may stand in another order here; then there is no run.
    """
    head = segments.take(_HEAD)
    table.fields = table.fields.restored(head.scalars["fields"])
    width, used = keys.layout.words, head.number("slots")
    kinds = table.fields.kinds
    table.rows.length = 0
    table.rows.array = np.zeros((0, width + 1 + len(kinds)), np.int64)
    state = table.rows.reserve(used)
    state[:used] = 0
    state[:used, width] = GONE
    table.rows.length = used
    for segment in segments.all_of(_ROWS):
        slots = segment.ints("slot")
        arrays = segment.batch.columns[1:]
        keyed = len(keys.types)
        words = keys_from_arrow(arrays[:keyed], keys.layout, keys.types, keys.dictionary, len(slots))
        fields = words_from_arrow(arrays[keyed:], kinds, keys.dictionary)
        state[slots, :width] = words
        state[slots, width] = np.where((fields != 0).any(axis=1), 0, GONE)
        state[slots, width + 1 :] = fields
    begin, end = head.number("run_begins"), head.number("run_ends")
    counts[[USED, RUN]] = used
    counts[LIVE] = np.count_nonzero(state[:used, width] == 0)
    if end == used and _ascends(state[begin:end, :width]):
        counts[OPEN] = head.number("run_goes_on")
        return begin
    counts[OPEN] = 0
    return used


def _ascends(keys: Ints) -> bool:
    """Whether each row is above the one before, in the order of the words."""
    above = np.zeros(max(len(keys) - 1, 0), np.bool_)
    for word in range(keys.shape[1] - 1, -1, -1):
        before, after = keys[:-1, word], keys[1:, word]
        above = (before < after) | ((before == after) & above)
    return bool(above.all())
