"""Where large arrays get memory: address space, which the system backs with pages as they are written to."""

from __future__ import annotations

import mmap
from collections import deque
from contextlib import suppress
from itertools import count
from math import prod
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EAGER_BYTES = 1 << 18
"""From how many bytes on an array has a mapping of its own."""
LARGE_PAGE = 1 << 21
_AT_ONCE = 1 << 20
"""Who writes so many bytes at once waits less for a large page than for so many small ones."""
_COLLAPSE = 25
"""Linux's MADV_COLLAPSE, which Python has no name for."""
_GOLDEN = (5**0.5 - 1) / 2
_MADE = count()
"""How many mappings were made; multiples of the golden section lie apart, however many there are."""
_MOST_SPARE = 16
_KEPT = 2 * LARGE_PAGE
"""So many bytes of a spare mapping keep their pages at most: 64 MiB of all of them."""


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], coming: int) -> Array:
    """Zeros, which get memory as they are written to, if they are many: pages of 4 KiB first, then such of 2 MiB, of
    which all are where `coming` bytes are many.

    Large pages are quick to read at random. But whoever writes to a new one waits until all of it is filled with zeros,
    up to 8 ms where a virtual machine gets it from its host. So arrays begin at places of their own within one: such as
    grow side by side, columns of one store, come to the next one after each other.
    OSError or MemoryError if the system has not so much address space to give.
    """
    size = prod(shape) * dtype.itemsize
    if size < EAGER_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape, dtype)
    memory, begin = _mapped(size, coming)
    return np.frombuffer(memory, dtype, prod(shape), begin).reshape(shape)


def stale(shape: tuple[int, ...], dtype: np.dtype[Any], coming: int) -> Array:
    """The same with any contents, for who writes before reading. Many get the memory of an array that nobody reads
    any more, where there is one.

    So the system need not fill those pages with zeros, which takes longer than to write to them: a log that is merged
    after each commit, and grows anew in the next, spent a quarter of that commit on it.
    """
    size = prod(shape) * dtype.itemsize
    if size < EAGER_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(shape, dtype)
    lent = _Lent(*(_spared(size) or _mapped(size, coming)))
    return np.asarray(lent)[:size].view(dtype).reshape(shape)


def give_back_spare() -> None:
    """Give the system back what is spare."""
    _spare.clear()


def _mapped(size: int, coming: int) -> tuple[mmap.mmap, int]:
    """A new mapping, and from where on it has `size` bytes."""
    begin = int(next(_MADE) * _GOLDEN % 1 * LARGE_PAGE) // mmap.PAGESIZE * mmap.PAGESIZE
    room = -(-size // LARGE_PAGE) * LARGE_PAGE
    memory = mmap.mmap(-1, begin + room, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError, ValueError):  # of a system without such pages, or where it is no longer
        small = 0 if coming >= _AT_ONCE else 2 * LARGE_PAGE
        if small:
            memory.madvise(mmap.MADV_NOHUGEPAGE, 0, min(small, begin + room))
        memory.madvise(mmap.MADV_HUGEPAGE, small)
    return memory, begin


_spare: deque[tuple[mmap.mmap, int]] = deque()
"""Mappings that nobody reads any more, as `_mapped` gives them; any thread may take one, or put one here."""


def _spared(size: int) -> tuple[mmap.mmap, int] | None:
    """A spare mapping with room for so many bytes, which is no longer spare; None if there is none."""
    with suppress(IndexError):  # somebody else was quicker
        for _ in range(len(_spare)):
            memory, begin = _spare.popleft()
            if len(memory) - begin >= size:
                return memory, begin
            _spare.append((memory, begin))
    return None


class _Lent:
    """A mapping that is lent to an array: spare again once neither that nor any part of it is read."""

    __slots__ = ("__array_interface__", "_begin", "_memory")

    def __init__(self, memory: mmap.mmap, begin: int) -> None:
        address = np.frombuffer(memory, np.uint8, 1, begin).ctypes.data
        self._memory, self._begin = memory, begin
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (len(memory) - begin,),
            "data": (address, False),
        }

    def __del__(self, spare: deque[tuple[mmap.mmap, int]] = _spare, most: int = _MOST_SPARE) -> None:
        memory, begin = self._memory, self._begin
        if len(spare) < most:
            with suppress(OSError, ValueError):  # where the mapping ends before
                memory.madvise(mmap.MADV_DONTNEED, begin + _KEPT)
            spare.append((memory, begin))


class _Skipped(NamedTuple):
    """The bytes from `first` to `end` of `memory`, whole large pages, which have small ones instead."""

    memory: ref[mmap.mmap]
    first: int
    end: int


_skipped: deque[_Skipped] = deque()


def take_small_pages(part: Array) -> None:
    """Let a part of an array have small pages until `join_page`, which then has something to do."""
    memory: Any = part
    while isinstance(memory, np.ndarray):
        memory = memory.base
    memory = memory.obj if isinstance(memory, memoryview) else None
    if not isinstance(memory, mmap.mmap):
        return
    begin = np.frombuffer(memory, np.uint8).ctypes.data
    first = max(part.ctypes.data // LARGE_PAGE * LARGE_PAGE, -(-begin // LARGE_PAGE) * LARGE_PAGE) - begin
    end = min(-(-(part.ctypes.data + part.nbytes) // LARGE_PAGE) * LARGE_PAGE - begin, len(memory))
    with suppress(OSError, ValueError):
        memory.madvise(mmap.MADV_NOHUGEPAGE, first, end - first)
        _skipped.append(_Skipped(ref(memory), first, end))


def join_page() -> None:
    """Put a large page in place of small ones, where rows were skipped: one in a commit. Cost: a copy of 2 MiB."""
    while _skipped:
        try:
            part = _skipped.popleft()
        except IndexError:  # somebody else was quicker
            return
        memory = part.memory()
        if memory is not None and part.first < part.end:
            _skipped.appendleft(part._replace(first=part.first + LARGE_PAGE))
            with suppress(OSError, ValueError):  # of a system that cannot, or has none
                memory.madvise(mmap.MADV_HUGEPAGE, part.first, LARGE_PAGE)
                memory.madvise(_COLLAPSE, part.first, LARGE_PAGE)
            return
