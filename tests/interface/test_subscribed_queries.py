"""Subscriptions to queries: each tells what the query gives, those that differ in a value alone are one view."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.by_value import by_value

SETUP = """
CREATE TABLE sale (
    id BIGINT PRIMARY KEY, tenant INTEGER, city VARCHAR, price DECIMAL(9, 2), x DOUBLE, day DATE, tags VARCHAR[]);
CREATE MATERIALIZED VIEW v AS SELECT tenant, city, price, x, day, tags FROM sale;
CREATE MATERIALIZED VIEW total AS SELECT tenant, city, sum(price) AS price FROM sale GROUP BY tenant, city;
"""
NAN = float("nan")
QUERIES: tuple[tuple[str, list[Any]], ...] = (
    ("SELECT * FROM v WHERE tenant = ?", [1]), ("SELECT * FROM v WHERE tenant = ?", [2]),
    ("SELECT * FROM v WHERE tenant = ?", [1]), ("SELECT * FROM v WHERE ? = city", ["Bern"]),
    ("SELECT * FROM v WHERE v.price = ? AND city = ?", [1.5, "Bern"]), ("SELECT * FROM v WHERE x = ?", [NAN]),
    ("SELECT * FROM v WHERE x = ?", [-0.0]), ("SELECT * FROM v WHERE day = ?", [date(2026, 1, 2)]),
    ("SELECT * FROM v WHERE tenant = ?", [None]), ("SELECT * FROM v WHERE tenant = ?", [7.5]),
    ("SELECT * FROM v WHERE tenant IS NOT DISTINCT FROM ?", [None]), ("SELECT * FROM v WHERE tags = ['a']", []),
    ("SELECT city, sum(price) AS s, count(*) AS n FROM sale WHERE tenant = $1 AND price > $2 GROUP BY city", [1, 0]),
    ("SELECT city, sum(price) AS s, count(*) AS n FROM sale WHERE tenant = $1 AND price > $2 GROUP BY city", [2, 0]),
    ("SELECT a.id FROM sale AS a JOIN total AS b USING (city) WHERE a.tenant = ? AND b.tenant = ?", [1, 2]),
    ("SELECT count(*) AS n FROM sale WHERE tenant = ?", [1]), ("SELECT DISTINCT city FROM sale WHERE tenant = ?", [1]),
    ("FROM sale SELECT id WHERE tenant = ? ORDER BY id LIMIT 2", [1]), ("SELECT id FROM v, sale WHERE 1 = 2", []),
    ("SELECT id, row_number() OVER (ORDER BY id) AS n FROM sale WHERE tenant = ?", [1]),
    ("WITH one AS (SELECT * FROM sale WHERE tenant = ?) SELECT city, min(id) AS m FROM one GROUP BY city", [1]),
)  # fmt: skip


@pytest.fixture(params=["one", "shards", "disk"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ivm.Database]:
    kinds: dict[str, dict[str, Any]] = {"one": {}, "shards": {"shards": 2}, "disk": {"path": tmp_path / "shop.ivm"}}
    with ivm.connect(compile="off", history=1000, **kinds[request.param]) as db:
        db.sql(SETUP)
        yield db


@pytest.fixture
def plain() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off", history=1000) as db:
        db.sql(SETUP)
        yield db


def unnamed(db: ivm.Database) -> int:
    return sum(view.name.startswith("ivm_") for view in core_of(db).catalog.views)


class Copy:
    """What a query gives, by what a subscription tells."""

    def __init__(self, db: ivm.Database, query: str, params: list[Any], **wish: Any) -> None:
        self.db, self.query, self.params = db, query, params
        self.rows: Counter[str] = Counter()
        self.subscription = db.subscribe(query, params, snapshot=True, **wish)

    def is_right(self) -> bool:
        for row in self.subscription.fetch().to_pylist():
            diff, _ = row.pop("_diff"), row.pop("_time")
            self.rows[_known(row)] += diff
        return +self.rows == Counter(map(_known, self.db.sql(self.query, self.params).arrow().to_pylist()))


def _known(row: dict[str, Any]) -> str:
    return repr(row).replace("-0.0", "0.0")


def _some(chosen: Random, number: int) -> dict[str, Any]:
    return {
        "id": number, "tenant": chosen.choice([1, 2, 3, None]), "city": chosen.choice(["Bern", "Oslo", "", None]),
        "price": chosen.choice(["1.50", "2", None]), "x": chosen.choice([0.0, -0.0, NAN, 1.0, None]),
        "day": chosen.choice([date(2026, 1, 2), date(2026, 1, 3)]), "tags": chosen.choice([["a"], [], None]),
    }  # fmt: skip


def test_whoever_subscribes_has_what_the_query_gives(db):
    chosen, copies = Random(1), list[Copy]()
    db.apply({"sale": [_some(chosen, number) for number in range(-9, 0)]})
    copies = [Copy(db, query, params) for query, params in QUERIES]
    copies += [Copy(db, *QUERIES[0], limit=1), Copy(db, *QUERIES[12], every=2), Copy(db, *QUERIES[3], limit=2)]
    assert unnamed(db) == 13, "those that differ in a value alone are one"
    for step in range(12):
        ids = [row[0] for row in db.sql("SELECT id FROM sale").fetchall()]
        goes = [{**_some(chosen, each), "_diff": -1} for each in ids if step == 8 or chosen.random() < 0.3]
        comes = [{**_some(chosen, 100 * step + each), "_diff": 1} for each in range(chosen.randrange(4))]
        time = db.time + 1  # one comes and goes in the same commit
        brief = [{**_some(Random(2), 99), "_diff": diff, "_time": time + diff} for diff in (1, -1)]
        brief = [{**row, "_time": time + place} for place, row in enumerate(brief)]
        db.apply({"sale": [*({**row, "_time": time} for row in goes + comes), *brief]})
        wrong = [copy.query for copy in copies if chosen.random() < 0.4 and not copy.is_right()]
        assert not wrong, step
        if step == 6:
            copies += [Copy(db, query, params) for query, params in QUERIES[::3]]
    assert [copy.query for copy in copies if not copy.is_right()] == []
    db.verify()
    for copy in copies:
        copy.subscription.close()
    assert not unnamed(db)


def test_the_last_one_takes_the_view_along(plain):
    core, query = core_of(plain), "SELECT city, sum(price) AS s FROM sale WHERE tenant = ? GROUP BY city"
    nodes = len(engine_of(core).renderer.graph.nodes)
    many = [plain.subscribe(query, [tenant]) for tenant in range(40)]
    assert unnamed(plain) == 1
    assert len(engine_of(core).renderer.graph.nodes) < nodes + 6
    assert ("v",) in plain.sql("SHOW TABLES").fetchall()
    assert len(plain.sql("SHOW TABLES").fetchall()) == len(plain.tables()) + len(plain.views()) == 3
    plain.sql("INSERT INTO sale (id, tenant, price) VALUES (1, 5, 1)")
    assert [each.fetch().num_rows for each in many] == [number == 5 for number in range(40)]
    del many
    gc.collect()
    with plain.subscribe("SELECT id FROM sale WHERE id > 3"):
        assert unnamed(plain) == 1, "who went without a word is forgotten when the next one comes"
    assert not unnamed(plain)
    gone = plain.subscribe(query, [5])
    del gone
    gc.collect()
    assert unnamed(plain) == 1
    plain.subscribe("total").close()
    assert not unnamed(plain), "or when anybody goes"
    assert len(engine_of(core).renderer.graph.nodes) == nodes


def test_what_they_read_goes_and_comes(db):
    query = "SELECT id, price FROM sale WHERE tenant = ?"
    reads = db.subscribe(query, [1])
    whole = db.subscribe("SELECT * FROM total WHERE tenant = ?", [1])
    over = db.subscribe("SELECT city FROM total WHERE tenant = ? AND price > 0", [1])
    db.sql("INSERT INTO sale (id, tenant, city, price) VALUES (1, 1, 'Bern', 1)")
    db.sql("ALTER VIEW total RENAME TO sums")
    db.sql("INSERT INTO sale (id, tenant, city, price) VALUES (2, 1, 'Oslo', 1)")
    assert db.sql("SELECT sum(commits), sum(rows) FROM ivm_subscriptions").fetchall() == [(6, 6)]
    assert [each.fetch().num_rows for each in (reads, whole, over)] == [2, 2, 2]
    with pytest.raises(ivm.BindError, match="total"):
        db.subscribe("SELECT city FROM total WHERE tenant = ? AND price > 0", [1])
    db.sql(
        "CREATE OR REPLACE MATERIALIZED VIEW sums AS SELECT tenant, city, sum(price + 1) AS price FROM sale GROUP BY ALL"
    )
    assert sorted(row["_diff"] for row in whole.fetch().to_pylist()) == [-1, -1, 1, 1], "goes on, with its rows alone"
    with pytest.raises(
        ivm.ViewDroppedError, match="of a query: what it reads was dropped or replaced; subscribe again"
    ):
        over.fetch()
    db.sql("DROP VIEW v; DROP VIEW sums; DROP TABLE sale")
    for each in (reads, whole):
        with pytest.raises(ivm.ViewDroppedError, match="dropped"):
            each.fetch()
    assert not unnamed(db)


def test_who_changes_something_else_is_in_nobodys_way(plain):
    reads = plain.subscribe("SELECT id, city FROM sale WHERE tenant = ?", [1])
    plain.sql("ALTER TABLE sale ADD COLUMN note VARCHAR; INSERT INTO sale (id, tenant) VALUES (1, 1)")
    plain.sql("BEGIN; INSERT INTO sale (id, tenant) VALUES (2, 1); ROLLBACK")
    with pytest.raises(ivm.ConstraintError):
        plain.sql("INSERT INTO sale (id, tenant) VALUES (3, 1), (3, 1)")
    assert reads.fetch().num_rows == 1
    with plain.what_if() as would:
        would.sql("INSERT INTO sale (id, tenant) VALUES (9, 1)")
        assert would.changes("v").num_rows == 1
    plain.sql("CREATE TEMP TABLE other (x INTEGER); DROP TABLE other")
    plain.sql("BEGIN; DROP VIEW v; DROP VIEW total; DROP TABLE sale; COMMIT")
    with pytest.raises(ivm.ViewDroppedError):
        reads.fetch()


def test_forms_and_times_are_those_of_any_subscription(plain):
    query = "SELECT city, sum(price) AS s FROM sale WHERE tenant = ? GROUP BY city"
    rows = plain.subscribe(query, [1], form="upserts")
    assert rows.key == ("city",)
    since = plain.time
    plain.sql("INSERT INTO sale (id, tenant, city, price) VALUES (1, 1, 'Bern', 1), (2, 2, 'Bern', 5)")
    assert [(row["city"], int(row["s"])) for row in rows.fetch().to_pylist()] == [("Bern", 1)]
    again = plain.subscribe("SELECT * FROM total WHERE tenant = ?", [2], from_time=since)
    assert [int(row["price"]) for row in again.fetch().to_pylist()] == [5]
    slow = plain.subscribe(query, [2], limit=1, when_full="fail")
    plain.sql("UPDATE sale SET price = 6; UPDATE sale SET price = 7")
    with pytest.raises(ivm.LagError, match="of a query"):
        slow.fetch()
    assert rows.time == 1
    listed = (
        "SELECT view LIKE 'ivm%', chosen, form, time, commits, rows, most, when_full, ended[:11] FROM ivm_subscriptions"
    )
    assert plain.sql(f"{listed} ORDER BY ALL").fetchall() == [
        (False, "tenant = 2", "changes", 1, 2, 4, 1000, "coalesce", None),
        (True, "ivm_value_0 = 1", "upserts", 1, 2, 4, 1000, "coalesce", None),
        (True, "ivm_value_0 = 2", "changes", 1, 0, 0, 1, "fail", "cannot tell"),
    ]
    with pytest.raises(ivm.BindError, match="of a query as upserts: nothing is known"):
        plain.subscribe("SELECT city FROM sale WHERE tenant = ?", [1], form="upserts")


@pytest.mark.parametrize(
    ("query", "params", "error", "words"),
    [
        ("SELECT random() AS r FROM sale WHERE tenant = ?", [1], ivm.UnsupportedError, "random"),
        ("SELECT nobody FROM sale WHERE tenant = ?", [1], ivm.BindError, "nobody"),
        ("SELECT id FROM sale WHERE tenant = ?", [], ivm.BindError, "1 parameter"),
        ("SELECT id FROM sale WHERE tenant = ?", None, ivm.BindError, "no value"),
        ("SELECT 1; SELECT 2", None, ivm.BindError, "one SELECT"),
        ("v", [1], ivm.BindError, "the text has 0 parameters"),
        ("DELETE FROM sale", [], ivm.BindError, "one SELECT"),
        ("SELECT id FROM sale WHERE tenant = 'a'", None, ivm.TypeMismatchError, "a"),
    ],
)
def test_what_cannot_be_maintained_is_refused_as_a_view_is(plain, query, params, error, words):
    with pytest.raises(error, match=words):
        plain.subscribe(query, params)
    assert not unnamed(plain)


def test_a_database_that_is_opened_again_has_none(tmp_path):
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        db.sql(SETUP)
        db.subscribe("SELECT id FROM sale WHERE tenant = ?", [1])
        kept = db.subscribe("SELECT id FROM sale WHERE tenant = ?", [2])
        db.sql("INSERT INTO sale (id, tenant) VALUES (1, 2); CHECKPOINT; INSERT INTO sale (id, tenant) VALUES (2, 2)")
        assert kept.fetch().num_rows == 2
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        assert not unnamed(db)
        assert db.subscribe("SELECT id FROM sale WHERE tenant = ?", [2], snapshot=True).fetch().num_rows == 2
    with ivm.connect(tmp_path / "shop.ivm", compile="off", read_only=True) as db:
        assert db.subscribe("SELECT * FROM v WHERE tenant = ?", [2], snapshot=True).fetch()["_diff"].to_pylist() == [2]
        with pytest.raises(ivm.AccessError, match="read_only"):
            db.subscribe("SELECT id FROM sale WHERE tenant = ?", [2])


@pytest.mark.parametrize(
    "rest",
    [
        "FROM t WHERE a = 1 OR b = 2", "FROM t WHERE a BETWEEN 1 AND b = 2", "FROM t WHERE a = 1 GROUP BY ALL",
        "FROM t WHERE a = 1 GROUP BY ROLLUP (a)", "FROM t WHERE a = 1 GROUP BY (), b", "FROM t WHERE a = 1 LIMIT 3",
        "FROM t WHERE a = 1 UNION ALL SELECT 2", "FROM t WHERE a < 1", "FROM t", "FROM t WHERE NOT a = 1",
        ", sum(x) OVER () FROM t WHERE a = 1", "FROM t WHERE CASE WHEN a = 1 THEN b END", "FROM t WHERE a = 1 ORDER BY a",
    ],
)  # fmt: skip
def test_what_asks_of_several_rows_is_not_cut(rest):
    found = by_value(f"SELECT x {rest}")
    assert found is None or "NOT a" in rest
