"""Groups looked up by key as of a time, as joins do it, against the aggregates of what was there at that time."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.operators.accumulable import AggregateSpec
from ivm.operators.half_join import HalfJoin
from ivm.operators.reduce import Reduce
from ivm.operators.walk import Walk
from ivm.render.reduce import ordered_by
from ivm.trace.columns.column import Column, empty_column
from ivm.trace.delta import Columns, Delta, Group, Layout, delta_of
from ivm.trace.ordered.row_order import Term
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import Bag, apply, from_delta, plain, to_column, to_delta
from tests.reduce.test_reduce import Driver, by_time, check_equal, reduced, worlds
from tests.states import rollback, seal, step

MISSING = {BIGINT: 77, VARCHAR: "not there"}


class Lookups:
    """Keys that are looked up in a driver's groups: those of its updates, with and without NULL, and missing ones."""

    def __init__(self, driver: Driver, updates) -> None:
        self.driver = driver
        self.types = driver.types[: driver.keys]
        missing = tuple(MISSING.get(type_, True) for type_, _ in self.types)
        self.keys = list(dict.fromkeys([*(row[: driver.keys] for row, _, _ in updates), missing]))
        # The stream of a join may have NULL where the group's key cannot.
        self.keys += [(*key[:i], None, *key[i + 1 :]) for key in self.keys[:2] for i in range(len(key))]
        keys, width = len(self.types), len(driver.out_types)
        self.layout = Layout([*((0, i) for i in range(keys)), (1, 0)])
        self.stages = [
            Walk([HalfJoin(driver.reduce.lookup, (*range(keys),), keys + 1, width, seen, (*range(width),), (), True)])
            for seen in (False, True)
        ]

    def find(self, keys, times, inclusive: bool, *, walks: bool = True):
        """What is found, not read yet: positions, and how a column is read. By a walk, or as Python does it."""
        columns = [to_column([k[i] for k in keys], t, self.driver.dictionary) for i, (t, _) in enumerate(self.types)]
        lookup = self.driver.reduce.lookup
        if not walks:
            words, dropped = lookup.layout.pack(columns, len(keys))
            positions, group = lookup.look_up(words, dropped, times, inclusive, range(len(self.driver.out_types)))
            return positions, group.column
        stage, width = self.stages[inclusive], len(self.types) + 1
        there = [Column(np.append(c.values, c.values[:1], axis=0), _and_one(c.valid)) for c in columns]
        numbers = np.arange(len(keys))
        groups = [Group(Columns(there), numbers), Group(Columns([Column(numbers)]))]
        layout = self.layout.within(0, width + len(self.driver.out_types))
        (found,) = stage.all(Delta(groups, layout, len(keys), times, numbers)) or (None,)
        assert stage._ways, "groups are looked up by a leg"
        if found is None:
            return numbers[:0], lambda i: empty_column(self.driver.out_types[i].physical)
        met = found.column(width - 1).values
        assert found.diff_array().tolist() == met.tolist()
        assert isinstance(times, int) or found.time_array().tolist() == times[met].tolist()
        return met, lambda i: found.column(width + i)

    def check(self, keys, found, wanted) -> None:
        """`wanted`: for each key the groups that there were at its time."""
        driver = self.driver
        positions, column = found
        rows = delta_of([column(i) for i in range(len(driver.out_types))], 0, None, len(positions))
        got = dict(
            zip(
                positions.tolist(),
                (r for r, _, _ in from_delta(rows, driver.out_types, driver.dictionary)),
                strict=True,
            )
        )
        assert list(got) == sorted(got)
        there = [i for i, key in enumerate(keys) if None not in key and tuple(map(plain, key)) in wanted[i]]
        assert list(got) == there
        for i in there:
            key = tuple(map(plain, keys[i]))
            row = tuple(map(plain, got[i]))
            check_equal(Counter([row]), {key: wanted[i][key]}, driver.keys, driver.specs)

    def check_committed(self, held: Bag, time: int) -> None:
        """All keys, as of now."""
        now = reduced(held, self.driver.keys, self.driver.specs)
        for walks in (False, True):
            self.check(self.keys, self.find(self.keys, time, True, walks=walks), [now] * len(self.keys))


def _and_one(valid):
    return None if valid is None else np.append(valid, True)


