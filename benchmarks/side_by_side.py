"""What this machine gives to threads that work side by side, to judge by what the engine makes of them.

Virtual processors may share one core: two threads that only compute, without the interpreter's lock or much memory,
have been seen to do 1.04 times the work of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import pbkdf2_hmac
from statistics import median
from time import perf_counter

_ROUNDS = 1 << 17
_TIMES = 5


def gain(threads: int) -> float:
    """How many times as much as one such thread so many of them compute in the same time. Takes about a second."""
    with ThreadPoolExecutor(threads) as pool:
        return median(threads * _seconds(pool, 1) / _seconds(pool, threads) for _ in range(_TIMES))


def _seconds(pool: ThreadPoolExecutor, threads: int) -> float:
    begun = perf_counter()
    _ = [*pool.map(_compute, range(threads))]
    return perf_counter() - begun


def _compute(_: int) -> Sequence[int]:
    return pbkdf2_hmac("sha256", b"", b"", _ROUNDS)
