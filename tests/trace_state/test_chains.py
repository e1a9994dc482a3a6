"""Tables of chains that grow: what comes next has its memory in time, and no commit waits for much of it."""

from __future__ import annotations

import numpy as np

from ivm.kernels.hashing.block import CAME, LAST, LOOK_FROM
from ivm.kernels.hashing.insert import insert_rows
from ivm.kernels.hashing.settle import MOST
from ivm.trace.index.chains import Chains
from ivm.trace.index.keys import hashed

NOBODY = np.empty(0, np.int64)


def _chains():
    return Chains(1, np.zeros(LAST, np.int64))


def _insert(chains, keys, first):
    words, at = np.array(keys, np.int64).reshape(-1, 1), 0
    frame, hashes, nothing = np.zeros(MOST + 1, np.int64), np.empty(2 * len(words), np.uint64), np.empty(0, np.bool_)
    chains.lengthen(first, len(words))
    while at < len(words):
        at = insert_rows(chains._block, frame, NOBODY, words, hashes, nothing, at, first)
        if at < len(words):
            chains.ensure(1, len(words) - at, NOBODY, 0)
    chains._block[CAME] += len(words)


def _sealed(chains):
    """How many slots of the next table got memory in the seal of a commit, if it is due that chains are looked after."""
    if not chains.is_moving and chains._block[CAME] < chains._block[LOOK_FROM]:
        return 0
    before, Chains._paged = chains._there, None
    chains.seal(NOBODY, 0)
    return chains._there - before


def test_the_next_table_has_its_memory_when_it_is_needed():
    for rows in (1_000, 2_500):
        chains, grown = _chains(), 0
        for first in range(0, 800_000, rows):
            size, there = len(chains.tables.slots), chains._there
            _insert(chains, np.arange(first, first + rows), first)
            if len(chains.tables.slots) > size >= 1 << 17:
                grown += 1
                assert there == len(chains.tables.slots)
            assert _sealed(chains) <= 32 * rows
        assert grown


def test_many_keys_that_are_linked_at_once_touch_no_more_memory_than_some():
    chains, keys = _chains(), np.random.default_rng(0).permutation(1_200_000)
    end = 0
    for count in (380_000, 1, 1_000, 60_000, 10, 1_000, 1_000, 200_000, 5, 5, 500_000, 1):
        if count > 2_000:
            words, lengths = keys[end : end + count].reshape(-1, 1), np.ones(count, np.int64)
            chains.link(words, hashed(words), np.arange(end, end + count), lengths, end + count, NOBODY, 0)
        else:
            _insert(chains, keys[end : end + count], end)
        end += count
        assert _sealed(chains) <= 32 * (min(count, 2_048) + 15)  # a few wait for others
    assert chains.count(0, end) == end


def test_of_two_tables_that_grow_one_gets_a_large_page_in_a_commit():
    both = _chains(), _chains()
    shared = 0
    for first in range(0, 700_000, 1_000):
        pages = 0
        for chains in both:
            _insert(chains, np.arange(first, first + 1_000), first)
            before, made = chains._there, chains._next
            chains.seal(NOBODY, first)
            if made is not None and chains._next is made and len(made.slots) >= 1 << 19:
                at = made.slots.ctypes.data - 8
                pages += (at + 16 * chains._there >> 21) - (at + 16 * before >> 21)
        assert pages <= 1
        shared += pages
    assert shared >= 2 * 2
