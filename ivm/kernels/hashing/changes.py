"""Applying a sequence of inserts and deletes to a hash index, in one pass. See `hashing.index` for the arrays."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.hashing.index import AHEAD, EMPTY, GONE, drop_dead, home
from ivm.kernels.memory.prefetch import prefetch
from ivm.kernels.types import Bools, Hashes, Int32s, Ints

_ONE = np.uint64(1)

FOREVER = 0x7FFF_FFFF_FFFF_FFFF

INSERTED, KILLED, NEW_KEYS, FAILED, REACHED = range(5)
COUNTS = 5
"""What `apply_changes` counts: rows inserted, rows killed, new keys, changes failed; and how many it looked at."""


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def apply_changes(
    slots: Ints,
    following: Int32s,
    died: Ints,
    words: Ints,
    hashes: Hashes,
    inserts: Bools,
    times: Ints,
    first_row: int,
    since: int,
    unique: bool,
    replace: bool,
    killed: Ints,
    killed_at: Ints,
    failed: Ints,
    counts: Ints,
) -> None:
    """Carry out change i for key i in turn: inserts[i] links the next new row, otherwise a live row of the key dies.

    In a unique index an insert meets no live row, or kills it if `replace`. In any other, chains hold living rows
    alone: a row that dies leaves its chain, so that the next one to die is always the first. `times` has length 1 or n.
    Deaths are written to `died`, and to `killed` and `killed_at` (length >= n). Positions of changes that cannot be
    carried out go to `failed` until it is full, whereupon the pass ends. The table has room for n new keys. What was
    done is in `counts` (length COUNTS) when this returns. Cost: one or two random accesses a change.
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    mortal = len(died) > 0
    step = 0 if len(times) == 1 else 1
    row = first_row
    deaths = 0
    new = 0
    failures = 0
    reached = len(words)
    for i in range(len(words)):
        if i + AHEAD < len(words):
            prefetch(slots, home(hashes[i + AHEAD], capacity) * (width + _ONE))
        slot = home(hashes[i], capacity)
        while slots[slot, width] != EMPTY:
            w = np.uint64(0)
            while w < width and slots[slot, w] == words[np.uint64(i), w]:
                w += _ONE
            if w == width:
                break
            slot += _ONE
            if slot == capacity:
                slot = np.uint64(0)
        head = slots[slot, width]
        live = -1
        # In a unique index only the newest version can be alive.
        if head > 0 and (unique or not inserts[i]) and (not mortal or died[head - 1] == FOREVER):
            live = head - 1
        if inserts[i] == (live >= 0) and not (inserts[i] and replace):
            failed[failures] = i
            failures += 1
            if failures == len(failed):
                reached = i + 1
                break
            continue
        if live >= 0:
            died[live] = times[i * step]
            killed[deaths] = live
            killed_at[deaths] = times[i * step]
            deaths += 1
            if not unique:
                slots[slot, width] = following[live] + 1 if following[live] >= 0 else GONE
        if inserts[i]:
            if head == EMPTY:
                new += 1
                for part in range(words.shape[1]):
                    slots[slot, np.uint64(part)] = words[np.uint64(i), np.uint64(part)]
            following[row] = head - 1 if head > 0 else -1
            slots[slot, width] = row + 1
            if mortal and head > 0:
                drop_dead(following, died, row, since)
            row += 1
    counts[INSERTED] = row - first_row
    counts[KILLED] = deaths
    counts[NEW_KEYS] = new
    counts[FAILED] = failures
    counts[REACHED] = reached
