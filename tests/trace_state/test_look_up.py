"""What a walk finds for a delta in an arrangement, against packing keys, probing, and gathering one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, Physical, decimal
from ivm.kernels.hashing.ascending import fences_up_to
from ivm.operators.half_join import HalfJoin
from ivm.operators.walk import Walk
from ivm.trace import helpers, route
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import DTYPES, Column, part_of
from ivm.trace.delta import Columns, Delta, Group, Layout
from ivm.trace.helpers import Errands, Helpers
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.lessons import Lessons
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import stamps
from tests.trace_state.words import words_by_hand

TYPES = [INTEGER, BIGINT, BOOLEAN, DOUBLE, VARCHAR, decimal(38, 0), decimal(12, 2)]


def _values(type_, rows, random, spread):
    physical = type_.physical
    if physical is Physical.BOOL:
        return random.random(rows) < 0.5
    if physical is Physical.FLOAT64:
        return random.choice([-0.0, 0.0, np.nan, 1.5, -2.25], rows)
    if physical is Physical.WIDE:
        low = random.integers(-spread, spread, rows)
        return np.stack([low, low >> 63], axis=1)
    if physical is Physical.CODE:
        return random.integers(0, 3, rows).astype(np.int32)
    return random.integers(-spread, spread, rows).astype(DTYPES[physical])


def _column(type_, rows, random, spread, nullable):
    values = _values(type_, rows, random, spread)
    return Column(values, random.random(rows) < 0.9 if nullable and rows else None)


def _batch(types, columns, dictionary):
    arrays = [to_arrow(column, type_, dictionary.now()) for column, type_ in zip(columns, types, strict=True)]
    names = [str(i) for i in range(len(types))]
    return Batch(pa.table(arrays, names=names), Readers([Reader(each, dictionary) for each in types]))


def _dictionary():
    dictionary = TextDictionary()
    dictionary.encode(pa.array(["a", "b", "c"]))
    return dictionary


class Case:
    """An arrangement with a history, and deltas whose columns lie in all the ways that there are."""

    def __init__(self, seed, *, unique=False, ascending=False):
        self.random = random = np.random.default_rng(seed)
        self.types = [TYPES[i] for i in random.integers(0, len(TYPES), random.integers(1, 4))]
        if unique or ascending:
            self.types = [BIGINT, *self.types[: 1 if unique else 0]]
        self.spread = int(random.choice([3, 40]))
        self.dictionary = _dictionary()
        self.unique, self.ascending = unique, ascending
        layout = KeyLayout(tuple((each.physical, True) for each in self.types), "drop")
        self.store = RowStore(self.types, self.dictionary, cold=bool(random.random() < 0.5))
        for _ in self.store.columns.prepare(range(len(self.types))):
            pass
        self.arrangement = Arrangement(self.store, range(len(self.types)), layout, unique=unique)
        self.time, self.next, self.since = 1, 0, 0
        self.lessons = Lessons()

    def commit(self, rows, seal=True):
        random, self.time = self.random, self.time + int(self.random.integers(1, 3))
        columns = [_column(each, rows, random, self.spread, not self.ascending) for each in self.types]
        if self.unique or self.ascending:
            columns[0] = Column(self.next + np.arange(rows) // (1 if self.unique else 3))
            self.next += rows
            if self.unique and not self.ascending:
                columns[0] = Column(random.permutation(columns[0].values))
        if rows:
            self.store.append(_batch(self.types, columns, self.dictionary), rows, self.time)
        alive = np.flatnonzero(self.store.died == 0) if len(self.store.died) else np.arange(self.store.rows)
        if random.random() < 0.6 and not self.ascending and len(alive):
            self.store.kill(np.unique(random.choice(alive, len(alive) // 3 + 1)), stamps(self.time))
        self.arrangement.catch_up()
        if seal:
            self.since = self.time - 1
            self.arrangement.seal(self.since)
            self.store.seal(self.time + 1, self.since)
            self.lessons.teach()

    def delta(self, rows, many_times):
        random, types = self.random, [*self.types, BIGINT]
        groups: list[Group] = []
        places: list[tuple[int, int]] = []
        for number, type_ in enumerate(types):
            length = rows + int(random.integers(1, 50))
            column = _column(type_, length, random, self.spread, random.random() < 0.5)
            if number == 0 and (self.unique or self.ascending):
                column = Column(random.integers(0, self.next + 5, length), column.valid)
            refs = random.integers(0, length, rows)
            how = random.integers(0, 5)
            if how == 0:
                groups.append(Group(Columns([part_of(column, slice(0, rows))])))
            elif how == 1:
                groups.append(Group(Columns([column]), refs))
            elif how == 2:
                groups.append(Group(_batch([type_], [column], self.dictionary), refs.astype(np.int32)))
            else:
                store = RowStore([type_], self.dictionary, cold=how == 3)
                for _ in store.columns.prepare([0]):
                    pass
                for part in (slice(0, length // 2), slice(length // 2, length)):
                    some = part_of(column, part)
                    if len(some):
                        store.append(_batch([type_], [some], self.dictionary), len(some), 1)
                groups.append(Group(store.columns, refs))
            places.append((number, 0))
        later = np.sort(random.integers(self.since + 1, self.time + 2, rows))
        times = later if many_times else self.time
        diffs = random.choice([-1, 1, 2], rows) if random.random() < 0.5 else None
        return Delta(groups, Layout([*places, *(None,) * len(self.types)]), rows, times, diffs)


def _rows(delta, own):
    """All that a delta of a join refers to, sorted: of each row."""
    words = [np.arange(delta.length) if group.refs is None else group.refs for group in delta.groups[:own]]
    words += [delta.groups[own].refs, delta.time_array(), delta.diff_array()]
    return np.stack([np.asarray(each, np.int64) for each in words], axis=1)


def _one_by_one(arrangement, delta, stream, inclusive, offset, width):
    """The slow twin: each row beside all rows of the store that have its key, came by then, and lived still."""
    store, layout, length = arrangement.store, arrangement.layout, len(delta)
    own, lost = words_by_hand(layout, [store.gather(c, np.arange(store.rows)) for c in arrangement.key], store.rows)
    asked, missing = words_by_hand(layout, [delta.column(c) for c in stream], length)
    of_key: dict[bytes, list[int]] = {}
    for row in np.flatnonzero(~lost).tolist():
        of_key.setdefault(own[row].tobytes(), []).append(row)
    as_of = delta.time_array() if inclusive else delta.time_array() - 1
    limits, stamped = store.limits(as_of), stamps(as_of)
    pairs = [
        (position, row)
        for position in np.flatnonzero(~missing).tolist()
        for row in of_key.get(asked[position].tobytes(), [])
        if row < limits[position] and (not len(store.died) or store.died[row] > stamped[position])
    ]
    positions, rows = np.array(pairs, np.int64).reshape(-1, 2).T
    _probe(arrangement, asked, missing, delta.times, inclusive, pairs)
    return delta.take(positions).bind(Group(store.columns, rows), offset, width)


def _probe(arrangement, words, missing, times, inclusive, expected):
    """What words find is the same."""
    words = words.reshape(-1) if words.shape[1] == 1 else words
    positions, rows = arrangement.probe(words, missing if missing.any() else None, times, inclusive)
    assert sorted(zip(positions.tolist(), rows.tolist(), strict=True)) == sorted(expected)


def _walk(case, stream, offset, width, *, inclusive=True):
    unique = case.arrangement.unique
    return Walk([HalfJoin(case.arrangement, stream, offset, width, inclusive, (), (), unique)])


def _compare(case, delta, inclusive):
    stream, width = tuple(range(len(case.types))), len(case.types)
    offset = width + 1
    step = _walk(case, stream, offset, width, inclusive=inclusive)
    expected = _rows(_one_by_one(case.arrangement, delta, stream, inclusive, offset, width), width + 1)
    for _ in range(2):
        with case.lessons:
            joined = step.all(delta)
        found = [np.empty((0, width + 4), np.int64), *(_rows(each, width + 1) for each in joined)]
        rows = np.concatenate(found)
        assert len(rows) == len(expected)
        np.testing.assert_array_equal(rows[np.lexsort(rows.T)], expected[np.lexsort(expected.T)])
    return len(expected)


FORMS = pytest.mark.parametrize("form", ["any", "unique", "ascending", "unique ascending"])


def _find_all(form, seeds):
    met = 0
    for seed in range(seeds):
        case = Case(seed, unique="unique" in form, ascending="ascending" in form)
        for commit in range(6):
            case.commit(int(case.random.choice([0, 1, 30, 300])), seal=commit % 3 != 0)
            for rows in (1, int(case.random.choice([7, 128, 129, 500]))):
                met += _compare(case, case.delta(rows, case.random.random() < 0.4), bool(case.random.random() < 0.5))
    return met


@FORMS
def test_a_step_finds_what_is_found_one_by_one(form):
    assert _find_all(form, 60) > 1000


@FORMS
def test_parts_find_what_is_found_one_by_one(form, monkeypatch):
    monkeypatch.setattr(helpers, "LARGE", 2)
    monkeypatch.setattr(helpers, "_PART", 90)
    with Errands(Helpers(3)):
        assert _find_all(form, 40) > 1000


@FORMS
def test_many_keys_are_looked_up_in_a_small_table_or_run(form):
    met = 0
    for seed in range(8):
        case = Case(seed, unique="unique" in form, ascending="ascending" in form)
        for spread in (40, 3_000):
            case.commit(300)
            case.spread = spread
            met += _compare(case, case.delta(4_000, False), True)
    assert met > 1000


def test_what_finds_more_than_there_is_room_for_comes_in_parts(monkeypatch):
    monkeypatch.setattr(route, "MOST_FOUND", 300)
    monkeypatch.setattr(helpers, "LARGE", 2)
    for threads in (1, 2):
        with Errands(Helpers(threads)):
            cases = [Case(seed) for seed in range(20)]
            for case in cases:
                case.commit(900)
            assert max(_compare(case, case.delta(700, seed % 2 == 0), True) for seed, case in enumerate(cases)) > 10_000


@pytest.mark.parametrize("unique", [False, True])
def test_keys_in_order_are_found_in_the_run_and_leave_it_where_it_is(unique):
    case = Case(1, unique=unique, ascending=True)
    for _ in range(3):
        case.commit(4998)
    index, each = case.arrangement.index, 1 if unique else 3
    step = _walk(case, (0, 1)[: len(case.types)], 2, 2)
    rest = [case.store.gather(c, np.arange(0, case.store.rows, each)).values for c in range(1, len(case.types))]
    keys = case.store.gather(0, np.arange(0, case.store.rows, each)).values
    assert index.backlog == case.store.rows

    def found(order):
        columns = [Column(keys[order]), *(Column(values[order]) for values in rest)]
        layout = Layout([*((0, c) for c in range(len(columns))), *(None,) * 4][:4])
        with case.lessons:
            (joined,) = step.all(Delta([Group(Columns(columns))], layout, len(order), case.time, None))
        return np.asarray(joined.groups[1].refs, np.int64)

    for order in (np.arange(len(keys)), np.arange(0, len(keys), 7), np.arange(len(keys))[::-1], np.arange(3).repeat(9)):
        expected = (order[:, None] * each + np.arange(each)).ravel()
        np.testing.assert_array_equal(np.sort(found(order)), np.sort(expected))
    case.commit(10)
    assert index.backlog == case.store.rows
    found(case.random.permutation(len(keys)))
    assert index.backlog == case.store.rows
    case.commit(0)
    assert index.backlog < case.store.rows / 2, "what was looked for leaves when the commit is sealed"


def test_a_small_run_is_left_by_keys_that_come_in_order_too():
    case = Case(1, ascending=True)
    case.commit(300)
    keys = Columns([Column(np.arange(100))])
    step = _walk(case, (0,), 1, 1)
    delta = Delta([Group(keys)], Layout([(0, 0), None]), 100, case.time, None)
    step.all(delta)
    case.commit(0)
    assert case.arrangement.index.backlog == 300, "a reader outside of commits teaches nothing"
    with case.lessons:
        step.all(delta)
    case.commit(0)
    assert case.arrangement.index.backlog == 0


def test_a_search_among_fences_may_begin_anywhere():
    random, search = np.random.default_rng(3), vars(fences_up_to)["py_func"]
    for _ in range(300):
        fences = np.sort(random.integers(0, 30, random.integers(0, 40)))
        lead, near = int(random.integers(-1, 32)), int(random.integers(0, 60))
        assert search(fences, lead, near, False) == np.searchsorted(fences, lead, "left")
        assert search(fences, lead, near, True) == np.searchsorted(fences, lead, "right")


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_references_and_times_may_lie_apart(rows):
    case = Case(1, ascending=True)
    case.commit(300)
    keys = Columns([Column(np.arange(100))])
    step = _walk(case, (0,), 1, 1)
    refs, times = np.repeat(np.arange(rows), 2)[::2], np.full(2 * rows, case.time)[::2]
    assert refs.strides == (16,)
    found = []
    for delta in (
        Delta([Group(keys, refs)], Layout([(0, 0), None]), rows, times, None),
        Delta([Group(keys, refs.copy())], Layout([(0, 0), None]), rows, times.copy(), None),
    ):
        (joined,) = step.all(delta)
        found.append(np.asarray(joined.groups[1].refs).tolist())
    assert found[0] == found[1]
    assert len(found[0]) == 3 * rows
