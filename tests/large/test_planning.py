"""Planning takes a time that follows the text, or is refused with the limit named."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest

import ivm
from ivm.plan.lower import lower
from ivm.session.database import core_of
from ivm.session.statements import make_room
from ivm.sql.bind import bind
from ivm.transform.pipeline import optimize
from tests.large import blocks, conditions, constants, depth, expressions, groups  # noqa: F401
from tests.large.calls import calls
from tests.large.texts import LARGE, TABLES

LINEAR = 2.6
"""How much more a text of twice the size may take."""
MORE = {
    "aliases_of_aliases": 4.1,  # the expressions that aliases stand for are as long as all before them together
    "cube": 5.0,  # twice the columns are the square of the sets
    "deep_exists": 3.4,
    "deep_joins": 3.4,
    "full_joins": 3.5,
    "grouping_sets": 3.0,
    "joins_of_cliques": 4.1,  # the text is the square of the size
    "rollup": 3.0,
    "with_groups_that_double": 4.0,
    "with_that_doubles": 14.0,
}
SECONDS = 20.0


@pytest.fixture(scope="module")
def db() -> ivm.Database:
    made = ivm.connect(compile="off")
    made.sql(TABLES)
    return made


def planned(db: ivm.Database, text: str) -> None:
    make_room()
    lower(optimize(bind(text, core_of(db).catalog).relation))


@pytest.mark.parametrize("name", LARGE)
def test_work_grows_with_the_text(name: str, db: ivm.Database) -> None:
    large = LARGE[name]
    size = max(2, min(large.full // 20, 20))
    once, twice = (calls(lambda n=n: planned(db, large.write(n))) for n in (size, 2 * size))  # type: ignore[misc]
    assert twice < MORE.get(name, LINEAR) * once


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["off", "background", "explain"])
@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_is_planned_or_refused_in_time(name: str, mode: str) -> None:
    db = ivm.connect(compile="background" if mode == "background" else "off")
    db.sql(TABLES)
    text = LARGE[name].write(LARGE[name].full)
    before = process_time()
    with suppress(ivm.UnsupportedError):
        db.sql(f"EXPLAIN {text}" if mode == "explain" else f"CREATE MATERIALIZED VIEW v AS {text}")
    assert process_time() - before < SECONDS


REFUSED = [
    (LARGE["aliases_that_double"].write(20), "aliases that are named by other expressions repeat more than 50000"),
    (LARGE["with_unions_that_double"].write(20), "in more than 10000 ways, the limit"),
    (LARGE["pattern"].write(20_002), "the limit is 20000"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_would_explode_is_refused_by_its_limit(text: str, message: str, db: ivm.Database) -> None:
    with pytest.raises(ivm.UnsupportedError, match=message):
        db.sql(f"CREATE MATERIALIZED VIEW refused AS {text}")


@pytest.mark.parametrize("name", ["parentheses", "calls", "nots", "deep_conditions", "sum_of_terms", "deep_groups"])
def test_what_is_nested_too_deeply_is_refused(name: str, db: ivm.Database) -> None:
    with pytest.raises(ivm.UnsupportedError, match="nested too deeply, beyond the limit of 5000 calls"):
        db.sql(f"EXPLAIN {LARGE[name].write(3_000)}")


def test_a_view_on_a_view_is_bound_without_what_is_below() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, a INTEGER); CREATE VIEW v0 AS SELECT k, a FROM t")

    def more(first: int, last: int) -> None:
        for i in range(first, last):
            db.sql(f"CREATE VIEW v{i} AS SELECT k, a + 1 AS a FROM v{i - 1} WHERE a <> {i}")

    early = calls(lambda: more(1, 6))
    more(6, 60)
    assert calls(lambda: more(60, 65)) < 1.5 * early
    db.sql("CREATE MATERIALIZED VIEW top AS SELECT * FROM v64; INSERT INTO t VALUES (1, 1000)")
    assert db.view("top").fetchall() == [(1, 1064)]
    text = db.sql("EXPLAIN SELECT * FROM v64").fetchall()[0][0]
    assert "and 35 views below these" in text


def test_views_that_read_the_one_before_twice_are_planned_once() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k BIGINT, a BIGINT); CREATE VIEW v0 AS SELECT k, a FROM t")
    for i in range(1, 9):
        db.sql(f"CREATE VIEW v{i} AS SELECT k, max(a) AS a FROM (FROM v{i - 1} UNION ALL FROM v{i - 1}) GROUP BY k")
    four, eight = (calls(lambda n=n: planned(db, f"SELECT * FROM v{n}")) for n in (4, 8))  # type: ignore[misc]
    assert eight < LINEAR * four
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT * FROM v8; CREATE MATERIALIZED VIEW same AS SELECT * FROM v8")
    db.sql("INSERT INTO t VALUES (1, 2), (1, 3), (2, 1)")
    assert sorted(db.view("one").fetchall()) == sorted(db.view("same").fetchall()) == [(1, 3), (2, 1)]
    db.verify()
