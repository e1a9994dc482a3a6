"""Groups as segments: written as of a moment while they go on, and read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from catalog.types import BIGINT, SqlType
from ivm.kernels.groups.block import GONE, LIVE, MELTED, OPEN, RUN, USED
from ivm.trace.arrow import numbers_from
from ivm.trace.column import DTYPES, Column, Ints
from ivm.trace.group_reader import GroupReader
from ivm.trace.group_table import Fields, GroupKeys, Store, empty_table
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
        kept = (begin <= slots) & (slots < end)
        for field in rows[:, width + 1 :].T:
            kept |= field != 0
        rows = rows[kept]
        columns = keys.layout.unpack(np.ascontiguousarray(rows[:, :width]))
        words = zip(rows[:, width + 1 :].T, types[len(columns) :], strict=True)
        columns += [Column(each.astype(DTYPES[type_.physical])) for each, type_ in words]
        yield segment_of(_ROWS, {"slot": numbers_from(slots[kept]), **columns_to_arrow(columns, types, strings)})


def take_groups(segments: Segments, keys: GroupKeys, store: Store[Any], index: Callable[[int], None]) -> None:
    """Fill an empty store with what `group_segments` wrote. `index` puts what stands below a slot into the index.

    Keys that are codes may stand in another order here; then there is no run.
    """
    head, table, counts = segments.take(_HEAD), store.table, store.counts
    table.fields = table.fields.restored(head.scalars["fields"])
    width, used = keys.layout.words, head.number("slots")
    table.rows = empty_table(width, table.fields).rows
    state = table.rows.reserve(used)
    state[:used, width] = GONE
    table.rows.length = used
    counts[LIVE] = sum(_put(segment, keys, table.fields, state) for segment in segments.all_of(_ROWS))
    begin, end, goes_on = head.number("run_begins"), head.number("run_ends"), bool(head.scalars["run_goes_on"])
    if not _ascend(state[begin:end, :width]):
        begin, end, goes_on = used, used, False
    # What is above the last one is taken for new, so those that have left the run are to be below it, too.
    goes_on = goes_on and _ascend(state[:used, :width])
    counts[USED] = counts[RUN] = used
    index(begin)
    counts[MELTED] = end
    index(used)
    counts[MELTED], counts[RUN], counts[OPEN] = begin, end, goes_on


def _put(segment: Segment, keys: GroupKeys, fields: Fields, state: Ints) -> int:
    """Put the groups of a segment into their slots; how many are not empty."""
    width, keyed, slots = keys.layout.words, len(keys.types), segment.ints("slot")
    is_whole = len(slots) > 0 and slots[-1] - slots[0] + 1 == len(slots)
    rows = state[slots[0] : slots[-1] + 1] if is_whole else state[slots]
    columns = segment.columns(_types(keys, fields), keys.dictionary)
    words, _ = keys.layout.pack(columns[:keyed], segment.rows)
    rows[:, :width] = words.reshape(segment.rows, width)
    there = np.zeros(segment.rows, np.bool_)
    for place, column in enumerate(columns[keyed:], width + 1):
        rows[:, place] = column.values
        there |= column.values != 0
    rows[:, width] = np.where(there, 0, GONE)
    if not is_whole:
        state[slots] = rows
    return int(np.count_nonzero(there))


def _ascend(keys: Ints) -> bool:
    """Whether keys (n, words) are in order, each less than the next. Cost: a pass."""
    less = np.zeros(max(len(keys) - 1, 0), np.bool_)
    equal = ~less
    for one, other in zip(keys[:-1].T, keys[1:].T, strict=True):
        less |= equal & (one < other)
        equal &= one == other
    return bool(less.all())


def _types(keys: GroupKeys, fields: Fields) -> list[SqlType]:
    """The types of the keys, then those of the fields."""
    return [*keys.types, *(BIGINT if kind is None else kind for kind in fields.kinds)]
