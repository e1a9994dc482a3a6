"""The cells of a step whose keys are columns where they lie. See `groups.table` for groups and cells."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, ROWS, TIMES, cells_at
from ivm.kernels.groups.table import open_rows
from ivm.kernels.hashing.columns import LAYOUT, key_words
from ivm.kernels.memory.at import address_of, data_of, int32s_at, ints_at, words_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part(counted=True)
def open_keyed(
    block: Ints, memory: Ints, frame: Ints, columns: Word, keys: Word, layout: Word, row_times: Word, start: Word
) -> Word:
    """Find or make the cells of all rows from `start` on; -1, or the row for which there is no room.

    The key has `keys` columns, told of in `frame` from `columns` on, and a layout (see `hashing.columns`); without any
    no row is looked at. `layout` and `row_times` are the `id` of arrays; the latter is not read where all times are the
    same.
    """
    rows, many, width = memory[ROWS], memory[TIMES], block[KEY_WORDS]
    times = ints_at(data_of(row_times), many) if many else ints_at(address_of(frame), 1)
    if keys == 0:
        words = np.zeros((many if many else 1, width), np.int64)
    else:
        words = key_words(frame, columns, words_at(data_of(layout), keys, LAYOUT), rows, width)
    at = open_rows(words, times, start, block, memory)
    if at < len(words):
        return at
    if len(words) < rows:
        row_cell = int32s_at(cells_at(memory, 0), rows)
        row_cell[:] = 0
    return np.int64(-1)
