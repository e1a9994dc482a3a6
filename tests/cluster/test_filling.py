"""A view over shards is filled between commits: exact whatever comes meanwhile, and nothing is left of one that fails."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

import ivm
from ivm.catalog.errors import BindError, ConstraintError, Error, NumericError
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.filler import Pace
from ivm.cluster.driver.transport import InProcess
from ivm.session.database import core_of
from ivm.trace.delta import Delta
from tests.cluster.faulty import Faulty
from tests.cluster.over_copies import OverCopies, connect
from tests.engine.chunks import chunks_of

TABLES = """
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR);
CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price BIGINT CHECK (price >= 0));
CREATE MATERIALIZED VIEW sums AS SELECT shop, CAST(sum(price) AS SMALLINT) AS total FROM sale GROUP BY shop;
INSERT INTO shop SELECT i, 'city ' || (i % 5) FROM range(12) r(i);
INSERT INTO sale SELECT i, i % 13, i % 50 FROM range(60) r(i);
"""
VIEWS = {
    "cities": "SELECT city, sum(price) AS total, max(price) AS most, count(*) AS n "
    "FROM sale JOIN shop ON sale.shop = shop.id GROUP BY city",
    "ranked": "SELECT id, price, row_number() OVER (PARTITION BY shop ORDER BY price, id) AS r FROM sale",
    "best": "SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 3",
    "idle": "SELECT id, city FROM shop WHERE id NOT IN (SELECT shop FROM sale WHERE shop IS NOT NULL)",
    "over_views": "SELECT city, count(*) AS n, sum(total) AS s FROM sums JOIN shop ON sums.shop = shop.id GROUP BY city",
    "known_channel": "SELECT shop, sum(price) AS s, count(*) AS n FROM sale GROUP BY shop HAVING sum(price) > 50",
    "whole": "SELECT sum(price) AS s, count(DISTINCT shop) AS shops FROM sale",
}
Told = Callable[[ivm.Progress], None]


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with (
        chunks_of(4),
        patch.object(InProcess, "pace", Pace(0, 4, 0)),
        ivm.connect(shards=3, compile="off") as made,
    ):
        made.sql(TABLES)
        yield made


def driver(db: ivm.Database) -> Driver:
    found: Any = core_of(db).engine
    assert isinstance(found, Driver)
    return found


def left(db: ivm.Database) -> list[object]:
    """All that there is of views, and of what is on its way in."""
    residents = driver(db).transport.residents  # type: ignore[attr-defined]
    engines = [each.engine for each in residents]
    return [
        [sorted(node.label for node in engine.renderer.graph.nodes) for engine in engines],
        [(engine.renderer.graph.installation, engine.is_filling, sorted(engine.leaving)) for engine in engines],
        [each.save() is None for each in residents],
        (sorted(driver(db).channels.by_name), driver(db).version.filling, driver(db).is_installing),
        sorted(each.name for each in db.views()),
    ]


def changing(db: ivm.Database, chance: random.Random) -> Told:
    """Commits at each call: rows come, change and go, and some are refused."""

    def change(_: ivm.Progress) -> None:
        number = chance.randrange(80)
        what = chance.randrange(6)
        if what == 0:
            db.apply({"sale": [{"id": number, "shop": number % 14, "price": chance.randrange(60)}]}, mode="upsert")
        elif what == 1:
            db.sql(f"DELETE FROM sale WHERE id = {number}")
        elif what == 2:
            db.sql(f"UPDATE shop SET city = 'city {chance.randrange(7)}' WHERE id = {number % 12}")
        elif what == 3:
            with pytest.raises(ConstraintError):
                db.apply({"sale": [{"id": 1_000, "shop": 1, "price": 1}, {"id": 1_001, "shop": 2, "price": -1}]})
        elif what == 4:
            shop = {"id": number % 12, "city": "city 9"}  # which is told to all, also where nothing else comes
            with pytest.raises(NumericError):
                db.apply({"shop": [shop], "sale": [{"id": 1_000, "shop": number, "price": 40_000}]}, mode="upsert")
        else:
            db.sql(f"DELETE FROM shop WHERE id = {number % 12}")
            db.apply({"shop": [{"id": number % 12, "city": None}]})

    return change


@pytest.mark.parametrize("name", VIEWS)
def test_commits_come_meanwhile(db, name):
    chance, told = random.Random(name), list[ivm.Progress]()
    change = changing(db, chance)

    def progress(now: ivm.Progress) -> None:
        told.append(now)
        change(now)
        assert all(view.rows for view in db.verify())
        with pytest.raises(BindError):
            db.view(name)

    db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}", progress=progress)
    rows = [each.rows for each in told]
    assert rows == sorted(rows)
    assert len(told) > 8
    db.verify()
    for each in range(10):
        change(told[0])
        assert len(db.verify()) == 2, each
    db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {name} AS {VIEWS[name]}", progress=change)
    db.verify()
    db.sql(f"DROP VIEW {name}; DROP VIEW sums")
    assert left(db) == [[[]] * 3, [(None, False, [])] * 3, [False] * 3, ([], False, False), []]


def test_other_threads_commit_and_read(db):
    db.apply({"sale": [{"id": 100 + i, "shop": i % 13, "price": 5} for i in range(6_000)]})
    there, seen, failed = threading.Event(), list[int](), list[Exception]()

    def commit() -> None:
        try:
            for number in range(10_000):
                if there.is_set():
                    break
                db.apply({"sale": [{"id": 10_000 + 2 * number + i, "shop": 3, "price": 5} for i in range(2)]})
                assert db.sql("SELECT count(*) % 2 AS odd FROM sale").fetchall() == [(0,)]
                seen.append(len(db.views()))
        except Exception as error:  # noqa: BLE001  it is looked at below
            failed.append(error)

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        db.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}")
    finally:
        there.set()
        thread.join()
    assert not failed
    assert seen.count(1) > 5
    db.verify()


class Stop(Exception):
    pass


@pytest.mark.parametrize("kind", [Stop, KeyboardInterrupt])
def test_nothing_is_left_of_one_that_is_stopped(db, kind):
    before, chance, stopped = left(db), random.Random(1), 0
    for stop in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55):
        calls, change = iter(range(1_000)), changing(db, chance)

        def progress(now: ivm.Progress, stop: int = stop, calls: Any = calls, change: Told = change) -> None:
            if next(calls) == stop:
                raise kind
            change(now)

        try:
            db.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}", progress=progress)
        except kind:
            stopped += 1
        else:
            db.sql("DROP VIEW cities")
        assert left(db) == before
        change(ivm.Progress("", 0, 0))
        db.verify()
    assert stopped > 5


@pytest.mark.parametrize("bit", [0, 1, 4, 9, 20])
def test_nothing_is_left_of_one_that_is_interrupted_within_a_bit(db, bit):
    before, calls, read = left(db), iter(range(1_000)), Delta.gathered

    def gathered(delta: Delta) -> Delta:
        if next(calls) == bit:
            raise KeyboardInterrupt
        return read(delta)

    with patch.object(Delta, "gathered", gathered), pytest.raises(KeyboardInterrupt):
        db.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}")
    assert left(db) == before
    changing(db, random.Random(1))(ivm.Progress("", 0, 0))
    db.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}")
    db.verify()


def test_one_that_nobody_could_cancel_is_cancelled_by_the_next_definition(db):
    before = left(db)

    def progress(_: ivm.Progress) -> None:
        raise Stop

    with patch.object(Driver, "sweep", lambda self: None), pytest.raises(Stop):
        db.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}", progress=progress)
    assert driver(db).version.filling
    changing(db, random.Random(2))(ivm.Progress("", 0, 0))
    db.sql("CREATE TABLE other (id BIGINT)")
    db.sql("DROP TABLE other")
    assert left(db) == before
    db.verify()


def test_what_is_wrong_with_the_rows_is_told_and_nothing_is_left(db):
    db.apply({"sale": [{"id": 500, "shop": 3, "price": 300}]})
    before = left(db)
    narrow = "SELECT city, sum(CAST(price AS TINYINT)) AS s FROM sale JOIN shop ON sale.shop = shop.id GROUP BY city"
    with pytest.raises(NumericError, match="cannot create view narrow over the rows there are"):
        db.sql(f"CREATE MATERIALIZED VIEW narrow AS {narrow}", progress=changing(db, random.Random(3)))
    assert left(db) == before
    db.sql("DELETE FROM sale WHERE price > 100")
    failed = made = 0
    for late in (1, 3, 6, 10, 20, 25, 30):
        calls = iter(range(1_000))

        def progress(_: ivm.Progress, late: int = late, calls: Any = calls) -> None:
            if next(calls) == late:
                db.apply({"sale": [{"id": 500, "shop": 3, "price": 300}]})  # which the view fails by, and nothing else

        try:
            db.sql(f"CREATE MATERIALIZED VIEW narrow AS {narrow}", progress=progress)
            made += 1
            db.sql("DROP VIEW narrow")
        except NumericError:
            failed += 1
        assert left(db) == before
        db.verify()
        db.sql("DELETE FROM sale WHERE price > 100")
    assert failed


def test_whoever_fills_a_view_defines_nothing_else(db):
    def progress(_: ivm.Progress) -> None:
        for text in ("DROP VIEW sums", "CREATE TABLE other (id BIGINT)"):
            with pytest.raises(Error, match="creates a view"):
                db.sql(text)

    db.sql(f"CREATE MATERIALIZED VIEW best AS {VIEWS['best']}", progress=progress)
    db.verify()


def test_what_is_not_needed_any_more_ends():
    """A copy of a shard that somebody lets go of takes what it was about to do with it."""
    with chunks_of(4), patch.object(InProcess, "pace", Pace(0, 4, 0)):
        db = ivm.connect(shards=2, compile="off")
        db.sql(TABLES)

        works: list[weakref.ref[Any]] = []

        def progress(_: ivm.Progress) -> None:
            growths = [each._filling._growth for each in driver(db).transport.residents]  # type: ignore[attr-defined]
            works.extend(weakref.ref(each._work) for each in growths if each is not None and not each.is_over)
            if works:
                raise Stop

        with patch.object(Driver, "sweep", lambda self: None), pytest.raises(Stop):
            db.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}", progress=progress)
        for each in driver(db).transport.residents:  # type: ignore[attr-defined]
            each._filling = None
        gc.collect()  # what is half done refers to what does it
        assert [work() for work in works] == [None] * len(works)


def test_drivers_die_meanwhile(monkeypatch):
    """What is on its way in is cancelled by whoever opens the folder; what has been filled is there."""
    monkeypatch.setattr(OverCopies, "pace", Pace(0, 4, 0))
    chance, root = random.Random(5), Faulty(random.Random(0))

    there = connect(root, shards=3)
    there.sql(TABLES)
    for stop in (4, 12):
        calls, change = iter(range(1_000)), changing(there, chance)

        def progress(now: ivm.Progress, stop: int = stop, calls: Any = calls, change: Told = change) -> None:
            if next(calls) == stop:
                raise Stop
            change(now)

        with monkeypatch.context() as context, pytest.raises(Stop):
            context.setattr(Driver, "sweep", lambda self: None)
            there.sql(f"CREATE MATERIALIZED VIEW cities AS {VIEWS['cities']}", progress=progress)
        assert driver(there).version.filling
        there = connect(root)
        assert not driver(there).version.filling
        assert [each.view for each in there.verify()] == ["sums"]
    for name in ("cities", "whole"):
        there.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}", progress=changing(there, chance))
    there = connect(root)
    assert [each.view for each in there.verify()] == ["sums", "cities", "whole"]
