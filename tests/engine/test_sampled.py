"""What some rows of a table tell of its columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ivm
from ivm.analysis.expected import Shares
from ivm.engine.sampled import estimated_share, estimated_values, sampled
from ivm.plan.lower import lower
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.bind import bind
from ivm.transform.pipeline import optimize

ROWS = 50_000


@pytest.fixture(scope="module")
def db() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off") as db:
        columns = "flag VARCHAR, day DATE, price DECIMAL(9,2), tags BIGINT[], nothing BIGINT, batch BIGINT"
        db.sql(f"CREATE TABLE t (id BIGINT PRIMARY KEY, {columns})")
        db.sql("CREATE TABLE empty (a BIGINT)")
        db.sql(
            "INSERT INTO t SELECT i, 'f' || (hash(i) % 3), DATE '2020-01-01' + CAST(hash(i + 1) % 700 AS INTEGER), "
            f"(hash(i + 2) % 100000)::DECIMAL(9,2), [hash(i + 3) % 2], NULL, i // 5 FROM range({ROWS}) x(i)"
        )
        yield db


@pytest.mark.parametrize(("column", "there"), [(0, ROWS), (1, 3), (2, 700), (3, 39_000), (4, 2), (5, 1), (6, 10_000)])
def test_about_how_many_values_a_column_has(db: ivm.Database, column: int, there: int) -> None:
    engine = engine_of(core_of(db))
    found = sampled(engine.sizes(), engine.tables).values("t", column)
    assert found is not None
    assert there / 3 <= found.count <= there * 3


def test_who_asks_for_a_value_asks_for_a_frequent_one(db: ivm.Database) -> None:
    """Of x one value in a hundred has half of the rows, of y only a tenth has any; links name few of many far more."""
    db.sql("CREATE TABLE named (n BIGINT PRIMARY KEY, name VARCHAR NOT NULL)")
    db.sql("CREATE TABLE link (i BIGINT PRIMARY KEY, n BIGINT NOT NULL REFERENCES named (n), x BIGINT, y BIGINT)")
    db.sql("INSERT INTO named SELECT i, 'name ' || i FROM range(2000) t(i)")
    db.sql(
        "INSERT INTO link SELECT i, CASE WHEN hash(i) % 3 = 0 THEN 7 ELSE hash(i + 1) % 2000 END, "
        "CASE WHEN hash(i + 2) % 2 = 0 THEN 0 ELSE hash(i + 3) % 100 END, "
        "CASE WHEN hash(i + 4) % 10 = 0 THEN 5 END FROM range(30000) t(i)"
    )
    engine = engine_of(core_of(db))
    sizes = sampled(engine.sizes(), engine.tables)
    for condition, there in (("x = 0", 15_000), ("y = 5", 3_000), ("name = 'name 7'", 10_000)):
        query = f"SELECT i FROM link JOIN named USING (n) WHERE {condition}"
        expected = sizes.count(lower(optimize(bind(query, core_of(db).catalog).relation), engine.existing()))
        assert there / 4 <= expected <= there * 4, query


def test_of_what_has_no_rows_and_of_views_nothing_is_known(db: ivm.Database) -> None:
    values = sampled({}, engine_of(core_of(db)).tables).values
    assert values("empty", 0) is None
    assert values("nowhere", 0) is None


def test_what_is_shown_goes_by_it_and_plans_do_not(db: ivm.Database) -> None:
    """A database that is opened again is planned by sizes alone, as it was."""
    core = core_of(db)
    plan = lower(optimize(bind("SELECT flag, count(*) FROM t GROUP BY flag", core.catalog).relation))
    assert sampled(engine_of(core).sizes(), engine_of(core).tables).count(plan) == 3
    assert engine_of(core).existing().sizes.count(plan) > 100
    shown = "\n".join(line for (line,) in db.sql("EXPLAIN SELECT flag, count(*) FROM t GROUP BY flag").fetchall())
    assert "reduce of t: new, about 3 rows" in shown


def test_rows_that_have_died_tell_nothing(db: ivm.Database) -> None:
    db.sql("CREATE TABLE gone (a BIGINT PRIMARY KEY, b BIGINT)")
    db.sql("INSERT INTO gone SELECT i, i % 400 FROM range(4000) x(i)")
    db.sql("DELETE FROM gone WHERE b >= 4")
    engine = engine_of(core_of(db))
    assert sampled(engine.sizes(), engine.tables).values("gone", 1) == Shares(4, 0.25)
    db.sql("DELETE FROM gone")
    assert sampled(engine.sizes(), engine.tables).values("gone", 1) is None


def test_as_many_values_as_were_met_and_more_the_more_were_met_once() -> None:
    assert estimated_values([[1, 2], [1, 2]], 1000) == 2
    assert estimated_values([[1, 2], [3, 4]], 1000) == 1000
    assert estimated_values([[1, 1], [2, 2]], 1000) == 500
    assert 3 < estimated_values([[1, 2], [3, 2]], 1000) < 10
    assert estimated_values([[None], [None]], 1000) == 1
    assert estimated_values([[1, 1], [2, 3]], 4) == 3


def test_the_share_of_the_rows_that_have_the_value_of_a_row() -> None:
    assert estimated_share([[1, 1], [2, 2]], 4) is None
    assert estimated_share([[1, 2] * 10], 20) == 0.5
    assert estimated_share([[1, 1, 2, None] * 10], 40) == pytest.approx((0.5**2 + 0.25**2) / 0.75)
    assert estimated_share([[1, 2] * 10, [1, 2] * 10], 1000) == 0.5
    assert estimated_share([[1] * 10, [2] * 10], 1000) is None
    assert estimated_share([[None] * 20, [None] * 20], 1000) is None
