"""The cells of a step whose keys are columns where they lie. See `groups.table` for groups and cells."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, ROWS, TIMES, cells_at
from ivm.kernels.groups.table import open_rows
from ivm.kernels.hashing.keys import COLUMN, FORM, INTEGER, KIND, NULL, SOURCE_NUMBER, pack_all
from ivm.kernels.memory.at import address_of, data_of, int32s_at, ints_at, words_at
from ivm.kernels.memory.places import PIECES, place_of, references_of, told, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part(counted=True)
def open_keyed(block: Ints, memory: Ints, sources: Word, keys: Word, form: Word, row_times: Word, start: Word) -> Word:
    """Find or make the cells of all rows from `start` on; -1, or the row for which there is no room.

    The key has `keys` parts of the sources at an address, in which NULL is a value like another (see `hashing.keys`);
    without any no row is looked at. `form` is the `id` of an array, `row_times` an address, which is not read where all
    times are the same.
    """
    rows, many, width = memory[ROWS], memory[TIMES], block[KEY_WORDS]
    times = ints_at(row_times, many) if many else ints_at(address_of(memory), 1)
    if keys == 0:
        words = np.zeros((many if many else 1, width), np.int64)
    else:
        words = key_words(words_at(data_of(form), keys, FORM), sources, rows, width)
    at = open_rows(words, times, start, block, memory)
    if at < len(words):
        return at
    if len(words) < rows:
        row_cell = int32s_at(cells_at(memory, 0), rows)
        row_cell[:] = 0
    return np.int64(-1)


@part(counted=True)
def key_words(form: Ints, sources: Word, rows: Word, width: Word) -> Ints:
    """The words (rows, width) of a key: where they lie, or made."""
    source = form[0, SOURCE_NUMBER]
    place, references = place_of(sources, source, form[0, COLUMN]), references_of(sources, source)
    if len(form) == 1 and form[0, NULL] < 0 and form[0, KIND] == INTEGER:
        if (references | told(place, PIECES)) == 0:
            return words_of(place, references, rows, width)
    words = np.empty((rows, width), np.int64)
    pack_all(form, sources, np.int64(0), words)
    return words
