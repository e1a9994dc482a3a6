"""LIKE over the strings of a text dictionary, by their UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

ANY_CHAR = -1
ANY_RUN = -2


@njit(cache=True, nogil=True, fastmath=False)
def _next_char(heap: npt.NDArray[np.uint8], at: int, end: int) -> int:
    """The byte after the character that starts at `at`: continuation bytes are 10xxxxxx."""
    at += 1
    while at < end and (heap[at] & 0xC0) == 0x80:
        at += 1
    return at


@njit(cache=True, nogil=True, fastmath=False)
def _next_candidate(heap: npt.NDArray[np.uint8], at: int, end: int, tokens: npt.NDArray[np.int64], token: int) -> int:
    """The next character after `at` at which `token`, the first after a run, can match: the first with its byte."""
    at = _next_char(heap, at, end)
    if token < len(tokens) and tokens[token] >= 0:
        first = np.uint8(tokens[token])
        while at < end and heap[at] != first:
            at += 1
    return at


@njit(cache=True, nogil=True, fastmath=False)
def _matches(heap: npt.NDArray[np.uint8], start: int, end: int, tokens: npt.NDArray[np.int64]) -> bool:
    """Greedy matching; after a mismatch only the last run can grow, since an earlier one would only move it."""
    at, token = start, 0
    run_token, run_at = -1, start
    while at < end:
        if token < len(tokens) and tokens[token] == ANY_RUN:
            token += 1
            run_token, run_at = token, at
        elif token < len(tokens) and tokens[token] == ANY_CHAR:
            at = _next_char(heap, at, end)
            token += 1
        elif token < len(tokens) and tokens[token] == np.int64(heap[at]):
            at += 1
            token += 1
        elif run_token >= 0:
            run_at = _next_candidate(heap, run_at, end, tokens, run_token)
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

    `tokens` int64: a byte to be met, ANY_CHAR for one character, ANY_RUN for any number of them. Cost: the bytes, times
    the length of the longest part between two runs in the worst case.
    """
    out = np.empty(len(codes), np.bool_)
    for i in range(len(codes)):
        code = codes[i]
        out[i] = _matches(heap, offsets[code], offsets[code + 1], tokens)
    return out
