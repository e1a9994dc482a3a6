"""Rows of several parts, copied one below the other: of all columns in one call. See `ivm.kernels.memory.places`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.append import DONE, append_all, lay
from ivm.kernels.memory.at import address_of
from ivm.kernels.memory.places import SIZE, SOURCE, UNREADABLE, VALIDITY, are_readable, lay_sources, place_of, told
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_TWO_WORDS = 16


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def stack_rows(listed: int, none: int, parts: Ints, reads: Ints, sources: Ints, room: Ints, places: Ints) -> Word:
    """Copy all columns of parts into `room`, one below the other, and write down in `places` where each lies.

    `parts` int64 (parts, 2): how many rows each has, and the first of its sources, of which `listed` is the `id` of a
    list and `none` that of None (see `lay_sources`); they are written down in `sources`. `reads` int64 (parts *
    columns, 2) tells of each part in which of its sources each column lies, and under which number. Items become as
    large as the largest that come, or one word where some come in one and others in two. Bytes say which are NULL where
    some may be.

    DONE; or nothing is copied: UNREADABLE, or how many words `room` has to have. Cost: a copy of each value.
    """
    count = len(places)
    if not lay_sources(listed, none, sources):
        return np.int64(UNREADABLE)
    for number in range(len(parts)):
        if not are_readable(reads[number * count : (number + 1) * count], _sources_of(parts, number, sources)):
            return np.int64(UNREADABLE)
    words = _lay(parts, reads, sources, address_of(room), places)
    if words > len(room):
        return words
    rows = np.int64(0)
    for number in range(len(parts)):
        read, coming = reads[number * count : (number + 1) * count], parts[number, 0]
        append_all(places, read, _sources_of(parts, number, sources), rows, coming)
        rows += coming
    return np.int64(DONE)


@part(inline=True)
def _sources_of(parts: Ints, number: Word, sources: Ints) -> Word:
    """Where the sources of a part stand."""
    return address_of(sources) + 8 * SOURCE * parts[number, 1]


@part()
def _lay(parts: Ints, reads: Ints, sources: Ints, room: Word, places: Ints) -> Word:
    """Write down where the rows of each column are to lie, from an address on; how many words that takes."""
    to, count, rows = room, len(places), parts[:, 0].sum()
    for c in range(count):
        size, least, may_be_missing = np.int64(1), np.int64(_TWO_WORDS), False
        for number in range(len(parts)):
            source, index = reads[number * count + c]
            coming = place_of(_sources_of(parts, number, sources), source, index)
            size, least = max(size, told(coming, SIZE)), min(least, told(coming, SIZE))
            may_be_missing |= told(coming, VALIDITY) != 0
        if size == _TWO_WORDS != least:
            size = np.int64(8)  # the other word but repeats the sign
        to = lay(places[c], to, size, rows, may_be_missing)
    return (to - room) >> 3
