"""Reduce against its model: at every time, in any batching, in any order within a time, and back to nothing."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, HUGEINT, INTEGER, TIMESTAMP, VARCHAR, SqlType, decimal
from ivm.operators.accumulable import AggregateSpec
from ivm.operators.reduce import Reduce
from ivm.trace.columns.column import Column
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import Bag, Row, Update, aggregate, apply, close, from_delta, plain, to_delta
from tests.states import rollback, seal, step

ARGUMENTS = (BIGINT, INTEGER, decimal(15, 2), decimal(30, 4), DOUBLE, VARCHAR, DATE, TIMESTAMP, BOOLEAN, HUGEINT)
NUMBERS = (BIGINT, INTEGER, decimal(15, 2), decimal(30, 4), HUGEINT)
SPREADS = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")

texts = st.sampled_from(["", "a", "b", "ab", "abcdefgh", "abcdefghi", "é", "\x7f"])
doubles = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 1e16, -1e16, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 3.5, 1e308]),
    st.floats(-1000, 1000),
)
few_doubles = st.sampled_from([0.1, 0.2, -0.3, 1e15, 7.25, -1e15])


def values_of(type_: SqlType, tame: bool):
    if type_ == DOUBLE:
        return few_doubles if tame else doubles
    if type_ == VARCHAR:
        return texts
    if type_ == BOOLEAN:
        return st.booleans()
    if type_ in (HUGEINT, decimal(30, 4)):
        return st.sampled_from([0, 1, -1, 2**64, -(2**64) - 5, 10**29, -(10**29), 7])
    if type_ in (INTEGER, DATE):
        return st.sampled_from([0, 1, -1, 5, 2**31 - 1, -(2**31)])
    return st.sampled_from([0, 1, -1, 5, 10**14, 2**63 - 1, -(2**63)])


def result_type(function: str, type_: SqlType | None) -> SqlType:
    if function in ("count", "count_star"):
        return BIGINT
    assert type_ is not None
    if function in ("min", "max"):
        return type_
    if function == "sum" and type_ != DOUBLE:
        return decimal(38, type_.scale) if type_.scale else HUGEINT
    return DOUBLE


def functions_of(type_: SqlType) -> tuple[str, ...]:
    if type_ == DOUBLE:
        return ("sum", "avg", "min", "max", "count", *SPREADS)
    return ("count", "min", "max", "sum", "avg") if type_ in NUMBERS else ("count", "min", "max")


@st.composite
def worlds(draw):
    """Types, aggregates and a list of commits, each a list of updates whose multiplicities never go below zero."""
    keys = draw(st.lists(st.tuples(st.sampled_from([BIGINT, VARCHAR, BOOLEAN]), st.booleans()), max_size=2))
    arguments = draw(st.lists(st.tuples(st.sampled_from(ARGUMENTS), st.booleans()), max_size=3))
    types = (*keys, *arguments)
    specs = []
    for _ in range(draw(st.integers(0, 5))):
        if not arguments or draw(st.integers(0, 4)) == 0:
            specs.append(AggregateSpec("count_star", None, None, False, BIGINT))
            continue
        at = draw(st.integers(0, len(arguments) - 1))
        type_, nullable = arguments[at]
        function = draw(st.sampled_from(functions_of(type_)))
        specs.append(AggregateSpec(function, len(keys) + at, type_, nullable, result_type(function, type_)))
    tame = draw(st.booleans())
    rows = st.tuples(
        *(st.one_of(values_of(t, tame), st.none()) if nullable else values_of(t, tame) for t, nullable in types)
    )
    pool = draw(st.lists(rows, min_size=1, max_size=8))
    held: Bag = Counter()
    updates = []
    time = 0
    for _ in range(draw(st.integers(1, 25))):
        time += draw(st.sampled_from([0, 0, 1]))
        row = pool[draw(st.integers(0, len(pool) - 1))]
        key = tuple(map(plain, row))
        diff = draw(st.integers(-held[key], 3))
        if diff:
            held[key] += diff
            updates.append((row, time, diff))
    return tuple(keys), tuple(arguments), specs, updates


def reduced(bag: Bag, keys: int, specs) -> dict[Row, Row]:
    """The model: each group's aggregates."""
    groups: dict[Row, list[Any]] = {} if keys else {(): []}
    for row, m in bag.items():
        groups.setdefault(row[:keys], []).append((row, m))
    result = {}
    for key, rows in groups.items():
        if keys == 0 or sum(m for _, m in rows):
            result[key] = tuple(
                aggregate(
                    s.function,
                    [(real(r[s.argument]), m) for r, m in rows if r[s.argument] is not None]
                    if s.argument is not None
                    else [(1, m) for _, m in rows],
                    s.argument_type,
                )
                for s in specs
            )
    return result


def real(value):
    return math.nan if value == "nan" else value


def check_equal(got: Bag, wanted: dict[Row, Row], keys: int, specs) -> None:
    assert all(m == 1 for m in got.values())
    rows = {row[:keys]: row[keys:] for row in got}
    assert len(rows) == len(got)
    assert rows.keys() == wanted.keys()
    for key, row in rows.items():
        for value, expected, spec in zip(row, wanted[key], specs, strict=True):
            exact = spec.function not in ("avg", *SPREADS)
            assert close(real(value), expected, exact), (spec.function, value, expected)


