"""The text dictionary's loops: look strings up by their UTF-8 bytes, add the new ones, copy and compare them.

A dictionary is `heap` uint8 (the bytes of all strings, each from a multiple of 8 on, with at least PADDING spare bytes
behind the last), `places` int64 (where string c lies in it and how long it is, see `begin_of` and `length_of`) and
`slots` uint64, a hash table by linear probing: 0 where it is free, else code + 1 in the low 32 bits and 32 bits of the
hash in the high ones. The hash bits alone place a slot, so that another table is filled without reading a string. At
most half of the slots are taken.

While another table is filled, slot by slot, the one before it is `old`, of length 0 at other times: what lies below
`meta[MOVED]` there is in `slots`, or is forgotten. `free` int32 are codes that may be given out again, from
`meta[NEXT]` up to `meta[FREE]`. `marks` uint8 is there while the codes that are referred to are looked for, else empty:
a code that is given out is marked. `meta` int64 holds all counts, so that a kernel that ends has told what it did.
See `ivm.kernels.texts.sweep` for how codes are freed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.hashing.function import hash_word
from ivm.kernels.memory.move import prefetch
from ivm.kernels.types import Bools, Hashes, Int32s, Ints

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.signedinteger[Any]]
Int = int | np.int64

PADDING = 8
COUNT, USED, TAKEN, MOVED, NEXT, FREE = range(6)
META = 6
"""Codes ever given out, bytes of the heap in use, slots taken in `slots`; see above for the others."""
MOST_BYTES = 1 << 34
"""Places lie below."""
LENGTHS = 0xFFFFFFFF
"""The bits of a place that are the string's length in bytes."""
_NEAR = 1 << 15
"""Tables with more slots than this do not stay in the processor's cache."""
_WORD = 8

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_AHEAD = 32
_LENGTH = np.uint64(0x9E3779B97F4A7C15)


@operation(types.uint64, None, types.int64)
def load_word(builder: Any, data: Any, at: Any) -> Any:
    """The 8 bytes from `data[at]` on as uint64, wherever they begin; the caller knows that they are there."""
    address = builder.bitcast(builder.gep(data, [at]), ir.IntType(64).as_pointer())
    return builder.load(address, align=1)


@operation(types.void, None, types.int64, types.uint64)
def store_word(builder: Any, data: Any, at: Any, value: Any) -> None:
    """Write a uint64 into the 8 bytes from `data[at]` on, wherever they begin; the caller knows that they are there."""
    builder.store(value, builder.bitcast(builder.gep(data, [at]), value.type.as_pointer()), align=1)


@part(inline=True)
def begin_of(place: Int) -> Int:
    """Where a string begins in the heap."""
    return (place >> 32) << 3


@part(inline=True)
def length_of(place: Int) -> Int:
    """How many bytes a string has."""
    return place & LENGTHS


@part(inline=True)
def has_word(data: Bytes, at: Int) -> bool:
    """Whether 8 bytes may be read from `at` on."""
    return not at + _WORD > len(data)


@part(inline=True)
def word_at(data: Bytes, at: Int, length: Int) -> np.uint64:
    """The first `length` bytes (at most 8) from `at` on, zeros above them."""
    if length >= _WORD:
        return load_word(data, at)
    if has_word(data, at):
        return load_word(data, at) & ((_ONE << np.uint64(8 * length)) - _ONE)
    word = np.uint64(0)
    for i in range(length):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@part(inline=True)
def same_bytes(data: Bytes, at: Int, other: Bytes, begin: Int, length: Int) -> bool:
    """Whether `length` bytes of both arrays from these places on are equal; the caller knows that they are there."""
    done = 0
    while done < length:
        if word_at(data, at + done, length - done) != word_at(other, begin + done, length - done):
            return False
        done += _WORD
    return True


@part(inline=True)
def _hash_of(data: Bytes, start: Int, length: Int, word: np.uint64) -> np.uint64:
    """Hash of a string, of which `word` are the first 8 bytes."""
    hashed = hash_word(np.int64(word + np.uint64(length) * _LENGTH))
    at = _WORD
    while at < length:
        hashed = hash_word(np.int64(hashed ^ word_at(data, start + at, length - at)))
        at += _WORD
    return hashed


