"""Walks: what a delta becomes along loops and look-ups in one call, against the same stages one by one in Python."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from unittest.mock import create_autospec

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, BOOLEAN, INTEGER, Physical
from ivm.kernels.memory.places import WORDS
from ivm.operators.accumulable import AggregateSpec
from ivm.operators.half_join import HalfJoin
from ivm.operators.reduce import Reduce
from ivm.operators.stage import Stage
from ivm.operators.walk import Walk
from ivm.plan.mfp import Mfp, identity
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.trace import helpers, route
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Column as Values
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Columns, Delta, Group, Layout, delta_of
from ivm.trace.helpers import Errands, Helpers
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import stamps

COMPILER = Compiler(wait=True)
WIDTH = 9
LAYOUT = Layout([(0, 0), (0, 1), *(None,) * 7])
"""A row of two columns that come, two of the first store, two of the second, and the key, the count and the maximum of
a group; keys are the second columns."""
TYPES = (BIGINT, False), (BIGINT, False)


def column(index: int) -> Scalar:
    return Column(index, BIGINT, False)


def below(index: int, limit: int) -> Scalar:
    return Call("lt", (column(index), Literal(limit, BIGINT)), BOOLEAN, False)


def programs(dictionary: TextDictionary) -> list[MfpProgram]:
    """A filter; a filter that makes a column of two; a column that is made without a filter; a mere projection."""
    sum_: Scalar = Call("add", (column(0), column(2)), BIGINT, False)
    every = tuple(range(WIDTH))
    plans = (
        identity(WIDTH).filter((below(0, 40),)),
        Mfp(WIDTH, (sum_,), (below(0, 45),), (WIDTH, *every[1:])),
        Mfp(WIDTH, (Call("add", (column(0), column(0)), BIGINT, False),), (), (WIDTH, *every[1:])),
        Mfp(WIDTH, (), (), every),
    )
    return [MfpProgram(each, dictionary, COMPILER) for each in plans]


class Case:
    """Two arrangements with histories, walks over them, and deltas."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.dictionary = TextDictionary()
        self.unique = bool(self.random.random() < 0.5)
        layout = KeyLayout(((Physical.INT64, False),), "drop")
        self.stores = [RowStore([BIGINT, BIGINT], self.dictionary, cold=self.random.random() < 0.5) for _ in range(2)]
        self.readers = Readers([Reader(BIGINT, self.dictionary) for _ in range(2)])
        self.arranged = [
            Arrangement(store, (1,), layout, unique=self.unique and not number)
            for number, store in enumerate(self.stores)
        ]
        aggregates = (
            AggregateSpec("count_star", None, None, False, BIGINT),
            AggregateSpec("max", 1, BIGINT, False, BIGINT),
        )
        self.reduce, self.held = Reduce(TYPES[:1], aggregates, self.dictionary), list[tuple[int, int]]()
        self.time = 1

    def commit(self, read: Callable[[], object] = lambda: None) -> None:
        """More rows in both stores, and some that die; before that, some that are taken back once somebody has read."""
        self.time += 1
        if self.random.random() < 0.5:
            marks, held = [store.mark() for store in self.stores], self.held
            grouped = [state.mark() for state in self.reduce.states]
            self._change()
            read()
            if (errands := helpers.at_hand(helpers.LARGE)) is not None:
                errands.wait()  # as whoever undoes a commit does
            for store, arranged, mark in zip(self.stores, self.arranged, marks, strict=True):
                arranged.truncate(mark[0])
                store.rollback(mark)
            for state, mark in zip(self.reduce.states, grouped, strict=True):
                state.rollback(mark)
            self.held = held
        self._change()
        if (errands := helpers.at_hand(helpers.LARGE)) is not None:
            errands.finish()  # as each commit does
        if self.random.random() < 0.7:
            for store, arranged in zip(self.stores, self.arranged, strict=True):
                arranged.seal(self.time - 1)
                store.seal(self.time + 1, self.time - 1)
            self.seal()

    def seal(self) -> None:
        """The groups are final."""
        for state in self.reduce.states:
            state.seal(self.time + 1, self.time - 1)

    def group(self) -> None:
        """Rows of groups come and go, at the last time or at that and the one before."""
        random, rows = self.random, list[tuple[int, ...]]()
        for time in (self.time,) if random.random() < 0.7 else (self.time - 1, self.time):
            held = [random.random() < 0.8 for _ in self.held]
            rows += [(*row, time, -1) for row, stays in zip(self.held, held, strict=True) if not stays]
            come = list(zip(random.integers(0, 30, 8).tolist(), random.integers(0, 50, 8).tolist(), strict=True))
            rows += [(*row, time, 1) for row in come]
            self.held = [row for row, stays in zip(self.held, held, strict=True) if stays] + come
        keys, values, times, diffs = np.array(rows, np.int64).T.copy()
        self.reduce.step([delta_of([Values(keys), Values(values)], times, diffs)])

    def _change(self) -> None:
        if self.random.random() < 0.7:
            self.group()
        for store, arranged in zip(self.stores, self.arranged, strict=True):
            rows = int(self.random.choice([0, 1, 60]))
            self.append(store, arranged, rows, self.time)
            alive = np.flatnonzero(store.died == 0) if len(store.died) else np.arange(store.rows)
            if len(alive) and self.random.random() < 0.5:
                store.kill(np.unique(self.random.choice(alive, len(alive) // 4 + 1)), stamps(self.time))
            arranged.catch_up()

    def read(self, walks: list[Walk]) -> None:
        """Let walks look up what there is."""
        for walk in walks:
            walk.all(self.delta())

    def append(self, store: RowStore, arranged: Arrangement, rows: int, time: int) -> None:
        """So many rows come, of new keys where these are unique."""
        keys = self.random.integers(0, 30, rows)
        if arranged.unique:
            keys = store.rows + self.random.permutation(rows)
        if rows:
            values = self.random.integers(0, 50, rows)
            table = pa.RecordBatch.from_arrays([pa.array(values), pa.array(keys)], ["value", "key"])
            store.append(Batch(table, self.readers), rows, time)

    def stages(self) -> list[Stage]:
        """Half-joins with both, and programs between them, some of them or none."""
        first = HalfJoin(self.arranged[0], (1,), 2, 2, True, (), (), self.arranged[0].unique)
        second = HalfJoin(self.arranged[1], (int(self.random.choice([1, 3])),), 4, 2, True, (), (), False)
        inclusive, key = bool(self.random.random() < 0.5), int(self.random.choice([1, 3]))
        groups = HalfJoin(self.reduce.lookup, (key,), 6, 3, inclusive, (0, 1, 2), (), True)
        each = programs(self.dictionary)
        between: list[list[Stage]] = [
            [each[i] for i in self.random.permutation(len(each))[: self.random.integers(0, 3)] if i != 1 or place]
            for place in range(4)
        ]
        met = [second, groups] if self.random.random() < 0.5 else [groups, second]
        return [*between[0], first, *between[1], met[0], *between[2], met[1], *between[3]]

    def delta(self) -> Delta:
        """Rows that come, dense or by references, at one time or at several, with diffs or without."""
        random, rows = self.random, int(self.random.choice([1, 5, 40]))
        columns = [Values(random.integers(0, 50, rows + 3)), Values(random.integers(0, 35, rows + 3))]
        refs = random.integers(0, rows + 3, rows) if random.random() < 0.5 else None
        groups = [Group(Columns([Values(each.values[:rows].copy()) for each in columns]))]
        if refs is not None:
            groups = [Group(Columns(columns), refs.astype(np.int32 if random.random() < 0.5 else np.int64))]
        times: Ints | int = self.time
        if random.random() < 0.3:
            each = random.integers(self.time - 1, self.time + 1, rows)
            times = np.sort(each) if random.random() < 0.8 else each
        diffs = random.choice([-1, 1, 2], rows) if random.random() < 0.5 else None
        return Delta(groups, LAYOUT, rows, times, diffs)


def bag(deltas: list[Delta]) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for delta in deltas:
        words = [delta.column(c).values.tolist() for c in range(WIDTH)] + [delta.time_array().tolist()]
        for row, diff in zip(zip(*words, strict=True), delta.diff_array().tolist(), strict=True):
            found[row] += diff
    return Counter({row: diff for row, diff in found.items() if diff})


def by_python(stages: list[Stage], deltas: list[Delta]) -> list[Delta]:
    """The slow twin: every stage as Python does it, over all that has passed the one before."""
    for stage in (each for several in stages for each in several.stages):
        deltas = [part for delta in deltas for part in stage.passed(delta) if len(part)]
    return deltas


def compare(seeds: int) -> int:
    met = 0
    for seed in range(seeds):
        case = Case(seed)
        case.commit()
        walks = [(stages, Walk(stages)) for stages in (case.stages(), case.stages())]
        for _ in range(5):
            case.commit(partial(case.read, [walk for _, walk in walks]))
            for stages, walk in walks:
                delta = case.delta()
                expected = bag(by_python(stages, [delta]))
                assert bag(walk.all(delta)) == expected
                assert bag([part for part in walk.parts(delta) if len(part)]) == expected
                met += len(expected)
    return met


def test_a_walk_does_what_its_stages_do() -> None:
    assert compare(60) > 1000


def test_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "LARGE", 2)
    monkeypatch.setattr(helpers, "_PART", 4)
    with Errands(Helpers(2)):
        assert compare(30) > 500
        case = Case(1)
        case.commit()
        walk = Walk(case.stages())
        for _ in range(20):
            walk.all(case.delta())
        assert all(len(way._idle) <= 1 for way in walk._ways.values()), "copies for stretches are not kept"


@pytest.mark.parametrize("most", [1, 7])
def test_in_parts_where_little_is_found_at_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(route, "MOST_FOUND", most)
    assert compare(25) > 300


def test_memory_that_walks_needed_is_there_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large deltas and small ones by turns: also what look-ups take for themselves alone is remembered."""
    taken, met = create_autospec(route.Route.more_memory, side_effect=route.Route.more_memory), 0
    monkeypatch.setattr(route.Route, "more_memory", taken)
    for seed in range(30):
        case = Case(seed)
        case.commit()
        walk, delta = Walk(case.stages()), case.delta()
        for number in range(16 if len(delta) else 0):
            if number == 8:
                met += taken.called
                taken.reset_mock()
            walk.all(delta.slice(0, 1) if number % 2 else delta)
        assert not taken.called, seed
    assert met > 5, "walks that lacked memory, and do no longer"


def test_where_all_memory_is_wanting_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "_LEAST", 1)
    monkeypatch.setattr(route, "_SPARE", 0)
    assert compare(25) > 300


def test_commits_come_between_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows as of a time are found, wherever they lie by then."""
    monkeypatch.setattr(route, "MOST_FOUND", 3)
    for seed in range(15):
        case = Case(seed)
        case.commit()
        case.commit()
        stages, delta = case.stages(), case.delta()
        if not isinstance(delta.times, int):
            continue
        expected, parts = bag(by_python(stages, [delta])), list[Delta]()
        case.seal()
        lookups = [stage.lookup.reader(case.time) for stage in stages if isinstance(stage, HalfJoin)]
        others = iter(lookups)
        stages = [stage.over(others) for stage in stages]
        for part in Walk(stages).parts(delta):
            if len(part):
                parts.append(part.gathered())
            case.random, random = np.random.default_rng(seed + len(parts)), case.random
            time, case.time = case.time, case.time + 1
            for store, arranged in zip(case.stores, case.arranged, strict=True):
                case.append(store, arranged, 500, case.time + time)
                arranged.catch_up()
                arranged.seal(time - 1)
                store.seal(case.time + time + 1, time - 1)
            case.group()
            case.seal()
            case.random, case.time = random, case.time + time
        assert bag(parts) == expected


def test_what_was_there_long_ago() -> None:
    """A walk at the present may come with changes of a time before others that have come since."""
    case, store = Case(4), None
    stages: list[Stage] = []
    walk = None
    for _ in range(8):
        case.time += 1
        for store, arranged in zip(case.stores, case.arranged, strict=True):
            case.append(store, arranged, 20, case.time)
            arranged.catch_up()
        stages = stages or case.stages()
        walk = walk or Walk(stages)
        for time in range(case.time, 1, -1):
            delta = case.delta()
            delta.times = time
            assert bag(walk.all(delta)) == bag(by_python(stages, [delta]))


def test_a_loop_that_raises_leaves_it_to_python() -> None:
    """Where a row of a part raises, the stage is done in Python, which says which row; where none does, all go on."""
    dictionary = TextDictionary()
    divided = Call("mul", (Column(0, INTEGER, False), Column(0, INTEGER, False)), INTEGER, False)
    program = MfpProgram(Mfp(1, (divided,), (), (1,)), dictionary, COMPILER)
    walk = Walk([program])
    for value, fails in ((3, False), (1 << 20, True), (4, False)):
        delta = Delta([Group(Columns([Values(np.array([2, value], np.int32))]))], Layout([(0, 0)]), 2, 1)
        if fails:
            with pytest.raises(NumericError):
                walk.all(delta)
        else:
            (made,) = walk.all(delta)
            assert made.column(0).values.tolist() == [4, value * value]


def test_a_group_that_nobody_reads_may_be_there_or_not() -> None:
    case = Case(2)
    for _ in range(4):
        case.commit()
    stages = case.stages()
    walk = Walk(stages)
    for number in range(12):
        delta = case.delta()
        if number % 2:
            groups = [*delta.groups, Group(Columns([Values(np.arange(delta.length))]))]
            delta = Delta(groups, delta.layout, delta.length, delta.times, delta.diffs)
        assert bag(walk.all(delta)) == bag(by_python(stages, [delta]))


class Hidden(Columns):
    """Columns that cannot be read by their places."""

    def places(self, columns: Iterable[int]) -> Ints:
        return np.zeros((len(self.columns), WORDS), np.int64)


def test_keys_that_cannot_be_read_where_they_lie() -> None:
    case = Case(6)
    for _ in range(4):
        case.commit()
    groups = HalfJoin(case.reduce.lookup, (1,), 6, 3, True, (0, 1, 2), (), True)
    rows = HalfJoin(case.arranged[1], (1,), 4, 2, True, (), (), False)
    keys, met = [Values(np.arange(35)), Values(np.arange(35))], 0
    for stages in ([groups], [groups, rows], [rows, groups]):
        walk = Walk(stages)
        for kind in (Columns, Hidden, Columns):
            delta = Delta([Group(kind(keys))], LAYOUT, 35, case.time)
            found = sum(map(len, walk.all(delta)))
            assert found == sum(map(len, by_python(list(stages), [delta])))
            met += found
    assert met > 100


def test_two_threads_walk_the_same_way() -> None:
    case = Case(3)
    for _ in range(4):
        case.commit()
    stages = case.stages()
    walk, deltas = Walk(stages), [case.delta() for _ in range(40)]
    expected = [bag(by_python(stages, [delta])) for delta in deltas]
    wrong: list[int] = []

    def work(numbers: Iterator[int]) -> None:
        wrong.extend(number for number in numbers if bag(walk.all(deltas[number])) != expected[number])

    threads = [threading.Thread(target=work, args=(iter(range(begin, 40, 2)),)) for begin in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_was_made_stays_when_others_walk() -> None:
    """The arena is used again only when nothing is left of what was made there."""
    case = Case(5)
    for _ in range(4):
        case.commit()
    walk = Walk(case.stages())
    made = [walk.all(case.delta()) for _ in range(30)]
    before = [bag(each) for each in made]
    for _ in range(30):
        walk.all(case.delta())
    assert [bag(each) for each in made] == before
