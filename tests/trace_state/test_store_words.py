"""What kernels are told of a store says the same as the store, whatever has happened to it."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import BIGINT
from ivm.kernels.step.state import DIED, FIRSTS, KNOWN, LAST, MORTAL, ROWS, TIMES
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import stamps

DICTIONARY = TextDictionary()
READERS = Readers([Reader(BIGINT, DICTIONARY)])


def append(store: RowStore, rows: int, times: np.ndarray | int) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(np.arange(rows))], ["value"])
    store.append(Batch(batch, READERS), rows, times)


def check(store: RowStore, since: int, now: int) -> int:
    """How many times are told of that are not the last one."""
    words, earlier = store.words, 0
    assert words[ROWS] == store.rows
    assert bool(words[MORTAL]) == (len(store.died) > 0)
    if words[MORTAL]:
        assert words[DIED] == store.died.ctypes.data
    known = words.item(KNOWN)
    times, firsts = (np.zeros(known, np.int64) for _ in range(2))
    for found, at in (times, TIMES), (firsts, FIRSTS):
        ctypes.memmove(found.ctypes.data, words.item(at), 8 * known)
    for as_of in range(since, now + 1):
        later = np.flatnonzero(times > as_of)
        told = firsts[later[0]] if as_of < words[LAST] and len(later) else store.rows
        assert told == store.limit(as_of), as_of
        earlier += as_of < words[LAST]
    return earlier


@pytest.mark.parametrize("seed", range(40))
def test_words_say_what_the_store_does(seed: int) -> None:
    random, store = np.random.default_rng(seed), RowStore([BIGINT], DICTIONARY)
    now = since = 1
    mark, begun, told = store.mark(), now, 0
    for _ in range(60):
        what = random.choice(["one", "many", "reach", "kill", "back", "seal", "move"])
        if what == "one":
            now += int(random.integers(0, 3))
            append(store, int(random.integers(1, 4)), now)
        elif what == "many":
            times = np.sort(random.integers(now, now + 4, 5))
            append(store, 5, times)
            now = int(times[-1])
        elif what == "reach":
            now += int(random.integers(0, 3))
            store.reach(now)
        elif what == "kill" and store.rows:
            alive = np.flatnonzero(store.died == 0) if len(store.died) else np.arange(store.rows)
            if len(alive):
                store.kill(random.choice(alive, 1), stamps(now))
        elif what == "back":
            store.rollback(mark)
            now = begun
        else:
            since = max(since, now - int(random.integers(0, 3)))
            store.seal(now + 1, since)
            if what == "move":  # as when rows that are gone are let go
                other = store.empty()
                for begin in range(0, store.rows, 7):
                    stretch = slice(begin, min(begin + 7, store.rows))
                    rows = np.arange(stretch.start, stretch.stop)
                    kept = rows[store.died[rows] > stamps(since)[0]] if len(store.died) else rows
                    if len(store.died):
                        other.copy_from(store, stretch, kept)
                if len(store.died):
                    other.seal(since, since)
                    store.adopt(other)
            mark, begun = store.mark(), now
        told += check(store, since, now)
    assert told
