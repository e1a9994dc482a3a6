"""The index against a list of (key, born, died): what every probe finds, whatever came before it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.trace.index.index import Index
from ivm.trace.lessons import Lessons
from ivm.trace.rows.changes import Applied
from ivm.trace.time import ALIVE, stamp
from tests.trace_state.run_invariant import chains_of
from tests.trace_state.words import KeysOf

NOBODY = np.empty(0, np.int64)
FOREVER = 2**63 - 1


NEVER_ENOUGH = -(10**9)
"""Searches of a run so far, that it never moves to the table."""


def words_of_keys(keys, width):
    column = np.array(keys, np.int64)
    return column if width == 1 else np.stack([column // 3, column], axis=1).copy()


class Model:
    """A store of keys alone, beside the index under test, which learns from what it is asked when it is sealed."""

    def __init__(self, width, unique=False, lazy=False):
        self.keys: list[int] = []
        self.born: list[int] = []
        self.died: list[int] = []
        self.width = width
        self.index = Index(width, unique, KeysOf(self.words) if lazy else None)
        self.lessons = Lessons()

    def words(self, rows):
        return words_of_keys(np.array(self.keys)[rows], self.width).reshape(-1, self.width)

    def deaths(self):
        return np.array(self.died, np.int64) if any(d != FOREVER for d in self.died) else NOBODY

    def insert(self, keys, time, dropped=None):
        self.keys += list(keys)
        self.born += [time] * len(keys)
        self.died += [FOREVER] * len(keys)
        self.index.insert(words_of_keys(keys, self.width), dropped, self.deaths())

    def probe(self, keys, times):
        times = np.array(times, np.int64)
        there = {time: sum(born <= time for born in self.born) for time in set(times.tolist())}
        limits = np.array([there[time] for time in times.tolist()], np.int64)
        with self.lessons:
            positions, rows = self.index.probe(
                words_of_keys(keys, self.width), None, limits, self.deaths(), times, self
            )
        assert list(positions) == sorted(positions)
        return sorted(zip(positions.tolist(), rows.tolist(), strict=True))

    def learn(self, met):
        self.index.learn(met, self.deaths())

    def seal(self, since):
        self.index.seal(since, self.deaths())
        self.lessons.teach()

    def undo(self, first):
        self.lessons.clear()
        self.index.truncate(first)
        del self.keys[first:], self.born[first:], self.died[first:]

    def expected(self, keys, times):
        rows: dict[int, list[int]] = {}
        for row, key in enumerate(self.keys):
            rows.setdefault(key, []).append(row)
        return sorted(
            (i, r)
            for i, (key, time) in enumerate(zip(keys, times, strict=True))
            for r in rows.get(key, ())
            if self.born[r] <= time < self.died[r]
        )


KEYS = st.lists(st.integers(-5, 20), min_size=0, max_size=40)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), KEYS),
        st.tuples(st.just("kill"), st.lists(st.integers(0, 400), max_size=20)),
        st.tuples(st.just("probe"), KEYS),
        st.tuples(st.just("commit"), st.none()),
        st.tuples(st.just("undo"), st.integers(0, 30)),
    ),
    max_size=25,
)


@pytest.mark.parametrize("width", [1, 2])
@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
def test_probes_find_what_the_model_finds(width, steps):
    model = Model(width)
    time = committed = 0
    since = 0
    for what, argument in steps:
        time += 1
        if what == "insert":
            model.insert(argument, time)
        elif what == "kill":
            for row in {r % len(model.keys) for r in argument if model.keys}:
                if model.died[row] == FOREVER:
                    model.died[row] = time
        elif what == "commit":
            since, committed = time, len(model.keys)
            model.seal(since)
        elif what == "undo":
            first = max(committed, len(model.keys) - argument)
            model.undo(first)
        else:
            times = [max(since, time - i % 4) for i in range(len(argument))]
            assert model.probe(argument, times) == model.expected(argument, times)
    keys = list(range(-6, 22))
    assert model.probe(keys, [time] * len(keys)) == model.expected(keys, [time] * len(keys))


@pytest.mark.parametrize("width", [1, 2])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_an_ascending_run_is_found_as_if_it_were_hashed(width, data):
    model = Model(width, unique=True, lazy=True)
    if data.draw(st.booleans()):
        model.index._melting.searched = NEVER_ENOUGH
    top = 0
    for time in range(1, 12):
        if data.draw(st.booleans()):
            count = data.draw(st.integers(1, 300))
            model.insert(list(range(top, top + 2 * count, 2)), time)
            top += 2 * count
        keys = data.draw(st.lists(st.integers(-3, top + 3), max_size=5, unique=True))
        assert model.probe(keys, [time] * len(keys)) == model.expected(keys, [time] * len(keys))
        undone = data.draw(st.integers(0, 40)) if data.draw(st.booleans()) else 0
        model.undo(max(len(model.keys) - undone, 0))
        top = model.keys[-1] + 1 if model.keys else 0
    keys = list(range(-2, top + 3))
    expected = model.expected(keys, [99] * len(keys))
    assert model.probe(keys, [99] * len(keys)) == expected
    newest = [model.index.newest(words_of_keys([key], width).reshape(1, -1), NOBODY) for key in keys]
    assert [(i, row) for i, row in enumerate(newest) if row is not None] == expected


@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_a_run_with_equal_keys_is_found_as_if_it_were_hashed(data):
    model = Model(1, lazy=True)
    if data.draw(st.booleans()):
        model.index._melting.searched = NEVER_ENOUGH
    top, since, committed = 0, 0, 0
    for time in range(1, 14):
        what = data.draw(st.sampled_from(["more", "more", "same", "below", "kill", "commit", "undo"]))
        if what == "more":
            count = data.draw(st.integers(1, 120))
            keys = sorted(data.draw(st.lists(st.integers(top, top + 9), min_size=count, max_size=count)))
            model.insert(keys, time)
        elif what == "same":
            model.insert([top] * data.draw(st.integers(1, 40)), time)
        elif what == "below":
            model.insert(data.draw(st.lists(st.integers(0, top + 2), max_size=9)), time)
        elif what == "kill" and model.keys:
            for row in data.draw(st.lists(st.integers(0, len(model.keys) - 1), max_size=20)):
                model.died[row] = min(model.died[row], time)
        elif what == "commit":
            since, committed = time, len(model.keys)
            model.seal(since)
        elif what == "undo":
            first = max(committed, len(model.keys) - data.draw(st.integers(0, 50)))
            model.undo(first)
        top = model.keys[-1] if model.keys else 0
        keys = data.draw(st.lists(st.integers(-1, top + 2), max_size=6))
        times = [max(since, time - i % 4) for i in range(len(keys))]
        assert model.probe(keys, times) == model.expected(keys, times)
    keys = list(range(-2, top + 3))
    assert model.probe(keys, [99] * len(keys)) == model.expected(keys, [99] * len(keys))


def test_chains_of_the_run_outlive_the_growth_of_what_they_are_kept_in():
    model = Model(1, lazy=True)
    model.insert([key // 3 for key in range(60_000)], 1)
    assert model.probe([15_000], [1]) == [(0, 45_000), (0, 45_001), (0, 45_002)]
    model.insert([5] * 100_000, 2)
    assert model.probe([15_000], [2]) == [(0, 45_000), (0, 45_001), (0, 45_002)]


def test_keys_that_are_still_to_come_move_nothing():
    model = Model(1, lazy=True)
    model.insert([key // 3 for key in range(3000)], 1)
    assert model.probe(list(range(1000, 3000)), [1] * 2000) == []
    assert model.index.backlog == 3000
    assert model.index.entries == 0


def test_the_leads_of_a_unique_key_may_repeat_up_to_a_block():
    keys = [[1, k] for k in range(16)]
    store = np.array([*keys, [2, 5], [1, 16]], np.int64)
    index = Index(2, True, KeysOf(lambda rows: store[rows].reshape(-1, 2)))
    assert index.extend(store[:10], None)
    assert not index.extend(np.array([[1, 3]]), None)
    assert index.extend(store[10:16], None)
    assert not index.extend(store[17:18], None)
    assert index.extend(store[16:17], None)
    everything = np.array([99], np.int64)
    assert index.probe(store[[3, 15, 16, 17]], None, everything, NOBODY, everything)[1].tolist() == [3, 15, 16]


@pytest.mark.parametrize("unique", [False, True])
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=20).map(sorted), max_size=6))
def test_a_run_takes_a_batch_exactly_if_all_goes_on_ascending(unique, batches):
    width = 2 if unique else 1
    taken: list[tuple[int, ...]] = []
    store = np.array([], np.int64).reshape(0, width)
    index = Index(width, unique, KeysOf(lambda rows: store[rows]))
    for batch in ([key[:width] for key in each] for each in batches):
        both = taken + batch
        leads = [key[0] for key in both]
        fits = leads == sorted(leads)
        if unique:
            fits = fits and len(set(both)) == len(both) and all(leads.count(lead) <= 16 for lead in leads)
        assert index.extend(np.array(batch, np.int64).reshape(-1, width), None) == fits
        if fits:
            taken = both
            store = np.array(taken, np.int64).reshape(-1, width)
    wanted = np.array([(a, b)[:width] for a in range(4) for b in range(10)], np.int64).reshape(-1, width)
    everything = np.array([len(taken) + 1], np.int64)
    positions, rows = index.probe(wanted, None, everything, NOBODY, everything)
    found = sorted((tuple(wanted[p].tolist()), int(r)) for p, r in zip(positions, rows, strict=True))
    keys = [tuple(key) for key in wanted.tolist()]
    assert found == sorted((key, row) for key in keys for row, each in enumerate(taken) if each == key)


def test_halves_of_a_word_are_led_by_the_first():
    words = np.array([(1 << 32) | 9, (1 << 32) | 2, (2 << 32) | 1], np.int64)
    index = Index(1, True, KeysOf(lambda rows: words[rows].reshape(-1, 1)), shift=32)
    assert index.extend(words, None)
    assert not index.extend(words[2:], None)
    everything = np.array([99], np.int64)
    found = index.probe(np.array([words[1], words[2], 7]), None, everything, NOBODY, everything)
    assert [part.tolist() for part in found] == [[0, 1], [1, 2]]


def test_a_small_commit_does_not_pay_for_the_backlog():
    model = Model(1, unique=True, lazy=True)
    model.insert(list(range(20_000)), 1)
    assert model.index.backlog == 20_000
    assert model.probe([5, 19_999, 20_001], [1] * 3) == [(0, 5), (1, 19_999)]
    died = np.full(20_000, ALIVE, np.int64)

    def delete(keys):
        applied = Applied(len(keys))
        model.index.apply(np.array(keys), np.zeros(len(keys), np.bool_), np.array([stamp(2)]), died, applied)
        assert applied.killed.tolist() == keys
        model.index.seal(stamp(1), died)

    def newest(key):
        return model.index.newest(np.array([[key]]), died)

    delete([5, 19_999])
    assert model.index.entries == 2, "what was found is in the table"
    assert [newest(key) for key in (5, 6, 19_998, 19_999, 20_000)] == [None, 6, 19_998, None, None]
    delete(list(range(5000, 6000)))
    assert model.index.backlog == 20_000, "searching the run has cost less than moving it would"
    model.index._melting.searched = 20_000
    delete(list(range(7000, 7200)))
    assert 0 < model.index.backlog <= 20_000 - 4 * 200
    delete(list(range(8000, 9000)))
    assert model.index.backlog == 0
    assert [newest(key) for key in (8000, 9000, 20_000)] == [None, 9000, None]


def test_a_key_out_of_order_ends_the_run():
    index = Index(1, True, KeysOf(lambda rows: np.arange(10, dtype=np.int64)[rows].reshape(-1, 1)))
    assert index.extend(np.arange(10), None)
    assert not index.extend(np.array([9]), None)
    assert not index.extend(np.array([12, 11]), None)
    assert index.extend(np.array([12, 13]), None)


@pytest.mark.parametrize("unique", [False, True])
def test_a_hot_key_keeps_a_short_chain(unique):
    index = Index(1, unique)
    updates = 20_000
    died = np.full(updates, FOREVER, np.int64)
    key = np.array([7], np.int64)
    for row in range(updates):
        if row:
            died[row - 1] = row
        index.insert(key, None, died)
        index.seal(row, died)
    now = np.array([updates], np.int64)
    positions, rows = index.probe(key, None, now, died, now)
    assert (positions.tolist(), rows.tolist()) == ([0], [updates - 1])
    assert len(chains_of(index)[(7,)]) <= 3


def test_a_long_dead_chain_is_walked_once():
    model, rows = Model(1), 10_000
    model.insert([0] * rows, 1)
    model.died = [FOREVER, *[5] * (rows - 1)]
    model.seal(5)
    for length in (rows, 1):
        assert len(chains_of(model.index)[(0,)]) == length
        assert model.probe([0], [9]) == [(0, 0)]
        assert len(chains_of(model.index)[(0,)]) == length, "a search changes nothing"
        model.seal(5)


@pytest.mark.parametrize("unique", [False, True])
def test_earlier_rows_are_found_whatever_is_inserted_grown_and_taken_back(unique):
    rng = np.random.default_rng(3)
    keys = rng.permutation(60_000) if unique else rng.integers(0, 700, 60_000)
    index, everything, asked = Index(1, unique), np.array([FOREVER]), np.unique(keys)[:300]
    for first in range(0, 60_000, 4_000):
        mark = index.mark()
        for batch in (keys[first : first + 3_000][::-1].copy(), keys[first : first + 4_000]):
            index.insert(batch, None, NOBODY)
            if len(batch) == 3_000:
                index.rollback(mark)
                index.rollback(mark)
        index.seal(0, NOBODY)
        assert index.rows == first + 4_000
        for limit in (first, first + 4_000):
            positions, rows = index.probe(asked, None, np.array([limit]), NOBODY, everything)
            found = sorted(zip(positions.tolist(), rows.tolist(), strict=True))
            assert found == sorted((i, r) for i, k in enumerate(asked) for r in np.flatnonzero(keys[:limit] == k))


def test_dropped_keys_are_neither_indexed_nor_found():
    index = Index(1)
    index.insert(np.array([1, 1, 2]), np.array([False, True, False]), NOBODY)
    everything = np.array([99], np.int64)
    positions, rows = index.probe(np.array([1, 2, 1]), np.array([False, True, False]), everything, NOBODY, everything)
    assert positions.tolist() == [0, 2]
    assert rows.tolist() == [0, 0]


def test_slots_of_keys_that_are_gone_are_used_again():
    index = Index(1)
    died = np.full(400_000, FOREVER, np.int64)
    for start in range(0, 400_000, 1000):
        index.insert(np.arange(start, start + 1000), None, died)
        died[max(start - 4000, 0) : start] = start
        index.seal(start, died)
    assert index.keys < 20_000
    assert len(index._chains.tables.slots) < 40_000


def test_look_ups_alone_move_rows_when_the_commit_is_sealed():
    """A table that nobody changes; others look up in it, and its run moves to the hash table."""
    model = Model(1, unique=True, lazy=True)
    for start in range(0, 10_000, 1_000):
        model.insert(range(start, start + 1_000), 0)
        model.seal(0)
    for number, keys in enumerate(np.random.default_rng(1).integers(0, 10_000, (2_000, 100))):
        backlog = model.index.backlog
        with model.lessons:
            found, rows = model.index.probe(keys, None, np.array([10_000]), NOBODY, np.array([0]), model)
        assert (found == np.arange(100)).all()
        assert (rows == keys).all()
        assert model.index.backlog == backlog, "a search changes nothing"
        if number % 8 == 0:
            model.undo(10_000)
            assert not model.lessons, "what is undone teaches nothing"
        model.lessons.teach()
        assert model.index.mark().steps == 0, "final rows need not be taken out again"
    assert model.index.backlog == 0
    assert len(model.index._chains.tables.old) == 0


def test_a_key_of_the_run_that_goes_on_is_taken_back():
    model = Model(1, lazy=True)
    model.insert([0] * 6, 1)
    model.died[0] = 2
    model.index.seal(0, model.deaths())
    for _ in range(2):  # the table gets the key, with rows that are not final
        model.insert([0] * 40, 3)
        model.index.truncate(6)
        assert model.index._chains.count(6, 46) == 0
        for kept in (model.keys, model.born, model.died):
            del kept[6:]
    model.insert([0] * 2, 3)
    assert model.probe([0, 0], [2, 3]) == model.expected([0, 0], [2, 3])
