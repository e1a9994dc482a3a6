"""Groups by round, driven by themselves, and their slow obvious twin: of each key a dictionary of rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from ivm.catalog.types import BIGINT, SqlType, decimal
from ivm.operators.accumulable import Accumulators, AggregateSpec
from ivm.operators.round_reduce import RoundExtreme, RoundReduce
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import TextDictionary
from tests.found_rounds import Cells, Row
from tests.reduce.model import Types, from_delta, to_delta

Change = Sequence[tuple[Row, int, int]]
"""What one time changes: rows of a key, a value if one is summed up, and a round, each with how many more there are, and
in which round they come, which is that one or one before it."""
SUM = decimal(38, 0)
Slowly = Callable[[], Counter[Row]]


def pass_over(
    groups: RoundReduce | RoundExtreme, given: Types, dictionary: TextDictionary, change: Change, tick: int
) -> Iterator[tuple[int, Delta]]:
    """All rounds of a time, each of which begins with the rows that come in it; what each of them changes."""
    left, due = list(change), groups.due
    while left or due is not None:
        number = min([*(each[2] for each in left), *([] if due is None else [due])])
        coming = [(row, tick, diff) for row, diff, of in left if of == number]
        left = [each for each in left if each[2] != number]
        if coming:
            groups.step([to_delta(coming, given, dictionary)])
        if groups.due == number:
            delta = groups.evaluate(number, tick)
            if delta is not None:
                yield number, delta
        due = groups.due
        assert due is None or due > number, "a round is over once it is evaluated"
    groups.close()


def read_slowly(groups: RoundReduce | RoundExtreme, made: Sequence[SqlType], dictionary: TextDictionary) -> Slowly:
    """Begin to read what groups show in the end: a function that reads on, and gives it."""
    contents = groups.contents((), 1)
    begun = next(contents, None)

    def rest() -> Counter[Row]:
        found = Counter[Row]()
        for delta in chain([] if begun is None else [begun], contents):
            for row, _, diff in from_delta(delta, list(made), dictionary):
                assert row not in found, "each row is there once"
                found[row] = diff
        return found

    return rest


class Rounds(RoundReduce):
    """Groups by `keys`. `sums`: with the sum of a column behind these, which may be NULL; the others: see `RoundReduce`."""

    def __init__(
        self,
        keys: Types,
        dictionary: TextDictionary,
        *,
        sums: bool = False,
        clamps: bool = False,
        settled: bool = False,
    ) -> None:
        self.keys, self.sums, self.clamps, self.dictionary = tuple(keys), sums, clamps, dictionary
        self.given: Types = (*keys, *[(BIGINT, True)] * sums, (BIGINT, False))
        self.made: list[SqlType] = [*(type_ for type_, _ in keys), *[SUM] * sums, BIGINT]
        specs = [AggregateSpec("sum", len(keys), BIGINT, True, SUM)] * sums
        super().__init__(keys, Accumulators(specs), len(keys) + sums, dictionary, clamps=clamps, settled=settled)

    def pass_over(self, change: Change = (), tick: int = 1) -> Iterator[tuple[int, Delta]]:
        """See `pass_over`."""
        return pass_over(self, self.given, self.dictionary, change, tick)

    def change(self, change: Change = (), tick: int = 1) -> dict[int, Counter[Row]]:
        """What all rounds of a time change, by round: rows without their round."""
        found: dict[int, Counter[Row]] = {}
        for number, delta in self.pass_over(change, tick):
            rows = from_delta(delta, self.made, self.dictionary)
            assert {row[-1] for row, _, _ in rows} == {number}, "what a round changes is of that round"
            assert len({row for row, _, _ in rows}) == len(rows), "equal rows are added up"
            assert all(diff for _, _, diff in rows), "what changes nothing is left out"
            found[number] = Counter({row[:-1]: diff for row, _, diff in rows})
        return found

    def end(self, found: Cells) -> Counter[Row]:
        """What groups show in the end of what they hold."""
        return sum((self.shown(key, cells, max(cells, default=0)) for key, cells in found.items()), Counter[Row]())

    def shown(self, key: Row, cells: dict[int, tuple[int, ...]], number: int) -> Counter[Row]:
        """What a group shows of what it holds up to a round."""
        fields = [sum(each) for each in zip(*(cells[of] for of in cells if of <= number), strict=True)]
        count = fields[0] if fields else 0
        if not self.sums:
            times = max(count, 0) if self.clamps else int(count != 0)
            return Counter({key: times} if times else {})
        if count == 0 and (self.keys or number < 0):
            return Counter()
        return Counter([(*key, fields[2] if fields and fields[1] else None)])

    def changes(self, before: Cells, after: Cells) -> dict[int, Counter[Row]]:
        """What each round changes where groups held the one and hold the other."""
        found: dict[int, Counter[Row]] = {}
        for key in {*before, *after}:
            for number in sorted({*before.get(key, {}), *after.get(key, {})}):
                change = Counter[Any]()
                for cells, sign in ((after.get(key, {}), 1), (before.get(key, {}), -1)):
                    for up_to, of in ((number, sign), (number - 1, -sign)):
                        for row, n in self.shown(key, cells, up_to).items():
                            change[row] += of * n
                found.setdefault(number, Counter()).update({row: n for row, n in change.items() if n})
        return {number: rows for number, rows in found.items() if rows}

    def cells(self, rows: Counter[Row]) -> Cells:
        """What groups hold of these rows, the last column of which is the round."""
        found: Cells = {} if self.keys else {(): {}}
        for (*row, number), n in rows.items():
            key, value = tuple(row[: len(self.keys)]), row[-1] if self.sums else 0
            more = (n, n * (value is not None), n * (value or 0)) if self.sums else (n,)
            cells = found.setdefault(key, {})
            cells[number] = tuple(a + b for a, b in zip(cells.get(number, (0,) * len(more)), more, strict=True))
        return without_nothing(found, stays=not self.keys)


def summed(found: Cells) -> Cells:
    """The fields of groups with a sum, its two words as one number."""
    return {
        key: {of: (count, known, (high << 64) + low % (1 << 64)) for of, (count, known, low, high) in cells.items()}
        for key, cells in found.items()
    }


def without_nothing(found: Cells, *, stays: bool) -> Cells:
    """Without rounds that add nothing, and groups without rounds, unless they stay."""
    cells = {key: {of: each for of, each in of_key.items() if any(each)} for key, of_key in found.items()}
    return {key: of_key for key, of_key in cells.items() if of_key or stays}


class Extremes(RoundExtreme):
    """Groups by `keys` of which the least value is asked, or the `largest`; rows are a key, a value and a round."""

    def __init__(self, keys: Types, dictionary: TextDictionary, *, largest: bool = False) -> None:
        self.keys, self.dictionary, self.best = tuple(keys), dictionary, max if largest else min
        self.given: Types = (*keys, (BIGINT, False), (BIGINT, False))
        super().__init__(keys, BIGINT, dictionary, largest=largest)

    def change(self, change: Change = (), tick: int = 1) -> dict[int, Counter[Row]]:
        """What all rounds of a time change, by round: rows without their round."""
        found: dict[int, Counter[Row]] = {}
        for number, delta in pass_over(self, self.given, self.dictionary, change, tick):
            rows = from_delta(delta, [type_ for type_, _ in self.given], self.dictionary)
            assert {row[-1] for row, _, _ in rows} == {number}, "what a round changes is of that round"
            found[number] = Counter({row[:-1]: diff for row, _, diff in rows})
        return found

    def changes(self, before: Counter[Row], after: Counter[Row]) -> dict[int, Counter[Row]]:
        """What each round changes where such rows were there and such are."""
        found: dict[int, Counter[Row]] = {}
        for number in sorted({row[-1] for row in (*before, *after)}):
            change = self._shown(after, number)
            change.subtract(self._shown(after, number - 1))
            change.subtract(self._shown(before, number))
            change.update(self._shown(before, number - 1))
            if any(change.values()):
                found[number] = Counter({row: n for row, n in change.items() if n})
        return found

    def end(self, rows: Counter[Row]) -> Counter[Row]:
        """What groups show in the end of these rows."""
        return self._shown(rows, max((row[-1] for row in rows), default=0))

    def _shown(self, rows: Counter[Row], number: int) -> Counter[Row]:
        there, values = Counter[Row](), dict[Row, list[Any]]()
        for (*row, of), n in rows.items():
            there[tuple(row)] += n if of <= number else 0
        for *key, value in +there:
            values.setdefault(tuple(key), []).append(value)
        return Counter([(*key, self.best(each)) for key, each in values.items()])
