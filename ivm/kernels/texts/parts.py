"""Functions of strings where they lie, by their UTF-8 bytes: string i is `data[starts[i] : ends[i]]`.

What is cut out of a string is given as its place in the same bytes, so that nothing is copied.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.texts.dictionary import (
    Bytes,
    Int,
    Places,
    compare_bytes,
    has_word,
    load_word,
    same_bytes,
    store_word,
    word_at,
)
from ivm.kernels.types import Bools, Ints

_WORD = 8
_HIGHS = np.uint64(0x8080808080808080)
_CASE = 0x20
_EIGHT = np.uint64(8)
_TOP = np.uint64(0xFF << 56)
_ONES = np.uint64(0x0101010101010101)
ANY_CHAR = -1
ANY_RUN = -2


@part(inline=True)
def _characters(data: Bytes, at: Int, end: Int) -> Int:
    """How many characters begin in these bytes."""
    count = 0
    for place in range(at, end):
        count += (data[np.uint64(place)] & 0xC0) != 0x80
    return count


@part(inline=True)
def _next_char(data: Bytes, at: Int, end: Int) -> Int:
    """The byte after the character that starts at `at`: continuation bytes are 10xxxxxx."""
    at += 1
    while at < end and (data[at] & 0xC0) == 0x80:
        at += 1
    return at


@part(inline=True)
def _behind(data: Bytes, at: Int, end: Int, characters: Int) -> Int:
    """The place behind so many characters, `end` if there are not that many."""
    if characters >= end - at:
        return end
    while characters >= _WORD and at + _WORD <= end and load_word(data, at) & _HIGHS == 0:
        at += _WORD
        characters -= _WORD
    while characters > 0 and at < end:
        at = _next_char(data, at, end)
        characters -= 1
    return at


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_characters(data: Bytes, starts: Places, ends: Places, out: Ints) -> None:
    """The number of characters of each string, int64 (n,). Cost: well below 1 ns a byte."""
    for i in range(len(starts)):
        out[i] = _characters(data, np.int64(starts[i]), np.int64(ends[i]))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def cut_texts(
    data: Bytes,
    starts: Places,
    ends: Places,
    first: Int,
    first_back: bool,
    last: Int,
    last_back: bool,
    begins: Ints,
    stops: Ints,
) -> None:
    """The characters from number `first` (from 0) to before number `last`, as places `begins` and `stops` int64 (n,).

    Where `first_back`, the number of characters is added to `first`, likewise for `last`. What lies outside the string
    is left out. Cost: a few ns, and the bytes up to `last`.
    """
    counted = first_back or last_back
    for i in range(len(starts)):
        at, end = np.int64(starts[i]), np.int64(ends[i])
        low, high = first, last
        if counted:
            characters = _characters(data, at, end)
            low += characters if first_back else 0
            high += characters if last_back else 0
        low = max(low, 0)
        begin = _behind(data, at, end, low)
        begins[i] = begin
        stops[i] = _behind(data, begin, end, high - low) if high > low else begin


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def compare_texts(data: Bytes, starts: Places, ends: Places, text: Bytes, out: npt.NDArray[np.int8]) -> None:
    """-1, 0 or 1: how each string compares to `text`, see `compare_bytes`."""
    for i in range(len(starts)):
        out[i] = compare_bytes(data, np.int64(starts[i]), np.int64(ends[i]), text, 0, len(text))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def find_equal(data: Bytes, starts: Places, ends: Places, items: Bytes, bounds: Ints, out: Bools) -> None:
    """Whether each string is one of `items[bounds[k] : bounds[k + 1]]`. Cost: 1 ns an item, more if it is as long."""
    for i in range(len(starts)):
        at = np.int64(starts[i])
        length = np.int64(ends[i]) - at
        word = word_at(data, at, length)
        hit = False
        for k in range(len(bounds) - 1):
            begin = bounds[k]
            if bounds[k + 1] - begin == length and word_at(items, begin, length) == word:
                if same_bytes(data, at + _WORD, items, begin + _WORD, length - _WORD):
                    hit = True
                    break
        out[i] = hit


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_case(
    data: Bytes, starts: Places, ends: Places, first: Int, last: Int, begins: Ints, stops: Ints, out: Bytes
) -> bool:
    """Copy the strings to `out`, where they lie at `begins` and `stops`, letters from `first` to `last` in other case.

    `out` has room for all bytes. False, and nothing is said of the rest, if there is a character outside of ASCII.
    """
    to = np.int64(0)
    seen = np.uint8(0)
    for i in range(len(starts)):
        begins[i] = to
        for place in range(np.int64(starts[i]), np.int64(ends[i])):
            byte = data[np.uint64(place)]
            seen |= byte
            out[np.uint64(to)] = byte ^ _CASE if first <= byte <= last else byte
            to += 1
        stops[i] = to
    return bool(seen < 0x80)


@part(inline=True)
def _space(data: Bytes, at: Int, end: Int) -> Int:
    """How many bytes the character from `at` on has, if it is one of Unicode's spaces (class Zs); else 0."""
    byte = data[at]
    if byte == 0x20:
        return 1
    if byte == 0xC2:
        return 2 if at + 1 < end and data[at + 1] == 0xA0 else 0
    if not 0xE1 <= byte <= 0xE3 or at + 2 >= end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if byte == 0xE1:
        found = second == 0x9A and third == 0x80
    elif byte == 0xE2:
        found = (second == 0x80 and (third <= 0x8A or third == 0xAF)) or (second == 0x81 and third == 0x9F)
    else:
        found = second == 0x80 and third == 0x80
    return 3 if found else 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def trim_spaces(data: Bytes, starts: Places, ends: Places, left: bool, right: bool, begins: Ints, stops: Ints) -> None:
    """Places of the strings without Unicode's spaces at the beginning, at the end, or both."""
    for i in range(len(starts)):
        at, end = np.int64(starts[i]), np.int64(ends[i])
        size = _space(data, at, end) if left and at < end else 0
        while size > 0:
            at += size
            size = _space(data, at, end) if at < end else 0
        more = right
        while more and at < end:
            begin = end - 1
            while begin > at and (data[begin] & 0xC0) == 0x80:
                begin -= 1
            more = bool(_space(data, begin, end) > 0)
            if more:
                end = begin
        begins[i], stops[i] = at, end


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def trim_bytes(
    data: Bytes, starts: Places, ends: Places, unwanted: Bools, left: bool, right: bool, begins: Ints, stops: Ints
) -> None:
    """Places of the strings without bytes that `unwanted` bool (256,) names at the beginning, at the end, or both."""
    for i in range(len(starts)):
        at, end = np.int64(starts[i]), np.int64(ends[i])
        while left and at < end and unwanted[data[at]]:
            at += 1
        while right and at < end and unwanted[data[end - 1]]:
            end -= 1
        begins[i], stops[i] = at, end


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_texts(data: Bytes, starts: Places, ends: Places, valid: Bools, offsets: Ints, out: Bytes) -> None:
    """Copy the strings one after the other; string i comes to `out[offsets[i] : offsets[i + 1]]`.

    `offsets` int64 (n + 1,). `valid` bool (n,), or empty where no string is NULL; a NULL takes no bytes. `out` has
    8 spare bytes at its end, since whole words are copied.
    """
    to = np.int64(0)
    for i in range(len(starts)):
        offsets[i] = to
        if len(valid) > 0 and not valid[i]:
            continue
        at, length = np.int64(starts[i]), np.int64(ends[i]) - np.int64(starts[i])
        done = 0
        while done < length:
            store_word(out, to + done, word_at(data, at + done, length - done))
            done += _WORD
        to += length
    offsets[len(starts)] = to


