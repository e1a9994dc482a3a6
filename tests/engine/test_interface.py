"""The interface as a user meets it."""

from __future__ import annotations

import datetime
import threading
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off", history=100)
    db.sql(
        """CREATE TABLE sale (id BIGINT PRIMARY KEY, shop VARCHAR NOT NULL, price DECIMAL(15,2) NOT NULL, day DATE NOT NULL);
        CREATE TABLE shop (name VARCHAR PRIMARY KEY, country VARCHAR NOT NULL)"""
    )
    db.sql(
        """CREATE MATERIALIZED VIEW revenue AS
        SELECT country, sum(price) AS total, count(*) AS n FROM sale, shop WHERE sale.shop = shop.name
        GROUP BY country ORDER BY total DESC"""
    )
    with db.transaction() as tx:
        tx.insert("shop", {"name": ["a", "b"], "country": ["NO", "IT"]})
        tx.insert("sale", [sale(1, "a", "1.50"), sale(2, "b", "2.25"), sale(3, "b", "3.00")])
    return db


def sale(number: int, shop: str, price: str) -> dict[str, object]:
    return {"id": number, "shop": shop, "price": Decimal(price), "day": datetime.date(2024, 1, number)}


def test_a_view_is_right_when_the_transaction_returns(db: ivm.Database) -> None:
    assert db.view("revenue").fetchall() == [("IT", Decimal("5.25"), 2), ("NO", Decimal("1.50"), 1)]


def test_result_forms(db: ivm.Database) -> None:
    view = db.view("revenue")
    assert view.arrow().column_names == ["country", "total", "n"]
    assert view.schema.field("total").type == pa.decimal128(38, 2)
    assert isinstance(view.df(), pd.DataFrame)
    view.show()


def test_types_are_those_of_duckdb(db: ivm.Database) -> None:
    assert db.sql("SELECT * FROM revenue").schema.types == db.view("revenue").schema.types


def test_delete_and_upsert(db: ivm.Database) -> None:
    with db.transaction() as tx:
        tx.delete("sale", [{"id": 1}])
        tx.upsert("sale", [sale(2, "a", "9.00"), sale(4, "a", "1.00")])
    assert db.view("revenue").fetchall() == [("NO", Decimal("10.00"), 2), ("IT", Decimal("3.00"), 1)]
    assert tx.time == db.time
    db.verify()


def test_a_transaction_runs_in_the_order_it_is_written(db: ivm.Database) -> None:
    with db.transaction() as tx:
        tx.insert("sale", [sale(9, "a", "1.00")])
        tx.delete("sale", [{"id": 9}])
        tx.insert("sale", [sale(9, "b", "2.00")])
    assert db.sql("SELECT shop FROM sale WHERE id = 9").fetchall() == [("b",)]
    db.verify()


def test_apply_with_times_and_diffs(db: ivm.Database) -> None:
    rows = pa.table(
        {
            "id": pa.array([5, 5, 6], pa.int64()),
            "shop": ["a", "a", "b"],
            "price": pa.array([Decimal("1.00"), Decimal("1.00"), Decimal("7.00")], pa.decimal128(15, 2)),
            "day": pa.array([datetime.date(2024, 1, 1)] * 3),
            "_time": pa.array([10, 12, 11], pa.int64()),
            "_diff": pa.array([1, -1, 1], pa.int64()),
        }
    )
    with db.subscribe("revenue") as changes:
        assert db.apply({"sale": rows}) == 12
        assert sorted(set(changes.fetch()["_time"].to_pylist())) == [10, 11, 12]
    assert db.view("revenue").fetchall(as_of=10)[1] == ("NO", Decimal("2.50"), 2)
    assert db.view("revenue").fetchall(as_of=12)[1] == ("NO", Decimal("1.50"), 1)
    db.verify()


def test_subscription_snapshot_and_changes(db: ivm.Database) -> None:
    with db.subscribe("revenue", snapshot=True) as changes:
        assert changes.fetch().num_rows == 2
        with db.transaction() as tx:
            tx.insert("sale", [sale(7, "a", "1.00")])
        table = changes.fetch()
        assert table.column_names == ["country", "total", "n", "_time", "_diff"]
        assert sorted(table["_diff"].to_pylist()) == [-1, 1]
        assert set(table["_time"].to_pylist()) == {tx.time}
        assert changes.fetch().num_rows == 0


def test_iterating_a_subscription_blocks_for_more(db: ivm.Database) -> None:
    seen: list[int] = []
    changes = db.subscribe("revenue")
    reader = threading.Thread(target=lambda: seen.extend(table.num_rows for table in changes))
    reader.start()
    with db.transaction() as tx:
        tx.insert("sale", [sale(7, "a", "1.00")])
    changes.close()
    reader.join(timeout=30)
    assert not reader.is_alive()
    assert seen == [2]


def test_data_frames_and_ad_hoc_queries(db: ivm.Database) -> None:
    with db.transaction() as tx:
        tx.insert("shop", pd.DataFrame({"name": ["c"], "country": ["FR"]}))
        tx.insert(
            "sale",
            db.sql("SELECT 8 AS id, 'c' AS shop, 4.00::DECIMAL(15,2) AS price, DATE '2024-02-01' AS day").arrow(),
        )
    query = "SELECT r.country, count(*) FROM revenue r JOIN shop s ON r.country = s.country GROUP BY 1 ORDER BY 1"
    assert db.sql(query).fetchall() == [("FR", 1), ("IT", 1), ("NO", 1)]


