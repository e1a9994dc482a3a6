"""Rows in a small scope: tables with a key and without, and derived rows, each with what follows them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.errors import NumericError
from catalog.schema import Field, Table
from catalog.types import BIGINT, DOUBLE, VARCHAR, Physical, SqlType
from ivm.trace.arrangement import Arrangement
from ivm.trace.batch import Batch, Reader, Readers
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.dictionary import TextDictionary
from ivm.trace.follower import Follower
from ivm.trace.keys import KeyLayout
from ivm.trace.ordered_arrangement import OrderedArrangement
from ivm.trace.row_store import RowsReader, RowStore
from ivm.trace.rows import DerivedRows, Rows
from ivm.trace.table_store import TableStore
from ivm.trace.time import ALIVE
from tests.histories.updates import KEYS, RECENT, WORTH, Commit, Model, UpdatesScope, diffs_of, times_of, worth

LAYOUT = KeyLayout(((Physical.INT64, False),), nulls="drop")
WORDS = LAYOUT.pack([Column(np.arange(KEYS))], KEYS)


class RowsScope(UpdatesScope):
    """What is asked is looked up in every follower, and read. `type_` is that of values."""

    def __init__(self, type_: SqlType = BIGINT) -> None:
        self.type = type_
        self.name += " with texts" * (type_ is VARCHAR)
        self._dictionary = TextDictionary()

    def states(self, state: Any) -> Sequence[Any]:
        return (state.rows,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        """The last one has the least key alone, so that others may come in its order, and out of it."""
        return *super().roots(), RECENT[:1]

    def check(self, state: Any, model: Model, time: int) -> None:
        store, there = state.rows.store, self.shown(model)
        for arranged in state.followers:
            positions, group = arranged.look_up(*WORDS, time, True)
            keys, found = self._of(store, group.refs)
            assert positions.tolist() == keys, f"keys {positions.tolist()} have rows of keys {keys}"
            expected = self.seen(there)
            assert found == expected, f"{type(arranged).__name__} finds {found}, there are {expected}"
        _, found = self._of(store, np.flatnonzero(store.died == ALIVE) if len(store.died) else np.arange(store.rows))
        assert found == there, f"living are {found}, there are {there}"
        assert state.rows.count == len(model), f"{state.rows.count} rows are counted, there are {there}"

    def shown(self, model: Model) -> list[tuple[Any, ...]]:
        """The rows, with the values that they have, in no matter which order, but always in the same."""
        return sorted(((key, worth(self.type, key, v)) for key, v in model), key=repr)

    def seen(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Those of the rows that followers find."""
        return rows

    def reader(self, state: Any, time: int) -> _Read:
        return _Read(state.rows.reader(time), self)

    def _of(self, store: RowStore, refs: Ints) -> tuple[list[int], list[tuple[Any, ...]]]:
        """The keys of rows, and the rows."""
        keys = store.gather(0, refs).values.tolist()
        if self.type is VARCHAR:
            values = store.columns.arrow(1, refs).to_pylist()
        else:
            column = store.gather(1, refs)
            valid = [True] * len(refs) if column.valid is None else column.valid.tolist()
            values = [v if there else None for v, there in zip(column.values.tolist(), valid, strict=True)]
        return keys, sorted(zip(keys, values, strict=True), key=repr)

    @cache  # noqa: B019
    def arrow(self, commit: Commit) -> pa.Table:
        """The rows of a commit."""
        keys, values = zip(*((row[0], worth(self.type, *row)) for row, _ in commit[1]), strict=True)
        types = {BIGINT: pa.int64(), VARCHAR: pa.string(), DOUBLE: pa.float64()}
        return pa.table([pa.array(keys, pa.int64()), pa.array(values, types[self.type])], names=["k", "v"])


class _Read:
    """The rows that a reader sees."""

    def __init__(self, reader: RowsReader, scope: RowsScope) -> None:
        self._reader = reader
        self._number = {(key, worth(scope.type, key, v)): (key, v) for key in range(KEYS) for v in range(2)}

    def __call__(self) -> Model:
        table = self._reader.arrow(["k", "v"])
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return tuple(sorted(self._number[row] for row in rows))


class _Table:
    def __init__(self, fields: tuple[Field, ...], key: tuple[str, ...], dictionary: TextDictionary) -> None:
        self.rows = TableStore(Table("t", fields, key), dictionary)
        self.followers = [self.rows.arrangement((0,)), self.rows.arrangement((0,), shared=False)]


class TableScope(RowsScope):
    """A table without a key."""

    name = "table"
    key: tuple[str, ...] = ()

    def new(self) -> _Table:
        fields = Field("k", BIGINT, nullable=False), Field("v", self.type, nullable=self.type is not BIGINT)
        return _Table(fields, self.key, self._dictionary)

    def step(self, state: _Table, commit: Commit, time: int) -> None:
        state.rows.apply(self.arrow(commit), diffs_of(commit), times_of(commit, time))
        for each in state.followers:
            each.catch_up()


class KeyedTableScope(TableScope):
    """A table with a key, and with an index of its own beside that of the key."""

    name = "keyed table"
    key = ("k",)
    most = 1


class _Derived:
    """Derived rows with one arrangement."""

    def __init__(self, type_: SqlType, dictionary: TextDictionary, ordered: bool) -> None:
        def arranged(store: RowStore) -> Arrangement | OrderedArrangement:
            if ordered:
                return OrderedArrangement(store, (0,), LAYOUT, _value, type_, dictionary)
            return Arrangement(store, (0,), LAYOUT)

        self.rows: Rows = DerivedRows((BIGINT, type_), dictionary, arranged)
        self.followers: list[Follower] = self.rows.followers()
        self.readers = Readers([Reader(each, dictionary) for each in (BIGINT, type_)])


class DerivedScope(RowsScope):
    """Derived rows: retracted by their values, arranged by their key."""

    name = "derived rows"
    is_ordered = False

    def new(self) -> _Derived:
        return _Derived(self.type, self._dictionary, self.is_ordered)

    def step(self, state: _Derived, commit: Commit, time: int) -> None:
        batch, times = Batch(self.arrow(commit), state.readers), times_of(commit, time)
        delta = Delta([Group(batch)], plain_layout(2), len(commit[1]), times, diffs_of(commit))
        state.rows.apply(delta)  # type: ignore[attr-defined]


class OrderedArrangementScope(DerivedScope):
    """Derived rows in the order of a value, which may be NULL, or such as cannot be computed."""

    name = "ordered arrangement"
    is_ordered = True

    def __init__(self) -> None:
        super().__init__(DOUBLE)

    def check(self, state: _Derived, model: Model, time: int) -> None:
        super().check(state, model, time)
        store, arranged = state.rows.store, state.followers[0]
        assert isinstance(arranged, OrderedArrangement)
        assert arranged.rows == store.rows, f"{arranged.rows} rows of {store.rows} are in order"
        most = len(self.seen(self._of(store, np.arange(store.rows))[1]))
        assert arranged.size().entries <= most, f"{arranged.size().entries} entries are of {most} rows"

    def seen(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [row for row in rows if row[1] is not None]


def _value(delta: Delta) -> Column:
    value = delta.column(1)
    if ((value.values == WORTH[DOUBLE][-1]) & (True if value.valid is None else value.valid)).any():
        raise NumericError("it is out of range")
    return value
