"""Finding the rows that are retracted by their keys, as long as the index of the living rows is not all there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ivm.trace.columns.column import Column, Ints
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.rows.changes import Changes
from ivm.trace.rows.living_rows import LivingRows

_FOR_EACH = 64
"""So many rows are indexed in the time that it takes to find one by its key."""
_PART = 16
"""Nothing is searched where this part of the rows that are to be indexed is met under the keys."""
_Value = tuple[int, ...]


class Retracted(NamedTuple):
    """The rows that changes retract: `rows` by those at `positions`; those at `others` retract rows of the index.

    A row that comes with the changes has the number that the store is going to give it. `words`, (n, W): the values of
    all changes.
    """

    words: Ints
    positions: Ints
    rows: Ints
    others: Ints


def find_by_key(
    arranged: Arrangement, living: LivingRows, columns: Sequence[Column], changes: Changes
) -> Retracted | None:
    """The rows that `living` has not indexed yet and `changes` of these columns retract, by change, newest first.

    None if all rows are to be indexed: changes are many beside them, or the rows of the keys are, or a key is NULL.
    Nothing is changed but what the arrangement learns. Cost: a look-up of each key, and reading all of its rows.
    """
    store, count = living.store, len(changes)
    left = store.rows - living.index.rows
    if left <= _FOR_EACH * count or arranged.catch_up(0):
        return None
    leaving = np.flatnonzero(~changes.inserts)
    keys, dropped = arranged.layout.pack([columns[c].take(leaving) for c in arranged.key], len(leaving))
    if dropped is not None and dropped.any():
        return None
    keys = np.array([*{*map(tuple, keys.reshape(len(leaving), -1).tolist())}], np.int64)
    _, rows = arranged.probe(keys, None, changes.bounds[1], inclusive=True)
    rows = np.sort(rows[rows >= living.index.rows])
    if len(rows) * _PART > left:
        return None
    width = living.index.words
    words = living.words(columns, count).reshape(count, width)
    return _matched(words, changes, store.rows, living.words_of(rows).reshape(len(rows), width), rows)


def _matched(words: Ints, changes: Changes, next_row: int, known: Ints, rows: Ints) -> Retracted:
    """Of `rows`, with the values `known`, and those that come from number `next_row` on."""
    values: list[_Value] = [*map(tuple, words.tolist())]
    inserts = changes.inserts.tolist()
    there: dict[_Value, list[int]] = {value: [] for value, comes in zip(values, inserts, strict=True) if not comes}
    for value, row in zip(map(tuple, known.tolist()), rows.tolist(), strict=True):
        if value in there:
            there[value].append(row)
    found: list[tuple[int, int]] = []
    others: list[int] = []
    for position, (value, comes) in enumerate(zip(values, inserts, strict=True)):
        if comes:
            if value in there:
                there[value].append(next_row)
            next_row += 1
        elif there[value]:
            found.append((position, there[value].pop()))
        else:
            others.append(position)
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return Retracted(words, pairs[:, 0], pairs[:, 1], np.array(others, np.int64))
