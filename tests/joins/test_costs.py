"""What is not incremental is installed only with that being said."""

from __future__ import annotations

import pytest

from tests.joins.changes import connect

CASES = {
    "SELECT a.u, b.w FROM a, b WHERE a.k = b.k": ((), ()),
    "SELECT a.u, b.w FROM a, b WHERE a.k < b.k": ((), ()),
    "SELECT a.u, b.w FROM a, b WHERE a.k <> b.k": (
        ("every change of a is compared with all rows of b", "every change of b is compared with all rows of a"),
        (),
    ),
    "SELECT a.u, d.v FROM a CROSS JOIN d": (
        ("every change of a is compared with all rows of d", "every change of d is compared with all rows of a"),
        (),
    ),
    "SELECT x.u FROM a x, a y WHERE x.u < y.u": ((), ()),
    "SELECT x.u FROM a x, a y WHERE x.u + y.u < 3": (("every change of a is compared with all rows of a",), ()),
    "SELECT a.u FROM a, (SELECT max(w) AS m FROM b) x WHERE a.u < x.m": ((), ()),
    "SELECT a.u FROM a, (SELECT max(w) AS m FROM b) x WHERE a.u <> x.m": (
        (),
        ("a change of the reduce of b visits all rows of a",),
    ),
    "SELECT a.u FROM a SEMI JOIN b ON b.w > 1": ((), ("a change of the reduce of b visits all rows of a",)),
    "SELECT a.u, t.p FROM a, (VALUES (1), (2)) AS t(p) WHERE a.u > t.p": ((), ()),
    "SELECT a.u, t.k FROM a, (SELECT k FROM b ORDER BY w LIMIT 3) t": (
        (),
        ("a change of the topk of b visits all rows of a",),
    ),
    "SELECT a.u, b.w FROM a LEFT JOIN b ON a.k = b.k AND a.u < b.w": ((), ()),
}


@pytest.mark.parametrize("text", CASES)
def test_costs_are_said(text):
    costs, remarks = CASES[text]
    db = connect(compile="off")
    explained = db.explain(text).split("state:\n")[1].splitlines()
    assert [line.strip().removeprefix("not incremental: ") for line in explained if "not incremental" in line] == list(
        costs
    )
    assert [line.strip() for line in explained if line.strip().startswith("a change of")] == list(remarks)
    assert ("  every operator is incremental" in explained) == (not costs)
    db.sql(f"CREATE MATERIALIZED VIEW v AS {text}")
    found = db.sql("SELECT incremental, notes FROM ivm_views").fetchall()
    assert found == [(not costs, "; ".join((*costs, *remarks)))]
