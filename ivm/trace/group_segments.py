"""Groups as segments: written as of a moment while they go on, and read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from catalog.types import BIGINT, SqlType
from ivm.kernels.groups.block import GONE, LIVE, MELTED, OPEN, RUN, USED
from ivm.trace.arrow import numbers_from
from ivm.trace.column import DTYPES, Column, Ints
from ivm.trace.group_reader import GroupReader
from ivm.trace.group_table import Fields, GroupKeys, Table, empty_table
from ivm.trace.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.texts import Strings

_HEAD, _ROWS = "groups", "groups.rows"
_CHUNK = 1 << 16


def group_segments(keys: GroupKeys, reader: GroupReader[Any], strings: Strings) -> Iterator[Segment]:
    """The groups that `reader` sees, and those of the run that are gone, without which it has no order.

    `strings` decodes the codes of then. The reader is let go of before the last segment is given.
    """
    fields, used, counts = reader.fields, reader.used, reader.counts
    begin, end = int(counts[MELTED]), int(counts[RUN])
    run = {"run_begins": begin, "run_ends": end, "run_goes_on": bool(counts[OPEN])}
    types, width = _types(keys, fields), keys.layout.words
    if used == 0:
        del reader
    yield segment_of(_HEAD, {}, {"slots": used, **run, "fields": fields.saved})
    for start in range(0, used, _CHUNK):
        rows = reader.rows(start, start + _CHUNK)
        if start + _CHUNK >= used:
            del reader
        slots = np.arange(start, start + len(rows))
        kept = (rows[:, width + 1 :] != 0).any(axis=1) | ((begin <= slots) & (slots < end))
        rows = rows[kept]
        columns = keys.layout.unpack(np.ascontiguousarray(rows[:, :width]))
        words = zip(rows[:, width + 1 :].T, types[len(columns) :], strict=True)
        columns += [Column(each.astype(DTYPES[type_.physical])) for each, type_ in words]
        yield segment_of(_ROWS, {"slot": numbers_from(slots[kept]), **columns_to_arrow(columns, types, strings)})


def take_groups(segments: Segments, keys: GroupKeys, table: Table[Any], counts: Ints) -> int:
    """Fill an empty table with what `group_segments` wrote, all of it as a run; the slot up to which to index it.

    Keys that are codes may stand in another order here; then there is no run.
    """
    head = segments.take(_HEAD)
    table.fields = table.fields.restored(head.scalars["fields"])
    width, used = keys.layout.words, head.number("slots")
    types, keyed = _types(keys, table.fields), len(keys.types)
    table.rows = empty_table(width, table.fields).rows
    state = table.rows.reserve(used)
    state[:used] = 0
    state[:used, width] = GONE
    table.rows.length = used
    for segment in segments.all_of(_ROWS):
        slots, columns = segment.ints("slot"), segment.columns(types, keys.dictionary)
        words, _ = keys.layout.pack(columns[:keyed], segment.rows)
        state[slots, :width] = words.reshape(segment.rows, width)
        for place, column in enumerate(columns[keyed:], width + 1):
            state[slots, place] = column.values
        state[slots, width] = np.where((state[slots, width + 1 :] != 0).any(axis=1), 0, GONE)
    begin, end = head.number("run_begins"), head.number("run_ends")
    counts[[USED, RUN]] = used
    counts[LIVE] = np.count_nonzero(state[:used, width] == 0)
    order = np.lexsort(state[begin:end, :width].T[::-1])
    if end == used and np.array_equal(order, np.arange(end - begin)):
        counts[OPEN] = head.number("run_goes_on")
        return begin
    counts[OPEN] = 0
    return used


def _types(keys: GroupKeys, fields: Fields) -> list[SqlType]:
    """The types of the keys, then those of the fields."""
    return [*keys.types, *(BIGINT if kind is None else kind for kind in fields.kinds)]