@part(inline=True)
def _find_slot(
    data: Bytes, start: Int, length: Int, word: np.uint64, hashed: np.uint64, slots: Hashes, first: Int, heap: Bytes,
    places: Ints,
) -> Int:  # fmt: skip
    """The slot of the string `data[start : start + length]`, or the free one where it belongs.

    `word` are its first 8 bytes, `hashed` the high bits of its hash. Slots below `first` count as taken by others.
    """
    mask = len(slots) - 1
    place = np.int64(hashed) & mask
    while True:
        slot = slots[place]
        if slot == 0:
            return place
        if slot >> _HALF == hashed and place >= first:
            known = places[np.int64(slot & _LOW) - 1]
            begin = begin_of(known)
            if length_of(known) == length and word_at(heap, begin, length) == word:
                if same_bytes(data, start + _WORD, heap, begin + _WORD, length - _WORD):
                    return place
        place = (place + 1) & mask


@part(inline=True)
def _find(
    data: Bytes, start: Int, length: Int, word: np.uint64, hashed: np.uint64, slots: Hashes, old: Hashes, heap: Bytes,
    places: Ints, meta: Ints,
) -> tuple[np.uint64, Int]:  # fmt: skip
    """What the slot of a string says in whichever table it is, 0 if it is in none; and which slot of `slots` it has."""
    place = _find_slot(data, start, length, word, hashed, slots, 0, heap, places)
    slot = slots[place]
    if slot == 0 and len(old) > 0:
        slot = old[_find_slot(data, start, length, word, hashed, old, meta[MOVED], heap, places)]
    return slot, place


@part()
def code_of(data: Bytes, length: Int, slots: Hashes, old: Hashes, heap: Bytes, places: Ints, meta: Ints) -> Int:
    """The code of the string that `data` is, of so many bytes; below zero if it has none."""
    word = word_at(data, 0, length)
    hashed = _hash_of(data, 0, length, word) >> _HALF
    slot, _ = _find(data, 0, length, word, hashed, slots, old, heap, places, meta)
    return np.int64(slot & _LOW) - 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def encode_text(
    data: Bytes,
    offsets: Places,
    valid: Bools,
    codes: Int32s,
    row: Int,
    stop: Int,
    slots: Hashes,
    old: Hashes,
    heap: Bytes,
    places: Ints,
    free: Int32s,
    marks: Bytes,
    meta: Ints,
) -> Int:
    """Codes of the strings `data[offsets[i] : offsets[i + 1]]`, `row` <= i < `stop`, into `codes` int32 (n,).

    New strings are added. `valid` bool (n,), or empty where no string is NULL; a NULL gets code 0. Returns the first
    row that found no room, or `stop`; the caller makes room and calls again. Cost: 7 ns a short string while the table
    stays in the processor's cache.
    """
    fetched = row if len(slots) > _NEAR else stop
    while row < stop:
        if row == fetched:
            _fetch_ahead(data, offsets, row, slots, heap, places)
            fetched += _AHEAD
        if len(valid) > 0 and not valid[row]:
            codes[row] = 0
            row += 1
            continue
        start = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - start
        word = word_at(data, start, length)
        hashed = _hash_of(data, start, length, word) >> _HALF
        slot, place = _find(data, start, length, word, hashed, slots, old, heap, places, meta)
        if slot == 0:
            reused = meta[NEXT] < meta[FREE]
            code = np.int64(free[meta[NEXT]]) if reused else meta[COUNT]
            used = meta[USED]
            room = (length + _WORD - 1) & ~(_WORD - 1)
            if used + room + PADDING > len(heap) or code >= len(places) or 2 * (meta[TAKEN] + 1) > len(slots):
                return row
            at = 0
            while at < length:
                store_word(heap, used + at, word_at(data, start + at, length - at))
                at += _WORD
            places[code] = ((used >> 3) << 32) | length
            slot = (hashed << _HALF) | np.uint64(code + 1)
            slots[place] = slot
            meta[USED] = used + room
            meta[TAKEN] += 1
            if reused:
                meta[NEXT] += 1
            else:
                meta[COUNT] += 1
        found = np.int64(slot & _LOW) - 1
        if found < len(marks):
            marks[found] = 1
        codes[row] = np.int32(found)
        row += 1
    return row


