"""Threshold joins against a model that compares every change with every row, as of every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, VARCHAR, decimal
from ivm.operators.bound_leg import Bounds
from ivm.operators.threshold_join import ThresholdJoin
from ivm.operators.walk import Walk
from ivm.trace.delta import Delta
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered import ordered_arrangement
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement
from ivm.trace.rows import compaction
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import Bag, Row, Update, apply, from_column, plain, sort_key, to_delta
from tests.reduce.test_reduce import values_of

KINDS = (BIGINT, INTEGER, DOUBLE, VARCHAR, decimal(30, 4), HUGEINT, BOOLEAN)
HOLDS = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
}
BETWEEN = [(begin, end) for begin in ("ge", "gt") for end in ("le", "lt")]
BAD = 5


@st.composite
def worlds(draw):
    """What is compared how, and commits: updates of the rows, updates of the stream, and what becomes of them."""
    type_ = draw(st.sampled_from(KINDS))
    keys = tuple(draw(st.lists(st.sampled_from([BIGINT, VARCHAR]), max_size=2)))
    carried = draw(st.booleans())
    raises = type_ == BIGINT and draw(st.booleans())
    comparisons = draw(st.sampled_from([*((each,) for each in sorted(HOLDS)), *BETWEEN]))
    few = st.sampled_from(draw(st.lists(values_of(type_, False), min_size=1, max_size=6)))
    value = st.one_of(few, few, few, st.none())
    key = st.tuples(*(st.sampled_from([0, 1, None] if k == BIGINT else ["", "a", None]) for k in keys))
    rows = st.tuples(key, value).map(lambda r: (*r[0], r[1]))
    stream = st.tuples(key, st.integers(0, 1), *(value for _ in comparisons)).map(
        lambda r: (*r[0], *([r[1]] if carried else []), *r[2:])
    )
    commits: list[Any] = []
    live: list[Row] = []
    time = since = 0
    for _ in range(draw(st.integers(1, 5))):
        time += 1
        begun, held, changed = time, list(live), []
        for _ in range(draw(st.integers(0, 8))):
            time += draw(st.sampled_from([0, 0, 1]))
            if live and draw(st.booleans()):
                changed.append((live.pop(draw(st.integers(0, len(live) - 1))), time, -1))
            else:
                live.append(draw(rows))
                changed.append((live[-1], time, 1))
        times = st.integers(begun, time)
        moved = draw(st.lists(st.tuples(stream, times, st.sampled_from([-2, -1, 1, 1])), min_size=1, max_size=8))
        kept = draw(st.sampled_from([True, True, False]))
        since = draw(st.integers(since, time)) if kept else since
        commits.append((changed, sorted(moved, key=lambda u: u[1]), draw(st.booleans()), kept, since))
        if not kept:
            live = held
    return type_, keys, carried, raises, comparisons, draw(st.booleans()), commits


class World:
    """The operator, and all updates that its rows have had."""

    def __init__(self, type_, keys, carried, raises, comparisons):
        self.keys, self.comparisons, self.raises = keys, comparisons, raises
        self.dictionary = TextDictionary()
        self.rows = tuple((k, True) for k in (*keys, type_))
        self.stream = (*((k, True) for k in keys), *([(BIGINT, False)] if carried else []))
        first, self.stream = len(self.stream), (*self.stream, *((type_, True) for _ in comparisons))
        layout = KeyLayout(tuple((k.physical, True) for k in keys), nulls="drop")
        self.derived = DerivedRows(
            [t for t, _ in self.rows],
            self.dictionary,
            lambda store: OrderedArrangement(store, range(len(keys)), layout, self.valued, type_, self.dictionary),
        )
        self.join = ThresholdJoin(
            self.derived.arranged,
            tuple(range(len(keys))),
            len(self.stream),
            len(self.rows),
            False,
            (),
            (),
            Bounds(
                comparisons,
                tuple(range(first, first + len(comparisons))),
                (len(keys),) if carried else (),
                KeyLayout(((BIGINT.physical, False),) if carried else (), nulls="match"),
            ),
        )
        self.history: list[Update] = []

    def valued(self, delta):
        column = delta.column(len(self.rows) - 1)
        if self.raises and ((column.values == BAD) & (True if column.valid is None else column.valid)).any():
            raise NumericError("a bad value")
        return column

    def holds(self, row: Row, bound: Any) -> bool:
        """Whether a row is met by a bound; one whose value cannot be computed always is."""
        n = len(self.keys)
        if row[n] is None or None in bound[:n] or tuple(row[:n]) != tuple(bound[:n]):
            return False
        if self.raises and row[n] == BAD:
            return True
        bounds = bound[-len(self.comparisons) :]
        return None not in bounds and all(
            HOLDS[comparison](sort_key(row[n]), sort_key(each))
            for comparison, each in zip(self.comparisons, bounds, strict=True)
        )

    def present(self, time: int, inclusive: bool) -> Bag:
        return apply(Counter(), [u for u in self.history if u[1] < time + inclusive])

    def expected(self, moved, inclusive) -> Counter[Any]:
        """The net output: what the stream's rows have in common with the row that they meet, that row, and the time."""
        found: Counter[Any] = Counter()
        for bound, time, diff in moved:
            for row, multiplicity in self.present(time, inclusive).items():
                real = tuple(float("nan") if v == "nan" and self.rows[-1][0] == DOUBLE else v for v in row)
                if self.holds(real, bound):
                    found[tuple(map(plain, bound[: -len(self.comparisons)])), row, time] += diff * multiplicity
        return Counter({k: v for k, v in found.items() if v})

    def met(self, moved, inclusive) -> Counter[Any]:
        """The same by the operator. No row is met twice where once would do, and by no bound that it does not obey."""
        delta = to_delta(moved, self.stream, self.dictionary)
        delta = Delta(
            delta.groups,
            delta.layout.within(0, len(delta.layout) + len(self.rows)),
            len(delta),
            delta.times,
            delta.diffs,
        )
        join = replace(self.join, inclusive=inclusive)
        found: Counter[Any] = Counter()
        seen: Counter[Any] = Counter()
        at_one_time = len(set(delta.time_array().tolist())) == 1
        if at_one_time:
            delta = Delta(delta.groups, delta.layout, len(delta), int(delta.time_array()[0]), delta.diffs)
        for joined in Walk([join]).all(delta):
            types = [t for t, _ in (*self.stream, *self.rows)]
            columns = [from_column(joined.column(i), t, self.dictionary) for i, t in enumerate(types)]
            refs = joined.groups[-1].refs
            assert refs is not None
            times, diffs = joined.time_array().tolist(), joined.diff_array().tolist()
            for i, ref in enumerate(refs.tolist()):
                row = tuple(column[i] for column in columns)
                bound, met = row[: len(self.stream)], row[len(self.stream) :]
                assert diffs[i]
                assert self.holds(met, bound)
                found[tuple(map(plain, bound[: -len(self.comparisons)])), tuple(map(plain, met)), times[i]] += diffs[i]
                if not (self.raises and met[-1] == BAD):
                    seen[tuple(map(plain, bound[: -len(self.comparisons)])), ref, times[i]] += 1
        assert all(count == 1 for count in seen.values())
        return Counter({k: v for k, v in found.items() if v})

    def whole_groups(self, time: int) -> None:
        """A lookup by key alone finds all rows that have a value, those that cannot be computed included."""
        n = len(self.keys)
        expected = {r: m for r, m in self.present(time, True).items() if None not in r}
        wanted = sorted({row[:n] for row in expected}, key=str)
        delta = to_delta([(key, 0, 1) for key in wanted], self.rows[:n], self.dictionary)
        arranged = self.derived.arranged
        words, dropped = arranged.layout.pack(delta.columns(), len(wanted))
        positions, group = arranged.look_up(words, dropped, time, True)
        columns = [from_column(group.column(i), t, self.dictionary) for i, (t, _) in enumerate(self.rows)]
        found = Counter(tuple(map(plain, row)) for row in zip(*columns, strict=True))
        assert found == expected
        assert positions.tolist() == sorted(positions.tolist())
        assert [wanted[p] for p in positions] == [row[:n] for row in zip(*columns, strict=True)]


