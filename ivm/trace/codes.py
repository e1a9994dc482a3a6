"""How a state tells the codes of texts that it keeps: see `ivm.trace.state` and `ivm.trace.sweep`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ivm.kernels.texts.sweep import count_codes
from ivm.trace.column import Array, Ints
from ivm.trace.readonly import readonly

AT_ONCE = 1 << 15
"""About how many codes are told at a time."""

WORKED: Array = np.empty(0, np.int32)
"""No codes, but as much work as to tell many."""


def in_parts(codes: Array) -> Iterator[Array]:
    """Codes bit by bit, from an array of which nothing is written again."""
    for begin in range(0, len(codes), AT_ONCE):
        yield codes[begin : begin + AT_ONCE]


def of_log(given: Array, times: Ints, diffs: Ints, since: int) -> Iterator[Array]:
    """The codes in the rows that are left of updates as of any time from `since` on.

    Multiplicities are never negative, so a code is there as long as the diffs of its updates add up to more than zero.
    """
    codes, count = readonly(given), 0
    for part in in_parts(codes):
        count = max(count, int(part.max()) + 1)
        yield WORKED
    sums = np.zeros(count, np.int64)
    for begin in range(0, len(codes), AT_ONCE):
        count_codes(codes, times, diffs, since, sums, begin, min(begin + AT_ONCE, len(codes)))
        yield WORKED
    for begin in range(0, count, AT_ONCE):
        yield np.flatnonzero(sums[begin : begin + AT_ONCE]) + begin