class Driver:
    """A reduce and the contents that its output adds up to."""

    def __init__(self, keys, arguments, specs) -> None:
        self.types = (*keys, *arguments)
        self.keys, self.specs = len(keys), specs
        self.out_types = [t for t, _ in keys] + [s.type for s in specs]
        self.dictionary = TextDictionary()
        self.reduce = Reduce(keys, tuple(specs), self.dictionary)
        self.out = apply(
            Counter(), from_delta(next(self.reduce.contents([], 0), None), self.out_types, self.dictionary)
        )

    def step(self, updates):
        delta = step(self.reduce, [to_delta(updates, self.types, self.dictionary)])
        return from_delta(delta, self.out_types, self.dictionary)

    def contents(self) -> Bag:
        rows: list[Update] = []
        for delta in self.reduce.contents([], 7):
            rows += from_delta(delta, self.out_types, self.dictionary)
        return apply(Counter(), rows)


def by_time(updates):
    result: dict[int, list[Update]] = {}
    for update in updates:
        result.setdefault(update[1], []).append(update)
    return result


@settings(deadline=None, max_examples=150)
@given(worlds(), st.randoms())
def test_the_laws(world, random):
    keys, arguments, specs, updates = world
    if not updates:
        return
    small, big, shuffled = (Driver(keys, arguments, specs) for _ in range(3))
    held: Bag = Counter()
    check_equal(small.out, reduced(held, small.keys, specs), small.keys, specs)
    apart = []
    for time, batch in by_time(updates).items():
        # An aborted step leaves no trace.
        small.step([(row, time, 5) for row, _, _ in batch])
        rollback(small.reduce)
        out = small.step(batch)
        seal(small.reduce)
        apart += out
        assert max(Counter(tuple(map(plain, row)) for row, _, _ in out).values(), default=0) <= 1
        held, small.out = apply(held, batch), apply(small.out, out)
        check_equal(small.out, reduced(held, small.keys, specs), small.keys, specs)
        assert small.contents() == small.out
    together = big.step(updates)
    seal(big.reduce)
    assert [u[1] for u in together] == sorted(u[1] for u in together)
    assert same(together, apart)
    mixed = list(updates)
    random.shuffle(mixed)
    assert same(shuffled.step(mixed), apart)
    seal(shuffled.reduce)
    # Insert then retract leaves nothing.
    last = updates[-1][1] + 1
    back = [(tuple(map(real, row)), last, -m) for row, m in held.items()]
    for driver in (small, shuffled):
        if back:
            driver.step(back)
            seal(driver.reduce)
        size = driver.reduce.size()
        assert (size.rows, size.entries) == (0, 0)
        assert not driver.reduce.groups.index[-2][: driver.reduce.groups.index[0]].any()
        check_equal(driver.contents(), reduced(Counter(), driver.keys, specs), driver.keys, specs)


def same(a, b) -> bool:
    return Counter((tuple(map(plain, r)), t, d) for r, t, d in a) == Counter(
        (tuple(map(plain, r)), t, d) for r, t, d in b
    )


def one_column(type_: SqlType, *functions: str, nullable: bool = False) -> Driver:
    specs = [AggregateSpec(f, 0, type_, nullable, result_type(f, type_)) for f in functions]
    return Driver((), ((type_, nullable),), specs)


def test_sums_of_doubles_do_not_drift():
    driver = one_column(DOUBLE, "sum", "avg", "stddev_samp")
    random = np.random.default_rng(7)
    values = (random.standard_normal(5000) * 10.0 ** random.integers(-30, 30, 5000)).tolist()
    driver.step([((v,), 1, 1) for v in values])
    seal(driver.reduce)
    driver.step([((0.1,), 2, 1), ((0.2,), 2, 1)])
    seal(driver.reduce)
    for at in range(0, 5000, 50):
        driver.step([((v,), 3, -1) for v in values[at : at + 50]])
        seal(driver.reduce)
    (row,) = driver.contents()
    assert row[:2] == (0.1 + 0.2, (0.1 + 0.2) / 2)
    assert close(row[2], aggregate("stddev_samp", [(0.1, 1), (0.2, 1)], DOUBLE), False)


@pytest.mark.parametrize("order", [(1.5, 1e-300, 1e300, 5e-324), (1e300, 1e-300, 7.0), (math.inf, 0.0, 3.0, -1e-9)])
def test_sums_widen_as_exponents_come(order):
    driver = one_column(DOUBLE, "sum", "var_pop", "avg", "count")
    held = []
    for time, value in enumerate(order, 1):
        held.append(((value,), time, 1))
        driver.step(held[-1:])
        seal(driver.reduce)
        bag = apply(Counter(), held)
        check_equal(driver.contents(), reduced(bag, 0, driver.specs), 0, driver.specs)
    while held:
        driver.step([(held.pop(0)[0], 9, -1)])
        seal(driver.reduce)
        bag = apply(Counter(), held)
        check_equal(driver.contents(), reduced(bag, 0, driver.specs), 0, driver.specs)


