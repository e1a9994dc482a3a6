"""Groups as segments: written as of a moment while they go on, and read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ivm.catalog.types import BIGINT, SqlType
from ivm.kernels.groups.block import LAST_FREE, USED
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import DTYPES, Bools, Column, Ints
from ivm.trace.columns.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_table import Fields, GroupKeys, Store, empty_table
from ivm.trace.text.texts import Strings

_HEAD, _ROWS = "groups", "groups.rows"
_CHUNK = 1 << 16


def group_segments(keys: GroupKeys, reader: GroupReader[Any], strings: Strings) -> Iterator[Segment]:
    """The groups that `reader` sees, which is let go of before the last segment is given. `strings` decodes codes."""
    fields, used = reader.fields, reader.used
    types, width = _types(keys, fields), keys.layout.words
    if used == 0:
        del reader
    yield segment_of(_HEAD, {}, {"slots": used, "fields": fields.saved})
    for start in range(0, used, _CHUNK):
        rows = reader.rows(start, start + _CHUNK)
        if start + _CHUNK >= used:
            del reader
        slots = start + np.flatnonzero(_are_there(rows[:, width + 1 :].T, len(rows)))
        rows = rows[slots - start]
        columns = keys.layout.unpack(np.ascontiguousarray(rows[:, :width]))
        words = rows[:, width + 1 :]
        for field, type_ in enumerate(types[len(columns) :]):
            # What stands where no list or struct is may be the code of one of another type.
            valid = fields.are_there(field, words) if type_.is_nested else None
            columns.append(Column(words[:, field].astype(DTYPES[type_.physical]), valid))
        yield segment_of(_ROWS, {"slot": numbers_from(slots), **columns_to_arrow(columns, types, strings)})


def take_groups(segments: Segments, keys: GroupKeys, store: Store[Any]) -> None:
    """Fill the slots of an empty store with what `group_segments` wrote; they are not indexed yet."""
    head, table, counts = segments.take(_HEAD), store.table, store.counts
    table.fields = table.fields.restored(head.scalars["fields"])
    width, used = keys.layout.words, head.number("slots")
    table.rows = empty_table(width, table.fields).rows
    state = table.rows.reserve(used)
    state[:used, width] = LAST_FREE
    table.rows.length = counts[USED] = used
    for segment in segments.all_of(_ROWS):
        _put(segment, keys, table.fields, state)


def _put(segment: Segment, keys: GroupKeys, fields: Fields, state: Ints) -> None:
    """Put the groups of a segment into their slots; those that are empty are none."""
    width, keyed, slots = keys.layout.words, len(keys.types), segment.ints("slot")
    is_whole = len(slots) > 0 and slots[-1] - slots[0] + 1 == len(slots)
    rows = state[slots[0] : slots[-1] + 1] if is_whole else state[slots]
    columns = segment.columns(_types(keys, fields), keys.dictionary)
    words, _ = keys.layout.pack(columns[:keyed], segment.rows)
    rows[:, :width] = words.reshape(segment.rows, width)
    for place, column in enumerate(columns[keyed:], width + 1):
        rows[:, place] = column.values
    rows[:, width] = np.where(_are_there(rows[:, width + 1 :].T, segment.rows), 0, LAST_FREE)
    if not is_whole:
        state[slots] = rows


def _are_there(fields: Iterable[Ints], rows: int) -> Bools:
    """Which of so many rows have a field that is not zero, which those of groups have."""
    there = np.zeros(rows, np.bool_)
    for field in fields:
        there |= field != 0
    return there


def _types(keys: GroupKeys, fields: Fields) -> list[SqlType]:
    """The types of the keys, then those of the fields."""
    return [*keys.types, *(BIGINT if kind is None else kind for kind in fields.kinds)]
