"""LIKE over strings where they lie, by their UTF-8 bytes: string i is `data[starts[i] : ends[i]]`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.texts.dictionary import Bytes, Int, Places, load_word, same_bytes
from ivm.kernels.types import Bools, Ints

ANY_CHAR = -1
ANY_RUN = -2
_WORD = 8
_EIGHT = np.uint64(8)
_TOP = np.uint64(0xFF << 56)
_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)


@part(inline=True)
def _find(data: Bytes, at: Int, last: Int, part: Bytes, begin: Int, length: Int) -> Int:
    """The first place from `at` to `last` where the bytes of a part lie, which is not empty; -1 if there is none.

    Seven places at once are asked for the part's first two bytes.
    """
    step = _WORD if length == 1 else _WORD - 1
    first = np.uint64(part[begin]) * _ONES
    second = np.uint64(part[begin + 1]) * _ONES if length > 1 else np.uint64(0)
    while at <= last and at + _WORD <= len(data):
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


@part(inline=True)
def _next_char(data: Bytes, at: Int, end: Int) -> Int:
    """The byte after the character that starts at `at`: continuation bytes are 10xxxxxx."""
    at += 1
    while at < end and (data[at] & 0xC0) == 0x80:
        at += 1
    return at


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
