"""Settled groups of a loop in a small scope: rows that stay in the round in which they came, while they have support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product

import numpy as np

from ivm.catalog.types import BIGINT, VARCHAR
from ivm.kernels.groups.block import USED
from ivm.trace.keyed.round_groups import RoundGroups
from ivm.trace.text.dictionary import TextDictionary
from tests.found_rounds import Row, found_cells
from tests.histories.rounds import KEYS, KEYS_BY_TEXT
from tests.histories.walk import APART, Scope
from tests.loops.rounds import Rounds, without_nothing

ROUNDS = 3
Group = tuple[int, tuple[int, ...]]
"""The round in which a row stands, or -1, and how often it is led to in each round."""
Groups = tuple[Group, ...]
"""That of each key."""
Places = tuple[tuple[int, int], ...]
"""Counts that change, by their place, key by key and round by round; each with how much it grows."""
Commit = tuple[int, Places]
"""How many times it has, one or `APART`."""


class SettledScope(Scope):
    """A commit changes a count or two, in their order or against it, or one count twice; at one time, or at two.

    What is of a round comes in the one before it, as in a loop. Of one time what each round changes, and afterwards
    where each row stands, is held against a twin that asks in every round.
    """

    def __init__(self, *, by_text: bool = False) -> None:
        self.name = "settled groups" + " and text" * by_text
        key = [((VARCHAR, True), (BIGINT, False)), ((BIGINT, False),)][not by_text]
        self._groups = Rounds(key, TextDictionary(), settled=True)
        self._keys = [(text, 1) if by_text else (number,) for number, text in enumerate(KEYS_BY_TEXT)]

    def new(self) -> RoundGroups:
        return Rounds(self._groups.keys, self._groups.dictionary, settled=True).groups

    def states(self, state: RoundGroups) -> Sequence[RoundGroups]:
        return (state,)

    def roots(self) -> Sequence[Sequence[Commit]]:
        return (), ((1, ((0, 1), (1, 1))), (1, ((4, 1), (11, 1))))

    def empty(self) -> Groups:
        return ((-1, (0,) * ROUNDS),) * KEYS

    def commits(self, model: Groups, keys: Sequence[int]) -> Iterable[Commit]:
        counts = tuple(count for _, each in model for count in each)
        return narrow_commits(counts, keys) if keys else commits(counts)

    def after(self, model: Groups, commit: Commit) -> Groups:
        times, places = commit
        for each in ((place,) for place in places) if times == APART else (places,):
            model = tuple(_settled(group, _of_key(key, each))[0] for key, group in enumerate(model))
        return model

    def step(self, state: RoundGroups, commit: Commit, time: int) -> None:
        groups = self._groups
        groups.groups = state
        before, change = self._found(state), list[tuple[Row, int, int]]()
        for place, more in commit[1]:
            key, number = divmod(place, ROUNDS)
            change.append(((*self._keys[key], number), more, max(number - 1, 0)))
        found, expected = groups.change(change, time), dict[int, Counter[Row]]()
        for key, group in enumerate(before):
            for number, diff in _settled(group, _of_key(key, commit[1]))[1]:
                expected.setdefault(number, Counter())[self._keys[key]] += diff
        assert found == expected, f"rounds change {found}, not {expected}"

    def check(self, state: RoundGroups, model: Groups, time: int) -> None:
        found = self._found(state)
        assert found == model, f"held is {found}, there are {model}"
        cells = found_cells(state)
        assert state.size().rows == sum(map(len, cells.values()))
        if state.mark()[:2] == (0, 0):
            assert cells == without_nothing(cells, stays=False), f"what holds nothing stays: {cells}"
            assert len(self._ranks(state)) == sum(any(counts) for _, counts in model)

    def reader(self, state: RoundGroups, time: int) -> Callable[[], Groups]:
        raise AssertionError("nobody reads groups of a loop")

    def _found(self, state: RoundGroups) -> Groups:
        cells, ranks = found_cells(state), self._ranks(state)
        nothing = (0,)
        return tuple(
            (ranks.get(key, 0) - 1, tuple(cells.get(key, {}).get(number, nothing)[0] for number in range(ROUNDS)))
            for key in self._keys
        )

    def _ranks(self, state: RoundGroups) -> dict[Row, int]:
        """The round + 1 of each group that has a slot."""
        width = state.layout.words
        table = state._store.table.rows.array[: int(state._store.counts[USED])]
        table = np.ascontiguousarray(table[table[:, width] >= 0])
        return dict(zip(found_cells(state), table[:, width + 2].tolist(), strict=True))


def _of_key(key: int, places: Places) -> list[int]:
    """How much more often a key is led to in each round."""
    return [sum(more for place, more in places if place == key * ROUNDS + number) for number in range(ROUNDS)]


def _settled(group: Group, more: Sequence[int]) -> tuple[Group, list[tuple[int, int]]]:
    """What becomes of a group, and the rounds in which its row comes, or goes."""
    stands, counts = group[0], tuple(count + change for count, change in zip(group[1], more, strict=True))
    changes = list[tuple[int, int]]()
    for number in range(ROUNDS):
        supported = any(counts[: number + 1])
        if stands < 0 and supported:
            stands = number
            changes.append((number, 1))
        elif stands == number and not supported:
            stands = -1
            changes.append((number, -1))
    return (stands, counts), changes


@cache
def commits(counts: tuple[int, ...]) -> list[Commit]:
    """All that change a count of the first three keys, or two of two keys or one; or one twice. Counts are 0 or 1."""
    places = range((len(KEYS_BY_TEXT) - 1) * ROUNDS)
    found = [
        commit for chosen in (*combinations(places, 1), *permutations(places, 2)) for commit in _turned(counts, chosen)
    ]
    for place in places:
        turn = _turn(counts, place)
        found += [(times, ((place, turn), (place, -turn))) for times in (1, APART)]
    return found


@cache
def narrow_commits(counts: tuple[int, ...], keys: Sequence[int]) -> list[Commit]:
    """A row of one of the keys is led to in one round more, or in one less, or in one less and one more."""
    found = list[Commit]()
    for key in keys:
        places = range(key * ROUNDS, (key + 1) * ROUNDS)
        found += [(1, ((place, _turn(counts, place)),)) for place in places]
        moves = product([p for p in places if counts[p]], [p for p in places if not counts[p]])
        found += [(1, ((goes, -1), (comes, 1))) for goes, comes in moves]
    return found


def _turned(counts: tuple[int, ...], chosen: tuple[int, ...]) -> Iterator[Commit]:
    """These counts change, of one key also at two times."""
    change = tuple((place, _turn(counts, place)) for place in chosen)
    yield 1, change
    if len(chosen) == 2 and chosen[0] // ROUNDS == chosen[1] // ROUNDS:
        yield APART, change


def _turn(counts: tuple[int, ...], place: int) -> int:
    """What a count of 0 or 1 grows by to become the other one."""
    return -1 if counts[place] else 1