@settings(deadline=None, max_examples=200)
@given(worlds(), st.integers(1, 4), st.booleans(), st.randoms())
def test_a_group_is_found_as_it_was_at_the_time(world, together, inclusive, random):
    keys, arguments, specs, updates = world
    driver = Driver(keys, arguments, specs)
    lookups = Lookups(driver, updates)
    held: Bag = Counter()
    lookups.check_committed(held, 0)
    steps = list(by_time(updates).items())
    for at in range(0, len(steps), together):
        batch = [update for _, part in steps[at : at + together] for update in part]
        last = steps[at][0] - 1
        driver.step([(row, time, 5) for row, time, _ in batch])
        rollback(driver.reduce)
        lookups.check_committed(held, last)
        driver.step(batch)
        states = {last: reduced(held, driver.keys, specs)}
        for time, part in steps[at : at + together]:
            held = apply(held, part)
            states[time] = reduced(held, driver.keys, specs)
        asked = [(key, time) for key in lookups.keys for time in states if inclusive or time > last]
        random.shuffle(asked)
        some, times = [key for key, _ in asked], np.array([time for _, time in asked], np.int64)
        wanted = [states[max(t for t in states if t < time or (inclusive and t == time))] for _, time in asked]
        found = [lookups.find(some, times, inclusive, walks=walks) for walks in (False, True)]
        at_once = [lookups.find(lookups.keys, int(times[0]), inclusive, walks=walks) for walks in (False, True)]
        seal(driver.reduce)
        # What was found is read only now, after the groups have changed.
        for each, now in zip(found, at_once, strict=True):
            lookups.check(some, each, wanted)
            lookups.check(lookups.keys, now, [wanted[0]] * len(lookups.keys))
        lookups.check_committed(held, steps[min(at + together, len(steps)) - 1][0])


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.data())
def test_a_group_that_changes_at_many_times(groups, data):
    """One cell after the other of few groups, found from any time among a thousand."""
    specs = [AggregateSpec("count_star", None, None, False, BIGINT)]
    driver = Driver(((BIGINT, False),), (), specs)
    updates = [((time % groups,), time, 1) for time in range(1000)]
    lookups = Lookups(driver, updates[:1])
    driver.step(updates)
    times = data.draw(st.lists(st.integers(-2, 1002), min_size=2, max_size=40))
    keys = [(data.draw(st.integers(0, groups - 1)),) for _ in times]
    wanted = []
    for (key,), time in zip(keys, times, strict=True):
        count = sum(1 for (k,), t, _ in updates if k == key and t < time)
        wanted.append({(key,): (count,)} if count else {})
    lookups.check(keys, lookups.find(keys, np.array(times, np.int64), False), wanted)
    rollback(driver.reduce)
    lookups.check(keys, lookups.find(keys, np.array(times, np.int64), True), [{}] * len(keys))


def test_ordered_aggregates_are_found_too():
    dictionary = TextDictionary()
    argument, order = Term(1, VARCHAR, False), [Term(1, VARCHAR, False)]
    ordered = ordered_by("string_agg", argument, [], order)
    spec = AggregateSpec("string_agg", 1, VARCHAR, False, VARCHAR, ordered, (",",))
    reduce = Reduce(((BIGINT, False),), (spec,), dictionary)
    types = ((BIGINT, False), (VARCHAR, False))
    keys = reduce.lookup.layout.pack([to_column([1, 1, 2, 3], BIGINT, dictionary)], 4)
    step(
        reduce, [to_delta([((1, "b"), 1, 1), ((2, "c"), 1, 1), ((1, "a"), 2, 1), ((2, "c"), 2, -1)], types, dictionary)]
    )
    positions, rows = reduce.lookup.look_up(*keys, np.array([1, 2, 1, 2]), True, (1,))
    seal(reduce, 2, 2)
    assert positions.tolist() == [0, 1, 2]
    assert dictionary.now().strings(rows.column(1).values) == ["b", "a,b", "c"]
    assert reduce.lookup.look_up(*keys, 2, True)[0].tolist() == [0, 1]


def test_rows_found_before_sums_are_widened_keep_their_values():
    specs = [AggregateSpec("sum", 1, DOUBLE, False, DOUBLE), AggregateSpec("avg", 1, DOUBLE, False, DOUBLE)]
    driver = Driver(((BIGINT, False),), ((DOUBLE, False),), specs)
    driver.step([((1, 0.5), 1, 1)])
    seal(driver.reduce, 1, 1)
    lookups = Lookups(driver, [])
    _, before = lookups.find([(1,)], 1, True)
    driver.step([((1, 1e300), 2, 1), ((1, 1e-300), 2, 1)])
    _, after = lookups.find([(1,)], 2, True)
    assert before(1).values.tolist() == [0.5]
    assert before(2).values.tolist() == [0.5]
    assert after(1).values.tolist() == [1e300]
