"""Rules keep the meaning of random loops, and what the LetRecs of one loop share; the model is the judge."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import settings as set_to
from hypothesis import strategies as st

from ivm.analysis.carried import carried_by_all
from ivm.catalog.errors import NumericError
from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import (
    Binding,
    Filter,
    Join,
    LetRec,
    Map,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Union,
)
from ivm.sql.ir.scalar import Call, Literal
from ivm.transform.check import check_relation
from ivm.transform.entered import entered
from ivm.transform.pipeline import apply, optimize
from ivm.transform.restrict_loop import restrict_loop
from tests.model.relation import EndlessError, evaluate
from tests.transform.relations import KEYED, LOOSE, predicates, relations, row, scalars, tables
from tests.transform.test_semantics import EVERY_RULE, LARGEST, RELAXED

SCHEMA = (Field("a", BIGINT), Field("b", BIGINT))
NAMES = ("r", "q")
GETS = tuple(RecursiveGet(name, SCHEMA) for name in NAMES)


@st.composite
def shaped(draw, below: Relation) -> Relation:
    """A relation with the columns of a binding, made of what stands in another; often each row once."""
    fitting = [i for i, field in enumerate(below.schema) if field.type == BIGINT]
    if len(fitting) < 2 or draw(st.booleans()):
        width = len(below.schema)
        below = Map(below, tuple(draw(scalars(row(below), BIGINT, 1)) for _ in range(2)), ("x", "y"))
        fitting = [*fitting, width, width + 1]
    picked = tuple(draw(st.sampled_from(fitting)) for _ in range(2))
    shape = Project(below, picked, ("a", "b"))
    return Reduce(shape, tuple(row(shape)), (), ("a", "b")) if draw(st.booleans()) else shape


@st.composite
def steps(draw) -> Relation:
    """What carries on both columns, or one of them, or each in the other's place; or joins two names by one."""
    get = draw(st.sampled_from(GETS))
    if draw(st.integers(0, 4)) == 0:
        twice = Join((get, draw(st.sampled_from(GETS)), LOOSE), ((0, 2), (1, 4)))
        return Project(twice, draw(st.sampled_from([(0, 3), (2, 3), (0, 5), (2, 1)])), ("a", "b"))
    joined = Join((get, LOOSE), ((1, 2),))
    picked = draw(st.sampled_from([(0, 3), (0, 3), (3, 0), (0, 1), (0, 1), (1, 0)]))
    return Project(joined if 3 in picked or draw(st.booleans()) else get, picked, ("a", "b"))


@st.composite
def loops(draw) -> Relation:
    """A relation that reads a loop of two bindings, which ends after a few rounds."""
    made = []
    for name in NAMES:
        base = draw(shaped(draw(relations(1))))
        step = draw(st.one_of(steps(), steps(), relations(2, (KEYED, LOOSE, *GETS)).flatmap(shaped)))
        made.append(Binding(name, SCHEMA, Union((base, step)) if draw(st.integers(0, 3)) else step))
    limit, fails = draw(st.sampled_from([(1, False), (2, False), (3, False), (3, True)]))
    results = tuple(LetRec(tuple(made), i, limit, fails) for i in range(2))
    if draw(st.booleans()):
        loop = draw(st.sampled_from(results))
        return Filter(loop, tuple(draw(predicates(row(loop), 0)) for _ in range(draw(st.integers(1, 2)))))
    return draw(relations(2, results))


VALUES = st.integers(0, 2)
EDGES = st.lists(st.tuples(VALUES, VALUES, st.sampled_from(["", "a"])), min_size=2, max_size=7)


@st.composite
def carrying(draw) -> Filter:
    """Rows with some values of the first column, which most of what is drawn carries on."""
    made = []
    for name in NAMES:
        base, groups = Project(LOOSE, (0, 1), ("a", "b")), draw(st.booleans())
        parts = Union((base, draw(steps()), *([draw(steps())] if draw(st.booleans()) else ())))
        least = Aggregate("min", row(parts)[1], BIGINT)
        each = Reduce(parts, (row(parts)[0],), (least,), ("a", "b")) if groups else parts
        made.append(Binding(name, SCHEMA, each))
    loop = LetRec(tuple(made), draw(st.integers(0, 1)), draw(st.sampled_from([1, 2, 3])))
    kind, value = draw(st.sampled_from(["eq", "ne", "ge"])), Literal(draw(VALUES), BIGINT)
    return Filter(loop, (Call(kind, (row(loop)[draw(st.sampled_from([0, 0, 1]))], value), BOOLEAN),))


def meaning(relation, contents):
    """The bag; None if a row has no value, or there is no end."""
    try:
        return evaluate(relation, contents)
    except (NumericError, EndlessError):
        return None


def assert_same(before, after, contents):
    check_relation(after)
    expected = meaning(before, contents)
    if expected is not None:
        assert evaluate(after, contents) == expected


@given(before=carrying(), edges=EDGES)
@set_to(RELAXED, max_examples=400)
def test_a_loop_may_begin_with_the_rows_that_are_read(before, edges):
    contents = {"keyed": Counter(), "loose": Counter(edges)}
    after = restrict_loop(before)
    assert_same(before, after, contents)
    assert_same(before, optimize(before), contents)


@given(before=carrying(), edges=EDGES)
@set_to(RELAXED, max_examples=400)
def test_a_loop_may_be_cut_by_what_all_its_names_carry_along(before, edges):
    contents = {"keyed": Counter(), "loose": Counter(edges)}
    for columns in carried_by_all(before.input):
        expected = meaning(before.input, contents)
        parts = [meaning(cut(before.input, columns, kind), contents) for kind in ("eq", "ne")]
        assert expected is None or sum(parts, Counter()) == expected


def cut(loop, columns, kind):
    """The loop over those parts of what enters that hold, or do not, one value in what is carried along."""

    def enter(part, column, is_joined):
        if column is None:
            assert is_joined, "what is needed whole is none of the loop's own rows"
            return part
        return Filter(part, (Call(kind, (row(part)[column], Literal(1, BIGINT)), BOOLEAN),))

    return entered(loop, columns, enter)


def test_most_of_these_loops_are_restricted_and_many_can_be_cut():
    found: list[tuple[bool, bool]] = []

    @given(before=carrying(), edges=EDGES)
    @set_to(RELAXED, max_examples=100)
    def count(before, edges):
        contents = {"keyed": Counter(), "loose": Counter(edges)}
        is_restricted = restrict_loop(before) is not before and bool(evaluate(before, contents))
        found.append((is_restricted, bool(carried_by_all(before.input) and evaluate(before.input, contents))))

    count()
    assert all(sum(each) > 10 for each in zip(*found, strict=True))


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.__name__)
@given(before=loops(), contents=tables())
@set_to(RELAXED, max_examples=15)
def test_a_rule_keeps_the_meaning(rule, before, contents):
    check_relation(before)
    assume(len(before.schema) <= LARGEST)
    assert_same(before, apply(rule, before), contents)


@given(before=loops(), contents=tables())
@set_to(RELAXED, max_examples=200)
def test_the_pipeline_keeps_the_meaning_and_loops_are_one(before, contents):
    assume(len(before.schema) <= LARGEST)
    after = optimize(before)
    assert_same(before, after, contents)
    assert len({each.bindings for each in nodes(after) if isinstance(each, LetRec)}) <= 1