def _run(twin, commits):
    for changed, moved, inclusive, kept, since in commits:
        before, mark = list(twin.history), twin.derived.mark()
        if changed:
            twin.derived.apply(to_delta(changed, twin.rows, twin.dictionary))
            twin.history += changed
        assert twin.met(moved, inclusive) == twin.expected(moved, inclusive)
        twin.whole_groups(max(time for _, time, _ in moved))
        if kept:
            twin.derived.seal(since, since)
        else:
            twin.derived.rollback(mark)
            twin.history = before


@settings(deadline=None, max_examples=100)
@example((BIGINT, (), False, True, ("eq",), False, [([((BAD,), 2, 1)], [((BAD,), 1, -2)], False, True, 0)]))
@given(worlds())
def test_only_what_a_bound_has_passed_is_met(world):
    *what, compacts, commits = world
    twin = World(*what)
    with patch.object(compaction, "FROM_ROWS", 1 if compacts else 1 << 30):
        _run(twin, commits)
    last = max((u[1] for u in twin.history), default=0)
    twin.derived.seal(last, last)
    alive = sum(multiplicity for row, multiplicity in twin.present(last, True).items() if None not in row)
    entries = twin.derived.arranged.size().entries
    assert alive <= entries
    assert entries == alive or 8 * (entries - alive) < entries, "where few are dead, they may stay"


