"""Groups in a small scope: four keys, each with up to two rows, which are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from ivm.catalog import types
from ivm.trace.columns.arrow import to_column
from ivm.trace.columns.column import Column, Ints
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_table import Fields
from ivm.trace.keyed.groups import Groups
from ivm.trace.text.dictionary import TextDictionary
from tests.arrays import array_of
from tests.found_groups import found_groups
from tests.histories.walk import APART, Scope

KEYS, ROWS = 4, 2
TEXTS = ("ant", "", None, "a text that is longer than the others are")
Counts = tuple[int, ...]
"""How many rows each key has."""
Commit = tuple[int, tuple[tuple[int, int], ...]]
"""How many times it has, one, or as many as changes, or `APART`; keys, each with how many more rows it has."""


class GroupsScope(Scope):
    """A commit changes one key or two, in their order or against it, or one key twice; at one time or at two.

    Where it is at two, fields are laid out anew first, though as they were.

    `by_text`: keys are a text that may be NULL and a number, two words; otherwise a number.
    """

    def __init__(self, *, by_text: bool = False) -> None:
        self.name = "groups" + " by text" * by_text
        self._dictionary = TextDictionary()
        columns: list[Column] = [Column(np.arange(KEYS))]
        self._types: list[tuple[Any, bool]] = [(types.BIGINT, False)]
        if by_text:
            columns.insert(0, to_column(array_of(list(TEXTS), types.VARCHAR), types.VARCHAR, self._dictionary))
            self._types.insert(0, (types.VARCHAR, True))
        layout = self.new().layout
        self._words: Ints = layout.pack(columns, KEYS)[0].reshape(KEYS, layout.words)
        self._key_of = {key: i for i, key in enumerate(map(tuple, self._words.tolist()))}

    def new(self) -> Groups[Fields]:
        return Groups(self._types, Fields((None,)), self._dictionary)

    def states(self, state: Groups[Fields]) -> Sequence[Groups[Fields]]:
        return (state,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        return ROOTS

    def empty(self) -> Counts:
        return (0,) * KEYS

    def commits(self, model: Counts, keys: Sequence[int]) -> Iterable[Commit]:
        return narrow_commits(model, keys) if keys else commits(model)

    def after(self, model: Counts, commit: Commit) -> Counts:
        counts = list(model)
        for key, more in commit[1]:
            counts[key] += more
        return tuple(counts)

    def step(self, state: Groups[Fields], commit: Commit, time: int) -> None:
        times, changes = commit
        if times > 1:
            state.widen(Fields((None,)), _move)
        words = self._words[[key for key, _ in changes]]
        cells = state.open(words, time if times == 1 else time - 1 + np.arange(times))
        after, known = state.state[cells.slot, -1:].copy(), dict[int, int]()
        for cell, (key, more) in zip(cells.row_cell.tolist(), changes, strict=True):
            after[cell] = known.get(key, after[cell, 0]) + more
            known[key] = after[cell, 0]
        state.put(after)

    def check(self, state: Groups[Fields], model: Counts, time: int) -> None:
        expected = {key: count for key, count in enumerate(model) if count}
        found = {key: count for key, (count,) in found_groups(state, self._words, as_of=time + 1).items()}
        assert found == expected, f"found are {found}, there are {expected}"
        if not state.mark():
            read = _Read(state.reader(time), self._key_of)()
            assert read == model, f"read are {read}, there are {model}"
            assert len(state) >= len(expected)
            told = {code for codes in state.codes() for code in codes.tolist()}
            assert told.issuperset(self._codes_of(expected)), "a text is not told of"

    def reader(self, state: Groups[Fields], time: int) -> _Read:
        return _Read(state.reader(time), self._key_of)

    def _codes_of(self, keys: Iterable[int]) -> set[int]:
        """The codes of the texts of these keys."""
        texts = [text for key in keys if len(self._types) > 1 and (text := TEXTS[key]) is not None]
        return set(self._dictionary.codes(texts).tolist()) if texts else set()


class _Read:
    """What a reader sees, where each group is once."""

    def __init__(self, reader: GroupReader[Fields], key_of: dict[tuple[int, ...], int]) -> None:
        self._reader = reader
        self._key_of = key_of

    def __call__(self) -> Counts:
        rows = self._reader.rows(0, self._reader.used).tolist()
        found = [(self._key_of[tuple(row[:-2])], row[-1]) for row in rows if row[-1]]
        counts = dict(found)
        assert len(found) == len(counts), f"a group is there twice: {found}"
        return tuple(counts.get(key, 0) for key in range(KEYS))


def _move(old: Ints, new: Ints) -> None:
    new[:] = old


@cache
def commits(model: Counts) -> list[Commit]:
    """All commits that change up to two keys, or one key twice, where keys have so many rows."""
    found: list[Commit] = []
    for keys in (*combinations(range(KEYS), 1), *permutations(range(KEYS), 2)):
        for to in product(*([count for count in range(ROWS + 1) if count != model[key]] for key in keys)):
            found.append((1, tuple((key, count - model[key]) for key, count in zip(keys, to, strict=True))))
    for key, first, last in product(range(KEYS), range(ROWS + 1), range(ROWS + 1)):
        if model[key] != first != last:
            found.extend((times, ((key, first - model[key]), (key, last - first))) for times in (1, 2, APART))
    return found


@cache
def narrow_commits(model: Counts, keys: Sequence[int]) -> list[Commit]:
    """A row of one of the keys comes, or goes, or goes and comes again."""
    found: list[Commit] = []
    for key, count in ((key, model[key]) for key in keys):
        if count < ROWS:
            found.append((1, ((key, 1),)))
        if count:
            found += [(1, ((key, -1),)), (1, ((key, -1), (key, 1)))]
    return found


def _root(*counts: int) -> tuple[Commit, ...]:
    """Rows that were there, two keys in a commit."""
    changes = tuple((key, count) for key, count in enumerate(counts) if count)
    return tuple((1, changes[at : at + 2]) for at in range(0, len(changes), 2))


ROOTS = (_root(), _root(2, 1, 1, 2))
