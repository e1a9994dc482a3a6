"""Subscriptions by a name: each goes on behind what was acknowledged, whatever has become of the process meanwhile."""

import random
import zlib
from collections import Counter

import pytest

import ivm
from ivm.cluster.files import ledger
from ivm.durable.names import NAME
from ivm.session import named
from ivm.session.subscribing import subscribe
from tests.cluster import over_copies
from tests.cluster.beside import CleansAtOnce
from tests.durable.opening import call
from tests.durable.places import PLACES, Directory, Lazy, OverShards, logs_of
from tests.durable.workload import begin, steps

MADE = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER NOT NULL);
    CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
    INSERT INTO sale VALUES (1, 'Bern', 2), (2, 'Oslo', 4)
"""
QUERY = "SELECT id, price FROM sale WHERE price > 1 AND city = ?"


@pytest.fixture(params=PLACES)
def place(request):
    return request.param()


def _told(subscription):
    return sorted((row["_time"], row["_diff"], *list(row.values())[:-2]) for row in subscription.fetch().to_pylist())


def _names(db):
    said = "SELECT name, view, acknowledged, behind, ended FROM ivm_subscriptions WHERE name IS NOT NULL ORDER BY name"
    return db.sql(said).fetchall()


def test_one_goes_on_behind_what_it_has_acknowledged(place):
    with place.open() as db:
        db.sql(MADE)
        of_view = db.subscribe("revenue", name="view", snapshot=True)
        of_query = db.subscribe(QUERY, ["Bern"], name="query")
        of_rows = db.subscribe("SELECT * FROM revenue WHERE city = ?", ["Oslo"], name="rows", form="upserts")
        assert len(_told(of_view)) == 2
        assert of_rows.name == "rows"
        assert _names(db) == [("query", "ivm_subscribed_1", 1, 0, None), ("rows", "revenue", 1, 0, None),
                              ("view", "revenue", -1, 1, None)]  # fmt: skip
        of_view.acknowledge()
        db.sql("INSERT INTO sale VALUES (3, 'Bern', 5)")
        db.sql("INSERT INTO sale VALUES (4, 'Oslo', 1)")
        assert _told(of_query) == [(2, 1, 3, 5)]
        of_query.acknowledge()
        db.sql("CHECKPOINT; UPDATE sale SET price = 6 WHERE id = 3")
        killed = place.left()
    for there in (place, killed):
        with there.open() as db:
            assert _names(db)[2] == ("view", "revenue", 1, 3, "nobody listens")
            missed = _told(db.subscribe("revenue", name="view"))
            assert [row[:2] for row in missed] == [(2, -1), (2, 1), (3, -1), (3, 1), (4, -1), (4, 1)]
            assert _told(db.subscribe(QUERY, ["Bern"], name="query")) == [(4, -1, 3, 5), (4, 1, 3, 6)]
            again = db.subscribe("SELECT * FROM revenue WHERE city = ?", ["Oslo"], name="rows", form="upserts")
            assert [(row["city"], int(row["total"])) for row in again.fetch().to_pylist()] == [("Oslo", 5)]
            again.acknowledge(2)
            db.sql("DELETE FROM sale WHERE id = 4")
            assert [int(row["total"]) for row in again.fetch().to_pylist()] == [4]
    with place.open() as db:
        assert [int(row["total"]) for row in db.subscribe(
            "SELECT * FROM revenue WHERE city = ?", ["Oslo"], name="rows").fetch().to_pylist() if row["_diff"] > 0
        ] == [5, 4]  # fmt: skip
        db.subscribe("revenue", name="view", from_time=5).close()
        assert _names(db)[2][2] == 5


def test_what_was_told_and_not_acknowledged_is_told_again_also_all_rows(place):
    with place.open() as db:
        db.sql(MADE)
        db.subscribe("revenue", name="etl", snapshot=True).fetch()
        db.sql("DELETE FROM sale WHERE id = 2")
    with place.open() as db:
        etl = db.subscribe("revenue", name="etl")
        db.sql("INSERT INTO sale VALUES (3, 'Rome', 1); DELETE FROM sale WHERE id = 3")
        etl = db.subscribe("revenue", name="etl", from_time=3, snapshot=True)  # which acknowledges all up to then
        assert [row[:3] for row in _told(etl)] == [(4, -1, "Rome")]
        db.forget_subscription("etl")
        etl = db.subscribe("revenue", name="etl", snapshot=True)
        assert [row[2] for row in _told(etl)] == ["Bern"]
        etl.acknowledge()
        etl.acknowledge(1)  # that is so already
        etl.close()
        etl.acknowledge()
    with place.open() as db:
        assert _told(db.subscribe("revenue", name="etl")) == []


def test_of_views_of_one_plan_the_one_that_is_listened_to_keeps_what_was_not_acknowledged(place):
    db = place.open()
    db.sql(MADE)
    db.subscribe("SELECT city, sum(price) AS total FROM sale GROUP BY city", name="etl").close()
    for price in range(10, 20):  # while shards are saved
        db.sql("UPDATE sale SET price = ? WHERE id = 1", [price])
    db.sql("CHECKPOINT; DELETE FROM sale WHERE id = 2")
    with place.left().open() as found:
        etl = found.subscribe("SELECT city, sum(price) AS total FROM sale GROUP BY city", name="etl")
        assert len(_told(etl)) == 21


def test_a_name_has_one_who_listens_and_one_view(place):
    with place.open() as db:
        db.sql(MADE)
        first = db.subscribe("revenue", name="etl")
        second = db.subscribe("revenue", name="etl")
        db.sql("DELETE FROM sale WHERE id = 2")
        with pytest.raises(ivm.InterfaceError, match="another subscribes by the name 'etl'"):
            first.fetch()
        with pytest.raises(ivm.InterfaceError, match="another subscribes"):
            first.acknowledge()
        assert len(_told(second)) == 1
        for of, params in (("SELECT * FROM revenue WHERE city = ?", ["Bern"]), (QUERY, ["Bern"])):
            with pytest.raises(ivm.BindError, match="another name, or forget that one"):
                db.subscribe(of, params, name="etl")
        with pytest.raises(ivm.BindError, match="they were taken up to 2"):
            second.acknowledge(9)
        second.acknowledge()
        with pytest.raises(ivm.LagError, match="has acknowledged all up to 2"):
            db.subscribe("revenue", name="etl", from_time=1)
        db.forget_subscription("etl")
        with pytest.raises(ivm.InterfaceError, match="or it was forgotten"):
            second.acknowledge()
        with pytest.raises(ivm.BindError, match="nobody has subscribed by this name"):
            db.forget_subscription("etl")
        for wrong in ("", 7, "x" * 1001):
            with pytest.raises(ivm.TypeMismatchError, match="must be a text of 1 to 1000"):
                db.subscribe("revenue", name=wrong)
        with pytest.raises(ivm.TypeMismatchError, match="keep"):
            db.subscribe("revenue", name="etl", keep=0)
        with pytest.raises(ivm.BindError, match="nothing"):
            db.subscribe("nothing", name="etl")
        with pytest.raises(ivm.InterfaceError, match="has no name"):
            db.subscribe("revenue").acknowledge()
        assert _names(db) == []
        late = db.subscribe("revenue", name="etl")
    with pytest.raises(ivm.InterfaceError, match="closed"):
        late.acknowledge()


def test_a_view_of_a_query_is_there_as_long_as_somebody_may_come_back(place):
    with place.open() as db:
        db.sql(MADE)
        db.subscribe(QUERY, ["Bern"], name="query").close()
        db.subscribe(QUERY, ["Oslo"]).close()
    with place.open() as db:
        assert [row[1] for row in _names(db)] == ["ivm_subscribed_1"]
        db.subscribe(QUERY, ["Oslo"]).close()
        assert db.sql("SELECT count(*) FROM ivm_views").fetchall() == [(2,)]
        db.forget_subscription("query")
        assert db.sql("SELECT count(*) FROM ivm_views").fetchall() == [(1,)]


def test_what_nobody_acknowledges_is_bounded(place):
    with place.open() as db:
        db.sql(MADE)
        slow = db.subscribe("revenue", name="slow", keep=100)
        db.subscribe("revenue", name="patient")
        for price in range(80):
            db.sql("UPDATE sale SET price = ? WHERE id = 1", [price])
        assert max(log.sealed.since for log in logs_of(db, "revenue")) == 1  # some shard has no row of it
        db.forget_subscription("patient")
        db.sql("UPDATE sale SET price = 1 WHERE id = 1")
        assert db.time in {log.sealed.since for log in logs_of(db, "revenue")}  # of the shard that has changed
        with pytest.raises(ivm.LagError, match=r"kept from time .* on, since more than 100 waited"):
            db.subscribe("revenue", name="slow")
        slow.fetch()  # who is there still can say so, and go on
        slow.acknowledge()
        db.sql("UPDATE sale SET price = 2 WHERE id = 1")
    with place.open() as db:
        assert len(_told(db.subscribe("revenue", name="slow"))) == 2


def test_what_is_let_go_of_just_when_somebody_comes_back_is_said(place, monkeypatch):
    with place.open() as db:
        db.sql(MADE)
        db.subscribe("revenue", name="slow", keep=100).close()

        def late(*given, **wished):
            for price in range(80):
                db.sql("UPDATE sale SET price = ? WHERE id = 1", [price])
            return subscribe(*given, **wished)

        monkeypatch.setattr(named, "subscribe", late)
        with pytest.raises(ivm.LagError, match=r"kept from time .* on, since more than 100 waited"):
            db.subscribe("revenue", name="slow", snapshot=False)


@pytest.mark.parametrize("is_taken", [True, False])
def test_what_tells_a_new_view_from_the_old_one_is_acknowledged_with_it_or_not_lost(place, is_taken):
    new = "CREATE OR REPLACE MATERIALIZED VIEW revenue AS SELECT city, sum(price) + 1 AS total FROM sale GROUP BY city"
    with place.open() as db:
        db.sql(MADE)
        etl = db.subscribe("revenue", name="etl")
        away = db.subscribe("revenue", name="away")
        away.close()
        db.sql(new)
        if is_taken:
            etl.fetch()
        etl.acknowledge()
        db.sql("ALTER VIEW revenue RENAME TO income")
        if is_taken:
            db.sql("DELETE FROM sale WHERE id = 2")
    with place.open() as db:
        if is_taken:
            assert [row[:3] for row in _told(db.subscribe("income", name="etl"))] == [(2, -1, "Oslo")]
        else:
            with pytest.raises(ivm.LagError, match="was replaced by another one"):
                db.subscribe("income", name="etl")
        with pytest.raises(ivm.LagError, match="was replaced by another one"):
            db.subscribe("income", name="away")
        db.sql("DROP VIEW income")
        with pytest.raises(ivm.BindError, match="income"):
            db.subscribe("income", name="etl")
        assert len(_names(db)) == 2


class Restless(OverShards):
    """Shards whose processes die now and then, and whose files go as soon as nobody needs them."""

    def open(self, history=0):
        chance = random.Random(7)
        return over_copies.connect(
            self._folder, 3, history, moves=lambda shard: chance.random() < 0.03, cleaner=CleansAtOnce
        )

    def left(self):
        return self


class InMemory:
    """Shards that end with their process, so that none is ever killed."""

    def __init__(self):
        self._db = ivm.connect(shards=3, compile="off")

    def open(self):
        return self._db

    def left(self):
        return self


@pytest.mark.parametrize(("kind", "count"), [(Directory, 120), (Restless, 40), (InMemory, 60)])
def test_random_steps_reach_who_goes_away_at_random(kind, count, monkeypatch):
    monkeypatch.setattr(ledger, "_EVERY", 8)
    chance, place = random.Random(3), kind()
    db = place.open()
    begin(db)
    views = ["by_item", "top", "led", "ring"]
    rows, kept = ({view: Counter[str]() for view in views} for _ in range(2))

    def subscribed(view):
        rows[view] = Counter(kept[view])
        return db.subscribe(view, name=view, snapshot=True)

    def take(view):
        for row in listening[view].fetch().to_pylist():
            rows[view][repr(list(row.values())[:-2])] += row["_diff"]

    listening = {view: subscribed(view) for view in views}
    for step in steps(3, count):
        step(db)
        for view in chance.sample(views, 2):
            take(view)
            if chance.random() < 0.4:
                listening[view].acknowledge()
                kept[view] = Counter(rows[view])
            elif chance.random() < 0.3:
                listening[view].close()
                listening[view] = subscribed(view)
        if chance.random() < 0.12:
            place = place.left()
            db = place.open()
            listening = {view: subscribed(view) for view in views}
    for view in views:
        take(view)
        there = Counter(repr(list(row.values())) for row in db.view(view).arrow().to_pylist())
        assert {row: count for row, count in rows[view].items() if count} == there
    db.close()


def _open(path):
    return ivm.connect(path, compile="off")


def test_a_damaged_file_is_said_and_a_copy_has_no_names(tmp_path):
    path = tmp_path / "shop.ivm"
    with _open(path) as db:
        db.sql(MADE)
        db.subscribe("revenue", name="etl").close()
        db.backup(tmp_path / "copy.ivm")
    with _open(tmp_path / "copy.ivm") as db:
        assert _names(db) == []
    (path / NAME).write_bytes(b"ivm subscriptions, format 1, crc32 00000000\n{}")
    with pytest.raises(ivm.StorageError, match=r"SUBSCRIPTIONS.* is damaged"):
        _open(path)
    said = call("check", path)
    assert (said.exit_code, "named subscriptions" in said.output) == (1, True)
    text = b'{"etl":{}}'
    (path / NAME).write_bytes(b"ivm subscriptions, format 1, crc32 %08x\n" % zlib.crc32(text) + text)
    with pytest.raises(ivm.StorageError, match="was not written by ivm"):
        _open(path)
    (path / NAME).unlink()
    assert call("check", path).exit_code == 0
    with ivm.connect(path, compile="off", read_only=True) as db, pytest.raises(ivm.AccessError):
        db.subscribe("revenue", name="etl")
    _open(path).close()


@pytest.mark.parametrize("kind", [*PLACES, Lazy])
def test_after_a_kill_or_a_loss_of_power_what_was_acknowledged_is_there_and_no_more(kind):
    place, chance = kind(), random.Random(7)
    db = place.open()
    db.sql(MADE)
    etl = db.subscribe("revenue", name="etl")
    acknowledged = [(0, -1), (place.steps(), db.time)]
    for number in range(3, 9):
        db.sql(f"INSERT INTO sale VALUES ({number}, 'Bern', 1)")
        if number == 5:
            db.sql("CHECKPOINT")
        if number % 2:
            etl.fetch()
            etl.acknowledge()
            acknowledged.append((place.steps(), db.time))
    for done in range(1, place.steps() + 1, 5):
        certain = max(time for by, time in acknowledged if by <= done)
        for left in place.lost(done, chance):
            found = left.open()
            time = dict(found.sql("SELECT name, acknowledged FROM ivm_subscriptions").fetchall()).get("etl", -1)
            assert certain <= time <= found.time
            if time >= 0:
                assert len(_told(found.subscribe("revenue", name="etl"))) == 2 * (found.time - time)
