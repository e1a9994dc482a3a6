"""Ordered rows in a small scope, alone or among so many others that nodes split and merge, and the rows of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ivm.catalog.types import VARCHAR
from ivm.kernels.ordered.batch import TreeBatch
from ivm.kernels.ordered.nodes import CHANGES, FANOUT, MERGED, VISITED
from ivm.kernels.windows import tree
from ivm.trace.columns.column import Ints, readonly_diffs
from ivm.trace.delta import delta_of
from ivm.trace.ordered.ordered_tree import ALL_COUNT, AS_THEY_COME, OrderedReader, OrderedRows
from ivm.trace.ordered.row_order import RowOrder
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.log import columns_of
from tests.contract.ordered import TERMS, WindowKind
from tests.histories.updates import (
    KEYS,
    RECENT,
    VALUES,
    WORTH,
    Commit,
    Model,
    Row,
    UpdatesScope,
    diffs_of,
    texts_of,
    times_of,
    whole,
    worth,
)
from tests.trace_state.test_ordered_tree import check_shape

_OTHERS = range(KEYS, KEYS + FANOUT)
_SLOTS = (0, FANOUT, 4 * FANOUT, 4 * FANOUT + 2)
"""Of the keys: before all others, among them, and behind them; those of others are odd."""
_DESCENDING = sorted(WORTH[VARCHAR], key=lambda text: text or "", reverse=True)
"""Texts as they stand, NULL last."""


class OrderedScope(UpdatesScope):
    """Rows by key, descending by their text. `among_others`: a leaf is full, or two of them are about to become one."""

    def __init__(self, *, among_others: bool = False) -> None:
        self.name = "ordered rows" + " among others" * among_others
        self._among_others = among_others
        self._dictionary = TextDictionary()
        rows = [(key, v) for key in range(KEYS + FANOUT) for v in range(VALUES)]
        self._rows = dict(zip(map(tuple, self._keys(self.new(), rows).tolist()), rows, strict=True))

    def new(self) -> OrderedRows:
        return OrderedRows(RowOrder(TERMS), self._dictionary, places=True)

    def states(self, state: OrderedRows) -> Sequence[OrderedRows]:
        return (state,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        if not self._among_others:
            return super().roots()
        full = *RECENT, _all_of(_OTHERS[: FANOUT - KEYS], 1)
        two = *RECENT[:-1], _all_of(_OTHERS, 1), RECENT[-1], _all_of(_OTHERS[: FANOUT + KEYS - MERGED - 1], -1)
        return full, two

    def step(self, state: OrderedRows, commit: Commit, time: int) -> None:
        keys, diffs = self._keys(state, [row for row, _ in commit[1]]), diffs_of(commit)
        for part in (slice(None),) if commit[0] == 1 else (slice(0, 1), slice(1, 2)):
            state.add(TreeBatch(keys[part], ALL_COUNT, readonly_diffs(diffs[part]), AS_THEY_COME))

    def check(self, state: OrderedRows, model: Model, time: int) -> None:
        found = self.reader(state, time)()
        assert found == model, f"found are {found}, there are {model}"
        check_shape(state)
        _count_anew(state, state._nodes.meta, [VISITED, CHANGES])
        told = {code for codes in state.codes() for code in codes.ravel().tolist()}
        assert told.issuperset(self._dictionary.codes(texts_of(model)).tolist()), "a text is not told of"

    def reader(self, state: OrderedRows, time: int) -> _Read:
        return _Read(state.reader(), self._rows)

    def _keys(self, state: OrderedRows, rows: Sequence[Row]) -> Ints:
        columns = columns_of([whole(row) for row in rows], self._dictionary)
        slots = [_SLOTS[key] if key < KEYS else 2 * key + 1 for key, _ in rows]
        return state.batch(columns, np.array(slots, np.int64)).keys


class _Read:
    """What a reader sees, where rows stand in their order."""

    def __init__(self, reader: OrderedReader, rows: dict[tuple[int, ...], Row]) -> None:
        self._reader = reader
        self._rows = rows

    def __call__(self) -> Model:
        found: list[Row] = []
        places: list[tuple[int, int]] = []
        for entries in self._reader.read():
            for *words, count in entries.tolist():
                row = self._rows[tuple(words)]
                found += [row] * count
                places.append((words[0], _DESCENDING.index(worth(VARCHAR, *row))))
        assert places == sorted(set(places)), f"rows are not in order: {places}"
        return (tuple(sorted(found)),)


def _count_anew(state: Any, counts: Ints, forgotten: list[int]) -> None:
    """Let what is final forget how much was visited and changed, so that it is met again.

    How many nodes were visited it does not ask itself; of changes it asks how many came since a mark or a reader came.
    """
    if not (state.is_changing or state._readers.each()):
        counts[forgotten] = 0


def _all_of(keys: Sequence[int], diff: int) -> Commit:
    """A row of each of these keys comes or goes."""
    return 1, tuple(((key, 0), diff) for key in keys)


class WindowScope(UpdatesScope):
    """The rows of partitions by key, with a number, a sum and the greatest text near by."""

    name = "windows"

    def __init__(self) -> None:
        self._kind = WindowKind()
        self._dictionary = TextDictionary()

    def new(self) -> Any:
        return self._kind.new(self._dictionary)

    def states(self, state: Any) -> Sequence[Any]:
        return self._kind.states(state)

    def step(self, state: Any, commit: Commit, time: int) -> None:
        columns = columns_of([whole(row) for row, _ in commit[1]], self._dictionary)
        state.operator.step([delta_of(columns, times_of(commit, time), diffs_of(commit), len(commit[1]))])

    def check(self, state: Any, model: Model, time: int) -> None:
        found = self.reader(state, time)()
        assert found == model, f"found are {found}, there are {model}"
        told = {code for each in self.states(state) for codes in each.codes() for code in codes.ravel().tolist()}
        assert told.issuperset(self._dictionary.codes(texts_of(model)).tolist()), "a text is not told of"
        _count_anew(state.operator._rows, state.operator._rows._nodes.sizes, [tree.VISITED, tree.CHANGES])

    def reader(self, state: Any, time: int) -> _ReadWindows:
        return _ReadWindows(self._kind, state)


class _ReadWindows:
    """What a reader of windows sees, where the values of functions are right."""

    def __init__(self, kind: WindowKind, state: Any) -> None:
        self._kind = kind
        self._state = state
        self._reader = state.operator._rows.reader()

    def __call__(self) -> Model:
        found = self._state.read(self._reader)()
        rows = {whole((key, v)): (key, v) for key in range(KEYS) for v in range(VALUES)}
        there = tuple(sorted(rows[row[:3]] for row in found.elements()))
        expected = self._kind.expected([(0, [(whole(row), 1) for row in there])])
        assert found == expected, f"shown are {found}, it should be {expected}"
        return (there,)