@part(inline=True)
def _find(data: Bytes, at: Int, last: Int, part: Bytes, begin: Int, length: Int) -> Int:
    """The first place from `at` to `last` where the bytes of a part lie, which is not empty; -1 if there is none.

    Seven places at once are asked for the part's first two bytes.
    """
    step = _WORD if length == 1 else _WORD - 1
    first = np.uint64(part[begin]) * _ONES
    second = np.uint64(part[begin + 1]) * _ONES if length > 1 else np.uint64(0)
    while at <= last and has_word(data, at):
        word = load_word(data, at)
        differ = word ^ first
        if length > 1:
            differ |= ((word >> _EIGHT) ^ second) | _TOP
        if (differ - _ONES) & ~differ & _HIGHS != 0:
            for place in range(at, min(at + step, last + 1)):
                if same_bytes(data, place, part, begin, length):
                    return place
        at += step
    while at <= last:
        if same_bytes(data, at, part, begin, length):
            return at
        at += 1
    return -1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def match_parts(data: Bytes, starts: Places, ends: Places, parts: Bytes, bounds: Ints, out: Bools) -> None:
    """Whether each string begins with the first part, ends with the last, and has the others in between, in order.

    Part k is `parts[bounds[k] : bounds[k + 1]]`; there are at least two, of which only the first and the last may be
    empty. They overlap nowhere. Cost: a few ns, and about 0.2 ns for each byte that is searched.
    """
    count = len(bounds) - 1
    prefix, suffix = bounds[1], bounds[count] - bounds[count - 1]
    for i in range(len(starts)):
        at, end = np.int64(starts[i]), np.int64(ends[i])
        hit = end - at >= prefix + suffix
        hit = hit and same_bytes(data, at, parts, 0, prefix)
        hit = hit and same_bytes(data, end - suffix, parts, bounds[count - 1], suffix)
        at += prefix
        end -= suffix
        part = 1
        while hit and part < count - 1:
            length = bounds[part + 1] - bounds[part]
            found = _find(data, at, end - length, parts, bounds[part], length)
            hit = found >= 0
            at = found + length
            part += 1
        out[i] = hit


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def match_tokens(data: Bytes, starts: Places, ends: Places, tokens: Ints, out: Bools) -> None:
    """Whether each string matches `tokens` int64: a byte to be met, ANY_CHAR for one character, ANY_RUN for any number.

    Greedy; after a mismatch only the last run can grow, since an earlier one would only move it. Cost: the bytes, about
    1 ns each, times the length of the longest part between two runs in the worst case.
    """
    for i in range(len(starts)):
        at: Int = np.int64(starts[i])
        end, run_at = np.int64(ends[i]), at
        token, run_token = 0, -1
        failed = False
        while at < end and not failed:
            if token < len(tokens) and tokens[token] == ANY_RUN:
                token += 1
                run_token, run_at = token, at
            elif token < len(tokens) and tokens[token] == ANY_CHAR:
                at = _next_char(data, at, end)
                token += 1
            elif token < len(tokens) and tokens[token] == np.int64(data[at]):
                at += 1
                token += 1
            elif run_token >= 0:
                run_at = _next_char(data, run_at, end)
                at, token = run_at, run_token
            else:
                failed = True
        while token < len(tokens) and tokens[token] == ANY_RUN:
            token += 1
        out[i] = not failed and token == len(tokens)
