"""LIKE over the strings of a text dictionary, by their UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ivm.kernels.text import load_word

ANY_CHAR = -1
ANY_RUN = -2
_PREFIX = 4
_PREFIX_BITS = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, fastmath=False)
def _next_char(heap: npt.NDArray[np.uint8], at: int, end: int) -> int:
    """The byte after the character that starts at `at`: continuation bytes are 10xxxxxx."""
    at += 1
    while at < end and (heap[at] & 0xC0) == 0x80:
        at += 1
    return at


@njit(cache=True, nogil=True, fastmath=False)
def _next_candidate(heap: npt.NDArray[np.uint8], at: int, end: int, prefix: int) -> int:
    """The first place from `at` on that has the four bytes `prefix` (-1: any will do); `end` if there is none."""
    if prefix < 0:
        return at
    while at + _PREFIX <= end:
        if np.int64(load_word(heap, at) & _PREFIX_BITS) == prefix:
            return at
        at += 1
    return end


@njit(cache=True, nogil=True, fastmath=False)
def _prefixes(tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The four bytes that must be met from each token on, as one number; -1 where a wildcard is among them."""
    prefixes = np.full(len(tokens) + 1, -1, np.int64)
    for token in range(len(tokens) - _PREFIX + 1):
        word = np.int64(0)
        for i in range(_PREFIX):
            byte = tokens[token + i]
            word = np.int64(-1) if byte < 0 or word < 0 else np.int64(word | (byte << np.int64(8 * i)))
        prefixes[token] = word
    return prefixes


@njit(cache=True, nogil=True, fastmath=False)
def _matches(
    heap: npt.NDArray[np.uint8], start: int, end: int, tokens: npt.NDArray[np.int64], prefixes: npt.NDArray[np.int64]
) -> bool:
    """Greedy matching; after a mismatch only the last run can grow, since an earlier one would only move it."""
    at, token = start, 0
    run_token, run_at = -1, start
    while at < end:
        if token < len(tokens) and tokens[token] == ANY_RUN:
            token += 1
            at = _next_candidate(heap, at, end, prefixes[token])
            run_token, run_at = token, at
        elif token < len(tokens) and tokens[token] == ANY_CHAR:
            at = _next_char(heap, at, end)
            token += 1
        elif token < len(tokens) and tokens[token] == np.int64(heap[at]):
            at += 1
            token += 1
        elif run_token >= 0:
            run_at = _next_candidate(heap, _next_char(heap, run_at, end), end, prefixes[run_token])
            at, token = run_at, run_token
        else:
            return False
    while token < len(tokens) and tokens[token] == ANY_RUN:
        token += 1
    return token == len(tokens)


@njit(cache=True, nogil=True, fastmath=False)
def like_codes(
    heap: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int32],
    tokens: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Whether each code's string `heap[offsets[code] : offsets[code + 1]]` matches.

    `heap` is a dictionary's, with spare bytes at its end. `tokens` int64: a byte to be met, ANY_CHAR for one character,
    ANY_RUN for any number of them. Cost: the bytes, about 1 ns each, times the length of the longest part between two
    runs in the worst case.
    """
    out = np.empty(len(codes), np.bool_)
    prefixes = _prefixes(tokens)
    for i in range(len(codes)):
        code = codes[i]
        out[i] = _matches(heap, offsets[code], offsets[code + 1], tokens, prefixes)
    return out
