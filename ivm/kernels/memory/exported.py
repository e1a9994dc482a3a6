"""What lies where in a record batch that Arrow has exported, as its C data interface has it, and whether it is well.

The batch is a struct of ten words, `exported` int64 (10,), that Arrow wrote: a column for each of its children. It is
released, by a call of the function that stands in it, in the same kernel that reads it. Arrow has looked at the sizes
of its buffers before (`RecordBatch.validate`), and at the first and the last offset of texts: nothing else is trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.memory.at import load, words_at
from ivm.kernels.memory.places import ADDRESS, BIT, PIECES, ROOM, SIZE, STRIDE, VALID_ROOM, VALIDITY
from ivm.kernels.types import Ints

EXPORT = 10
"""The length of the struct of an array."""
LENGTH, NULLS, OFFSET, BUFFERS, CHILDREN, DICTIONARY, RELEASE = 0, 1, 2, 5, 6, 7, 8

SEEN, WIDTH = VALIDITY, BIT
"""What the place of a column says instead where STRIDE is 0, by `examine`: which dictionary a column's codes are of, by
the number that it is known by, 0 if it is not or codes are missing; and the bytes of a code. The first code lies at
ADDRESS."""

OFFSET_BYTES, BYTES, OFFSETS = SIZE, ROOM, VALID_ROOM
"""What it says of texts of which none is NULL, where STRIDE is 0: the bytes of an offset, and where the bytes begin.
The first offset lies at ADDRESS; of the texts of a dictionary, whose codes have a WIDTH, at OFFSETS. WIDTH is 0 of
other texts, and OFFSET_BYTES of all else that has no STRIDE."""

ADDED, REMOVED = ROOM, VALID_ROOM
"""What it says of diffs besides: how many are +1, and how many -1."""

PLACE, LOOK, REQUIRED, STEP, FIRST, LAST = range(6)
"""What a test of a column says: which child of the batch it is, how to look at its values, whether none may be NULL,
what `STRIDE` is to be, and two numbers: of values in one word the least and the largest; of decimals of two words what
they must stay below, its low word and its high one; of texts the bytes of an offset, and whether they are UTF-8; of
codes the bytes of a code, and of an offset of the dictionary's texts."""
ANYTHING, SHORTS, LONGS, PAIRS, TEXTS, CODES, DIFFS = range(7)
"""How to look: not at all, at values of 4 or 8 bytes, at decimals of two words, at texts, at codes of a dictionary, at
diffs, of 8 bytes."""
TEST, IDENTITY = 6, 5
"""How many words a test has; and those that say which dictionary it is: three buffers, the offset, the length."""
NUMBER, KNOWN_AS = IDENTITY, IDENTITY + 1
"""Where behind these the number stands that a dictionary is known by; how many words they are together."""
TESTS, KNOWN, MET = range(EXPORT, EXPORT + 3)
"""Where `examine` finds the addresses of further arrays behind the struct."""
WELL, FRESH, CLOSER = range(3)
"""What `examine` finds: all is well; so it is, and dictionaries came that are not known; somebody is to look closer."""

_WORD, _INT, _TINY, _BYTE = np.int64(0), np.int32(0), np.int8(0), np.uint8(0)
_NO_ASCII = np.int64(-0x7F7F7F7F7F7F7F80)


