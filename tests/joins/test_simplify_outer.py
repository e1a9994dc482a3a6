"""Outer joins are made no more than they need be, and mean the same."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, BOOLEAN
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.query import bind_query
from ivm.sql.decorrelate.decorrelate import expand
from ivm.sql.decorrelate.simplify_outer import simplify_outer
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.relation import Apply, Filter, Join, Order, Project, Reduce, Relation, TopK, Union
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query
from tests.joins.test_expand import LEFT, RELAXED, RIGHT, contents, nodes, row, sides
from tests.joins.test_queries import catalog
from tests.model.relation import evaluate


@st.composite
def trees(draw, depth: int = 3) -> Relation:
    """Joins of every kind under filters, projections, joins and groups."""
    if depth == 0:
        return draw(st.sampled_from([LEFT, RIGHT]))
    below = draw(trees(depth=depth - 1))
    columns = row(below)
    numbers = [c for c in columns if c.type == BIGINT]
    kind = draw(
        st.sampled_from(["filter", "filter", "apply", "apply", "apply", "project", "reduce", "join", "union", "top"])
    )
    match kind:
        case "filter":
            tests = [draw(_tests(columns)) for _ in range(draw(st.integers(1, 2)))]
            return Filter(below, tuple(tests))
        case "apply":
            left, right = draw(st.permutations([below, draw(sides())]))
            how = draw(st.sampled_from(["left", "left", "full", "full", "inner", "semi", "anti", "mark"]))
            if any(not {BIGINT} <= {c.type for c in row(each)} for each in (left, right)):
                return below
            return Apply(how, left, right, tuple(draw(st.lists(_across(left, right), min_size=1, max_size=2))))
        case "project":
            return Project(below, tuple(draw(st.permutations(range(len(columns))))))
        case "reduce" if numbers:
            keys = draw(st.lists(st.sampled_from(columns), min_size=draw(st.integers(0, 1)), max_size=2, unique=True))
            arg = draw(st.sampled_from(numbers))
            function = draw(st.sampled_from(["count", "count", "max", "count_star"]))
            aggregate = Aggregate(function, None if function == "count_star" else arg, BIGINT, function == "max")
            return Reduce(below, tuple(keys), (aggregate,), tuple(f"r{i}" for i in range(len(keys) + 1)))
        case "join" if numbers:
            start = len(columns)
            return Join((below, RIGHT), ((draw(st.sampled_from(numbers)).index, start + draw(st.integers(0, 1))),))
        case "union":
            return Union((below, Filter(below, (draw(_tests(columns)),))))
        case "top":
            return TopK(below, (draw(st.integers(0, len(columns) - 1)),), (Order(0),), 1)
    return below


@st.composite
def _tests(draw, columns) -> Call:
    column = draw(st.sampled_from(columns))
    if column.type != BIGINT or draw(st.booleans()):
        null = Call("is_null", (column,), BOOLEAN, False)
        return draw(st.sampled_from([null, Call("not", (null,), BOOLEAN, False)]))
    return Call(draw(st.sampled_from(["eq", "lt", "ge"])), (column, Literal(1, BIGINT)), BOOLEAN)


def _across(left: Relation, right: Relation):
    ours = [c for c in row(left) if c.type == BIGINT]
    theirs = [c for c in row(right, len(left.schema)) if c.type == BIGINT]
    return st.builds(
        lambda name, one, other: Call(name, (one, other), BOOLEAN),
        st.sampled_from(["eq", "eq", "lt"]),
        st.sampled_from(ours),
        st.sampled_from(theirs),
    )


@given(tree=trees(), tables=contents())
@settings(RELAXED, max_examples=200)
def test_simplified_joins_mean_the_same(tree, tables):
    simple = simplify_outer(tree)
    assert [f.type for f in simple.schema] == [f.type for f in tree.schema]
    expected = evaluate(tree, tables)
    assert evaluate(simple, tables) == expected
    assert evaluate(expand(tree), tables) == expected


KINDS = {
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE b.w > 1": ["inner"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE a.u > 1": ["left"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE b.w IS NOT NULL": ["inner"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE coalesce(b.w, 1) = 1": ["left"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE b.w > 1 OR a.u > 1": ["left"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE b.w > 1 OR b.s = 'x'": ["left"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k WHERE b.w > 1 OR b.w = 0": ["inner"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k JOIN d ON b.w = d.id": ["inner"],
    "SELECT b.w FROM a LEFT JOIN b ON a.k = b.k JOIN d ON a.u = d.id": ["left"],
    "SELECT d.v FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN d ON b.w = d.id WHERE d.v > 0": ["inner", "inner"],
    "SELECT d.v FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN d ON b.w = d.id": ["left", "left"],
    "SELECT b.w FROM a FULL JOIN b ON a.k = b.k WHERE a.u > 1": ["left"],
    "SELECT b.w FROM a FULL JOIN b ON a.k = b.k WHERE b.w > 1": ["left"],
    "SELECT b.w FROM a FULL JOIN b ON a.k = b.k WHERE b.w > a.u": ["inner"],
    "SELECT b.w FROM a FULL JOIN b ON a.k = b.k WHERE a.u IS NULL": ["full"],
    "SELECT a.u FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL": ["anti"],
    "SELECT a.u FROM a LEFT JOIN b ON a.k = b.k WHERE b.w IS NULL": ["left"],
    "SELECT a.u FROM a LEFT JOIN d ON a.k < d.k WHERE d.id IS NULL AND a.u > 0": ["anti"],
    "SELECT a.k, count(b.w) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k": ["inner"],
    "SELECT count(b.w) FROM a LEFT JOIN b ON a.k = b.k": ["inner"],
    "SELECT a.k, count(*) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k": ["left"],
    "SELECT a.k, count(a.u) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k": ["left"],
    "SELECT b.k, count(b.w) FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k": ["left"],
    "SELECT a.k, sum(coalesce(b.w, 1)) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k": ["left"],
    "SELECT a.k, sum(b.w * a.u), max(b.s) FROM b RIGHT JOIN a ON a.k = b.k WHERE a.u > 0 GROUP BY a.k": ["inner"],
    "SELECT k, n FROM (SELECT b.k, max(a.u) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k) x WHERE k > 1": [
        "inner"
    ],
    "SELECT * FROM (SELECT a.k, b.w FROM a LEFT JOIN b ON a.k = b.k ORDER BY a.u LIMIT 3) x WHERE w > 0": ["left"],
    "SELECT * FROM (SELECT b.w FROM a LEFT JOIN b ON a.k = b.k EXCEPT ALL SELECT u FROM a) x WHERE w > 0": ["left"],
    "SELECT * FROM (SELECT b.w FROM a LEFT JOIN b ON a.k = b.k UNION ALL SELECT u FROM a) x WHERE w > 0": ["inner"],
}


@cache
def _bound(text: str) -> Relation:
    """The relation as it is bound, before joins are written in other nodes."""
    source = SqlText(text)
    context = BindContext(catalog(), source, bind_query, lambda catalog, text: LEFT)
    return bind_query(context, query(source, "duckdb").tree, {}).relation


@pytest.mark.parametrize("text", KINDS)
def test_the_kinds_that_remain(text):
    found = {id(node): node.kind for node in nodes(simplify_outer(_bound(text))) if isinstance(node, Apply)}
    assert list(found.values()) == KINDS[text]
