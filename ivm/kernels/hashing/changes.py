"""Applying a sequence of inserts and deletes to a hash index, in one pass. See `hashing.index` for the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import FOLLOWING, SINCE, TABLES
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.index import drop_dead, hash_each
from ivm.kernels.hashing.settle import ABSENT, NO_ROOM, SETTLED, settle
from ivm.kernels.hashing.slots import (
    AHEAD,
    EMPTY,
    GONE,
    OLD,
    SLOTS,
    USED,
    fetch,
    find_slot,
    most_used,
    old_head,
    put_key,
)
from ivm.kernels.memory.at import address_of, hashes_at, int32s_in, ints_in, words_in
from ivm.kernels.types import Bools, Int32s, Ints

ALIVE = 0
REACHED, INSERTED, KILLED, FAILED = range(4)
COUNTS = 4
"""What the first words of `done` count: changes gone through, rows inserted, rows killed, changes that failed.

Behind them lie, of n changes, the rows that died, n words, when they died, n words, and which changes failed, as many
as there is room for.
"""


@part(inline=True)
def _parts(done: Ints, changes: Any) -> Any:
    """Which rows died, when they died, and which changes failed."""
    times, failed = COUNTS + changes, COUNTS + 2 * changes
    return done[COUNTS:times], done[times:failed], done[failed:]


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def apply_changes(
    block: Ints,
    frame: Ints,
    died: Ints,
    words: Ints,
    inserts: Bools,
    times: Ints,
    first_row: int,
    unique: bool,
    replace: bool,
    done: Ints,
) -> int:
    """Carry out change i for key i in turn: inserts[i] links the next new row, otherwise a live row of the key dies.

    SETTLED; or what it asks for before any change is made, see `hashing.settle`.

    In a unique index an insert meets no live row, or kills it if `replace`. In any other, chains hold living rows
    alone: a row that dies leaves its chain, so that the next one to die is always the first. `times` has length 1 or n.
    Deaths are written to `died`, and to `done`, which tells what was done. Positions of changes that cannot be carried
    out go there too until it is full, whereupon the pass ends. The chains have room for n new keys. Cost: one or two
    random accesses a change.
    """
    table = ints_in(block, TABLES)
    slots, old, following = words_in(table, SLOTS), words_in(table, OLD), int32s_in(block, FOLLOWING)
    killed, killed_at, failed = _parts(done, len(words))
    hashes = hashes_at(address_of(killed_at), len(words))  # which are read before deaths are written there
    width = np.uint64(words.shape[1])
    mortal = len(died) > 0
    step = 0 if len(times) == 1 else 1
    row = first_row
    deaths = failures = 0
    since = block[SINCE]
    hash_each(words, hashes)
    said = settle(block, frame, words, hashes, inserts[:0], killed)
    if said == SETTLED and table[USED] + len(words) > most_used(table):
        frame[ABSENT], said = len(words), NO_ROOM
    if said != SETTLED:
        return said
    used = table[USED]
    reached = len(words)
    for i in range(len(words)):
        if i + AHEAD < len(words):
            fetch(slots, old, hashes[i + AHEAD])
        slot = find_slot(slots, words, i, hashes[i])
        head = slots[slot, width]
        is_there = head != EMPTY
        if not is_there:
            head = old_head(old, words, i, hashes[i])
        live = -1
        # In a unique index only the newest version can be alive.
        if head > 0 and (unique or not inserts[i]) and (not mortal or died[head - 1] == ALIVE):
            live = head - 1
        if inserts[i] == (live >= 0) and not (inserts[i] and replace):
            failed[failures] = i
            failures += 1
            if failures == len(failed):
                reached = i + 1
                break
            continue
        if not is_there:
            put_key(slots, slot, words, i)
            used += 1
        if live >= 0:
            died[live] = times[i * step]
            killed[deaths] = live
            killed_at[deaths] = times[i * step]
            deaths += 1
            head = live + 1 if unique else following[live] + 1 if following[live] >= 0 else GONE
        if inserts[i]:
            following[row] = head - 1 if head > 0 else -1
            head, behind = row + 1, head
            if mortal and behind > 0:
                drop_dead(following, died, row, since)
            row += 1
        slots[slot, width] = head
    table[USED] = used
    done[REACHED], done[INSERTED], done[KILLED], done[FAILED] = reached, row - first_row, deaths, failures
    return SETTLED


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def undo_changes(
    slots: Ints,
    counts: Ints,
    following: Int32s,
    words: Ints,
    inserts: Bools,
    first_row: int,
    done: Ints,
) -> None:
    """Give the chains of an index that is not unique back what `apply_changes` has done to them, last change first.

    A row that left the front of its chain still says what was behind it. Done again, it changes nothing.
    """
    killed, _, failed = _parts(done, len(words))
    width = np.uint64(words.shape[1])
    row, deaths, failures = first_row + done[INSERTED], done[KILLED], done[FAILED]
    for back in range(1, done[REACHED] + 1):
        i = done[REACHED] - back
        if failures > 0 and failed[failures - 1] == i:
            failures -= 1
            continue
        code = hash_words(words, i, words.shape[1])
        slot = find_slot(slots, words, i, code)
        if slots[slot, width] == EMPTY:
            put_key(slots, slot, words, i)
            counts[USED] += 1
        if inserts[i]:
            row -= 1
            head = following[row] + 1 if following[row] >= 0 else GONE
        else:
            deaths -= 1
            head = killed[deaths] + 1
        slots[slot, width] = head
    done[REACHED] = 0
