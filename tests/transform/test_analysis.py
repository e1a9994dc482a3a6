"""Facts about relations hold of what the model computes for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ivm.analysis.determined import determined
from ivm.analysis.equivalences import equivalences
from ivm.analysis.known_predicates import known_predicates
from ivm.analysis.ranges import can_raise, value_range
from ivm.analysis.selectivity import selectivity
from ivm.analysis.unique_keys import is_unique, unique_keys
from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DATE, INTEGER, TIMESTAMP, TINYINT, VARCHAR, decimal
from ivm.plan.lower import lower
from ivm.plan.node import Sizes
from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.relation import Constant, Filter, Get, Join, Project, Reduce
from ivm.sql.ir.scalar import Call, Column, Literal, walk
from ivm.transform.pipeline import optimize
from tests.model.scalar import is_true, raises, value_of
from tests.transform.relations import KEYED, LOOSE, relations, row, scalars, tables
from tests.transform.test_semantics import RELAXED, meaning


@given(relation=relations(), contents=tables())
@RELAXED
def test_unique_keys_are_unique(relation, contents):
    bag = meaning(relation, contents) or {}
    for key in unique_keys(relation):
        seen = {tuple(r[c] for c in sorted(key)) for r in bag}
        assert len(seen) == len(bag)
        assert set(bag.values()) <= {1}
        assert is_unique(relation, key)


@given(relation=relations(), contents=tables(), data=st.data())
@RELAXED
def test_rows_that_agree_on_columns_agree_on_what_follows(relation, contents, data):
    given_ = data.draw(st.sets(st.sampled_from(range(len(relation.schema)))) if relation.schema else st.just(set()))
    follows = determined(relation, given_)
    assert given_ <= follows
    found: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for r in meaning(relation, contents) or {}:
        found.setdefault(tuple(r[c] for c in sorted(given_)), set()).add(tuple(r[c] for c in sorted(follows)))
    assert all(len(each) == 1 for each in found.values())


@given(relation=relations(), contents=tables())
@RELAXED
def test_equivalent_columns_are_identical_in_every_row(relation, contents):
    bag = meaning(relation, contents) or {}
    known = equivalences(relation)
    for r in bag:
        assert all(len({r[c] for c in group}) == 1 for group in known.classes)
        assert all(r[c] == value.value for c, value in known.constants.items())


@given(relation=relations(), contents=tables())
@RELAXED
def test_known_predicates_are_true_of_every_row(relation, contents):
    bag = meaning(relation, contents) or {}
    assert all(is_true(p, r) for p in known_predicates(relation) for r in bag)


@given(scalar=scalars(row(Join((KEYED, LOOSE))), BIGINT), contents=tables())
@RELAXED
def test_what_cannot_raise_does_not(scalar, contents):
    for r in meaning(Join((KEYED, LOOSE)), contents) or ():
        for part in walk(scalar):
            assert can_raise(part) or not raises(part, r)
            span, value = value_range(part), None if raises(part, r) else value_of(part, r)
            assert value is None or span is None or span[0] <= int(value) <= span[1]


@given(relation=relations())
@RELAXED
def test_estimates_are_counts(relation):
    sizes = {"keyed": 1000.0, "loose": 50.0}
    estimate = Sizes(sizes).count(lower(optimize(relation)))
    assert 0.0 <= estimate < float("inf")


def test_classes_are_merged_transitively():
    assert merged_classes([(5, 2), (1, 3), (2, 3), (7,), (8, 9)]) == ((1, 2, 3, 5), (8, 9))
    assert merged_classes([(1, 1)]) == ()


ID, REF = row(KEYED)[:2]
X, Y = row(LOOSE)[:2]


def test_a_foreign_key_join_keeps_the_key_of_the_referring_side():
    joined = Join((KEYED, KEYED), ((1, 4),))
    assert unique_keys(joined) == (frozenset({0}),)
    assert unique_keys(Join((KEYED, KEYED), ((0, 4),))) == (frozenset({0}),)
    assert unique_keys(Join((KEYED, KEYED))) == (frozenset({0, 4}),)
    assert unique_keys(Join((KEYED, LOOSE), ((0, 4),))) == ()


def test_constants_and_equalities_shorten_keys():
    pair = Get("pair", (Field("a", BIGINT, False), Field("b", BIGINT, False)), ((0, 1),))
    a, b = row(pair)
    pinned = Filter(pair, (Call("eq", (b, Literal(7, BIGINT)), BOOLEAN, False),))
    assert unique_keys(pinned) == (frozenset({0}),)
    assert is_unique(Filter(pair, (Call("eq", (a, b), BOOLEAN, False),)), (1,))
    assert unique_keys(Filter(pinned, (Call("eq", (a, b), BOOLEAN, False),))) == (frozenset(),)
    assert unique_keys(Project(pinned, (1,))) == ()
    assert unique_keys(Reduce(LOOSE, (X, Y), (), ("x", "y"))) == (frozenset({0, 1}),)
    assert unique_keys(Constant(((1,),), (Field("n", BIGINT),))) == (frozenset(),)


def test_estimates_follow_keys_and_predicates():
    sizes = {"keyed": 1000.0, "loose": 5000.0}

    def count(relation):
        return Sizes(sizes).count(lower(relation))

    one = Filter(KEYED, (Call("eq", (ID, Literal(3, BIGINT)), BOOLEAN),))
    assert count(one) == 1.0
    assert count(Join((LOOSE, KEYED), ((0, 3),))) == 5000.0
    assert count(Join((LOOSE, KEYED))) == 5_000_000.0
    assert count(Reduce(KEYED, (ID,), (), ("id",))) == 1000.0
    assert count(Reduce(LOOSE, (), (), ())) == 1.0
    ranged = Call("lt", (X, Y), BOOLEAN)
    assert selectivity(Call("and", (ranged, ranged), BOOLEAN)) < selectivity(ranged)
    assert selectivity(Call("or", (ranged, ranged), BOOLEAN)) > selectivity(ranged)
    assert selectivity(Call("not", (ranged,), BOOLEAN)) == 1 - selectivity(ranged)


def test_ranges_show_what_cannot_overflow():
    price, rate = Column(0, decimal(8, 2)), Column(1, decimal(3, 2))
    one = Literal(100, decimal(3, 2))
    factor = Call("sub", (one, rate), decimal(4, 2))
    assert not can_raise(Call("mul", (price, factor), decimal(12, 4)))
    assert can_raise(Call("mul", (price, factor), decimal(10, 4)))
    assert can_raise(Call("add", (X, Y), BIGINT))
    small = Call("case", (Call("lt", (X, Y), BOOLEAN), Literal(1, BIGINT), Literal(0, BIGINT)), BIGINT)
    assert not can_raise(Call("add", (small, small), BIGINT))
    assert can_raise(Call("cast", (Column(0, VARCHAR),), INTEGER))
    assert can_raise(Call("cast", (X,), INTEGER))
    assert not can_raise(Call("cast", (Column(0, INTEGER),), BIGINT))
    assert can_raise(Call("idiv", (X, Y), BIGINT))
    assert not can_raise(Call("idiv", (X, Literal(2, BIGINT)), BIGINT))


def test_ranges_of_rounding_dates_and_truth():
    price, day, moment = Column(0, decimal(8, 2)), Column(1, DATE), Column(2, TIMESTAMP)
    assert not can_raise(Call("ceil", (price,), decimal(8, 0)))
    assert can_raise(Call("ceil", (Column(0, decimal(2, 1)),), decimal(1, 0)))
    assert can_raise(Call("round", (X, Literal(-1, INTEGER)), BIGINT))
    assert not can_raise(Call("cast", (moment,), DATE))
    assert can_raise(Call("cast", (day,), TIMESTAMP))
    assert can_raise(Call("date_trunc", (Literal("month", VARCHAR), moment), TIMESTAMP))
    assert not can_raise(Call("date_trunc", (Literal("month", VARCHAR), day), DATE))
    assert can_raise(Call("add_days", (Literal(2**31 - 2, DATE), Literal(1, INTEGER)), DATE))
    truth = Call("cast", (Literal(-5, TINYINT),), BOOLEAN)
    assert value_range(truth) == (0, 1)
    assert can_raise(Call("add", (Literal(127, TINYINT), Call("cast", (truth,), TINYINT)), TINYINT))
