"""Groups under the contract: keys of a number and a text that can be NULL, a count and the text that came last."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from ivm.catalog import types
from ivm.trace.columns.arrow import to_column
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.segment import column_to_arrow
from ivm.trace.keyed.group_table import Fields
from ivm.trace.keyed.groups import Groups
from ivm.trace.text.dictionary import TextDictionary
from tests.arrays import array_of
from tests.contract.kinds import TEXTS, History, Kind

Change = list[tuple[tuple[int, str | None], int, str]]
"""Keys, how much they count more, and their new text."""

_KEYS = ((types.BIGINT, False), (types.VARCHAR, True))
_TYPES = tuple(type_ for type_, _ in _KEYS)


class _Held:
    def __init__(self, dictionary: TextDictionary) -> None:
        self.dictionary = dictionary
        self.groups = Groups(_KEYS, Fields((None, types.VARCHAR)), dictionary)

    def shown(self, rows: Ints) -> dict[Any, Any]:
        """What rows of the groups say."""
        rows = rows[rows[:, self.groups.layout.words + 1] != 0]
        keys = self.groups.layout.unpack(np.ascontiguousarray(rows[:, : self.groups.layout.words]))
        keys.append(Column(rows[:, -1].astype(np.int32)))
        columns = [
            column_to_arrow(column, type_, self.dictionary.now()).to_pylist()
            for column, type_ in zip(keys, (*_TYPES, types.VARCHAR), strict=True)
        ]
        counts = rows[:, self.groups.layout.words + 1].tolist()
        return {(k, t): (count, text) for k, t, text, count in zip(*columns, counts, strict=True)}


class GroupsKind(Kind):
    name = "groups"
    keeps_history = False

    def new(self, dictionary: TextDictionary) -> _Held:
        return _Held(dictionary)

    def states(self, state: _Held) -> list[Groups[Fields]]:
        return [state.groups]

    def change(self, random: Random, time: int, history: History) -> Change:
        held, change = self.expected(history), []
        low = random.choice((0, 2 * len(history)))
        for number in range(low, low + random.randint(1, 12)):
            key = (number, random.choice(TEXTS)) if random.random() < 0.7 or not held else random.choice(list(held))
            there = held.get(key, (0, ""))[0]
            more = random.choice((1, 2, -there, -there))
            held[key] = (there + more, random.choice(TEXTS) or "" if there + more else "")
            change.append((key, more, held[key][1]))
        return change

    def step(self, state: _Held, change: Change, time: int) -> None:
        keys = [key for key, _, _ in change]
        columns = [
            to_column(array_of([key[i] for key in keys], type_), type_, state.dictionary)
            for i, type_ in enumerate(_TYPES)
        ]
        words, _ = state.groups.layout.pack(columns, len(keys))
        groups = state.groups
        cells = groups.open(words, time)
        after = groups.state[cells.slot, state.groups.layout.words + 1 :].copy()
        for cell, (_, more, text) in zip(cells.row_cell, change, strict=True):
            after[cell] = (after[cell, 0] + more, state.dictionary.code(text))
        groups.put(after)

    def expected(self, history: History) -> dict[Any, Any]:
        held: dict[Any, tuple[int, str]] = {}
        for _, change in history:
            for key, more, text in change:
                held[key] = (held.get(key, (0, ""))[0] + more, text)
                if held[key][0] == 0:
                    del held[key]
        return held

    def contents(self, state: _Held) -> dict[Any, Any]:
        groups = state.groups
        return state.shown(groups.state[: groups.used])

    def reader(self, state: _Held, as_of: int) -> Callable[[], Any]:
        reader = state.groups.reader(as_of)
        return lambda: state.shown(reader.rows(0, reader.used))
