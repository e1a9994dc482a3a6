"""Random windows over random types, with random changes, and a driver of the operator beside the model."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, VARCHAR, SqlType, decimal
from ivm.plan.lower import lower
from ivm.plan.window import WindowPlan
from ivm.render.ordered import window_operator
from ivm.sql.ir.relation import Get, Order, Window
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.sql.ir.window_function import UNFRAMED, Frame, WindowFunction
from ivm.trace.text.dictionary import TextDictionary
from tests.model.relation import evaluate
from tests.model.scalar import value_of
from tests.model.values import canonical
from tests.reduce.model import Update, from_delta, to_delta
from tests.states import seal, step

Row = tuple[Any, ...]
Bag = Counter[Row]

KINDS = (BIGINT, BIGINT, INTEGER, VARCHAR, DOUBLE, decimal(15, 2), decimal(30, 4), HUGEINT, BOOLEAN)
NUMBERS = (BIGINT, INTEGER, DOUBLE, decimal(15, 2), decimal(30, 4), HUGEINT)
RANKS = ("row_number", "rank", "dense_rank")
SHARES = ("percent_rank", "cume_dist")
VALUES = ("first_value", "last_value", "nth_value")
SUMS = ("sum", "avg", "count", "min", "max", "count_star", "stddev_samp")

_TEXTS = st.sampled_from(["", "a", "b", "ab", "abcdefgh", "abcdefghi", "é"])
_DOUBLES = st.sampled_from([0.0, -0.0, 0.1, 0.2, 1e16, -1e16, 5e-324, math.inf, -math.inf, math.nan, 3.5])
_WIDE = st.sampled_from([0, 1, -1, 2**64, -(2**64) - 5, 10**29, -(10**29)])
_WHOLE = st.integers(-3, 3) | st.sampled_from([2**31 - 1, -(2**31)])


def values_of(type_: SqlType) -> st.SearchStrategy[Any]:
    """Few values, so that ties and equal rows are common."""
    if type_ == VARCHAR:
        return _TEXTS
    if type_ == BOOLEAN:
        return st.booleans()
    if type_ == DOUBLE:
        return _DOUBLES
    return _WIDE if type_ in (HUGEINT, decimal(30, 4)) else _WHOLE


Framed = tuple[Frame, tuple[Scalar | None, Scalar | None]]
"""A frame, with its bounds."""


@st.composite
def frames(draw: st.DrawFn, types: tuple[tuple[SqlType, bool], ...], order: tuple[Order, ...]) -> Framed:
    """Any frame that the IR can write."""
    kind = draw(st.sampled_from(("rows", "groups", "groups", "peers", "range", "range")))
    exclude = draw(st.sampled_from(("", "", "", "current row", "group", "ties")))
    by = types[order[0].column][0] if order else VARCHAR
    if kind == "peers" or (kind == "range" and by not in (BIGINT, DOUBLE)):
        ends = st.sampled_from([None, 0])
        return Frame(draw(ends), draw(ends), True, exclude), (None, None)
    start = draw(st.one_of(st.none(), st.integers(-3, 2)))
    end = draw(st.one_of(st.none(), st.integers(-2, 3)))
    if kind != "range":
        return Frame(start, end, kind == "groups", exclude), (None, None)
    low, high = (bound(order[0], types, offset) if offset else None for offset in (start, end))
    return Frame(start, end, True, exclude), (low, high)


def bound(term: Order, types: tuple[tuple[SqlType, bool], ...], offset: int) -> Scalar:
    """The value that lies so far behind the one of the term."""
    type_, nullable = types[term.column]
    distance = Literal(float(abs(offset)) if type_ == DOUBLE else abs(offset), type_)
    function = "add" if (offset > 0) != term.descending else "sub"
    return Call(function, (Column(term.column, type_, nullable), distance), type_, nullable)


@st.composite
def functions(
    draw: st.DrawFn, types: tuple[tuple[SqlType, bool], ...], order: tuple[Order, ...] = ()
) -> WindowFunction:
    """One function over a column of a row of `types`."""
    found = draw(_functions(types))
    if found.function in UNFRAMED:
        return found
    frame, bounds = draw(frames(types, order))
    return replace(found, frame=frame, bounds=bounds)


@st.composite
def _functions(draw: st.DrawFn, types: tuple[tuple[SqlType, bool], ...]) -> WindowFunction:
    name = draw(st.sampled_from((*RANKS, *SHARES, "ntile", "lag", "lead", *VALUES, *SUMS, "sum", "sum")))
    at = draw(st.integers(0, len(types) - 1))
    type_, nullable = types[at]
    column = Column(at, type_, nullable)
    skips, varies, least = draw(st.booleans()), draw(st.booleans()), 0 if name in ("lag", "lead") else 1
    number: Scalar = Literal(draw(st.integers(least, 3 + least)), BIGINT)
    of_row = [Column(place, BIGINT, nullable) for place, (each, nullable) in enumerate(types) if each == BIGINT]
    if of_row and varies:
        number = draw(st.sampled_from(of_row))
    if name in RANKS:
        return WindowFunction(name, (), BIGINT, False)
    if name in SHARES:
        return WindowFunction(name, (), DOUBLE, False)
    if name == "ntile":
        return WindowFunction(name, (number,), BIGINT, not isinstance(number, Literal))
    if name in ("lag", "lead"):
        default = Literal(draw(st.one_of(st.none(), values_of(type_))), type_)
        return WindowFunction(name, (column, number, default), type_, ignore_nulls=skips)
    if name == "nth_value":
        return WindowFunction(name, (column, number), type_, ignore_nulls=skips)
    if name in VALUES:
        return WindowFunction(name, (column,), type_, ignore_nulls=skips)
    if name == "count_star":
        return WindowFunction(name, (), BIGINT, False)
    if name == "stddev_samp" and type_ != DOUBLE:
        name = "count"
    if name in ("sum", "avg") and type_ not in NUMBERS:
        name = "max"
    return WindowFunction(name, (column,), _result(name, type_), name != "count")


def _result(name: str, type_: SqlType) -> SqlType:
    if name == "count":
        return BIGINT
    if name in ("min", "max"):
        return type_
    if name == "sum" and type_ != DOUBLE:
        return decimal(38, type_.scale) if type_.scale else HUGEINT
    return DOUBLE


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Window, list[Update]]:
    """A window over one table, and updates by time whose multiplicities never go below zero."""
    types = tuple(draw(st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=4)))
    columns = st.integers(0, len(types) - 1)
    partition = tuple(draw(st.lists(columns, max_size=1)))
    terms = draw(st.lists(st.tuples(columns, st.booleans(), st.booleans()), max_size=2))
    order = tuple(Order(*term) for term in terms)
    chosen = tuple(draw(st.lists(functions(types, order), min_size=1, max_size=4)))
    # The table has the bounds as columns, so that nothing has to be computed below the window.
    bounds = list(dict.fromkeys(bound for f in chosen for bound in f.scalars[len(f.args) :]))
    places = {each: Column(len(types) + i, each.type, each.nullable) for i, each in enumerate(bounds)}
    chosen = tuple(f.map(lambda s: places.get(s, s)) for f in chosen)
    fields = (*types, *((each.type, each.nullable) for each in bounds))
    table = Get("t", tuple(Field(f"c{i}", t, n) for i, (t, n) in enumerate(fields)))
    names = tuple(f"w{i}" for i in range(len(chosen)))
    window = Window(table, partition, order, chosen, names)
    rows = st.tuples(*(st.one_of(values_of(t), st.none()) if n else values_of(t) for t, n in types))
    drawn = draw(st.lists(rows, min_size=1, max_size=10))
    pool = [(*row, *(value_of(each, row) for each in bounds)) for row in drawn]
    held: Bag = Counter()
    updates: list[Update] = []
    time = 0
    for _ in range(draw(st.integers(1, 30))):
        time += draw(st.sampled_from([0, 0, 1]))
        row = pool[draw(st.integers(0, len(pool) - 1))]
        diff = draw(st.integers(-held[normal(row)], 3))
        if diff:
            held[normal(row)] += diff
            updates.append((row, time, diff))
    return window, updates


def normal(row: Row) -> Row:
    """The row with one NaN and no negative zero."""
    return tuple(canonical(v) if isinstance(v, float) else v for v in row)


def rounded(row: Row) -> Row:
    """The row with doubles in a form that forgives the last digits of a quotient."""
    return tuple(f"{v:.12e}" if isinstance(v, float) else v for v in row)


def applied(bag: Bag, updates: list[Update]) -> Bag:
    """The bag after the updates."""
    result = Counter(bag)
    for row, _, diff in updates:
        result[normal(row)] += diff
    return Counter({row: n for row, n in result.items() if n})


class Driver:
    """The operator of a window over a table, fed with Python rows."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.types = tuple((f.type, f.nullable) for f in window.input.schema)
        self.dictionary = TextDictionary()
        plan = lower(window)
        assert isinstance(plan, WindowPlan)
        self.operator = window_operator(plan, self.dictionary)
        self.output = [f.type for f in window.schema]

    def step(self, updates: list[Update]) -> list[Update]:
        """The changes of the output."""
        delta = step(self.operator, [to_delta(updates, self.types, self.dictionary)])
        return from_delta(delta, self.output, self.dictionary)

    def commit(self, updates: list[Update]) -> list[Update]:
        """The changes of the output, made final."""
        out = self.step(updates)
        seal(self.operator)
        return out

    def contents(self) -> Bag:
        """All rows that the operator says there are."""
        found: list[Update] = []
        for delta in self.operator.contents([], 1):
            found += from_delta(delta, self.output, self.dictionary)
        return applied(Counter(), found)

    def expected(self, held: Bag) -> Bag:
        """What the model says."""
        return evaluate(self.window, {"t": held})


def close(got: Bag, wanted: Bag) -> bool:
    """Whether the bags are equal, up to the last digits of doubles."""
    return Counter(map(rounded, got.elements())) == Counter(map(rounded, wanted.elements()))
