"""A database over shards has the face that others have: what is read, told, shown and interrupted is as on one engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import BindError, ConstraintError, InterfaceError, ViewDroppedError
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder

TABLES = """
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR);
CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price BIGINT);
CREATE MATERIALIZED VIEW cities AS
    SELECT city, sum(price) AS total FROM sale JOIN shop ON sale.shop = shop.id GROUP BY city;
CREATE MATERIALIZED VIEW best AS SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 3;
"""


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(shards=3, compile="off", history=10) as made:
        made.sql(TABLES)
        yield made


@pytest.fixture
def pair(db: ivm.Database) -> Iterator[tuple[ivm.Database, ivm.Database]]:
    with ivm.connect(compile="off", history=10) as one:
        one.sql(TABLES)
        yield one, db


def fill(db: ivm.Database) -> None:
    db.sql("INSERT INTO shop VALUES (1, 'Bern'), (2, 'Oslo'), (3, 'Bern')")
    db.sql("INSERT INTO sale SELECT i, i % 4, i * 10 FROM range(20) r(i)")
    db.sql("DELETE FROM sale WHERE id % 5 = 0; UPDATE shop SET city = 'Rom' WHERE id = 3")


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def test_views_are_read_as_of_times_that_are_kept(pair):
    for each in pair:
        fill(each)
    one, db = pair
    assert one.time == db.time
    for time in range(one.time + 1):
        for view in ("cities", "best"):
            assert rows(db.view(view).arrow(as_of=time)) == rows(one.view(view).arrow(as_of=time)), (view, time)
    for view in ("cities", "best"):
        assert db.view(view).arrow().column_names == one.view(view).arrow().column_names
        assert len(db.view(view)) == len(one.view(view))
    for each in pair:
        for _ in range(12):
            each.sql("UPDATE shop SET city = 'Ulm' WHERE id = 1")
        with pytest.raises(BindError, match="times from 6 to 16 can be read"):
            each.view("best").arrow(as_of=1)


def test_what_changed_between_two_times_is_told(pair):
    for each in pair:
        fill(each)
    one, db = pair
    for view in ("cities", "best"):
        for after in range(one.time + 1):
            for until in (None, *range(after, one.time + 1)):
                mine, theirs = (each.view(view).changes(after, until) for each in pair)
                assert rows(mine) == rows(theirs), (view, after, until)
                assert mine.schema == theirs.schema
    assert db.view("best").changes(0).num_rows
    for each in pair:
        for _ in range(12):
            each.sql("UPDATE shop SET city = 'Ulm' WHERE id = 1")
        for after, until in ((1, None), (each.time, each.time + 1)):
            with pytest.raises(BindError, match="times from 6 to 16 can be read"):
                each.view("best").changes(after, until)


def test_subscriptions(pair):
    told = []
    for each in pair:
        subscription = each.subscribe("cities")
        fill(each)
        later = each.subscribe("cities", snapshot=True)
        each.sql("DELETE FROM shop WHERE id = 2")
        each.apply({"sale": [{"id": 100, "shop": 1, "price": 1, "_time": each.time + t, "_diff": d}
                             for t, d in ((1, 1), (3, -1))]})  # fmt: skip
        told.append([rows(found.fetch()) for found in (subscription, later)])
        each.sql("DROP VIEW cities")
        with pytest.raises(ViewDroppedError, match="was dropped"):
            list(subscription)
    assert told[0] == told[1]
    assert all(told[0])


def test_what_there_is(pair):
    one, db = pair
    for each in pair:
        fill(each)
    assert [(t.name, t.rows) for t in db.tables()] == [(t.name, t.rows) for t in one.tables()]
    assert [(v.name, v.rows, v.sql) for v in db.views()] == [(v.name, v.rows, v.sql) for v in one.views()]
    assert {v.view: v.rows for v in db.verify()} == {v.view: v.rows for v in one.verify()}
    assert "exchange 1" in db.explain("SELECT price, count(*) FROM sale GROUP BY price")
    shown = db.sql("SELECT view, rows, incremental FROM ivm_views ORDER BY view").arrow().to_pylist()
    assert [(each["view"], each["rows"]) for each in shown] == [("best", 3), ("cities", 3)]
    for name in ("ivm_arrangements", "ivm_operators", "ivm_dataflow", "ivm_commits", "ivm_exchanges"):
        assert db.sql(f"SELECT count(*) AS n FROM {name}").arrow().column("n")[0].as_py() > 0
    assert rows(db.sql("SHOW TABLES").arrow()) == rows(one.sql("SHOW TABLES").arrow())
    assert rows(db.sql("DESCRIBE sale").arrow()) == rows(one.sql("DESCRIBE sale").arrow())
    with pytest.raises(BindError):
        db.view("nobody")


def test_the_relations_show_what_checks_constraints(db):
    db.sql("CREATE UNIQUE INDEX one ON shop (city)")
    exchanges = db.sql("FROM ivm_exchanges").arrow().to_pylist()
    assert ["ivm_constraint CONSTRAINT one UNIQUE (city) of shop"] in [each["views"] for each in exchanges]
    assert db.sql("SELECT view FROM ivm_views").arrow().num_rows == 2
    assert len(db.views()) == 2


def test_batches_count_once(db):
    for _ in range(2):
        assert db.apply({"shop": [{"id": 1, "city": "Bern"}]}, batch=("orders", 7)) == 1
    assert db.batches() == {"orders": 7}
    with db.transaction(batch=("orders", 6)) as tx:
        tx.insert("shop", [{"id": 2, "city": "Bern"}])
    assert db.sql("FROM shop").arrow().num_rows == 1


def test_transactions(db):
    with db.transaction() as tx:
        tx.insert("shop", [{"id": 1, "city": "Bern"}])
        tx.insert("sale", [{"id": i, "shop": 1, "price": i} for i in range(9)])
    assert tx.time == db.time == 1
    with pytest.raises(ConstraintError), db.transaction() as tx:
        tx.insert("sale", [{"id": 10, "shop": 1, "price": 1}])
        tx.insert("sale", [{"id": i, "shop": 1, "price": i} for i in range(9)])
    tx = db.transaction()
    tx.upsert("shop", [{"id": 1, "city": "Oslo"}])
    tx.rollback()
    assert rows(db.view("cities").arrow()) == [("Bern", 36)]
    assert db.time == 1


def test_threads(db):
    """Some commit, some read, some define; each sees whole commits."""
    db.sql("INSERT INTO shop VALUES (1, 'Bern')")
    failed: list[Exception] = []

    def run(work: Any) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  it is looked at below
            failed.append(error)

    def commit(first: int) -> None:
        for number in range(first, first + 12):
            db.apply({"sale": [{"id": 2 * number + i, "shop": 1, "price": 5} for i in range(2)]})

    def read() -> None:
        for _ in range(12):
            assert all(each["total"] % 10 == 0 for each in db.view("cities").arrow().to_pylist())
            assert db.sql("SELECT count(*) % 2 AS odd FROM sale").arrow().column("odd")[0].as_py() == 0

    def define() -> None:
        for number in range(3):
            db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT price, count(*) AS n FROM sale GROUP BY price")
            db.sql(f"DROP VIEW v{number}")

    works = [lambda: commit(0), lambda: commit(100), read, define]
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    assert rows(db.view("cities").arrow()) == [("Bern", 240)]
    db.verify()


def test_closing(db):
    view, subscription = db.view("cities"), db.subscribe("cities")
    db.close()
    db.close()
    assert db.closed
    assert not list(subscription)
    for call in (lambda: db.sql("FROM shop"), lambda: db.apply({}), view.arrow, db.verify):
        with pytest.raises(InterfaceError, match="closed"):
            call()


def test_a_view_that_was_replaced_may_read_one_that_came_after_it():
    folder = MemoryFolder()
    with over_copies.connect(folder) as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT x, count(*) AS n FROM t GROUP BY x")
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT x, sum(id) AS s FROM t GROUP BY x")
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT x, s AS n FROM w WHERE s > 3")
        for number in range(20):  # after some of them each shard is saved
            db.apply({"t": [{"id": number, "x": number % 3}]})
    assert folder.names("snapshots/0")
    with over_copies.connect(folder) as db:
        db.verify()
        assert len(db.view("v").fetchall()) == 3
