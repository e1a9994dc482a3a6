"""The model of relations on cases small enough to check by eye."""

from __future__ import annotations

from collections import Counter

import pytest

from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, decimal
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.relation import (
    Constant,
    Filter,
    Get,
    Join,
    Map,
    Negate,
    Order,
    Project,
    Reduce,
    Threshold,
    TopK,
    Union,
)
from ivm.sql.ir.scalar import Call, Column, Literal
from tests.model.relation import evaluate

A, B = Column(0, BIGINT), Column(1, BIGINT)
T = Get("t", (Field("a", BIGINT), Field("b", BIGINT)))
BAG = Counter({(1, 10): 2, (1, None): 1, (2, 20): 1, (None, 5): 3})
TABLES = {"t": BAG}
ZERO = Literal(0, BIGINT)


def test_map_filter_project_act_row_by_row():
    doubled = Map(T, (Call("add", (B, B), BIGINT),), ("c",))
    kept = Filter(doubled, (Call("gt", (A, ZERO), BOOLEAN),))
    assert evaluate(kept, TABLES) == {(1, 10, 20): 2, (1, None, None): 1, (2, 20, 40): 1}
    assert evaluate(Project(kept, (0,)), TABLES) == {(1,): 3, (2,): 1}


def test_predicates_guard_those_after_them():
    inverse = Call("gt", (Call("idiv", (B, A), BIGINT), ZERO), BOOLEAN)
    guard = Call("ne", (A, ZERO), BOOLEAN)
    tables = {"t": Counter({(0, 1): 1, (2, 8): 1})}
    assert evaluate(Filter(T, (guard, inverse)), tables) == {(2, 8): 1}
    with pytest.raises(NumericError):
        evaluate(Filter(T, (inverse, guard)), tables)


def test_a_join_multiplies_and_null_joins_nothing():
    assert evaluate(Join((T, T), ((0, 2),)), TABLES) == {
        (1, 10, 1, 10): 4,
        (1, 10, 1, None): 2,
        (1, None, 1, 10): 2,
        (1, None, 1, None): 1,
        (2, 20, 2, 20): 1,
    }
    assert sum(evaluate(Join((T, T)), TABLES).values()) == 49


def test_a_reduce_has_a_row_for_each_group():
    aggregates = (
        Aggregate("count_star", None, BIGINT, False),
        Aggregate("count", B, BIGINT, False),
        Aggregate("sum", B, HUGEINT),
        Aggregate("max", B, BIGINT),
    )
    names = ("a", "n", "c", "s", "m")
    assert evaluate(Reduce(T, (A,), aggregates, names), TABLES) == {
        (1, 3, 2, 20, 10): 1,
        (2, 1, 1, 20, 20): 1,
        (None, 3, 3, 15, 5): 1,
    }
    assert evaluate(Reduce(T, (), aggregates, names[1:]), {"t": Counter()}) == {(0, 0, None, None): 1}
    assert evaluate(Reduce(T, (A,), (), ("a",)), {"t": Counter({(1, 1): 1, (1, 2): -1})}) == {}


def test_averages_and_deviations_are_exact_until_the_end():
    price, x = Column(0, decimal(10, 2)), Column(1, DOUBLE)
    table = Get("p", (Field("price", decimal(10, 2)), Field("x", DOUBLE)))
    functions = [("avg", price), ("avg", x), ("sum", x), ("var_samp", x), ("stddev_pop", x)]
    aggregates = tuple(Aggregate(f, c, DOUBLE) for f, c in functions)
    reduce = Reduce(table, (), aggregates, tuple("abcde"))
    rows = Counter({(10, 1e16): 1, (21, 1.0): 1, (None, -1e16): 1})
    ((a, b, c, d, e),) = evaluate(reduce, {"p": rows})
    assert (a, b, c) == (0.155, 1 / 3, 1.0)
    assert d == pytest.approx(1e32)
    assert e == pytest.approx((2e32 / 3) ** 0.5)


def test_top_k_counts_multiplicities_and_breaks_ties_by_the_whole_row():
    rows = Counter({(1, 3): 2, (1, 1): 1, (2, None): 1, (None, 9): 2, (2, 5): 1})
    first = TopK(T, (), (Order(0, True),), 3)
    assert evaluate(first, {"t": rows}) == {(2, 5): 1, (2, None): 1, (1, 1): 1}
    nulls = TopK(T, (), (Order(0, True, True),), 2, 1)
    assert evaluate(nulls, {"t": rows}) == {(None, 9): 1, (2, 5): 1}
    each = TopK(T, (0,), (Order(1),), 1)
    assert evaluate(each, {"t": rows}) == {(1, 1): 1, (2, 5): 1, (None, 9): 1}
    assert evaluate(TopK(T, (), (), None, 6), {"t": rows}) == {(None, 9): 1}


def test_union_negate_threshold_add_signed_multiplicities():
    rows = Constant(((1, 10), (1, 10), (1, 10), (7, 7)), T.schema)
    difference = Union((T, Negate(rows)))
    assert evaluate(difference, TABLES) == {(1, 10): -1, (1, None): 1, (2, 20): 1, (None, 5): 3, (7, 7): -1}
    assert evaluate(Threshold(difference), TABLES) == {(1, None): 1, (2, 20): 1, (None, 5): 3}
