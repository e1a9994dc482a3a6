"""Plans made plain, as JSON keeps them, and made of that again, are what they were."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from math import inf, nan
from typing import Any, get_args, get_type_hints

import pytest

import ivm
from ivm.catalog.types import BIGINT, DOUBLE, Kind, SqlType
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.identity import Identities
from ivm.plan.multiplicities import UnionPlan
from ivm.plan.node import Plan
from ivm.plan.plain import PARTS, plain_plans, plans_of
from ivm.plan.table import ConstantPlan, ViewPlan
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.ir.scalar import Column, Outer
from ivm.tpch.queries import NAMES, view_sql
from ivm.tpch.schema import ddl


def again(plans):
    return plans_of(json.loads(json.dumps(plain_plans(plans))))


def test_plans_of_all_queries():
    with ivm.connect(compile="off") as db:
        db.sql(ddl())
        for name in NAMES:
            db.sql(view_sql(name))
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT o_custkey, lag(o_totalprice, 2, 0) OVER (PARTITION BY o_custkey "
               "ORDER BY o_orderkey ROWS 3 PRECEDING) AS l FROM orders QUALIFY rank() OVER (ORDER BY o_orderdate) < 3")  # fmt: skip
        db.sql("CREATE MATERIALIZED VIEW r AS SELECT a.l_tax FROM lineitem a, lineitem b, lineitem c WHERE "
               "a.l_partkey = b.l_suppkey AND b.l_quantity = c.l_quantity AND a.l_shipdate = c.l_shipdate")  # fmt: skip
        db.sql("CREATE MATERIALIZED VIEW u AS SELECT o_custkey FROM orders EXCEPT ALL SELECT c_custkey FROM customer")
        db.sql("CREATE MATERIALIZED VIEW loop AS WITH MUTUALLY RECURSIVE l (c BIGINT, d DATE, n BIGINT) AS (SELECT o_custkey, "
               "min(d), count(*) FROM (SELECT o_custkey, o_orderdate AS d FROM orders UNION ALL SELECT o_orderkey, d FROM l "
               "JOIN orders ON c = o_custkey) x GROUP BY 1), k (c BIGINT) AS (SELECT c FROM l UNION SELECT c + 1 FROM k "
               "WHERE c < 5) SELECT l.c, d, n FROM l JOIN k USING (c)")  # fmt: skip
        db.create_function("near", lambda x: x // 10, ["BIGINT"], "BIGINT")
        db.sql("CREATE MATERIALIZED VIEW called AS SELECT near(o_orderkey) AS n, count(*) AS c FROM orders GROUP BY n")
        db.sql("CREATE MATERIALIZED VIEW late AS SELECT o_orderkey, l_tax FROM orders ASOF JOIN lineitem "
               "ON o_orderkey = l_orderkey AND o_orderdate <= l_shipdate")  # fmt: skip
        plans = {name: installed.plan for name, installed in engine_of(core_of(db)).views.items()}
        made = again(plans)
        assert list(made.items()) == list(plans.items())
        identities, others = Identities(), Identities()
        assert [*map(identities.of, made.values())] == [*map(others.of, plans.values())]
        assert plain_plans(made) == plain_plans(plans), "what is not compared is kept too"


def test_all_that_a_plan_may_be_made_of_is_known():
    found: dict[type, None] = {}

    def visit(hint: Any) -> None:
        for inner in get_args(hint):
            visit(inner)
        if isinstance(hint, type) and hint.__module__.partition(".")[0] in ("ivm", "sql", "catalog"):
            subclasses: list[type] = hint.__subclasses__()
            for each in subclasses:
                visit(each)
            if is_dataclass(hint) and hint not in found:
                found[hint] = None
                if hint is not SqlType:  # which says itself how it is made plain
                    hints = get_type_hints(hint)
                    for field in fields(hint):
                        visit(hints[field.name])

    visit(Plan)
    visit(ArrangementPlan)
    assert found.keys() - {Outer} == set(PARTS), "an Outer stands in no plan"


VALUES = (0, 0.0, -0.0, False, True, 1, 1.0, None, inf, -inf, 1 << 70, "", "'\0\ud800é", 5e-324)


def test_values_are_exactly_what_they_were():
    plan = ConstantPlan(
        (VALUES, (nan,) * len(VALUES)),
        (Column(0, SqlType(Kind.ENUM, labels=("a", "b"))), Column(1, DOUBLE, nullable=False)),
    )
    made = again({"v": plan})["v"]
    assert isinstance(made, ConstantPlan)
    assert repr(made) == repr(plan)
    assert [type(each) for each in made.rows[0]] == [type(each) for each in VALUES]


def test_what_is_shared_is_made_plain_once():
    plan: Plan = ViewPlan("v", (Column(0, BIGINT),))
    for _ in range(40):
        plan = UnionPlan((plan, plan), plan.row)
    plain = plain_plans({"once": plan, "again": plan})
    assert len(plain["parts"]) == 43
    made = plans_of(plain)
    assert made["once"] is made["again"]
    assert made["once"].below()[0] is made["once"].below()[1]
    assert made["once"] == plan


@pytest.mark.parametrize(("change", "error"), [({"is": "AnotherPlan"}, KeyError), ({"more": 1}, TypeError)])
def test_what_another_release_has_is_told(change, error):
    plain = plain_plans({"v": ViewPlan("v", (Column(0, BIGINT),))})
    plain["parts"][1] |= change
    with pytest.raises(error):
        plans_of(plain)
