"""The text dictionary's loops: look strings up by their UTF-8 bytes, add the new ones, copy and compare them.

A dictionary is `heap` uint8 (the bytes of all strings, one after the other, with at least PADDING spare bytes behind
them), `starts` int64 (string c is `heap[starts[c] : starts[c + 1]]`) and `slots` uint64, a hash table by linear
probing: 0 where it is free, else code + 1 in the low 32 bits and 32 bits of the hash in the high ones. The hash bits
alone place a slot, so that a larger table is filled without reading a string. At most half of the slots are taken.

Helpers are inlined by force: a call that passes arrays counts their references up and down, which takes longer than
looking a short string up (30 ns against 7). An inlined helper that passes them on to another loses that again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import hash_word
from ivm.kernels.memory.prefetch import prefetch

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint64]
Int = int | np.int64

PADDING = 8
NEAR = 1 << 15
"""Tables with more slots than this do not stay in the processor's cache."""

_WORD = 8
# Numba's intrinsics are called by other arguments than they are written with, which no checker follows.
_intrinsic: Any = intrinsic

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_AHEAD = 32
_LENGTH = np.uint64(0x9E3779B97F4A7C15)


@_intrinsic
def load_word(typing: Any, data: Any, at: Any) -> Any:
    """The 8 bytes from `data[at]` on as uint64, wherever they begin; the caller knows that they are there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(array.data, [args[1]])
        word = context.get_value_type(types.uint64)
        return builder.load(builder.bitcast(pointer, word.as_pointer()), align=1)

    return types.uint64(data, types.int64), generate


@_intrinsic
def store_word(typing: Any, data: Any, at: Any, value: Any) -> Any:
    """Write a uint64 into the 8 bytes from `data[at]` on, wherever they begin; the caller knows that they are there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(array.data, [args[1]])
        builder.store(args[2], builder.bitcast(pointer, args[2].type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), generate


@part(inline=True)
def word_at(data: Bytes, at: Int, length: Int) -> np.uint64:
    """The first `length` bytes (at most 8) from `at` on, zeros above them."""
    if length >= _WORD:
        return load_word(data, at)
    if at + _WORD <= len(data):
        return load_word(data, at) & ((_ONE << np.uint64(8 * length)) - _ONE)
    word = np.uint64(0)
    for i in range(length):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@part(inline=True)
def _hash_rest(data: Bytes, start: Int, length: Int, hashed: np.uint64) -> np.uint64:
    """Mix the bytes beyond the first 8 into the hash of those."""
    at = _WORD
    while at < length:
        hashed = hash_word(np.int64(hashed ^ word_at(data, start + at, length - at)))
        at += _WORD
    return hashed


@part(inline=True)
def _equal_rest(a: Bytes, a_start: Int, b: Bytes, b_start: Int, length: Int) -> bool:
    """Whether two strings of one length agree beyond their first 8 bytes."""
    at = _WORD
    while at < length:
        if word_at(a, a_start + at, length - at) != word_at(b, b_start + at, length - at):
            return False
        at += _WORD
    return True


@part()
def _hash_first(word: np.uint64, length: Int) -> np.uint64:
    """Hash of a string's first 8 bytes and its length."""
    return hash_word(np.int64(word + np.uint64(length) * _LENGTH))


@part(inline=True)
def _find_slot(data: Bytes, start: Int, length: Int, slots: Slots, heap: Bytes, starts: Ints) -> tuple[Int, np.uint64]:
    """The slot of the string `data[start : start + length]`, or the free one where it belongs; and its hash."""
    word = word_at(data, start, length)
    hashed = _hash_first(word, length)
    if length > _WORD:
        hashed = _hash_rest(data, start, length, hashed)
    hashed >>= _HALF
    mask = len(slots) - 1
    place = np.int64(hashed) & mask
    while True:
        slot = slots[place]
        if slot == 0:
            return place, hashed
        if slot >> _HALF == hashed:
            code = np.int64(slot & _LOW) - 1
            begin = starts[code]
            if starts[code + 1] - begin == length and word_at(heap, begin, length) == word:
                if length <= _WORD or _equal_rest(data, start, heap, begin, length):
                    return place, hashed
        place = (place + 1) & mask


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def hash_texts(
    data: Bytes,
    starts: npt.NDArray[np.signedinteger[Any]],
    ends: npt.NDArray[np.signedinteger[Any]],
    hashes: npt.NDArray[np.uint64],
) -> None:
    """Hashes of the strings `data[starts[i] : ends[i]]`, uint64 (n,)."""
    for i in range(len(starts)):
        start = np.int64(starts[i])
        length = np.int64(ends[i]) - start
        hashed = _hash_first(word_at(data, start, length), length)
        hashes[i] = _hash_rest(data, start, length, hashed) if length > _WORD else hashed


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def encode_text(
    data: Bytes,
    offsets: npt.NDArray[np.signedinteger[Any]],
    valid: npt.NDArray[np.bool_],
    codes: npt.NDArray[np.int32],
    row: Int,
    stop: Int,
    slots: Slots,
    heap: Bytes,
    starts: Ints,
    count: Int,
    used: Int,
) -> tuple[Int, Int, Int]:
    """Codes of the strings `data[offsets[i] : offsets[i + 1]]`, `row` <= i < `stop`, into `codes` int32 (n,).

    New strings are added. `valid` bool (n,), or empty where no string is NULL; a NULL gets code 0. The dictionary has
    `count` strings of `used` bytes. Returns (row, count, used), the row being the first that found no room, or `stop`;
    the caller makes room and calls again. Cost: 7 ns a short string while the table stays in the processor's cache.
    """
    return _encode(data, offsets, valid, codes, row, stop, slots, heap, starts, count, used)


@part()
def _encode(
    data: Bytes,
    offsets: npt.NDArray[np.signedinteger[Any]],
    valid: npt.NDArray[np.bool_],
    codes: npt.NDArray[np.int32],
    row: Int,
    stop: Int,
    slots: Slots,
    heap: Bytes,
    starts: Ints,
    count: Int,
    used: Int,
) -> tuple[Int, Int, Int]:
    while row < stop:
        if len(valid) > 0 and not valid[row]:
            codes[row] = 0
            row += 1
            continue
        start = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - start
        place, hashed = _find_slot(data, start, length, slots, heap, starts)
        slot = slots[place]
        if slot == 0:
            full = used + length + PADDING > len(heap) or count + 2 > len(starts) or 2 * (count + 1) > len(slots)
            if full:
                return row, count, used
            at = 0
            while at < length:
                store_word(heap, used + at, word_at(data, start + at, length - at))
                at += _WORD
            used += length
            count += 1
            starts[count] = used
            slot = (hashed << _HALF) | np.uint64(count)
            slots[place] = slot
        codes[row] = np.int32(np.int64(slot & _LOW) - 1)
        row += 1
    return row, count, used


@part(counted=True)
def _fetch_ahead(
    data: Bytes, offsets: npt.NDArray[np.signedinteger[Any]], row: Int, slots: Slots, heap: Bytes, starts: Ints
) -> None:
    """Ask for the memory that the next rows will be looked up in, so that the waits for it overlap."""
    mask = len(slots) - 1
    hashes = np.empty(_AHEAD, np.uint64)
    codes = np.empty(_AHEAD, np.int64)
    size = min(_AHEAD, len(offsets) - 1 - row)
    for i in range(size):
        start = np.int64(offsets[row + i])
        length = np.int64(offsets[row + i + 1]) - start
        hashed = _hash_first(word_at(data, start, length), length)
        if length > _WORD:
            hashed = _hash_rest(data, start, length, hashed)
        hashes[i] = hashed >> _HALF
        prefetch(slots, np.int64(hashes[i]) & mask)
    for i in range(size):
        slot = slots[np.int64(hashes[i]) & mask]
        codes[i] = np.int64(slot & _LOW) - 1 if slot >> _HALF == hashes[i] else -1
        if codes[i] >= 0:
            prefetch(starts, codes[i])
    for i in range(size):
        if codes[i] >= 0:
            prefetch(heap, starts[codes[i]])


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def encode_text_ahead(
    data: Bytes,
    offsets: npt.NDArray[np.signedinteger[Any]],
    valid: npt.NDArray[np.bool_],
    codes: npt.NDArray[np.int32],
    row: Int,
    stop: Int,
    slots: Slots,
    heap: Bytes,
    starts: Ints,
    count: Int,
    used: Int,
) -> tuple[Int, Int, Int]:
    """`encode_text` for a dictionary of more than `NEAR` slots, beyond the processor's cache."""
    while row < stop:
        _fetch_ahead(data, offsets, row, slots, heap, starts)
        end = min(row + _AHEAD, stop)
        row, count, used = _encode(data, offsets, valid, codes, row, end, slots, heap, starts, count, used)
        if row < end:
            break
    return row, count, used


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def find_text(data: Bytes, slots: Slots, heap: Bytes, starts: Ints) -> Int:
    """The code of the string whose bytes are `data`, or -1."""
    place, _ = _find_slot(data, 0, len(data), slots, heap, starts)
    return np.int64(slots[place] & _LOW) - 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def move_slots(slots: Slots, larger: Slots) -> None:
    """Put every taken slot into the empty table `larger`. Cost: a few ns a slot."""
    mask = len(larger) - 1
    for slot in slots:
        if slot != 0:
            place = np.int64(slot >> _HALF) & mask
            while larger[place] != 0:
                place = (place + 1) & mask
            larger[place] = slot


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def text_offsets(starts: Ints, codes: npt.NDArray[np.int32], valid: npt.NDArray[np.bool_], offsets: Ints) -> None:
    """Where each string of `codes` would begin if they stood one after the other, into `offsets` int64 (n + 1,).

    `valid` as for `encode_text`; a NULL takes no bytes.
    """
    total = np.int64(0)
    for i in range(len(codes)):
        offsets[i] = total
        if len(valid) == 0 or valid[i]:
            total += starts[codes[i] + 1] - starts[codes[i]]
    offsets[len(codes)] = total


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_texts(heap: Bytes, starts: Ints, codes: npt.NDArray[np.int32], offsets: Ints, out: Bytes) -> None:
    """Copy the strings to `out[offsets[i] : offsets[i + 1]]`; `out` has PADDING spare bytes at its end.

    Cost: a few ns and a cache miss a string; whole words are copied, the next string overwrites what was too much.
    """
    for i in range(len(codes)):
        source = starts[codes[i]]
        at = offsets[i]
        while at < offsets[i + 1]:
            store_word(out, at, load_word(heap, source))
            at += _WORD
            source += _WORD


@part()
def compare_text(heap: Bytes, starts: Ints, a: Int, b: Int) -> int:
    """-1, 0 or 1: how the strings of codes `a` and `b` compare, byte by byte and unsigned, a prefix before the longer.

    This is SQL's binary collation. Cost: the bytes that they share.
    """
    if a == b:
        return 0
    at, end = starts[a], starts[a + 1]
    other, other_end = starts[b], starts[b + 1]
    while at + _WORD <= end and other + _WORD <= other_end and load_word(heap, at) == load_word(heap, other):
        at += _WORD
        other += _WORD
    while at < end and other < other_end:
        if heap[at] != heap[other]:
            return -1 if heap[at] < heap[other] else 1
        at += 1
        other += 1
    if at < end:
        return 1
    return -1 if other < other_end else 0