def test_many_changes_and_many_rows_are_met_as_few_are():
    """By a leg that takes more room, or by Python."""
    twin = World(BIGINT, (), carried=True, raises=False, comparisons=("ge", "lt"))
    twin.derived.apply(to_delta([((value,), 1, 1) for value in range(400)], twin.rows, twin.dictionary))
    twin.history += [((value,), 1, 1) for value in range(400)]
    moves = [((0, 50, 350), 2, -1), ((0, 51, 352), 2, 1), ((1, 20, 340), 2, 1)], [((0, 9, 12), 2, 1), ((1, 5, 4), 2, 1)]
    many = [((number % 2, 5 * number, 5 * number + 9), 2, (-1) ** number) for number in range(70)]
    for moved in (*moves, many):
        assert twin.met(moved, True) == twin.expected(moved, True)


def test_dead_rows_leave_the_order_when_they_are_many():
    """Few are let be until they are many, or many of those that are there."""
    with (
        patch.object(ordered_arrangement, "_AT_ONCE", 4),
        patch.object(ordered_arrangement, "_SHARE", 2),
        patch.object(ordered_arrangement, "_FUEL", 3),
    ):
        twin = World(BIGINT, (VARCHAR,), carried=False, raises=True, comparisons=("lt",))
        twin.derived.apply(to_delta([(("a", value), 1, 1) for value in range(40)], twin.rows, twin.dictionary))
        twin.derived.seal(1, 1)
        kept = []
        for time in range(2, 42):
            twin.derived.apply(to_delta([(("a", time - 2), time, -1)], twin.rows, twin.dictionary))
            twin.derived.seal(time, min(time, 30))
            kept.append(twin.derived.arranged.size().entries)
        assert kept[:9] == [40, 40, 40, 36, 36, 36, 36, 32, 32]
        assert kept[-1] == 12, "somebody may read what died after time 30"
        told = [code for codes in twin.derived.arranged.codes() for code in codes]
        assert told == 12 * [twin.dictionary.code("a")], "the text of a dead row is read once more, when it leaves"
        for time in range(42, 46):
            twin.derived.seal(time, time)
            kept.append(twin.derived.arranged.size().entries)
        assert kept[-4:] == [9, 6, 3, 0]
        assert not list(twin.derived.arranged.codes())
