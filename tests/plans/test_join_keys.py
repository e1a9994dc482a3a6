"""Keys are chosen for all paths of a join, and of all views, together."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ivm
from ivm.analysis.expected import Expected, table
from ivm.catalog.types import BIGINT
from ivm.plan.join_keys import Choice, Side, Step
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.ir.scalar import Column

# Orders (order), lines (order, number, supplier, part), suppliers (supplier): classes 0 = order, 1 = supplier.
ORDERS = Side({0: 0, 1: 2}, ((0,),), frozenset({(0,)}), None, False)
LINES = Side({0: 0, 2: 1}, ((0, 1),), frozenset({(0, 1)}), None, False)
SUPPLIERS = Side({0: 1, 1: 2}, ((0,),), frozenset({(0,)}), None, False)  # class 2: the nation of both


def _sized(rows: float, *key: int) -> Expected:
    """What is expected of so many rows of two columns, with a unique key."""
    return table(f"t{rows}", (Column(0, BIGINT), Column(1, BIGINT)), {f"t{rows}": rows}, (key,) if key else ())


def _keys(choice: Choice, target: int) -> set[tuple[int, ...]]:
    return {step.key for way in choice.ways() for step in way.steps if step.input == target}


def test_every_path_meets_every_other_input_once() -> None:
    for source, way in enumerate(Choice((ORDERS, LINES, SUPPLIERS), ()).ways()):
        assert sorted(step.input for step in way.steps) == [i for i in range(3) if i != source]


def test_a_key_of_few_rows_serves_where_more_columns_are_bound() -> None:
    """Suppliers reach lines by way of the orders of their nation; the lines of an order are few."""
    existing = replace(LINES, existing=frozenset({(0, 1), (0,)}))
    assert _keys(Choice((ORDERS, existing, SUPPLIERS), ()), 1) <= {(0,), (2,)}


def test_sizes_tell_that_a_key_has_too_many_rows() -> None:
    """Lines have 600 rows a supplier: its index is no substitute for that by both columns; 4 an order: that one is."""
    pair = Side({0: 0, 1: 1}, ((0, 1),), frozenset({(0, 1)}), _sized(8_000.0, 0, 1), False)
    first, second = (
        Side({0: 0}, ((0,),), frozenset({(0,)}), _sized(2_000.0, 0), False),
        Side({0: 1}, ((0,),), frozenset({(0,)}), _sized(10.0, 0), False),
    )
    lines = Side({0: 0, 1: 1}, (), frozenset({(1,)}), _sized(6_000.0), False)
    by_second = Choice((lines, pair, first, second), ()).ways()[1].steps
    assert next(step for step in by_second if step.input == 0).key in {(0, 1), (0,)}
    by_first = Choice((replace(lines, existing=frozenset({(0,)})), pair, first, second), ()).ways()[1].steps
    assert next(step for step in by_first if step.input == 0) == Step(0, (0,))


def test_a_column_that_is_no_key_of_anything_does_not_stand_for_two() -> None:
    """An index by a flag exists; a lookup by flag and name still asks for its own."""
    side = Side({0: 0, 1: 1}, (), frozenset({(0,)}), None, False)
    assert _keys(Choice((side, side), ()), 0) == {(0, 1)}


def test_rows_without_a_common_column_are_met_last() -> None:
    sides = (Side({0: 0}, (), frozenset(), None, False), Side({}, (), frozenset(), None, False))
    (first, second, third) = Choice((*sides, sides[0]), ()).ways()
    assert first.steps == (Step(2, (0,)), Step(1, ()))
    assert {step.key for step in second.steps} == {(), (0,)}
    assert third.steps == (Step(0, (0,)), Step(1, ()))


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE p (a BIGINT, b BIGINT, v BIGINT, PRIMARY KEY (a, b))")
    db.sql("CREATE TABLE q (id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, v BIGINT)")
    return db


def _indexes(db: ivm.Database) -> list[str]:
    found = db.sql("SELECT arrangement FROM ivm_arrangements WHERE kind = 'index' ORDER BY ALL").fetchall()
    return [name for (name,) in found]


def test_a_view_of_the_same_text_adds_nothing(db: ivm.Database) -> None:
    """Although it is planned beside more arrangements than the first one was."""
    query = "SELECT p.v, q.v AS w FROM p JOIN q ON p.a = q.a AND p.v = q.v"
    db.sql(f"CREATE MATERIALIZED VIEW one AS {query}")
    db.sql("CREATE MATERIALIZED VIEW other AS SELECT x.id FROM q x JOIN p ON x.a = p.a")
    nodes = len(engine_of(core_of(db)).renderer.graph.nodes)
    db.sql(f"CREATE MATERIALIZED VIEW two AS {query}")
    assert len(engine_of(core_of(db)).renderer.graph.nodes) == nodes + 1  # its contents


def test_a_view_uses_what_another_has_and_tests_the_rest(db: ivm.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT p.v, q.id FROM p JOIN q ON p.a = q.a")
    before = _indexes(db)
    assert before == ["p(a)", "q(a)"]
    db.sql("CREATE MATERIALIZED VIEW two AS SELECT p.b, q.id FROM p JOIN q ON p.a = q.a AND p.v = q.v")
    assert set(_indexes(db)) == {"p(a)", "q(a)", "q(a, v)"}
    db.sql("INSERT INTO p VALUES (1, 1, 10), (1, 2, 20)")
    db.sql("INSERT INTO q VALUES (7, 1, 1, 20), (8, 1, 1, 30)")
    assert db.view("two").fetchall() == [(2, 7)]
    db.verify()
    db.sql("DROP VIEW one")
    db.sql("DROP VIEW two")
    assert _indexes(db) == []


def test_explain_plans_beside_what_exists(db: ivm.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT p.v, q.id FROM p JOIN q ON p.a = q.a")
    text = db.explain("SELECT p.b, q.id FROM p JOIN q ON p.a = q.a AND p.v = q.v")
    assert "lookup p(a) by [a] where" in text
    assert "index p(a): shared" in text


def test_the_search_ends_for_many_inputs() -> None:
    """A chain and a star of twenty inputs, none of which has a key."""
    for classes in (lambda i: {0: i, 1: i + 1}, lambda _: {0: 0, 1: 1}):
        choice = Choice(tuple(Side(classes(i), (), frozenset(), None, False) for i in range(20)), ())
        ways = choice.ways()
        assert [len(way.steps) for way in ways] == [19] * 20
        assert choice.looked_at < 20_000
