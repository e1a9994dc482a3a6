"""How the C library keeps memory that arrays gave back."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache

from ivm.kernels.memory.pages import give_back_spare

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_ARENAS, _MAPPED = "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_"
_KEPT = 64 << 20
_MAPPED_FROM = 32 << 20
"""The most that glibc lets be set."""


def keep_freed_pages() -> bool:
    """Let the process keep up to 64 MiB of freed memory on top of its heap; True if the C library was told.

    A batch of 100,000 rows fills some arrays of a megabyte, and frees them. By default glibc then gives their
    pages back to the system and the next batch faults them in anew, which costs more than most kernels do (0.2 ms
    an array).
    Blocks of 32 MiB or more are mapped by themselves and go back at once, as before; smaller ones too, if the
    environment says so. Only glibc has this; elsewhere it does nothing.

    What is kept is kept in each arena, of which glibc makes up to eight a core for threads that come and go, and what
    is free in one is of no use to another. So there is one, unless the environment says how many: threads that work
    side by side are in kernels, in Arrow or in DuckDB, which ask for memory elsewhere.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is None:
        return False
    if _ARENAS not in os.environ:
        mallopt(_ARENA_MAX, 1)
    said = os.environ.get(_MAPPED, "")
    mapped = min(int(said), _MAPPED_FROM) if said.isdecimal() else _MAPPED_FROM
    return bool(mallopt(_TRIM_THRESHOLD, _KEPT)) and bool(mallopt(_MMAP_THRESHOLD, mapped))


def give_back_freed_pages() -> bool:
    """Give all pages that hold nothing any more back to the system; True if the C library had any.

    For when much was freed for good, as when a view is dropped. Only glibc has this. Cost: a pass over the heap, some
    milliseconds a gigabyte, and the faults of what is filled again.
    """
    give_back_spare()
    trim = _of_glibc("malloc_trim")
    return trim is not None and bool(trim(0))


@cache
def _of_glibc(name: str) -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    return found


def resident_bytes() -> int:
    """The physical memory that the process holds; 0 where the system does not tell as Linux does."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0
