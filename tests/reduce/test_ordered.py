"""Ordered aggregates against their model: at every time, in any batching and order, undone, and back to nothing."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TIMESTAMP, VARCHAR, SqlType, decimal, list_of
from ivm.operators.accumulable import AggregateSpec
from ivm.operators.reduce import Reduce
from ivm.render.reduce import ordered_by
from ivm.sql.ir.aggregates import AGGREGATES, ORDERED, Reduction, aggregate_of
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.column import Column
from ivm.trace.ordered.row_order import Term
from ivm.trace.text.dictionary import TextDictionary
from tests.model.folds import FOLDS
from tests.reduce.model import Bag, Update, apply, from_column, plain, sort_key, to_delta
from tests.states import rollback, seal, step

TYPES = (BIGINT, INTEGER, decimal(15, 2), decimal(30, 4), DOUBLE, VARCHAR, DATE, TIMESTAMP, BOOLEAN)
VALUES: dict[SqlType, list[Any]] = {
    BIGINT: [0, 1, -1, 5, 2**53 + 1, -(2**60)],
    INTEGER: [0, 1, -1, 5, 2**31 - 1],
    decimal(15, 2): [0, 101, -226, 125, 99],
    decimal(30, 4): [0, 10**20 + 3, -(10**20), 7, -8],
    DOUBLE: [0.0, 0.1, -3.5, math.inf, math.nan, 1e300],
    VARCHAR: ["", "a", "b", "ab", "abcdefghi", "é"],
    DATE: [0, 1, 18000, -5],
    TIMESTAMP: [0, 1, 1577836800000001, -315619199999999],
    BOOLEAN: [True, False],
}
CONTINUOUS = (BIGINT, INTEGER, decimal(15, 2), decimal(30, 4), DOUBLE, DATE, TIMESTAMP)


FITTING: dict[str, tuple[SqlType, ...]] = {
    "string_agg": (VARCHAR,),
    "quantile_cont": CONTINUOUS,
    "mad": (DOUBLE, decimal(15, 2), decimal(30, 4)),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), (BIGINT, INTEGER)),
}
"""What those take that do not take every type."""
FUNCTIONS = [each.name for each in AGGREGATES.values() if each.reduction in ORDERED and each.name not in FOLDS]
FUNCTIONS += [name for name in FITTING if name in FOLDS]  # the others round otherwise than the model


def result_type(function: str, type_: SqlType) -> SqlType:
    if function == "list":
        return list_of(type_)
    if function == "quantile_cont" and type_ in (BIGINT, INTEGER):
        return DOUBLE
    return TIMESTAMP if function == "quantile_cont" and type_ == DATE else type_


@st.composite
def specs(draw, types):
    """An aggregate over the columns of `types` (type, nullable), the key first."""
    places = range(1, len(types))
    function = draw(st.sampled_from(FUNCTIONS))
    fitting = [i for i in places if types[i][0] in FITTING.get(function, TYPES)]
    if not fitting:
        function, fitting = "list", list(places)
    at = draw(st.sampled_from(fitting))
    terms = [Term(i, t, n, draw(st.booleans()), draw(st.booleans())) for i, (t, n) in enumerate(types)]
    others = [Term(i, *types[i]) for i in draw(st.lists(st.sampled_from(places), max_size=1))]
    order = draw(st.lists(st.sampled_from(terms[1:]), max_size=2, unique=True))
    parameters: tuple[Any, ...] = ()
    if function.startswith("arg_"):
        i = draw(st.sampled_from(places))
        others = [Term(i, *types[i])]
    elif function.startswith("quantile"):
        parameters = (draw(st.sampled_from([Decimal("0.5"), Decimal("0.29"), 0.3, 0.0, Decimal("1"), 0.75])),)
    elif function == "string_agg":
        parameters = (draw(st.sampled_from([",", "", " - "])),)
    type_, nullable = types[at]
    argument = Term(at, type_, nullable)
    ordered = ordered_by(function, argument, others, order)
    return AggregateSpec(function, at, type_, nullable, result_type(function, type_), ordered, parameters)


@st.composite
def worlds(draw):
    """Types, aggregates, and updates of rows from a small pool whose multiplicities never go below zero."""
    types = (
        (draw(st.sampled_from([BIGINT, VARCHAR])), True),
        *draw(st.lists(st.tuples(st.sampled_from(TYPES), st.booleans()), min_size=1, max_size=3)),
    )
    found = draw(st.lists(specs(types), min_size=1, max_size=4))
    if draw(st.booleans()):
        found.append(AggregateSpec("count_star", None, None, False, BIGINT))
    rows = st.tuples(
        *(st.sampled_from([*VALUES[t][:3], None]) if i == 0 else _values(t, n) for i, (t, n) in enumerate(types))
    )
    pool = draw(st.lists(rows, min_size=1, max_size=8))
    held: Bag = Counter()
    updates: list[Update] = []
    time = 0
    for _ in range(draw(st.integers(1, 30))):
        time += draw(st.sampled_from([0, 0, 1]))
        row = pool[draw(st.integers(0, len(pool) - 1))]
        key = tuple(map(plain, row))
        diff = draw(st.integers(-held[key], 3))
        if diff:
            held[key] += diff
            updates.append((row, time, diff))
    return types, found, updates


def _values(type_: SqlType, nullable: bool):
    return st.sampled_from([*VALUES[type_], None] if nullable else VALUES[type_])


def real(value: Any) -> Any:
    return math.nan if value == "nan" else value


def aggregate(spec: AggregateSpec, rows: list[tuple[Any, ...]]) -> Any:
    """The model: the rows in order, each copy a row."""
    if spec.ordered is None or spec.argument is None:
        return len(rows)
    terms, argument = spec.ordered.terms, spec.argument
    rows = [r for r in rows if all(r[c] is not None for c in spec.ordered.required)]
    if not rows:
        return None
    rows.sort(key=cmp_to_key(lambda a, b: _compare(a, b, terms)))
    values = [r[argument] for r in rows]
    if spec.function == "list":
        return tuple(map(plain, values))
    if spec.function == "string_agg":
        return str(spec.parameters[0]).join(values)
    if aggregate_of(spec.function).reduction is Reduction.FIRST:
        return plain(values[0])
    if spec.function in FOLDS:
        return plain(FOLDS[spec.function]([real(value) for value in values], [], spec.type))
    return plain(_quantile(spec, values))


def _compare(a: Any, b: Any, terms: tuple[Term, ...]) -> int:
    for term in terms:
        x, y = a[term.column], b[term.column]
        if (x is None) != (y is None):
            return -1 if (x is None) == term.nulls_first else 1
        if x is not None and sort_key(x) != sort_key(y):
            return -1 if (sort_key(x) < sort_key(y)) != term.descending else 1
    return 0


def _quantile(spec: AggregateSpec, values: list[Any]) -> Any:
    n = len(values)
    fraction: Any = spec.parameters[0]
    if spec.function == "quantile_disc":
        if isinstance(fraction, Decimal):
            return values[max(1, n - int((1 - Fraction(fraction)) * n)) - 1]
        return values[max(1, n - math.floor(n - n * fraction)) - 1]
    place = (n - 1) * float(fraction)
    low, high, share = values[math.floor(place)], values[math.ceil(place)], place - math.floor(place)
    if spec.argument_type == DATE:
        low, high = low * 86_400_000_000, high * 86_400_000_000
    if spec.type == DOUBLE:
        low, high = float(low), float(high)
        return low if share == 0 else low * (1 - share) + high * share
    if share == 0:
        return low
    if spec.type == TIMESTAMP:
        mixed = float(low) * (1 - share) + float(high) * share
        return int(math.copysign(math.floor(abs(mixed) + 0.5), mixed))
    if spec.type.precision > 18:
        return low + int(float(high - low) * share)
    return int(float(low) + float(high - low) * share)


class Driver:
    """A reduce by the first column, and the contents that its output adds up to."""

    def __init__(self, types, found) -> None:
        self.types, self.specs = types, found
        self.dictionary = TextDictionary()
        self.reduce = Reduce(types[:1], tuple(found), self.dictionary)
        self.out: Bag = Counter()

    def read(self, delta) -> list[Update]:
        if delta is None:
            return []
        out = (self.types[0][0], *(s.type for s in self.specs))
        columns = [self._values(c, t) for c, t in zip(delta.columns(), out, strict=True)]
        rows = [tuple(map(plain, row)) for row in zip(*columns, strict=True)]
        return list(zip(rows, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))

    def _values(self, column: Column, type_: SqlType) -> list[Any]:
        if type_.element is None:
            return from_column(column, type_, self.dictionary)
        array = to_arrow(column, type_, self.dictionary.now())
        array.validate(full=True)
        return [None if v is None else tuple(_engine(e, type_.element) for e in v) for v in array.to_pylist()]

    def step(self, updates: list[Update]) -> list[Update]:
        return self.read(step(self.reduce, [to_delta(updates, self.types, self.dictionary)]))

    def contents(self) -> Bag:
        return apply(Counter(), [u for delta in self.reduce.contents([], 7) for u in self.read(delta)])

    def wanted(self, held: Bag) -> Bag:
        groups: dict[Any, list[Any]] = {}
        for row, m in held.items():
            groups.setdefault(row[0], []).extend([tuple(map(real, row))] * m)
        return Counter((key, *(aggregate(s, list(rows)) for s in self.specs)) for key, rows in groups.items())


def _engine(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return int(value.scaleb(type_.scale))
    if type_ in (DATE, TIMESTAMP):
        return pa.scalar(value, pa.date32() if type_ == DATE else pa.timestamp("us")).value
    return plain(value)


@settings(deadline=None, max_examples=120)
@given(worlds(), st.randoms())
def test_the_laws(world, random):
    types, found, updates = world
    if not updates:
        return
    small, big, shuffled = (Driver(types, found) for _ in range(3))
    held: Bag = Counter()
    apart: list[Update] = []
    by_time: dict[int, list[Update]] = {}
    for update in updates:
        by_time.setdefault(update[1], []).append(update)
    for time, batch in by_time.items():
        small.step([(row, time, 5) for row, _, _ in batch])  # an aborted step leaves no trace
        rollback(small.reduce)
        out = small.step(batch)
        seal(small.reduce)
        apart += out
        held, small.out = apply(held, batch), apply(small.out, out)
        assert small.out == small.wanted(held)
        assert small.contents() == small.out
    together = big.step(updates)
    seal(big.reduce)
    assert [u[1] for u in together] == sorted(u[1] for u in together)
    assert Counter(together) == Counter(apart)
    mixed = list(updates)
    random.shuffle(mixed)
    assert Counter(shuffled.step(mixed)) == Counter(apart)
    seal(shuffled.reduce)
    last = updates[-1][1] + 1
    back = [(tuple(map(real, row)), last, -m) for row, m in held.items()]
    for driver in (small, shuffled):
        if back:
            driver.step(back)
            seal(driver.reduce)
        size = driver.reduce.size()
        assert (size.rows, size.entries) == (0, 0)
        assert not driver.contents()


def one_column(type_: SqlType, function: str, *parameters: Any) -> Driver:
    ordered = ordered_by(function, Term(1, type_, False), (), ())
    spec = AggregateSpec(function, 1, type_, False, result_type(function, type_), ordered, parameters)
    return Driver(((BIGINT, False), (type_, False)), [spec])


def test_a_median_under_changes_costs_logarithms():
    driver = one_column(BIGINT, "quantile_cont", Decimal("0.5"))
    driver.step([((1, v), 1, 1) for v in range(20_000)])
    seal(driver.reduce)
    visited = driver.reduce.visited
    for low in range(100):
        driver.step([((1, low), low + 2, -1)])
        seal(driver.reduce)
    assert driver.contents() == Counter({(1, (100 + 19_999) / 2): 1})
    assert driver.reduce.visited - visited < 100 * 300


def test_quantiles_of_many_copies():
    random = np.random.default_rng(5)
    driver = one_column(INTEGER, "quantile_disc", Decimal("0.9"))
    values = random.integers(0, 300, 4000)
    driver.step([((1, int(v)), 1, 1) for v in values])
    seal(driver.reduce)
    gone = values[:3000]
    driver.step([((1, int(v)), 2, -1) for v in gone])
    seal(driver.reduce)
    rest = np.sort(values[3000:])
    assert driver.contents() == Counter({(1, int(rest[899])): 1})
