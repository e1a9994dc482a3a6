"""State of loops under the contract: groups by round, and rows that may be there less than not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from catalog.types import BIGINT, VARCHAR, decimal
from ivm.operators.accumulable import Accumulators, AggregateSpec
from ivm.operators.round_reduce import RoundReduce
from ivm.trace.delta import Delta
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.keyed.round_groups import RoundGroups
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.kinds import TEXTS, History, Kind, Row, Update
from tests.contract.rows import LAYOUT, TYPES, DerivedKind
from tests.found_rounds import found_cells, found_signed
from tests.reduce.model import to_delta

Change = Sequence[tuple[Row, int, int]]
"""Rows of a key, a value and a round, each with how many more there are; the round in which they come is the last."""
_MOST_ROUNDS = 6


class Rounds(RoundReduce):
    """Groups by a number and a text that may be NULL, or by nothing, with a sum of values that may be NULL.

    A value is the third column of their input, the round is the fourth.
    """

    def __init__(self, dictionary: TextDictionary, *, keyed: bool) -> None:
        self.keys = ((BIGINT, False), (VARCHAR, True)) if keyed else ()
        self.types = (*self.keys, (BIGINT, True), (BIGINT, False))
        self.dictionary = dictionary
        spec = AggregateSpec("sum", len(self.keys), BIGINT, True, decimal(38, 0))
        super().__init__(self.keys, Accumulators([spec]), len(self.keys) + 1, dictionary)

    def pass_over(self, change: Change = (), tick: int = 1) -> Iterator[Delta]:
        """All rounds of a time, each of which begins with the rows that come in it; what changes in each."""
        left = list(change)
        while left or self.due is not None:
            number = min([*(each[2] for each in left), *([] if self.due is None else [self.due])])
            coming = [(row, tick, diff) for row, diff, of in left if of == number]
            left = [each for each in left if each[2] != number]
            if coming:
                self.step([to_delta(coming, self.types, self.dictionary)])
            if self.due == number:
                delta = self.evaluate(number, tick)
                if delta is not None:
                    yield delta
        self.close()


class RoundsKind(Kind):
    """Groups by round; a change is that of one time."""

    name = "groups by round"
    keeps_history = False
    keyed = True

    def new(self, dictionary: TextDictionary) -> Rounds:
        made = self.blank(dictionary)
        made.begin()
        list(made.pass_over())
        made._groups.seal(0, 0)
        return made

    def blank(self, dictionary: TextDictionary) -> Rounds:
        return Rounds(dictionary, keyed=self.keyed)

    def states(self, state: Rounds) -> list[RoundGroups]:
        return [state._groups]

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

    def expected(self, history: History) -> dict[Row, dict[int, tuple[int, ...]]]:
        found: dict[Row, dict[int, tuple[int, ...]]] = {} if self.keyed else {(): {}}
        for (*key, value, number), n in self._rows(history).items():
            cells = found.setdefault(tuple(key), {})
            total = [0, 0, 0] if number not in cells else list(cells[number])
            total = [total[0] + n, total[1] + n * (value is not None), total[2] + n * (value or 0)]
            cells[number] = (total[0], total[1], total[2])
        return self._without_nothing(found)

    def contents(self, state: Rounds) -> dict[Row, dict[int, tuple[int, ...]]]:
        found = found_cells(state._groups)
        size = state._groups.size()
        assert size.rows == sum(map(len, found.values()))
        sums: dict[Row, dict[int, tuple[int, ...]]] = {key: {} for key in found}
        for key, cells in found.items():
            for number, (count, valid, low, high) in cells.items():
                sums[key][number] = count, valid, (high << 64) + low % (1 << 64)
        return self._without_nothing(sums)

    def reader(self, state: Rounds, as_of: int) -> Callable[[], Any]:
        found = self.contents(state)  # only steps read it, at once
        return lambda: found

    def _rows(self, history: History) -> Counter[Row]:
        rows: Counter[Row] = Counter()
        for _, change in history:
            for row, diff, _ in change:
                rows[row] += diff
        return Counter({row: n for row, n in rows.items() if n})

    def _without_nothing(self, found: dict[Row, dict[int, tuple[int, ...]]]) -> dict[Row, dict[int, tuple[int, ...]]]:
        """Without rounds that add nothing, and groups without rounds; but for that without a key, which stays."""
        cells = {key: {of: each for of, each in of_key.items() if any(each)} for key, of_key in found.items()}
        return {key: of_key for key, of_key in cells.items() if of_key or not self.keyed}


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