@operation(types.void, types.int64, None)
def _call(builder: Any, function: Any, argument: Any) -> None:
    """Call a function of C that takes a pointer and gives nothing; of an array it gets the address."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte])
    builder.call(builder.inttoptr(function, kind.as_pointer()), [builder.bitcast(argument, byte)])


@operation(types.int64, types.int64)
def _ones(builder: Any, bits: Any) -> Any:
    """How many bits are set."""
    return builder.ctpop(bits)


@operation(None, types.int64, types.int64, None)
def _item(builder: Any, address: Any, index: Any, like: Any) -> Any:
    """Item `index` of those of the type of `like` at an address, a form in which loops are vectorized."""
    items = builder.inttoptr(address, like.type.as_pointer())
    return builder.load(builder.gep(items, [index]), align=1)


@part(inline=True)
def _word(address: Any, index: Any) -> Any:
    """Word `index` of what lies at an address."""
    return _item(address, index, _WORD)


@part(inline=True)
def _is_set(bitmap: Any, bit: Any) -> Any:
    return (load(bitmap + (bit >> 3), _BYTE) >> np.uint8(bit & 7)) & np.uint8(1) != 0


@part()
def _release(exported: Ints) -> None:
    """Let go of what was exported, if that was not done."""
    if exported[RELEASE] != 0:
        _call(exported[RELEASE], exported)
        exported[RELEASE] = 0


@part()
def _nulls(array: Any, rows: Any) -> Any:
    """How many of the values of an array, whose struct lies at an address, are NULL; -1 if it says something else."""
    validity, bit, said = _word(_word(array, BUFFERS), 0), _word(array, OFFSET), _word(array, NULLS)
    if validity == 0:
        return np.int64(0) if said <= 0 else np.int64(-1)
    there, end = np.int64(0), bit + rows
    while bit < end and bit & 7 != 0:
        there += np.int64(_is_set(validity, bit))
        bit += 1
    while bit + 64 <= end:
        there += _ones(load(validity + (bit >> 3), _WORD))
        bit += 64
    while bit < end:
        there += np.int64(_is_set(validity, bit))
        bit += 1
    return rows - there if said < 0 or said == rows - there else np.int64(-1)


@part()
def _locate(array: Any, stride: Any, nulls: Any, place: Ints) -> None:
    """Where the values of an array lie, if they lie side by side, aligned."""
    place[STRIDE] = place[SEEN] = place[WIDTH] = place[PIECES] = place[OFFSET_BYTES] = 0
    if stride != 0:
        buffers, offset = _word(array, BUFFERS), _word(array, OFFSET)
        address = _word(buffers, 1) + stride * offset
        if address & (min(stride, 8) - 1) == 0:
            place[ADDRESS], place[STRIDE], place[BIT], place[SIZE] = address, stride, offset, stride
            place[VALIDITY] = _word(buffers, 0) if nulls > 0 else 0


@part()
def _locate_codes(array: Any, size: Any, offset_bytes: Any, number: Any, place: Ints) -> None:
    """Where codes of so many bytes lie, of the dictionary with a number, and where its texts do."""
    _locate_texts(_word(array, DICTIONARY), offset_bytes, place)
    place[OFFSETS] = place[ADDRESS]
    place[ADDRESS] = _word(_word(array, BUFFERS), 1) + size * _word(array, OFFSET)
    place[SEEN], place[WIDTH] = number, size


@part()
def _locate_texts(array: Any, size: Any, place: Ints) -> None:
    """Where texts lie, with offsets of so many bytes."""
    offsets, data = _word(_word(array, BUFFERS), 1), _word(_word(array, BUFFERS), 2)
    place[STRIDE] = place[SEEN] = place[WIDTH] = place[PIECES] = 0
    place[ADDRESS], place[BYTES] = offsets + size * _word(array, OFFSET), data
    place[OFFSET_BYTES] = size if offsets != 0 and data != 0 else 0


@part()
def _count_diffs(array: Any, rows: Any, place: Ints) -> None:
    """How many of the values of an array are +1, and how many -1."""
    address = _word(_word(array, BUFFERS), 1) + 8 * _word(array, OFFSET)
    added = removed = np.int64(0)
    for row in range(rows):
        diff = _word(address, row)
        added += np.int64(diff == 1)
        removed += np.int64(diff == -1)
    place[ADDED], place[REMOVED] = added, removed


@part(inline=True)
def _all_within(array: Any, rows: Any, size: int, first: Any, last: Any) -> Any:
    """Whether all values that are not NULL lie between two of their type, both included."""
    buffers, offset = _word(array, BUFFERS), _word(array, OFFSET)
    address, validity = _word(buffers, 1) + size * offset, _word(buffers, 0)
    wrong = False
    for row in range(rows):
        value = _item(address, row, first)
        wrong |= (value < first) | (value > last)
    if not wrong or validity == 0:
        return not wrong
    for row in range(rows):
        value = _item(address, row, first)
        if ((value < first) | (value > last)) and _is_set(validity, offset + row):
            return False
    return True


@part()
def _decimals_fit(array: Any, rows: Any, low: Any, high: Any) -> Any:
    """Whether all numbers of two words that are not NULL lie between -(low, high) and that, both excluded."""
    buffers, offset = _word(array, BUFFERS), _word(array, OFFSET)
    address, validity = _word(buffers, 1) + 16 * offset, _word(buffers, 0)
    if high == 0 and low > 0:
        bound, span, wrong = low - np.int64(1), np.uint64(2 * low - 2), np.int64(0)
        for row in range(rows):
            value = _word(address, 2 * row)
            wrong |= _word(address, 2 * row + 1) ^ (value >> np.int64(63))
            wrong |= np.int64(np.uint64(value + bound) > span)
        if wrong == 0:
            return True
    for row in range(rows):
        value, top = _word(address, 2 * row), _word(address, 2 * row + 1)
        if top < 0:
            value, top = -value, ~top + np.int64(value == 0)
        is_wide = top < 0 or top > high or (top == high and np.uint64(value) >= np.uint64(low))
        if is_wide and (validity == 0 or _is_set(validity, offset + row)):
            return False
    return True


@part()
def _is_ascii(address: Any, size: Any) -> Any:
    """Whether so many bytes have no highest bit."""
    words = size >> 3
    bits = np.int64(0)
    for index in range(words):
        bits |= _word(address, index)
    for index in range(8 * words, size):
        bits |= np.int64(_item(address, index, _TINY))
    return bits & _NO_ASCII == 0


@part()
def _is_utf8(address: Any, size: Any) -> Any:
    """Whether bytes are characters in UTF-8: no half ones, none that is written too long, no surrogates."""
    at = np.int64(0)
    while at < size:
        if at + 8 <= size and load(address + at, _WORD) & _NO_ASCII == 0:
            at += 8
            continue
        lead = np.int64(load(address + at, _BYTE))
        at += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        more = np.int64(1) + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
        if at + more > size:
            return False
        least, largest = np.int64(0x80), np.int64(0xBF)
        if lead == 0xE0:
            least = np.int64(0xA0)
        elif lead == 0xED:
            largest = np.int64(0x9F)
        elif lead == 0xF0:
            least = np.int64(0x90)
        elif lead == 0xF4:
            largest = np.int64(0x8F)
        for index in range(more):
            byte = np.int64(load(address + at + index, _BYTE))
            if byte < least or byte > largest:
                return False
            least, largest = np.int64(0x80), np.int64(0xBF)
        at += more
    return True


@part(inline=True)
def _texts_fit(array: Any, rows: Any, like: Any, size: int, is_text: Any) -> Any:
    """Whether offsets of the type of `like` ascend and, if `is_text`, what lies between any two is UTF-8."""
    if rows == 0:
        return True
    buffers = _word(array, BUFFERS)
    offsets, data = _word(buffers, 1) + size * _word(array, OFFSET), _word(buffers, 2)
    begin, end = np.int64(_item(offsets, 0, like)), np.int64(_item(offsets, rows, like))
    wrong = begin < 0
    for row in range(rows):
        wrong |= _item(offsets, row + 1, like) < _item(offsets, row, like)
    if wrong:
        return False
    if not is_text or begin == end or _is_ascii(data + begin, end - begin):
        return True
    for row in range(rows):
        begin, end = np.int64(_item(offsets, row, like)), np.int64(_item(offsets, row + 1, like))
        if not _is_utf8(data + begin, end - begin):
            return False
    return True


@part()
def _all_texts_fit(array: Any, rows: Any, size: Any, is_text: Any) -> Any:
    if size == 4:
        return _texts_fit(array, rows, _INT, 4, is_text)
    return _texts_fit(array, rows, _WORD, 8, is_text)


@part()
def _all_codes_fit(array: Any, rows: Any, size: Any, count: Any) -> Any:
    if size == 1:
        return _all_within(array, rows, 1, np.int8(0), np.int8(min(count - 1, 0x7F)))
    if size == 2:
        return _all_within(array, rows, 2, np.int16(0), np.int16(min(count - 1, 0x7FFF)))
    return _all_within(array, rows, 4, np.int32(0), np.int32(min(count - 1, 0x7FFF_FFFF)))


@part()
def _identify(dictionary: Any, known: Ints, met: Ints, size: Any) -> Any:
    """Write into `met` which dictionary this is; whether it is the `known` one, or has the very same texts, with
    offsets of so many bytes.
    """
    buffers = _word(dictionary, BUFFERS)
    met[0], met[1], met[2] = _word(buffers, 0), _word(buffers, 1), _word(buffers, 2)
    met[3], met[4] = _word(dictionary, OFFSET), _word(dictionary, LENGTH)
    same = known[NUMBER] != 0
    for index in range(IDENTITY):
        same &= met[index] == known[index]
    if not same and known[NUMBER] != 0 and known[4] > 0 and met[4] == known[4] and _nulls(dictionary, met[4]) == 0:
        same = _are_alike(met, known, _INT, 4) if size == 4 else _are_alike(met, known, _WORD, 8)
    met[NUMBER] = known[NUMBER] if same else 0
    return same


@part(inline=True)
def _are_alike(one: Ints, other: Ints, like: Any, size: int) -> Any:
    """Whether two dictionaries of as many texts have the same ones, with offsets of the type of `like`."""
    texts, mine, yours = one[4], one[1] + size * one[3], other[1] + size * other[3]
    begin, start = np.int64(_item(mine, 0, like)), np.int64(_item(yours, 0, like))
    wrong = begin < 0
    for text in range(1, texts + 1):
        wrong |= np.int64(_item(mine, text, like)) - begin != np.int64(_item(yours, text, like)) - start
    if wrong:
        return False
    end = np.int64(_item(mine, texts, like)) - begin
    mine, yours, bits = one[2] + begin, other[2] + start, np.int64(0)
    for word in range(end >> 3):
        bits |= _word(mine, word) ^ _word(yours, word)
    for byte in range(end & ~7, end):
        bits |= np.int64(_item(mine, byte, _TINY) ^ _item(yours, byte, _TINY))
    return bits == 0


@part()
def _look_at(array: Any, rows: Any, test: Ints, known: Ints, met: Ints) -> Any:
    """WELL, FRESH or CLOSER, of the values of an array, whose struct lies at an address."""
    look, first, last = test[LOOK], test[FIRST], test[LAST]
    fits = True
    if look == PAIRS:
        fits = _decimals_fit(array, rows, first, last)
    elif look == SHORTS:
        fits = _all_within(array, rows, 4, np.int32(first), np.int32(last))
    elif look == LONGS:
        fits = _all_within(array, rows, 8, first, last)
    elif look == TEXTS:
        fits = _all_texts_fit(array, rows, first, last != 0)
    elif look == CODES:
        dictionary = _word(array, DICTIONARY)
        count = _word(dictionary, LENGTH)
        if not _all_codes_fit(array, rows, first, count):
            return CLOSER
        if _identify(dictionary, known, met, last):
            return WELL
        fits = _nulls(dictionary, count) == 0 and _all_texts_fit(dictionary, count, last, True)
        return FRESH if fits else CLOSER
    return WELL if fits else CLOSER


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def let_go(exported: Ints) -> None:
    """Let go of what was exported, if that was not done."""
    _release(exported)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def locate(exported: Ints, strides: Ints, places: Ints) -> None:
    """places[c] = where the values of column c lie, for which see `Batch`.

    `strides` int64 (columns,) are the bytes from a value to the next, 0 where values have not their physical form.
    """
    for column in range(len(strides)):
        array, stride = _word(exported[CHILDREN], column), strides[column]
        _locate(array, stride, _nulls(array, exported[LENGTH]) if stride != 0 else 0, places[column])
    _release(exported)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def examine(exported: Ints, places: Ints, rows: int, first: int, step: int) -> int:
    """Whether columns of so many rows hold what their types say, WELL, FRESH or CLOSER, and where their values lie.

    Of all columns, or of each `step`th from the `first` on: then what was exported is not released.

    `places` as of `locate`. Behind the struct `exported` has at TESTS, KNOWN and MET the addresses of
    C-contiguous int64 arrays: `tests` (columns, TEST); `known` and `met` (columns, KNOWN_AS), which dictionary of a
    column is known to be well, and which one it has. Cost: 0.3 ns a value and 0.1 a byte of ASCII; 1 ns a byte of other
    texts.
    """
    found, columns = WELL, len(places)
    tests = words_at(exported[TESTS], columns, TEST)
    known, met = words_at(exported[KNOWN], columns, KNOWN_AS), words_at(exported[MET], columns, KNOWN_AS)
    for column in range(first, len(tests), step):
        array = _word(exported[CHILDREN], tests[column, PLACE])
        nulls = _nulls(array, rows)
        if nulls < 0 or (nulls > 0 and tests[column, REQUIRED] != 0) or _word(array, LENGTH) != rows:
            found = CLOSER
            break
        seen = _look_at(array, rows, tests[column], known[column], met[column])
        found = max(found, seen)
        if found == CLOSER:
            break
        if nulls == 0 and tests[column, LOOK] == CODES:
            _locate_codes(array, tests[column, FIRST], tests[column, LAST], met[column, NUMBER], places[column])
        elif seen == WELL and nulls == 0 and tests[column, LOOK] == TEXTS:
            _locate_texts(array, tests[column, FIRST], places[column])
        else:
            _locate(array, tests[column, STEP], nulls, places[column])
        if tests[column, LOOK] == DIFFS:
            _count_diffs(array, rows, places[column])
    if step == 1:
        _release(exported)
    return found
