"""Rows in a small scope: tables with a key and without, and derived rows, each with what follows them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR, Physical, SqlType
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Array, Column, Ints
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Follower
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement
from ivm.trace.rows.row_store import RowStore
from ivm.trace.rows.rows import DerivedRows, Rows
from ivm.trace.rows.rows_reader import RowsReader
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import ALIVE
from tests.histories import updates
from tests.histories.updates import KEYS, RECENT, WORTH, Commit, Model, UpdatesScope, diffs_of, times_of, worth

LAYOUT = KeyLayout(((Physical.INT64, False),), nulls="drop")
PAIRS = KeyLayout(((Physical.INT64, False), (Physical.INT64, False)), nulls="drop")
WORDS = LAYOUT.pack([Column(np.arange(KEYS))], KEYS)
PAIRS_WORDS = PAIRS.pack([Column(np.arange(KEYS) // 2), Column(np.arange(KEYS) % 2)], KEYS)


class RowsScope(UpdatesScope):
    """What is asked is looked up in every follower, and read. `type_` is that of values.

    With a history of some commits it is asked as of each time that may be read. A key may be of two columns, `paired`,
    in the order of its number: two keys each have the first column alike.
    """

    learns = True

    def __init__(self, type_: SqlType = BIGINT, *, history: int = 0, paired: bool = False) -> None:
        self.type = type_
        self.history = history
        self.columns = ("a", "b") if paired else ("k",)
        self.places = tuple(range(len(self.columns)))
        self.layout, self.words = (PAIRS, PAIRS_WORDS) if paired else (LAYOUT, WORDS)
        self.name += " by pairs" * paired
        self.name += " with texts" * (type_ is VARCHAR)
        self.name += (f" with history of {history} commit" + "s" * (history > 1)) * (history > 0)
        self.dictionary = TextDictionary()

    def states(self, state: Any) -> Sequence[Any]:
        return (state.rows,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        """The last one has the least key alone, so that others may come in its order, and out of it."""
        return *super().roots(), RECENT[:1]

    def check(self, state: Any, model: Model, time: int) -> None:
        store, there = state.rows.store, [self.shown(rows) for rows in model]
        for arranged in state.followers:
            for as_of, rows in zip(self.times(time), there, strict=True):
                positions, group = arranged.look_up(*self.words, as_of, True)
                keys, found = self.of(store.columns, group.refs)
                assert positions.tolist() == keys, f"keys {positions.tolist()} have rows of keys {keys}"
                expected = self.seen(rows)
                assert found == expected, f"{type(arranged).__name__} finds {found} as of {as_of}, not {expected}"
        living = np.flatnonzero(store.died == ALIVE) if len(store.died) else np.arange(store.rows)
        _, found = self.of(store.columns, living)
        assert found == there[-1], f"living are {found}, there are {there[-1]}"
        assert state.rows.count == len(model[-1]), f"{state.rows.count} rows are counted, there are {there[-1]}"
        if self.history and not store.unsealed:
            read = self.reader(state, time)()
            assert read == model, f"read are {read}, there are {model}"

    def shown(self, rows: updates.Rows) -> list[tuple[Any, ...]]:
        """The rows, with the values that they have, in no matter which order, but always in the same."""
        return sorted(((key, worth(self.type, key, v)) for key, v in rows), key=repr)

    def seen(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Those of the rows that followers find."""
        return rows

    def reader(self, state: Any, time: int) -> _Read:
        return _Read(state, self.times(time), self)

    def of(self, columns: StoredColumns, refs: Ints) -> tuple[list[int], list[tuple[Any, ...]]]:
        """The keys of rows, and the rows."""
        keys = self.numbers([columns.gather(place, refs).values for place in self.places])
        if self.type is VARCHAR:
            values = columns.arrow(len(self.places), refs).to_pylist()
        else:
            column = columns.gather(len(self.places), refs)
            valid = [True] * len(refs) if column.valid is None else column.valid.tolist()
            values = [v if there else None for v, there in zip(column.values.tolist(), valid, strict=True)]
        return keys, sorted(zip(keys, values, strict=True), key=repr)

    def parts(self, keys: Sequence[int]) -> list[Sequence[int]]:
        """The columns that keys have."""
        return [keys] if len(self.places) == 1 else [[key // 2 for key in keys], [key % 2 for key in keys]]

    def numbers(self, parts: Sequence[Array]) -> list[int]:
        """The keys that have these columns."""
        lists = [part.tolist() for part in parts]
        return lists[0] if len(lists) == 1 else [2 * first + second for first, second in zip(*lists, strict=True)]

    @cache  # noqa: B019
    def arrow(self, commit: Commit) -> pa.Table:
        """The rows of a commit."""
        keys, values = zip(*((row[0], worth(self.type, *row)) for row, _ in commit[1]), strict=True)
        types = {BIGINT: pa.int64(), VARCHAR: pa.string(), DOUBLE: pa.float64()}
        columns = [*(pa.array(part, pa.int64()) for part in self.parts(keys)), pa.array(values, types[self.type])]
        return pa.table(columns, names=[*self.columns, "v"])


class _Read:
    """The rows that a reader sees as of these times."""

    def __init__(self, state: Any, times: Sequence[int], scope: RowsScope) -> None:
        self._readers, self._scope = [state.rows.reader(as_of) for as_of in times], scope
        self._number = {(key, worth(scope.type, key, v)): (key, v) for key in range(KEYS) for v in range(2)}

    def __call__(self) -> Model:
        return tuple(self._rows(each) for each in self._readers)

    def _rows(self, reader: RowsReader) -> updates.Rows:
        *parts, values = reader.arrow([*self._scope.columns, "v"]).columns
        rows = zip(self._scope.numbers([part.to_numpy() for part in parts]), values.to_pylist(), strict=True)
        return tuple(sorted(self._number[row] for row in rows))


class _Table:
    def __init__(self, scope: TableScope) -> None:
        types = [(name, BIGINT, False) for name in scope.columns] + [("v", scope.type, scope.type is not BIGINT)]
        fields = tuple(Field(name, type_, nullable=nullable) for name, type_, nullable in types)
        self.rows = TableStore(Table("t", fields, scope.columns if scope.is_keyed else ()), scope.dictionary)
        self.followers = [self.rows.arrangement(scope.places), self.rows.arrangement(scope.places, shared=False)]


class TableScope(RowsScope):
    """A table without a key."""

    name = "table"
    is_keyed = False

    def new(self) -> _Table:
        return _Table(self)

    def step(self, state: _Table, commit: Commit, time: int) -> None:
        state.rows.apply(self.arrow(commit), diffs_of(commit), times_of(commit, time))
        for each in state.followers:
            each.catch_up()


class KeyedTableScope(TableScope):
    """A table with a key, and with an index of its own beside that of the key."""

    name = "keyed table"
    is_keyed = True
    most = 1


class _Derived:
    """Derived rows with one arrangement."""

    def __init__(self, scope: DerivedScope) -> None:
        def arranged(store: RowStore) -> Arrangement | OrderedArrangement:
            if scope.is_ordered:
                return OrderedArrangement(store, scope.places, scope.layout, _value, scope.type, scope.dictionary)
            return Arrangement(store, scope.places, scope.layout)

        types = *(BIGINT for _ in scope.places), scope.type
        self.rows: Rows = DerivedRows(types, scope.dictionary, arranged)
        self.followers: list[Follower] = self.rows.followers()
        self.readers = Readers([Reader(each, scope.dictionary) for each in types])


class DerivedScope(RowsScope):
    """Derived rows: retracted by their values, arranged by their key."""

    name = "derived rows"
    is_ordered = False

    def new(self) -> _Derived:
        return _Derived(self)

    def step(self, state: _Derived, commit: Commit, time: int) -> None:
        batch, times = Batch(self.arrow(commit), state.readers), times_of(commit, time)
        delta = Delta([Group(batch)], plain_layout(len(self.places) + 1), len(commit[1]), times, diffs_of(commit))
        state.rows.apply(delta)  # type: ignore[attr-defined]


class OrderedArrangementScope(DerivedScope):
    """Derived rows in the order of a value, which may be NULL, or such as cannot be computed."""

    name = "ordered arrangement"
    is_ordered = True

    def __init__(self, *, history: int = 0) -> None:
        super().__init__(DOUBLE, history=history)

    def check(self, state: _Derived, model: Model, time: int) -> None:
        super().check(state, model, time)
        store, arranged = state.rows.store, state.followers[0]
        assert isinstance(arranged, OrderedArrangement)
        assert arranged.rows == store.rows, f"{arranged.rows} rows of {store.rows} are in order"
        most = len(self.seen(self.of(store.columns, np.arange(store.rows))[1]))
        assert arranged.size().entries <= most, f"{arranged.size().entries} entries are of {most} rows"

    def seen(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [row for row in rows if row[1] is not None]


def _value(delta: Delta) -> Column:
    value = delta.column(1)
    if ((value.values == WORTH[DOUBLE][-1]) & (True if value.valid is None else value.valid)).any():
        raise NumericError("it is out of range")
    return value
