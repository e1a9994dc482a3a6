"""What has to hold of an index with an ascending run, whatever has been done to it; see `ivm.trace.index.run`."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.kernels.hashing.slots import EMPTY
from ivm.trace.index.index import Index

Key = tuple[int, ...]


def check_run(index: Index, keys: Sequence[Key], dead: Sequence[bool], *, block: int, shift: int = 0) -> None:
    """`keys` are those of rows 0.. of the store, none of which was left out; `dead` rows nobody reads any more.

    `block`: how many rows there are to a fence.
    """
    start, stop = index._run.start, index._run.stop
    leads = [keys[row][0] >> shift for row in range(stop)]
    assert 0 <= start <= stop <= index.rows <= len(keys)
    assert leads == sorted(leads), "leads never fall"
    fences = index._run._fences.array[: -(-stop // block)].tolist()
    assert fences == leads[::block], "the lead of the first row of each block"
    if index.unique:
        assert len(set(keys[:stop])) == stop, "keys differ"
        assert all(leads.count(lead) <= block for lead in leads), "no more of one lead than a block has"
    known, chains = _table(index), chains_of(index)
    for key in {*keys[: index.rows], *known}:
        rows = [row for row in range(index.rows) if keys[row] == key]
        if key in known:
            assert {row for row in rows if not dead[row]} <= set(chains[key]) <= set(rows), "all rows are in the chain"
        else:
            living = [row for row in rows if not dead[row]]
            assert all(start <= row < stop for row in living), "all rows are in the run"
    if index.is_ascending and stop:
        assert all(key[0] >> shift <= leads[-1] for key in known), "what is above the run's last key is new"


def _table(index: Index) -> set[Key]:
    """The keys that the hash table knows."""
    slots, old, _ = index._chains.tables
    return {tuple(slot[:-1]) for part in (slots, old) for slot in part.tolist() if slot[-1] != EMPTY}


def chains_of(index: Index) -> dict[Key, list[int]]:
    """The rows of each key of the table."""
    slots, old, _ = index._chains.tables
    following, found = index._chains.following.array, dict[Key, list[int]]()
    for part in (old, slots):  # what the newer one says counts
        for *key, head in part.tolist():
            if head == EMPTY:
                continue
            rows, row = [], head - 1
            while row >= 0:
                rows.append(row)
                row = int(following[row])
            found[tuple(key)] = rows
    return found