def test_large_batches_equal_small_ones():
    """More rows than are packed together, with NULLs, wide values and large multiplicities."""
    random = np.random.default_rng(3)
    types = (BIGINT, decimal(30, 4), DOUBLE, INTEGER)
    specs = [AggregateSpec("count_star", None, None, False, BIGINT)]
    for at, type_ in enumerate(types[1:], 1):
        functions = functions_of(type_)
        specs += [AggregateSpec(f, at, type_, True, result_type(f, type_)) for f in functions]
    shape = ((types[0], False), *((t, True) for t in types[1:]))
    whole, parts = (Driver(shape[:1], shape[1:], specs) for _ in range(2))
    updates = []
    for _ in range(6000):
        k = int(random.integers(0, 5))
        values = (int(random.integers(-9, 9)) * 2**66, float(random.normal()), int(random.integers(-99, 99)))
        row = (k, *(None if random.random() < 0.1 else v for v in values))
        updates.append((row, 1, int(random.choice([1, 1, 1, 2**40]))))
    whole.out = apply(whole.out, whole.step(updates))
    seal(whole.reduce)
    for at in range(0, 6000, 1000):
        parts.out = apply(parts.out, parts.step(updates[at : at + 1000]))
        seal(parts.reduce)
    assert whole.out == parts.out
    check_equal(whole.out, reduced(apply(Counter(), updates), 1, specs), 1, specs)


@pytest.mark.parametrize(
    ("type_", "value", "diff"),
    [(decimal(38, 0), 9 * 10**37, 2), (HUGEINT, 2**126, 2), (BIGINT, 2**62, 2**62), (HUGEINT, -(2**126), 3)],
)
def test_a_sum_that_does_not_fit_is_an_error_and_changes_nothing(type_, value, diff):
    driver = one_column(type_, "sum")
    driver.step([((5,), 1, 1)])
    seal(driver.reduce)
    before = driver.contents()
    with pytest.raises(NumericError, match="does not fit"):
        driver.step([((value,), 2, diff)] * 9)
    rollback(driver.reduce)
    assert driver.contents() == before
    driver.step([((5,), 2, -1)])
    seal(driver.reduce)
    assert driver.reduce.size().rows == 0


def test_a_sum_may_pass_its_bound_within_a_time():
    driver = one_column(decimal(38, 0), "sum")
    big = 9 * 10**37
    out = driver.step([((big,), 1, 1), ((big,), 1, 1), ((big,), 1, -1), ((-3,), 1, 1)])
    assert [row for row, _, diff in out if diff == 1] == [(big - 3,)]


def test_deleting_the_extreme_costs_a_logarithm():
    driver = one_column(BIGINT, "min", "max")
    driver.step([((v,), 1, 1) for v in range(50_000)])
    seal(driver.reduce)
    visited = driver.reduce.visited
    for low in range(100):
        driver.step([((low,), low + 2, -1)])
        seal(driver.reduce)
    assert driver.contents() == Counter({(100, 49_999): 1})
    assert driver.reduce.visited - visited < 100 * 150


def test_nothing_is_emitted_where_nothing_changes():
    driver = one_column(BIGINT, "min")
    driver.step([((1,), 1, 1)])
    seal(driver.reduce)
    assert step(driver.reduce, [to_delta([((2,), 2, 1)], driver.types, driver.dictionary)]) is None


def test_group_lifecycle():
    driver = Driver(((VARCHAR, True),), (), [AggregateSpec("count_star", None, None, False, BIGINT)])
    out = driver.step([((None,), 1, 1), ((None,), 2, -1), (("x",), 2, 1), ((None,), 4, 1)])
    assert out == [((None, 1), 1, 1), ((None, 1), 2, -1), (("x", 1), 2, 1), ((None, 1), 4, 1)]


@pytest.mark.parametrize("hold", [lambda d: d, lambda d: d.groups, lambda d: d.column(0), lambda d: d.diffs, len])
def test_what_somebody_still_has_of_a_step_stays_as_it_is(hold):
    """What a step makes its rows in is used for the next one, unless anything of it is still held."""
    driver, rooms, held = one_column(BIGINT, "sum"), set(), []
    for value in range(1, 6):
        delta = step(driver.reduce, [to_delta([((value,), value, 1)], driver.types, driver.dictionary)])
        seal(driver.reduce, value + 1, value)
        assert delta is not None
        assert delta.diffs is not None
        kept, expected = hold(delta), (delta.column(0).values.tolist(), delta.diffs.tolist())
        rooms.add(id(delta.groups[0].source))
        held.append((kept, expected))
        del delta, kept
    for kept, (values, diffs) in held:
        column = kept.column(0) if isinstance(kept, Delta) else kept[0].column(0) if isinstance(kept, list) else kept
        if isinstance(column, Column):
            assert column.values.tolist() == values
        elif isinstance(column, np.ndarray):
            assert column.tolist() == diffs
    assert (len(rooms) == 1) == (hold is len)
