"""The text form: one node per line, infix with the fewest parentheses, SQL's literals."""

from __future__ import annotations

import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, VARCHAR, decimal
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
from ivm.sql.ir.text import literal_text, relation_text, scalar_text

A, B, C = (Column(i, BIGINT) for i in range(3))
T = Column(3, VARCHAR)
ORDERS = Get("orders", (Field("id", BIGINT, False), Field("price", BIGINT), Field("day", DATE)), ((0,),))


def call(function, *args, type_=BIGINT):
    return Call(function, args, type_)


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, BIGINT, "NULL"),
        (-5, BIGINT, "-5"),
        (True, BOOLEAN, "TRUE"),
        (5, decimal(3, 2), "0.05"),
        (-12345, decimal(9, 2), "-123.45"),
        (12, decimal(9, 0), "12"),
        (1.5, DOUBLE, "1.5e0"),
        (1e30, DOUBLE, "1e+30"),
        (float("inf"), DOUBLE, "inf"),
        ("it's", VARCHAR, "'it''s'"),
        (9204, DATE, "DATE '1995-03-15'"),
        (10**8, DATE, "DATE '275760-09-13'"),
        (86_400_000_001, TIMESTAMP, "TIMESTAMP '1970-01-02 00:00:00.000001'"),
    ],
)
def test_literals_read_as_in_sql(value, type_, text):
    assert literal_text(value, type_) == text


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        (A, "#0:a"),
        (T, "#3"),
        (call("add", call("mul", A, B), C), "#0:a * #1:b + #2"),
        (call("mul", call("add", A, B), C), "(#0:a + #1:b) * #2"),
        (call("sub", A, call("sub", B, C)), "#0:a - (#1:b - #2)"),
        (call("sub", call("sub", A, B), C), "#0:a - #1:b - #2"),
        (call("eq", call("lt", A, B), call("lt", B, C)), "(#0:a < #1:b) = (#1:b < #2)"),
        (call("and", call("or", A, B), C), "(#0:a OR #1:b) AND #2"),
        (call("or", call("and", A, B), C), "#0:a AND #1:b OR #2"),
        (call("and", call("and", A, B), C), "(#0:a AND #1:b) AND #2"),
        (call("not", call("eq", A, B)), "NOT #0:a = #1:b"),
        (call("eq", call("not", A), B), "(NOT #0:a) = #1:b"),
        (call("neg", call("add", A, B)), "-(#0:a + #1:b)"),
        (call("neg", Literal(-1, BIGINT)), "-(-1)"),
        (call("is_null", call("add", A, B)), "#0:a + #1:b IS NULL"),
        (call("not", call("in", A, Literal(1, BIGINT), Literal(2, BIGINT))), "NOT #0:a IN (1, 2)"),
        (call("like", T, Literal("%x", VARCHAR), Literal("!", VARCHAR)), "#3 LIKE '%x' ESCAPE '!'"),
        (call("cast", A, type_=decimal(4, 1)), "CAST(#0:a AS DECIMAL(4,1))"),
        (call("extract", Literal("year", VARCHAR), A), "EXTRACT(year FROM #0:a)"),
        (call("case", A, B, B, C, A), "CASE WHEN #0:a THEN #1:b WHEN #1:b THEN #2 ELSE #0:a END"),
        (call("coalesce", A, B), "coalesce(#0:a, #1:b)"),
        (call("is_distinct", A, B), "#0:a IS DISTINCT FROM #1:b"),
    ],
)
def test_expressions_are_infix(scalar, text):
    assert scalar_text(scalar, ["a", "b"]) == text


def test_every_node_has_a_line():
    day = Column(2, DATE)
    early = Filter(ORDERS, (Call("lt", (day, Literal(0, DATE)), BOOLEAN), call("or", A, B)))
    doubled = Map(early, (call("add", B, B),), ("twice",))
    joined = Join((doubled, ORDERS), ((0, 4),))
    aggregates = (Aggregate("count_star", None, BIGINT), Aggregate("sum", Column(3, BIGINT), BIGINT))
    reduced = Reduce(joined, (Column(0, BIGINT), call("neg", B)), aggregates, ("id", "k", "n", "total"))
    top = TopK(reduced, (0,), (Order(3, True, True), Order(0)), 10, 5)
    rows = Constant(((1, 2, 3, None),), top.schema)
    relation = Project(Threshold(Union((top, Negate(rows)))), (3, 0, 0), ("total", "id", "again"))
    assert relation_text(relation) == "\n".join(
        [
            "Project #3:total, #0:id, #0:id AS again",
            "  Threshold",
            "    Union",
            "      TopK by #0:id order #3:total DESC NULLS FIRST, #0:id limit 10 offset 5",
            "        Reduce by #0:id, -#1:price AS k compute count(*) AS n, sum(#3:twice) AS total",
            "          Join #0:id = #4:id",
            "            Map #3:twice := #1:price + #1:price",
            "              Filter #2:day < DATE '1970-01-01' AND (#0:id OR #1:price)",
            "                Get orders",
            "            Get orders",
            "      Negate",
            "        Constant id BIGINT, k BIGINT, n BIGINT, total BIGINT",
            "          (1, 2, 3, NULL)",
        ]
    )


def test_the_rest_of_the_forms():
    assert relation_text(Join((Get("v", (), (), False), Constant(((),), ())))) == (
        "Join cross\n  Get view v\n  Constant\n    ()"
    )
    assert relation_text(Filter(Constant((), ()), ())) == "Filter TRUE\n  Constant"
