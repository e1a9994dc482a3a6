"""State of loops in a small scope: groups by round, and rows that may be there less than not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

from ivm.catalog.types import BIGINT, VARCHAR
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.keyed.round_groups import RoundGroups
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.text.dictionary import TextDictionary
from tests.found_rounds import Cells, found_cells, found_signed
from tests.histories.rows import LAYOUT, WORDS
from tests.histories.walk import APART, Scope
from tests.loops.rounds import Rounds, without_nothing
from tests.reduce.model import to_delta

KEYS, ROUNDS = 4, 2
KEYS_BY_TEXT = ("ant", "", None, "a text that is longer than the others are")
Counts = tuple[int, ...]
"""How many more rows each key has in each round than in those before it, key by key."""
Commit = tuple[int, tuple[tuple[int, int], ...]]
"""How many times it has, one or `APART`; the places of counts, each with how much it grows."""


class RoundsScope(Scope):
    """A commit changes a count or two, in their order or against it, or one count twice; at one time, or at two.

    Of one time what the groups change in each round is held against their twin.
    """

    def __init__(self, *, by_text: bool = False) -> None:
        self.name = "groups by round" + " and text" * by_text
        key = [((VARCHAR, True), (BIGINT, False)), ((BIGINT, False),)][not by_text]
        self._groups = Rounds(key, TextDictionary())
        self._keys = [(text, 1) if by_text else (number,) for number, text in enumerate(KEYS_BY_TEXT)]

    def new(self) -> RoundGroups:
        return Rounds(self._groups.keys, self._groups.dictionary).groups

    def states(self, state: RoundGroups) -> Sequence[RoundGroups]:
        return (state,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        return (), ((1, ((0, 1), (1, -1))), (1, ((2, 1), (7, 1))))

    def empty(self) -> Counts:
        return (0,) * KEYS * ROUNDS

    def commits(self, model: Counts, keys: Sequence[int]) -> Iterable[Commit]:
        return narrow_commits(model, keys) if keys else commits(model)

    def after(self, model: Counts, commit: Commit) -> Counts:
        counts = list(model)
        for place, more in commit[1]:
            counts[place] += more
        return tuple(counts)

    def step(self, state: RoundGroups, commit: Commit, time: int) -> None:
        groups, before = self._groups, found_cells(state)
        groups.groups = state
        change = [((*self._keys[place // ROUNDS], place % ROUNDS), more, 0) for place, more in commit[1]]
        found = groups.change(change, time)
        expected = groups.changes(before, found_cells(state))
        assert found == expected, f"rounds change {found}, not {expected}"

    def check(self, state: RoundGroups, model: Counts, time: int) -> None:
        found, expected = found_cells(state), self._cells(model)
        held = without_nothing(found, stays=False)
        assert held == expected, f"held is {found}, there are {expected}"
        assert state.size().rows == sum(map(len, found.values()))
        if state.mark()[:2] == (0, 0):
            assert found == held, f"what holds nothing stays: {found}"
            told = {code for codes in state.codes() for code in codes.tolist()}
            texts = [text for text, *number in found if number and text]
            assert told.issuperset(self._groups.dictionary.codes(texts).tolist()), "a text is not told of"

    def reader(self, state: RoundGroups, time: int) -> Callable[[], Counts]:
        raise AssertionError("nobody reads groups of a loop")

    def _cells(self, model: Counts) -> Cells:
        rows = Counter({(*self._keys[place // ROUNDS], place % ROUNDS): n for place, n in enumerate(model) if n})
        return self._groups.cells(rows)


@cache
def commits(model: Counts) -> list[Commit]:
    """All that change a count of the first three keys, or two of two keys or one; or one twice. Counts are -1 to 1."""
    found, places = list[Commit](), range(3 * ROUNDS)
    for chosen in (*combinations(places, 1), *permutations(places, 2)):
        for to in product(*([count for count in (-1, 0, 1) if count != model[place]] for place in chosen)):
            change = tuple((place, count - model[place]) for place, count in zip(chosen, to, strict=True))
            found.append((1, change))
            if len(chosen) == 2 and chosen[0] // ROUNDS == chosen[1] // ROUNDS:
                found.append((APART, change))
    for place, first, last in product(places, (-1, 0, 1), (-1, 0, 1)):
        if model[place] != first != last:
            change = (place, first - model[place]), (place, last - first)
            found += [(1, change), (APART, change)]
    return found


@cache
def narrow_commits(model: Counts, keys: Sequence[int]) -> list[Commit]:
    """A row of one of the keys comes in a round, or goes, or goes and comes in another."""
    found = list[Commit]()
    for key in keys:
        first, second = (key * ROUNDS + number for number in range(ROUNDS))
        for place in (first, second):
            found.append((1, ((place, -1 if model[place] else 1),)))
        if model[first] != model[second]:
            found.append((1, ((first, model[second] - model[first]), (second, model[first] - model[second]))))
    return found


class SignedScope(Scope):
    """A commit changes the count of a row or two, or of one twice; each is there once, not at all, or once less."""

    name = "signed rows"

    def __init__(self) -> None:
        self._dictionary = TextDictionary()
        self._rows = [(key, text) for key, text in enumerate(KEYS_BY_TEXT)]

    def new(self) -> SignedRows[Any]:
        return SignedRows((BIGINT, VARCHAR), self._dictionary, lambda store: Arrangement(store, (0,), LAYOUT))

    def states(self, state: SignedRows[Any]) -> Sequence[DerivedRows[Any]]:
        return (state,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        return (), ((1, ((0, 1), (1, -1))), (1, ((2, 1), (3, 1))))

    def empty(self) -> Counts:
        return (0,) * KEYS

    def commits(self, model: Counts, keys: Sequence[int]) -> Iterable[Commit]:
        places = keys or range(KEYS)
        found = list[Commit]()
        for chosen in (*combinations(places, 1), *(() if keys else permutations(places, 2))):
            for to in product(*([count for count in (-1, 0, 1) if count != model[place]] for place in chosen)):
                found.append((1, tuple((place, n - model[place]) for place, n in zip(chosen, to, strict=True))))
        for place, first, last in product(places, (-1, 0, 1), (-1, 0, 1)):
            if model[place] != first != last:
                found.append((APART, ((place, first - model[place]), (place, last - first))))
        return found

    def after(self, model: Counts, commit: Commit) -> Counts:
        counts = list(model)
        for place, more in commit[1]:
            counts[place] += more
        return tuple(counts)

    def step(self, state: SignedRows[Any], commit: Commit, time: int) -> None:
        updates = [(self._rows[place], time, more) for place, more in commit[1]]
        state.apply(to_delta(updates, ((BIGINT, False), (VARCHAR, True)), self._dictionary))

    def check(self, state: SignedRows[Any], model: Counts, time: int) -> None:
        expected = {self._rows[place]: count for place, count in enumerate(model) if count}
        found = dict(found_signed(state))
        assert found == expected, f"found are {found}, there are {expected}"
        assert state.size().rows == len(expected)
        positions, group = state.arranged.look_up(*WORDS, time, True)
        signs = group.column(2).values.tolist()
        looked_up = Counter(dict(zip(positions.tolist(), signs, strict=True)))
        assert looked_up == {row[0]: n for row, n in expected.items()}, f"{looked_up} are looked up"

    def reader(self, state: SignedRows[Any], time: int) -> Callable[[], Counts]:
        read = state.reader(time)

        def counts() -> Counts:
            table = read.arrow(["k", "v", "sign"])
            found = {key: sign for key, _, sign in zip(*(c.to_pylist() for c in table.columns), strict=True)}
            return tuple(found.get(key, 0) for key in range(KEYS))

        return counts
