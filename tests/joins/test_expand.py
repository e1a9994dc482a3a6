"""Every kind of join, written in the core nodes, means what nested loops say."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, VARCHAR
from ivm.sql.decorrelate.decorrelate import expand
from ivm.sql.ir.relation import Apply, Filter, Get, Map, Reduce, Relation, inputs_of
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Column, Literal
from ivm.transform.check import check_relation
from ivm.transform.pipeline import optimize
from tests.model.relation import evaluate

KINDS = ("inner", "left", "full", "semi", "anti", "mark", "single")
LEFT = Get("l", (Field("a", BIGINT), Field("b", BIGINT, False), Field("s", VARCHAR)))
RIGHT = Get("r", (Field("x", BIGINT), Field("y", BIGINT, False), Field("t", VARCHAR)))
KEYED = Get("k", (Field("id", BIGINT, False), Field("v", BIGINT), Field("w", VARCHAR)), ((0,),))
RELAXED = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

NUMBERS, TEXTS = st.sampled_from([0, 1, 2, None]), st.sampled_from(["", "a", None])
ROWS = st.tuples(NUMBERS, st.integers(0, 2), TEXTS)
BAGS = st.lists(ROWS, max_size=6).map(Counter)


@st.composite
def contents(draw):
    keys = draw(st.lists(st.integers(0, 3), unique=True, max_size=4))
    keyed = Counter((key, draw(NUMBERS), draw(TEXTS)) for key in keys)
    return {"l": draw(BAGS), "r": draw(BAGS), "k": keyed}


def row(relation: Relation, start: int = 0) -> list[Column]:
    return [Column(start + i, f.type, f.nullable) for i, f in enumerate(relation.schema)]


@st.composite
def predicates(draw, left: Relation, right: Relation):
    """Equalities (plain, NULL-safe, of computed sides), one-sided tests and comparisons across."""
    ours = row(left)
    theirs = row(right, len(ours))
    kind = draw(
        st.sampled_from(["eq", "eq", "eq", "safe", "safe", "computed", "left", "right", "lt", "ne", "or", "literal"])
    )
    type_ = draw(st.sampled_from([BIGINT, BIGINT, VARCHAR]))
    one = draw(st.sampled_from([c for c in ours if c.type == type_]))
    other = draw(st.sampled_from([c for c in theirs if c.type == type_]))
    pair = draw(st.permutations([one, other]))
    value = Literal(1 if type_ == BIGINT else "a", type_)
    match kind:
        case "safe":
            return Call("not", (Call("is_distinct", tuple(pair), BOOLEAN, False),), BOOLEAN, False)
        case "computed":
            filled = Call("coalesce", (one, value), type_, False)
            return Call("eq", (other, filled), BOOLEAN)
        case "left" | "right":
            subject = one if kind == "left" else other
            name = draw(st.sampled_from(["eq", "is_null", "ne"]))
            return Call(name, (subject,) if name == "is_null" else (subject, value), BOOLEAN)
        case "or":
            return Call("or", (Call("eq", tuple(pair), BOOLEAN), Call("is_null", (one,), BOOLEAN, False)), BOOLEAN)
        case "literal":
            return draw(st.sampled_from([TRUE, FALSE]))
    return Call(kind, tuple(pair), BOOLEAN)


@st.composite
def sides(draw):
    """A table, its distinct keys, an aggregate of it with and without keys."""
    base = draw(st.sampled_from([LEFT, RIGHT, KEYED]))
    shape = draw(st.sampled_from(["table", "table", "filter", "map", "groups", "one"]))
    columns = row(base)
    match shape:
        case "filter":
            return Filter(base, (Call("ge", (columns[1], Literal(1, BIGINT)), BOOLEAN),))
        case "map":
            return Map(base, (Call("coalesce", (columns[0], columns[1]), BIGINT),), ("m",))
        case "groups":
            return Reduce(base, tuple(columns), (), tuple(f.name for f in base.schema))
        case "one":
            least = [Call("coalesce", (c,), c.type, c.nullable) for c in columns]
            return Reduce(base, tuple(least), (), tuple(f.name for f in base.schema))
    return base


@st.composite
def applies(draw, kind):
    left, right = draw(sides()), draw(sides())
    tests = tuple(draw(st.lists(predicates(left, right), max_size=3)))
    return Apply(kind, left, right, tests)


def meaning(evaluated, *args):
    try:
        return evaluated(*args)
    except NumericError:
        return None


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@RELAXED
def test_expansion_means_the_join(kind, data):
    apply = data.draw(applies(kind))
    tables = data.draw(contents())
    written = expand(apply)
    check_relation(written)
    assert not any(isinstance(node, Apply) for node in nodes(written))
    assert [f.type for f in written.schema] == [f.type for f in apply.schema]
    expected = meaning(evaluate, apply, tables)
    assert meaning(evaluate, written, tables) == expected
    optimized = meaning(evaluate, optimize(written), tables)
    assert optimized == expected or expected is None


def nodes(relation):
    yield relation
    for inner in inputs_of(relation):
        yield from nodes(inner)


def test_what_stands_twice_is_one_object():
    left = Filter(LEFT, (Call("is_null", (row(LEFT)[0],), BOOLEAN, False),))
    written = expand(Apply("left", left, RIGHT, (Call("eq", (row(LEFT)[0], row(RIGHT, 3)[0]), BOOLEAN),)))
    assert len({id(node) for node in nodes(written) if node == left}) == 1


def test_a_nested_join_is_expanded_once():
    inner = Apply("semi", LEFT, RIGHT, (Call("eq", (row(LEFT)[0], row(RIGHT, 3)[0]), BOOLEAN),))
    written = expand(Apply("anti", inner, inner, (Call("eq", (row(LEFT)[0], row(LEFT, 3)[0]), BOOLEAN),)))
    semi = expand(inner)
    assert len({id(node) for node in nodes(written) if node == semi}) == 1
