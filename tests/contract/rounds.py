"""State of loops under the contract: groups by round, and rows that may be there less than not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from ivm.catalog.types import BIGINT, VARCHAR
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.keyed.round_groups import RoundExtremes, RoundGroups
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.kinds import TEXTS, History, Kind, Row, Update
from tests.contract.rows import LAYOUT, TYPES, DerivedKind
from tests.found_rounds import Cells, found_cells, found_signed, found_values
from tests.loops.rounds import Change, Extremes, Rounds, summed, without_nothing
from tests.reduce.model import to_delta

_KEYS = ((BIGINT, False), (VARCHAR, True))
_MOST_ROUNDS = 6


class RoundsKind(Kind):
    """Groups by round; a change is that of one time."""

    name = "groups by round"
    keeps_history = False
    keyed = True

    def new(self, dictionary: TextDictionary) -> Rounds:
        made = self.blank(dictionary)
        made.begin()
        made.change()
        made.groups.seal(0, 0)
        return made

    def blank(self, dictionary: TextDictionary) -> Rounds:
        return Rounds(_KEYS if self.keyed else (), dictionary, sums=True)

    def states(self, state: Rounds) -> list[RoundGroups]:
        return [state.groups]

    def change(self, random: Random, time: int, history: History) -> Change:
        there = [(row, n) for row, n in self._rows(history).items()]
        if random.random() < 0.2:  # all goes
            return [(row, -n, 0) for row, n in there]
        change = list[tuple[Row, int, int]]()
        for _ in range(random.randint(1, 12)):
            if there and random.random() < 0.6:
                row, n = random.choice(there)
                diff = random.choice((-n, -n, 1))
            else:
                key = (random.randrange(6), random.choice(TEXTS)) if self.keyed else ()
                row, diff = (*key, random.choice((None, 1, 5, -(2**62))), random.randrange(_MOST_ROUNDS)), 1
            change.append((row, diff, random.randint(0, row[-1])))
        return change

    def step(self, state: Rounds, change: Change, time: int) -> None:
        list(state.pass_over(change, time))

    def expected(self, history: History) -> Cells:
        return self.blank(TextDictionary()).cells(self._rows(history))

    def contents(self, state: Rounds) -> Cells:
        found = found_cells(state.groups)
        assert state.groups.size().rows == sum(map(len, found.values()))
        return without_nothing(summed(found), stays=not self.keyed)

    def reader(self, state: Rounds, as_of: int) -> Callable[[], Any]:
        found = self.contents(state)  # only steps read it, at once
        return lambda: found

    def _rows(self, history: History) -> Counter[Row]:
        rows: Counter[Row] = Counter()
        for _, change in history:
            for row, diff, _ in change:
                rows[row] += diff
        return Counter({row: n for row, n in rows.items() if n})


class ExtremesKind(Kind):
    """Groups of which the least value of each round is asked; a change is that of one time."""

    name = "least values by round"
    keeps_history = False
    largest = False

    def new(self, dictionary: TextDictionary) -> Extremes:
        return Extremes(_KEYS, dictionary, largest=self.largest)

    def states(self, state: Extremes) -> list[RoundExtremes]:
        return [state.groups]

    def change(self, random: Random, time: int, history: History) -> Change:
        there, change = self.expected(history), list[tuple[Row, int, int]]()
        goes = random.random() < 0.2  # all goes
        for row, n in there.items():
            if goes or random.random() < 0.3:
                change.append((row, -random.randint(1, n) if not goes else -n, random.randint(0, row[-1])))
        for _ in range(random.randint(0, 12)):
            row = (random.randrange(6), random.choice(TEXTS), random.randrange(-4, 4), random.randrange(_MOST_ROUNDS))
            change.append((row, random.randint(1, 2), random.randint(0, row[-1])))
        return change

    def step(self, state: Extremes, change: Change, time: int) -> None:
        state.change(change, time)

    def expected(self, history: History) -> Counter[Row]:
        rows: Counter[Row] = Counter()
        for _, change in history:
            for row, diff, _ in change:
                rows[row] += diff
        return Counter({row: n for row, n in rows.items() if n})

    def contents(self, state: Extremes) -> Counter[Row]:
        return Counter({row: n for row, n in found_values(state.groups).items() if n})

    def reader(self, state: Extremes, as_of: int) -> Callable[[], Any]:
        found = self.contents(state)  # only steps read it, at once
        return lambda: found


class LargestKind(ExtremesKind):
    """The same, of which the largest is asked."""

    name = "largest values by round"
    largest = True


class OneRoundsKind(RoundsKind):
    """The one group without a key, by round."""

    name = "one group by round"
    keyed = False


class Signed(SignedRows[Any]):
    """Signed rows, with what makes columns of theirs."""

    def __init__(self, dictionary: TextDictionary) -> None:
        super().__init__(TYPES, dictionary, lambda store: Arrangement(store, (0,), LAYOUT))
        self.dictionary = dictionary


class SignedKind(DerivedKind):
    """A collection of differences, arranged by its first column."""

    name = "signed rows"

    def new(self, dictionary: TextDictionary) -> Signed:
        return Signed(dictionary)

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        there, updates = list(self.expected(history).items()), list[Update]()
        for _ in range(random.randint(0, 12)):
            if there and random.random() < 0.5:
                row, n = random.choice(there)
                updates.append((row, random.choice((-n, -n, -1, 1))))
            else:
                row = (random.randrange(20), random.choice(TEXTS), random.choice((None, 0.5, -2.0)))
                updates.append((row, random.choice((1, 1, -1, 2, -2))))
        return updates

    def step(self, state: Signed, change: list[Update], time: int) -> None:
        given = [(row, time, diff) for row, diff in change]
        types = tuple((type_, True) for type_ in TYPES)
        if given:
            state.apply(to_delta(given, types, state.dictionary))

    def contents(self, state: Signed) -> dict[Row, int]:
        return dict(found_signed(state))

    def reader(self, state: Signed, as_of: int) -> Callable[[], dict[Row, int]]:
        reader = state.reader(as_of)

        def read() -> dict[Row, int]:
            table, found = reader.arrow(["a", "t", "d", "sign"]), Counter[Row]()
            for *row, sign in zip(*(column.to_pylist() for column in table.columns), strict=True):
                found[tuple(row)] += sign
            assert all(found.values()), "a row and its opposite are both there"
            return dict(found)

        return read
