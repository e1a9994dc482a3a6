"""Columns of batches put together: of those that lie alike in all of them, in one call."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.append import copy_bytes, store
from ivm.kernels.memory.at import address_of, data_of, load
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES, OFFSETS, SEEN, WIDTH
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, STRIDE, VALIDITY, WORDS, is_missing, told
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

_ITEMS = object.__basicsize__ + 8
_WORD, _INT = np.int64(0), np.int32(0)
_MOST_BYTES = np.int64(2**31 - 1)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def put_together(listed: Word, columns: Ints, starts: Ints, room: Ints, places: Ints) -> Word:
    """Copy columns of batches one behind the other, where those lie in the same form in all; the bytes that takes.

    `listed` is the `id` of a list of the places of each batch (see `places`), which has the rows from starts[i] up to
    starts[i + 1]. places[column] tells where a copy lies in `room`; of codes it is one of that dictionary.
    It says nothing of columns that lie otherwise, such as texts with NULL among them, or of several dictionaries. If
    all does not fit, nothing is copied. Cost: a pass over them.
    """
    size = np.int64(0)
    for column in columns:
        places[column] = 0
        size += _size(listed, column, starts)
    if size > 8 * len(room):
        return size
    to = address_of(room)
    for column in columns:
        taken = _size(listed, column, starts)
        if taken > 0:
            first = _place(listed, np.int64(0), column)
            if told(first, STRIDE) != 0:
                _copy_items(listed, column, starts, to, places[column])
            elif told(first, WIDTH) != 0:
                _copy_codes(listed, column, starts, to, places[column])
            else:
                _copy_texts(listed, column, starts, to, places[column])
        to += taken
    return size


@part(inline=True)
def _place(listed: Word, batch: Word, column: Word) -> Word:
    """Where the place of a column of a batch stands."""
    return data_of(load(load(listed + _ITEMS, _WORD) + 8 * batch, _WORD)) + 8 * WORDS * column


@part(inline=True)
def _up(size: Word) -> Word:
    """So many bytes in whole words."""
    return (size + 7) >> 3 << 3


@part()
def _size(listed: Word, column: Word, starts: Ints) -> Word:
    """The bytes that a column takes; 0 if it lies otherwise in some batch than in the first, or is not to be copied."""
    first, rows = _place(listed, np.int64(0), column), starts[len(starts) - 1] - starts[0]
    stride, mask = told(first, STRIDE), np.int64(0)
    if stride == 0 and told(first, WIDTH) != 0:
        return _up(told(first, WIDTH) * rows) if _are_codes(listed, column, starts) else np.int64(0)
    if stride == 0:
        return _texts_size(listed, column, starts)
    for batch in range(len(starts) - 1):
        place = _place(listed, np.int64(batch), column)
        if told(place, STRIDE) != stride or told(place, SIZE) != stride:
            return np.int64(0)
        if told(place, VALIDITY) != 0:
            mask = _up((rows + 7) >> 3)
    return _up(stride * rows) + mask


@part()
def _are_codes(listed: Word, column: Word, starts: Ints) -> bool:
    """Whether all are codes of one dictionary, which is known."""
    first = _place(listed, np.int64(0), column)
    if told(first, SEEN) == 0 or told(first, OFFSET_BYTES) == 0:
        return False
    for batch in range(1, len(starts) - 1):
        place = _place(listed, np.int64(batch), column)
        for word in (STRIDE, SEEN, WIDTH, OFFSET_BYTES, BYTES, OFFSETS):
            if told(place, word) != told(first, word):
                return False
    return True


@part()
def _texts_size(listed: Word, column: Word, starts: Ints) -> Word:
    size = np.int64(0)
    for batch in range(len(starts) - 1):
        place = _place(listed, np.int64(batch), column)
        if told(place, STRIDE) != 0 or told(place, OFFSET_BYTES) != 4 or told(place, WIDTH) != 0:
            return np.int64(0)
        offsets = told(place, ADDRESS)
        size += np.int64(load(offsets + 4 * (starts[batch + 1] - starts[batch]), _INT) - load(offsets, _INT))
    if size > _MOST_BYTES:
        return np.int64(0)
    return _up(4 * (starts[len(starts) - 1] - starts[0] + 1)) + _up(size)


@part()
def _copy_items(listed: Word, column: Word, starts: Ints, to: Word, made: Ints) -> None:
    stride, rows = told(_place(listed, np.int64(0), column), STRIDE), starts[len(starts) - 1] - starts[0]
    mask = to + _up(stride * rows)
    made[ADDRESS], made[STRIDE], made[SIZE], made[VALIDITY], made[BIT] = to, stride, stride, 0, 0
    for batch in range(len(starts) - 1):
        place, begin = _place(listed, np.int64(batch), column), starts[batch] - starts[0]
        count = starts[batch + 1] - starts[batch]
        copy_bytes(to + stride * begin, told(place, ADDRESS), stride * count)
        validity, bit = told(place, VALIDITY), told(place, BIT)
        if validity == 0:
            continue
        if made[VALIDITY] == 0:
            made[VALIDITY] = mask
            for byte in range(0, _up((rows + 7) >> 3), 8):
                store(mask + byte, np.int64(-1))
        for row in range(count):
            if is_missing(validity, bit, np.int64(row)):
                _clear(mask, begin + row)


@part(inline=True)
def _clear(mask: Word, bit: Word) -> None:
    byte = load(mask + (bit >> 3), np.uint8(0))
    store(mask + (bit >> 3), np.uint8(byte & ~(np.uint8(1) << np.uint8(bit & 7))))


@part()
def _copy_codes(listed: Word, column: Word, starts: Ints, to: Word, made: Ints) -> None:
    first = _place(listed, np.int64(0), column)
    for word in range(WORDS):
        made[word] = told(first, word)
    made[ADDRESS] = to
    for batch in range(len(starts) - 1):
        size = made[WIDTH] * (starts[batch + 1] - starts[batch])
        copy_bytes(to, told(_place(listed, np.int64(batch), column), ADDRESS), size)
        to += size


@part()
def _copy_texts(listed: Word, column: Word, starts: Ints, to: Word, made: Ints) -> None:
    rows = starts[len(starts) - 1] - starts[0]
    data, end = to + _up(4 * (rows + 1)), np.int64(0)
    made[ADDRESS], made[OFFSET_BYTES], made[BYTES] = to, 4, data
    store(to, np.int32(0))
    for batch in range(len(starts) - 1):
        place, begin = _place(listed, np.int64(batch), column), starts[batch] - starts[0]
        offsets, count = told(place, ADDRESS), starts[batch + 1] - starts[batch]
        low = np.int64(load(offsets, _INT))
        for row in range(count):
            high = np.int64(load(offsets + 4 * (row + 1), _INT))
            store(to + 4 * (begin + row + 1), np.int32(end + high - low))
        size = np.int64(load(offsets + 4 * count, _INT)) - low
        copy_bytes(data + end, told(place, BYTES) + low, size)
        end += size