def test_changes_by_sql(db: ivm.Database) -> None:
    db.sql("INSERT INTO sale VALUES (20, 'a', 3.50, DATE '2024-01-05'), (21, 'b', 1, DATE '2024-01-06')")
    db.sql("UPDATE sale SET price = price * 2 WHERE shop = 'a'")
    assert db.sql("DELETE FROM sale WHERE id = 21").fetchall() == [(1,)]
    assert db.view("revenue").fetchall() == [("NO", Decimal("10.00"), 2), ("IT", Decimal("5.25"), 2)]
    db.verify()


def test_views_over_registered_and_maintained_views(db: ivm.Database) -> None:
    db.sql("CREATE VIEW cheap AS SELECT * FROM sale WHERE price < 3")
    db.sql("CREATE MATERIALIZED VIEW cheap_count AS SELECT count(*) AS n FROM cheap")
    db.sql("CREATE MATERIALIZED VIEW big AS SELECT country FROM revenue WHERE total > 2")
    assert db.view("cheap_count").fetchall() == [(2,)]
    assert db.view("big").fetchall() == [("IT",)]
    with db.transaction() as tx:
        tx.insert("sale", [sale(10, "a", "2.00")])
    assert db.view("cheap_count").fetchall() == [(3,)]
    assert sorted(db.view("big").fetchall()) == [("IT",), ("NO",)]
    db.verify()


def test_equal_parts_of_views_are_kept_once(db: ivm.Database) -> None:
    before = db.sql("SELECT count(*) FROM ivm_arrangements WHERE kind = 'index'").fetchall()
    db.sql("CREATE MATERIALIZED VIEW again AS SELECT sum(price) AS s FROM shop, sale WHERE shop.name = sale.shop")
    assert db.sql("SELECT count(*) FROM ivm_arrangements WHERE kind = 'index'").fetchall() == before
    shared = db.sql("SELECT views FROM ivm_arrangements WHERE kind = 'index'").fetchall()
    assert all(views == ["again", "revenue"] for (views,) in shared)
    db.sql("DROP VIEW again")
    db.sql("DROP VIEW revenue")
    assert db.sql(
        "SELECT count(*) FROM ivm_arrangements WHERE kind NOT IN ('table', 'text', 'process')"
    ).fetchall() == [(0,)]


def test_explain_is_deterministic_and_names_what_is_shared(db: ivm.Database) -> None:
    text = "EXPLAIN SELECT country, count(*) AS n FROM sale, shop WHERE sale.shop = shop.name GROUP BY country"
    first = db.sql(text).fetchall()[0][0]
    assert first == db.sql(text).fetchall()[0][0]
    assert "shared" in first
    assert "delta join" in first


def test_introspection_relations(db: ivm.Database) -> None:
    assert db.sql("SELECT view, rows, incremental FROM ivm_views").fetchall() == [("revenue", 2, True)]
    assert db.sql("SELECT sum(bytes) > 0 FROM ivm_arrangements").fetchall() == [(True,)]
    assert db.sql("SELECT count(*) > 0 FROM ivm_operators WHERE updates_in > 0").fetchall() == [(True,)]
    assert db.sql("SELECT time, updates FROM ivm_commits").fetchall() == [(1, 5)]


def test_verify_reports_empty_results() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a FROM t WHERE a > 0")
    assert [(v.view, v.rows, v.empty) for v in db.verify()] == [("v", 0, True)]


def test_verify_finds_a_wrong_view(db: ivm.Database) -> None:
    log = engine_of(core_of(db)).views["revenue"].log
    columns, _ = log.rows(None)
    from ivm.trace.delta import delta_of

    log.append(delta_of(columns, db.time, None, len(columns[0])))
    log.seal(db.time + 1, db.time)
    with pytest.raises(ivm.VerificationError, match="revenue"):
        db.verify()


def test_times_that_are_gone_or_to_come_are_refused() -> None:
    db = ivm.connect(compile="off", history=1)
    db.sql("CREATE TABLE t (a BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
    view = db.view("v")
    for number in range(4):
        db.apply({"t": [{"a": number}]})
    assert view.fetchall(as_of=3) == [(0,), (1,), (2,)]
    assert len(view.fetchall(as_of=4)) == 4
    for time in (2, 5):
        with pytest.raises(ivm.BindError, match="times from 3 to 4"):
            view.fetchall(as_of=time)


def test_a_view_ordered_by_a_literal_is_verified() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a VARCHAR); INSERT INTO t VALUES ('x'), ('x')")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT string_agg(a, ',' ORDER BY 'b') AS l FROM t")
    assert [checked.rows for checked in db.verify()] == [1]


def test_views_on_views_are_verified_at_any_depth() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT); INSERT INTO t VALUES (1, 1), (2, 5)")
    below = "t"
    for depth in range(520):  # where DuckDB would give up, if it were told of views
        db.sql(f"CREATE MATERIALIZED VIEW v{depth} AS SELECT id, x + 1 AS x FROM {below} WHERE x > -{depth + 1}")
        below = f"v{depth}"
    assert len(db.verify()) == 520
    assert [found.rows for found in db.verify([below])] == [2]
