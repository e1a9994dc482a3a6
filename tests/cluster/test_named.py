"""Subscriptions by a name over shards: who goes away at random and comes back is told all that he has not acknowledged,
whatever has died meanwhile.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

import ivm
from ivm.catalog.errors import StorageError
from ivm.cluster.driver.database import ShardedCore, ShardedDatabase
from ivm.cluster.driver.transport import InProcess
from ivm.cluster.files import ledger
from ivm.session.database import core_of
from tests.cluster import over_copies
from tests.cluster.beside import CleansAtOnce
from tests.cluster.faulty import Faulty
from tests.cluster.memory import MemoryFolder
from tests.durable.workload import begin, steps

VIEWS = ["by_item", "top", "led", "ring"]
SHOP = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER NOT NULL);
    CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
    INSERT INTO sale VALUES (1, 'Bern', 2), (2, 'Oslo', 4)
"""


class InMemory:
    """Shards of this process, which end with it."""

    def __init__(self, shards: int) -> None:
        self.db = ivm.connect(shards=shards, compile="off")

    def killed(self) -> bool:
        return False


class InFolder:
    """Shards whose processes die now and then, of drivers that do."""

    def __init__(self, shards: int) -> None:
        self.folder, self.chance = MemoryFolder(), random.Random(shards)
        self.db = self.connect(shards)

    def connect(self, shards: int = 0) -> ShardedDatabase:
        chance = self.chance
        return over_copies.connect(
            self.folder, shards, moves=lambda shard: chance.random() < 0.03, cleaner=CleansAtOnce
        )

    def killed(self) -> bool:
        """Now and then another driver begins where the one before has ended without a word."""
        is_killed = self.chance.random() < 0.1
        if is_killed:
            self.db = self.connect()
        return is_killed


@pytest.mark.parametrize(("where", "shards", "count"), [(InMemory, 1, 80), (InMemory, 3, 80), (InFolder, 2, 40)])
def test_random_steps_reach_who_goes_away_at_random(where, shards, count, monkeypatch):
    monkeypatch.setattr(ledger, "_EVERY", 8)
    chance, there = random.Random(shards), where(shards)
    begin(there.db)
    rows, kept = ({view: Counter[str]() for view in VIEWS} for _ in range(2))

    def subscribed(view):
        return there.db.subscribe(view, name=view, snapshot=True)

    listening = {view: subscribed(view) for view in VIEWS}
    for step in steps(shards, count):
        step(there.db)
        for view in chance.sample(VIEWS, 2):
            for row in listening[view].fetch().to_pylist():
                rows[view][repr(list(row.values())[:-2])] += row["_diff"]
            if chance.random() < 0.4:
                listening[view].acknowledge()
                kept[view] = Counter(rows[view])
            elif chance.random() < 0.5:
                listening[view].close()
                rows[view] = Counter(kept[view])
                listening[view] = subscribed(view)
        if there.killed():
            rows = {view: Counter(kept[view]) for view in VIEWS}
            listening = {view: subscribed(view) for view in VIEWS}
    for view in VIEWS:
        for row in listening[view].fetch().to_pylist():
            rows[view][repr(list(row.values())[:-2])] += row["_diff"]
        found = Counter(repr(list(row.values())) for row in there.db.view(view).arrow().to_pylist())
        assert {row: count for row, count in rows[view].items() if count} == found
    there.db.close()


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


def _logs(db, view):
    core = core_of(db)
    assert isinstance(core, ShardedCore)
    assert isinstance(core.driver.transport, InProcess)
    return [each.engine.views[view].log for each in core.driver.transport.residents]


def test_what_nobody_acknowledges_is_bounded_and_a_new_view_is_another_one():
    with ivm.connect(shards=2, compile="off") as db:
        assert isinstance(db, ShardedDatabase)
        db.sql(SHOP)
        db.subscribe("revenue", name="slow", keep=100).close()
        db.subscribe("revenue", name="patient").close()
        for price in range(200):
            db.sql("UPDATE sale SET price = ? WHERE id = 1", [price])
        assert {log.sealed.since for log in _logs(db, "revenue")} == {1}
        assert len(db.subscribe("revenue", name="patient").fetch()) == 400
        db.forget_subscription("patient")
        db.sql("UPDATE sale SET price = 1 WHERE id = 1")
        with pytest.raises(ivm.LagError, match=r"kept from time .* on, since more than 100 waited"):
            db.subscribe("revenue", name="slow")
        db.forget_subscription("slow")
        db.sql("UPDATE sale SET price = 2 WHERE id = 1")
        assert db.time in {log.sealed.since for log in _logs(db, "revenue")}  # that of the shard which has changed
        etl = db.subscribe("revenue", name="etl")
        etl.close()
        db.sql("ALTER VIEW revenue RENAME TO income; DELETE FROM sale WHERE id = 2")
        etl = db.subscribe("income", name="etl")
        assert [row["city"] for row in etl.fetch().to_pylist()] == ["Oslo"]
        db.rescale(3)
        db.sql("INSERT INTO sale VALUES (3, 'Rome', 1)")
        assert [row["city"] for row in etl.fetch().to_pylist()] == ["Rome"]
        etl.acknowledge()
        etl.close()
        db.sql("DELETE FROM sale WHERE id = 3")
        assert [row["_diff"] for row in db.subscribe("income", name="etl").fetch().to_pylist()] == [-1]
        with pytest.raises(ivm.BindError, match="times from"):
            db.view("income").changes(1)
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW income AS SELECT city, max(price) AS total FROM sale GROUP BY city")
        with pytest.raises(ivm.LagError, match="was replaced by another one"):
            db.subscribe("income", name="etl")


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
