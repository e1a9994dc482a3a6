"""Rows in a small scope: tables with a key and without, and derived rows, each with what follows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.schema import Field, Table
from catalog.types import BIGINT, Physical
from ivm.trace.arrangement import Arrangement
from ivm.trace.batch import Batch, Reader, Readers
from ivm.trace.column import Column
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.dictionary import TextDictionary
from ivm.trace.keys import KeyLayout
from ivm.trace.ordered_arrangement import OrderedArrangement
from ivm.trace.row_store import RowsReader, RowStore
from ivm.trace.rows import DerivedRows, Rows
from ivm.trace.table_store import TableStore
from ivm.trace.time import ALIVE
from tests.histories.walk import Scope

KEYS, VALUES = 4, 2
Row = tuple[int, int]
"""A key and a value."""
Model = tuple[Row, ...]
"""The rows, sorted."""
Commit = tuple[tuple[Row, int], ...]
"""Updates: rows, each with +1 or -1."""
FIELDS = (Field("k", BIGINT, nullable=False), Field("v", BIGINT, nullable=False))
LAYOUT = KeyLayout(((Physical.INT64, False),), nulls="drop")
WORDS = LAYOUT.pack([Column(np.arange(KEYS))], KEYS)


class RowsScope(Scope):
    """A commit lets one row or two come or go, or updates one; `many`: a key may have two rows, else one.

    What is asked is looked up in every follower, and read.
    """

    many = True

    def __init__(self) -> None:
        self._dictionary = TextDictionary()

    def states(self, state: Any) -> Sequence[Any]:
        return (state.rows,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        return (), tuple((((key, 0), 1),) for key in range(KEYS))

    def empty(self) -> Model:
        return ()

    def commits(self, model: Model) -> Iterable[tuple[Commit, Model]]:
        return commits(model, self.many)

    def check(self, state: Any, model: Model, time: int) -> None:
        for arranged in state.followers:
            positions, group = arranged.look_up(*WORDS, time, True)
            keys, values = (state.rows.store.gather(c, group.refs).values.tolist() for c in range(2))
            assert positions.tolist() == keys, f"keys {positions.tolist()} have rows of keys {keys}"
            found = tuple(sorted(zip(keys, values, strict=True)))
            assert found == model, f"{type(arranged).__name__} finds {found}, there are {model}"
        store = state.rows.store
        living = np.flatnonzero(store.died == ALIVE) if len(store.died) else np.arange(store.rows)
        there = tuple(sorted(zip(*(store.gather(c, living).values.tolist() for c in range(2)), strict=True)))
        assert there == model, f"living are {there}, there are {model}"
        assert state.rows.count == len(model), f"{state.rows.count} rows are counted, there are {model}"

    def reader(self, state: Any, time: int) -> _Read:
        return _Read(state.rows.reader(time))


class _Read:
    """The rows that a reader sees."""

    def __init__(self, reader: RowsReader) -> None:
        self._reader = reader

    def __call__(self) -> Model:
        table = self._reader.arrow(["k", "v"])
        return tuple(sorted(zip(*(column.to_pylist() for column in table.columns), strict=True)))


class _Table:
    def __init__(self, key: tuple[str, ...], dictionary: TextDictionary) -> None:
        self.rows = TableStore(Table("t", FIELDS, key), dictionary)
        self.followers = [self.rows.arrangement((0,)), self.rows.arrangement((0,), shared=False)]


class TableScope(RowsScope):
    """A table without a key."""

    name = "table"
    key: tuple[str, ...] = ()

    def new(self) -> _Table:
        return _Table(self.key, self._dictionary)

    def step(self, state: _Table, commit: Commit, time: int) -> None:
        state.rows.apply(_arrow(commit), np.array([diff for _, diff in commit]), time)
        for each in state.followers:
            each.catch_up()


class KeyedTableScope(TableScope):
    """A table with a key, and with an index of its own beside that of the key."""

    name = "keyed table"
    key = ("k",)
    many = False


class _Derived:
    """Derived rows with both kinds of arrangement."""

    def __init__(self, dictionary: TextDictionary) -> None:
        self.rows: Rows = DerivedRows((BIGINT, BIGINT), dictionary, _arranged)
        self.followers: list[Any] = [*self.rows.followers()]
        ordered = OrderedArrangement(self.rows.store, (0,), LAYOUT, _value, BIGINT, dictionary)
        self.rows.follow(ordered)
        self.followers.append(ordered)
        self.readers = Readers([Reader(BIGINT, dictionary) for _ in range(2)])


class DerivedScope(RowsScope):
    """Derived rows: retracted by their values, arranged by their key, and in the order of their values."""

    name = "derived rows"

    def new(self) -> _Derived:
        return _Derived(self._dictionary)

    def step(self, state: _Derived, commit: Commit, time: int) -> None:
        diffs = np.array([diff for _, diff in commit], np.int64)
        batch = Batch(_arrow(commit), state.readers)
        state.rows.apply(Delta([Group(batch)], plain_layout(2), len(commit), time, diffs))  # type: ignore[attr-defined]
        for each in state.followers:
            each.catch_up()


def _arranged(store: RowStore) -> Arrangement:
    return Arrangement(store, (0,), LAYOUT)


def _value(delta: Delta) -> Column:
    return delta.column(1)


@cache
def _arrow(commit: Commit) -> pa.Table:
    keys, values = zip(*(row for row, _ in commit), strict=True)
    return pa.table([pa.array(keys, pa.int64()), pa.array(values, pa.int64())], names=["k", "v"])


@cache
def commits(model: Model, many: bool) -> list[tuple[Commit, Model]]:
    """One row or two that come or go, in either order, where these are there; or both with one row."""
    rows = list(product(range(KEYS), range(VALUES)))
    changes = [(row, -1) for row in model] + [(row, 1) for row in rows]
    found: list[tuple[Commit, Model]] = []
    for some in (*combinations(changes, 1), *combinations(changes, 2)):
        after = list(model)
        for row, diff in some:
            (after.remove if diff < 0 else after.append)(row)
        of_key = [sum(key == row[0] for row in after) for key in range(KEYS)]
        if max(of_key) <= (VALUES if many else 1) and not (len(some) == 2 and some[0][0] == some[1][0]):
            found.extend((each, tuple(sorted(after))) for each in {some, some[::-1]})
    return found
