"""Several commits that are made one: each row at its time, which comes to the same, and is less work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from ivm.durable.payload import Commit, Given
from ivm.trace.columns.column import Ints


class Several:
    """Collects commits, in their order, as long as they `fit`: one change of a table in each, all of them alike."""

    def __init__(self) -> None:
        self.commits = 0
        self.rows = 0
        self._made: list[Commit] = []
        self._given: dict[str, list[tuple[Given, int]]] = {}

    def fits(self, commit: Commit) -> bool:
        """Whether a commit can be one with those that were added; with none if its changes count in their order."""
        return len({each.table for each in commit.given}) == len(commit.given) and all(map(self._is_like, commit.given))

    def add(self, commit: Commit) -> None:
        """One more commit, which fits."""
        self.commits += 1
        self._made.append(commit._replace(given=()))
        for given in commit.given:
            self._given.setdefault(given.table, []).append((given, commit.time))
            self.rows += given.rows.num_rows

    def one(self) -> Commit:
        """The commits that were added, at least one, as one. Cost: that of putting their times down; rows stay."""
        time = self._made[-1].time
        made = tuple(each for commit in self._made for each in commit.made)
        return Commit([_one(several, time) for several in self._given.values()], time, made)

    def _is_like(self, given: Given) -> bool:
        there = self._given.get(given.table)
        if not there:
            return True
        other = there[0][0]
        is_like = other.mode == given.mode and other.missing == given.missing
        return is_like and (other.rows.schema is given.rows.schema or other.rows.schema.equals(given.rows.schema))


def batches_of(given: Iterable[Given]) -> list[pa.RecordBatch]:
    """The batches that the rows of changes are in."""
    found: list[pa.RecordBatch] = []
    for each in given:
        found += [each.rows] if isinstance(each.rows, pa.RecordBatch) else each.rows.to_batches()
    return found


def _one(several: Sequence[tuple[Given, int]], time: int) -> Given:
    first, at = several[0]
    if len(several) == 1 and (at == time or first.times is not None):
        return first
    changes = [each for each, _ in several]
    rows = pa.Table.from_batches(batches_of(changes), first.rows.schema)
    times = np.concatenate([_times(each, at) for each, at in several])
    diffs = None if all(each.diffs is None for each in changes) else np.concatenate([*map(_diffs, changes)])
    return first._replace(rows=rows, diffs=diffs, times=times)


def _times(given: Given, time: int) -> Ints:
    return np.full(given.rows.num_rows, time, np.int64) if given.times is None else given.times


def _diffs(given: Given) -> Ints:
    return np.ones(given.rows.num_rows, np.int64) if given.diffs is None else given.diffs
