"""Updates of few rows: what kinds of state that hold rows have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR, SqlType
from ivm.trace.columns.column import Ints
from tests.histories.walk import APART, TIMES, Scope

KEYS, WIDE_KEYS, VALUES = 4, 3, 2
WORTH: dict[SqlType, tuple[Any, ...]] = {
    BIGINT: (0, 1),
    VARCHAR: (None, "ant", "a text that is longer than the others are"),
    DOUBLE: (0.5, None, -(2.0**70)),
}
Row = tuple[int, int]
"""A key and the number of a value."""
Rows = tuple[Row, ...]
"""The rows, sorted, each as often as it is there."""
Model = tuple[Rows, ...]
"""The rows as of each time that may be read, the last one last."""
Commit = tuple[int, tuple[tuple[Row, int], ...]]
"""How many times it has, one, or as many as updates, or `APART`; rows, each with +1 or -1."""
RECENT: tuple[Commit, ...] = tuple((1, (((key, 0), 1),)) for key in range(KEYS))
"""Rows that were there."""


class UpdatesScope(Scope):
    """A commit lets one row come or go, or two, of two keys or of one, in either order; of one key also at two times.

    Rows of one key may be equal; a key has `most` of them at most.
    """

    most = 2

    def times(self, time: int) -> range:
        """The times that may be read where the last one is `time`, as a model has them."""
        return range(time - TIMES * self.history, time + 1)

    def roots(self) -> Sequence[Sequence[Commit]]:
        return (), RECENT

    def empty(self) -> Model:
        return ((),) * len(self.times(0))

    def commits(self, model: Model, keys: Sequence[int]) -> Iterable[Commit]:
        if keys:
            return narrow_commits(tuple(row for row in model[-1] if row[0] in keys), self.most, keys)
        return commits(tuple(row for row in model[-1] if row[0] < WIDE_KEYS), self.most)

    def after(self, model: Model, commit: Commit) -> Model:
        times, updates = commit
        now = model[-1]
        return (*model, after(now, *updates[: times != 1]), after(now, *updates))[-len(model) :]


def worth(type_: SqlType, key: int, number: int) -> Any:
    """The value of this type of a key that has this number."""
    return WORTH[type_][(key + number) % len(WORTH[type_])]


def whole(row: Row) -> tuple[Any, ...]:
    """A row as kinds under the contract have it: a number, a text and a double."""
    return row[0], worth(VARCHAR, *row), worth(DOUBLE, *row)


def texts_of(model: Model) -> list[str]:
    """The texts of all rows."""
    return [text for row in {row for rows in model for row in rows} if (text := worth(VARCHAR, *row)) is not None]


def times_of(commit: Commit, time: int) -> Ints | int:
    """The times of the updates of a commit, the last one of which is `time`."""
    return time if commit[0] == 1 else time - 1 + np.arange(2)


def diffs_of(commit: Commit) -> Ints:
    """The diffs of the updates of a commit."""
    return np.array([diff for _, diff in commit[1]], np.int64)


def after(there: Rows, *updates: tuple[Row, int]) -> Rows:
    """The rows after updates of one time, or of some; there is none that is there less than never."""
    rows = list(there)
    for row, _ in (each for each in updates if each[1] > 0):
        rows.append(row)
    for row, _ in (each for each in updates if each[1] < 0):
        rows.remove(row)
    return tuple(sorted(rows))


@cache
def commits(rows: Rows, most: int) -> list[Commit]:
    """All of them where there are these rows. Of two that come, of two keys, both have the first value.

    Two of the first key, one of which goes, come also in two steps.
    """
    updates = [(row, diff) for row in product(range(WIDE_KEYS), range(VALUES)) for diff in (-1, 1)]
    found: list[Commit] = [(1, (each,)) for each in updates if _may_be(rows, most, each)]
    for both in product(updates, repeat=2):
        (first, _), (last, _) = both
        if first[0] == last[0]:
            if _may_be(rows, most, *both):
                found.append((1, both))
            if _may_be(rows, most, both[0]) and _may_be(after(rows, both[0]), most, both[1]):
                found.append((2, both))
                if first[0] == 0 and min(diff for _, diff in both) < 0:
                    found.append((APART, both))
        elif all(row[1] == 0 or diff < 0 for row, diff in both) and _may_be(rows, most, *both):
            found.append((1, both))
    return found


@cache
def narrow_commits(rows: Rows, most: int, keys: Sequence[int]) -> list[Commit]:
    """A row of one of the keys comes, or goes, or another one takes its place.

    Which one is settled: the second row of an even key has the other value, that of an odd key is equal to the first;
    the lesser one goes; and what takes its place has the other value, if no row of the key has that.
    """
    found: list[Commit] = []
    for key in keys:
        there = [value for each, value in rows if each == key]
        if len(there) < most:
            found.append((1, (((key, 1 - there[0] if there and key % 2 == 0 else 0), 1),)))
        if there:
            goes = (key, there[0]), -1
            comes = (key, there[0] if 1 - there[0] in there else 1 - there[0]), 1
            found += [(1, (goes,)), (1, (goes, comes))]
    return found


def _may_be(there: Rows, most: int, *updates: tuple[Row, int]) -> bool:
    """Whether these may come at one time. Where keys are unique, what goes is found by its key alone, and goes first."""
    if most == 1 and any(diff < 0 and row not in there and row[0] in dict(there) for row, diff in updates):
        return False
    rows = Counter(there)
    for row, diff in updates:
        rows[row] += diff
    keys = Counter(key for key, _ in rows.elements())
    return min(rows.values(), default=0) >= 0 and max(keys.values(), default=0) <= most
