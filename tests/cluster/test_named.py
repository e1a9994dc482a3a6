"""Subscriptions by a name where shards differ from a directory: of two drivers, over other shards, where a folder fails.

All else that names promise is in `tests/durable/test_named.py`.
"""

from __future__ import annotations

import random

import pytest

import ivm
from ivm.catalog.errors import StorageError
from ivm.cluster.driver.database import ShardedDatabase
from ivm.cluster.files import ledger
from tests.cluster import over_copies
from tests.cluster.beside import CleansAtOnce
from tests.cluster.faulty import Faulty
from tests.cluster.memory import MemoryFolder

SHOP = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER NOT NULL);
    CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
    INSERT INTO sale VALUES (1, 'Bern', 2), (2, 'Oslo', 4)
"""


def _told(subscription):
    return sorted((row["_diff"], row["city"], int(row["total"])) for row in subscription.fetch().to_pylist())


def test_of_two_drivers_the_one_that_is_late_is_told_when_it_acknowledges():
    folder = MemoryFolder()
    first = over_copies.connect(folder, 2)
    first.sql(SHOP)
    etl = first.subscribe("revenue", name="etl", snapshot=True)
    assert len(_told(etl)) == 2
    etl.acknowledge()
    first.sql("DELETE FROM sale WHERE id = 1")
    assert _told(etl) == [(-1, "Bern", 2)]
    second = over_copies.connect(folder)
    again = second.subscribe("revenue", name="etl")
    assert _told(again) == [(-1, "Bern", 2)]
    second.sql("DELETE FROM sale WHERE id = 2")
    with pytest.raises(StorageError, match="written by another driver"):
        etl.acknowledge()
    with pytest.raises(StorageError, match="another driver has gone on"):
        etl.acknowledge()
    again.acknowledge()
    third = over_copies.connect(folder)
    assert third.sql("SELECT acknowledged FROM ivm_subscriptions").fetchall() == [(2,)]
    assert _told(third.subscribe("revenue", name="etl")) == [(-1, "Oslo", 4)]
    for db in (second, third):
        db.close()


def test_what_is_acknowledged_goes_along_with_names_and_to_other_shards(monkeypatch):
    monkeypatch.setattr(ledger, "_EVERY", 8)
    folder = MemoryFolder()
    db = over_copies.connect(folder, 2, cleaner=CleansAtOnce)
    db.sql(SHOP)
    etl = db.subscribe("SELECT id, city, price AS total FROM sale WHERE city = ?", ["Oslo"], name="etl")
    db.sql("UPDATE sale SET price = 5 WHERE id = 2")
    etl.acknowledge(db.time) if etl.fetch().num_rows else None
    view = db.subscribe("revenue", name="view")
    db.sql("ALTER VIEW revenue RENAME TO income")
    db.sql("UPDATE sale SET price = price + 1")
    for price in range(40):  # of which snapshots are made, and all files before are removed
        db.sql("UPDATE sale SET price = ? WHERE id = 2", [price])
    assert len(_told(view)) == 84
    db = over_copies.connect(folder, cleaner=CleansAtOnce)
    assert len(_told(db.subscribe("income", name="view"))) == 84
    query = db.subscribe("SELECT id, city, price AS total FROM sale WHERE city = ?", ["Oslo"], name="etl")
    assert len(_told(query)) == 82
    query.acknowledge()
    db.rescale(3)
    db.sql("UPDATE sale SET price = 9 WHERE id = 2")
    db = over_copies.connect(folder)
    query = db.subscribe("SELECT id, city, price AS total FROM sale WHERE city = ?", ["Oslo"], name="etl")
    assert _told(query) == [(-1, "Oslo", 39), (1, "Oslo", 9)]
    with pytest.raises(ivm.LagError, match="the view was made anew"):
        db.subscribe("income", name="view")
    db.forget_subscription("view")
    query.acknowledge()
    query.close()
    db.close()
    db = over_copies.connect(folder)
    assert db.sql("SELECT name, behind FROM ivm_subscriptions").fetchall() == [("etl", 0)]
    db.forget_subscription("etl")
    assert not db.sql("SELECT * FROM ivm_views WHERE view LIKE 'ivm_sub%'").fetchall()
    db.close()


def test_who_listens_goes_on_over_other_shards():
    with ivm.connect(shards=2, compile="off") as db:
        assert isinstance(db, ShardedDatabase)
        db.sql(SHOP)
        etl = db.subscribe("revenue", name="etl")
        db.rescale(3)
        db.sql("INSERT INTO sale VALUES (3, 'Rome', 1)")
        assert _told(etl) == [(1, "Rome", 1)]
        etl.acknowledge()
        etl.close()
        db.sql("DELETE FROM sale WHERE id = 3")
        assert _told(db.subscribe("revenue", name="etl")) == [(-1, "Rome", 1)]
        with pytest.raises(ivm.BindError, match="times from"):
            db.view("revenue").changes(1)


class _Killed(BaseException):
    pass


@pytest.mark.parametrize("error", [OSError(5, "no answer"), _Killed()])
def test_whatever_fails_or_kills_an_acknowledgement_it_holds_or_does_not(error):
    found = []
    for number in range(1, 40):
        folder = Faulty(random.Random(0))
        db = over_copies.connect(folder, 2, pauses=())
        db.sql(SHOP)
        etl = db.subscribe("revenue", name="etl", snapshot=True)
        etl.fetch()
        etl.acknowledge()
        db.sql("UPDATE sale SET price = 3 WHERE id = 1")
        etl.fetch()
        calls = [number]

        def count(call, calls=calls):
            calls[0] -= 1
            if calls[0] <= 0:
                raise error

        folder.before = count
        try:
            etl.acknowledge()
        except (StorageError, _Killed):
            pass
        else:
            break
        folder.before = lambda call: None
        db = over_copies.connect(folder)
        assert _told(db.subscribe("revenue", name="etl")) in ([], [(-1, "Bern", 2), (1, "Bern", 3)])
        found += db.sql("SELECT acknowledged FROM ivm_subscriptions").fetchall()
    assert found == [(1,)] * found.count((1,)) + [(2,)] * found.count((2,)), "once it holds it does"
    assert {(1,), (2,)} == {*found}
