"""What some rows of a table tell of its columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ivm
from ivm.engine.sampled import estimated_values, sampled
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
    assert there / 3 <= found <= there * 3


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
    assert sampled(engine.sizes(), engine.tables).values("gone", 1) == 4
    db.sql("DELETE FROM gone")
    assert sampled(engine.sizes(), engine.tables).values("gone", 1) is None


def test_as_many_values_as_were_met_and_more_the_more_were_met_once() -> None:
    assert estimated_values([[1, 2], [1, 2]], 1000) == 2
    assert estimated_values([[1, 2], [3, 4]], 1000) == 1000
    assert estimated_values([[1, 1], [2, 2]], 1000) == 500
    assert 3 < estimated_values([[1, 2], [3, 2]], 1000) < 10
    assert estimated_values([[None], [None]], 1000) == 1
    assert estimated_values([[1, 1], [2, 3]], 4) == 3