@part(counted=True)
def _fetch_ahead(data: Bytes, offsets: Places, row: Int, slots: Hashes, heap: Bytes, places: Ints) -> None:
    """Ask for the memory that the next rows will be looked up in, so that the waits for it overlap."""
    mask = len(slots) - 1
    hashes = np.empty(_AHEAD, np.uint64)
    codes = np.empty(_AHEAD, np.int64)
    size = min(_AHEAD, len(offsets) - 1 - row)
    for i in range(size):
        start = np.int64(offsets[row + i])
        length = np.int64(offsets[row + i + 1]) - start
        hashes[i] = _hash_of(data, start, length, word_at(data, start, length)) >> _HALF
        prefetch(slots, np.int64(hashes[i]) & mask)
    for i in range(size):
        slot = slots[np.int64(hashes[i]) & mask]
        codes[i] = np.int64(slot & _LOW) - 1 if slot >> _HALF == hashes[i] else -1
        if codes[i] >= 0:
            prefetch(places, codes[i])
    for i in range(size):
        if codes[i] >= 0:
            prefetch(heap, begin_of(places[codes[i]]))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def move_slots(old: Hashes, slots: Hashes, marks: Bytes, meta: Ints, stop: Int) -> None:
    """Put the slots of `old` from `meta[MOVED]` up to `stop` into `slots`; codes that have no mark are left out.

    Codes beyond the marks go along. Ends before `stop` where half of `slots` is taken. Cost: a few ns a slot.
    """
    mask = len(slots) - 1
    for at in range(meta[MOVED], stop):
        slot = old[at]
        if slot != 0:
            code = np.int64(slot & _LOW) - 1
            if code >= len(marks) or marks[code] != 0:
                if 2 * (meta[TAKEN] + 1) > len(slots):
                    meta[MOVED] = at
                    return
                place = np.int64(slot >> _HALF) & mask
                while slots[place] != 0:
                    place = (place + 1) & mask
                slots[place] = slot
                meta[TAKEN] += 1
    meta[MOVED] = stop


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def text_offsets(places: Ints, codes: Int32s, valid: Bools, offsets: Ints) -> None:
    """Where each string of `codes` would begin if they stood one after the other, into `offsets` int64 (n + 1,).

    `valid` as for `encode_text`; a NULL takes no bytes.
    """
    total = np.int64(0)
    for i in range(len(codes)):
        offsets[i] = total
        if len(valid) == 0 or valid[i]:
            total += length_of(places[codes[i]])
    offsets[len(codes)] = total


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def text_bounds(places: Ints, codes: Int32s, begins: Ints, ends: Ints) -> None:
    """Where each string of `codes` begins and ends in the heap, into `begins` and `ends` int64 (n,)."""
    for i in range(len(codes)):
        place = places[codes[i]]
        begins[i] = begin_of(place)
        ends[i] = begins[i] + length_of(place)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_texts(heap: Bytes, places: Ints, codes: Int32s, offsets: Ints, out: Bytes) -> None:
    """Copy the strings to `out[offsets[i] : offsets[i + 1]]`; `out` has PADDING spare bytes at its end.

    Cost: a few ns and a cache miss a string; whole words are copied, the next string overwrites what was too much.
    """
    for i in range(len(codes)):
        source = begin_of(places[codes[i]])
        at = offsets[i]
        while at < offsets[i + 1]:
            store_word(out, at, load_word(heap, source))
            at += _WORD
            source += _WORD


@part(inline=True)
def compare_bytes(data: Bytes, at: Int, end: Int, other: Bytes, begin: Int, stop: Int) -> int:
    """-1, 0 or 1: how the bytes of two stretches compare, unsigned, a prefix before the longer."""
    while at + _WORD <= end and begin + _WORD <= stop and load_word(data, at) == load_word(other, begin):
        at += _WORD
        begin += _WORD
    while at < end and begin < stop:
        if data[at] != other[begin]:
            return -1 if data[at] < other[begin] else 1
        at += 1
        begin += 1
    if at < end:
        return 1
    return -1 if begin < stop else 0


@part()
def compare_text(heap: Bytes, places: Ints, a: Int, b: Int) -> int:
    """How the strings of codes `a` and `b` compare, see `compare_bytes`: SQL's binary collation."""
    if a == b:
        return 0
    at, begin = begin_of(places[a]), begin_of(places[b])
    return compare_bytes(heap, at, at + length_of(places[a]), heap, begin, begin + length_of(places[b]))
