"""A view is dropped, or another takes its place: whoever listens to it or reads it goes on, or is told why not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ivm
from ivm.session.database import core_of
from tests.faults.lines import lines_of, raising

LONG = 30
DOUBLED = "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a, 2 * sum(n) AS s FROM t GROUP BY a"
_SETUP = """
CREATE TABLE t (id BIGINT PRIMARY KEY, a VARCHAR, n INTEGER);
INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 0);
CREATE MATERIALIZED VIEW v AS SELECT a, sum(n) AS s FROM t GROUP BY a;
"""


@pytest.fixture(params=["one", "shards", "disk"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ivm.Database]:
    made = {
        "one": lambda: ivm.connect(compile="off", history=5),
        "shards": lambda: ivm.connect(shards=2, compile="off", history=5),
        "disk": lambda: ivm.connect(tmp_path / "shop.ivm", compile="off", history=5),
    }[request.param]()
    with made as db:
        db.sql(_SETUP)
        yield db


class Listener:
    """Who adds up what a subscription tells."""

    def __init__(self, db: ivm.Database, view: str = "v") -> None:
        self.view, self.subscription = db.view(view), db.subscribe(view, snapshot=True)
        self.rows: Counter[str] = Counter()

    def told(self) -> list[Any]:
        found: list[Any] = self.subscription.fetch().to_pylist()
        for row in found:
            diff = row.pop("_diff")
            self.rows[repr({name: value for name, value in row.items() if name != "_time"})] += diff
        return found

    def is_right(self) -> bool:
        self.told()
        return +self.rows == Counter(map(repr, self.view.arrow().to_pylist())) and min(self.rows.values()) >= 0


def test_equal_columns_go_on_with_one_change(db):
    one, two = Listener(db), Listener(db)
    db.sql("INSERT INTO t VALUES (4, 'x', 1)")
    db.sql(DOUBLED)
    db.sql("INSERT INTO t VALUES (5, 'x', 1)")
    assert len(one.told()) == 3 + 2 + 4 + 2, "z has 0 in both, and is not told"
    assert one.is_right()
    assert two.is_right()
    assert one.rows == two.rows
    db.sql(f"{DOUBLED}; {DOUBLED}; {DOUBLED.replace('2 *', '4 *')}; UPDATE t SET n = 7 WHERE id = 1")
    tables = iter(two.subscription)
    assert [next(tables)["_time"].to_pylist()[0] for _ in range(2)] == [db.time - 1, db.time]
    assert one.is_right()
    db.verify()


def test_a_change_is_told_once_where_rows_are_equal_to_readers(db):
    db.sql("""
        CREATE TABLE k (id BIGINT PRIMARY KEY, f DOUBLE, l INTEGER, e ENUM('a', 'b'), d DECIMAL(20, 3), h HUGEINT);
        INSERT INTO k VALUES (1, 'nan', 1, 'a', 1.5, 7), (2, -0.0, 2, 'b', NULL, -7), (3, 0.0, 2, NULL, 0.1, NULL);
        CREATE MATERIALIZED VIEW w AS SELECT f, l, e, d, h FROM k ORDER BY id;
        CREATE MATERIALIZED VIEW u AS SELECT e, list(l ORDER BY id) AS m FROM k GROUP BY e;
    """)
    listeners = [Listener(db, name) for name in ("w", "u")]
    for each in listeners:
        each.told()
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT f, l, e, d, h FROM k ORDER BY id DESC")
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW u AS SELECT e, list(l ORDER BY id DESC) AS m FROM k GROUP BY e")
    assert [each.told() for each in listeners] == [[], []]
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT f, l, e, d, h FROM k WHERE id < 3")
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW u AS SELECT e, list(l + 1 ORDER BY id) AS m FROM k GROUP BY e")
    assert [len(each.told()) for each in listeners] == [1, 6]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("DROP VIEW v", "it was dropped; subscribe to one that is there"),
        ("DROP TABLE t CASCADE", "it was dropped"),
        ("DROP VIEW v; CREATE MATERIALIZED VIEW v AS SELECT a, sum(n) AS s FROM t GROUP BY a", "it was dropped"),
        ("CREATE OR REPLACE VIEW v AS SELECT a, n AS s FROM t", "replaced by one that is not MATERIALIZED"),
        (
            "CREATE OR REPLACE MATERIALIZED VIEW V AS SELECT a, n AS s FROM t",
            r"other columns, \(a VARCHAR, s INTEGER\) in place of \(a VARCHAR, s HUGEINT\); subscribe again",
        ),
        ("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a, sum(n) AS z FROM t GROUP BY a", "of other columns"),
    ],
)
def test_others_end_with_the_reason(db, sql, reason):
    pending, waiting, iterating = (db.subscribe("v") for _ in range(3))
    raised: list[str] = []

    def wait(call: Any) -> None:
        try:
            call()
        except ivm.ViewDroppedError as error:
            raised.append(str(error))

    async def iterate() -> None:
        async for _ in db.subscribe("v"):
            db.sql(sql)

    calls = (lambda: waiting.fetch(timeout=LONG), lambda: waiting.fetch(timeout=None), lambda: list(waiting))
    threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
    for each in threads:
        each.start()
    loop = threading.Thread(target=wait, args=(lambda: asyncio.run(iterate()),))
    loop.start()
    while len(core_of(db).engine.listeners.of("v")) < 4:
        time.sleep(0.001)
    db.sql("INSERT INTO t VALUES (9, 'q', 1)")
    for each in (*threads, loop):
        each.join(LONG)
    first = next(iter(iterating))
    assert pending.fetch().equals(first)
    assert first["a"].to_pylist() == ["q"]
    for call in (pending.fetch, iterating.fetch, lambda: next(iter(iterating)), lambda: pending.fetch(timeout=LONG)):
        with pytest.raises(ivm.ViewDroppedError, match=reason):
            call()
    pending.close()
    assert len(raised) >= 2, "one of those who wait for the same subscription had the rows"
    assert not core_of(db).engine.listeners.of("v")


def test_closing_is_no_drop(db):
    closed, waiting, found = db.subscribe("v"), db.subscribe("v"), []
    thread = threading.Thread(target=lambda: found.append(waiting.fetch(timeout=LONG).num_rows))
    thread.start()
    closed.close()
    waiting.close()
    thread.join(LONG)
    db.sql("DROP VIEW v")
    assert found == [0]
    assert list(closed) == []
    assert closed.fetch().num_rows == 0


def test_what_fails_or_waits_changes_nothing_for_those_who_listen(db):
    listener = Listener(db)
    listener.told()
    with pytest.raises(ivm.NumericError):
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a, sum(n // (n - 1)) AS s FROM t GROUP BY a")
    db.sql("CREATE MATERIALIZED VIEW above AS SELECT count(*) AS n FROM v")
    for sql in ("DROP VIEW v", "DROP TABLE t"):
        with pytest.raises(ivm.BindError, match="used by view"):
            db.sql(sql)
    assert listener.told() == []
    above = db.subscribe("above")
    db.sql("DROP VIEW v CASCADE")
    for each in (above, listener.subscription):
        with pytest.raises(ivm.ViewDroppedError, match="was dropped"):
            each.fetch()


def test_a_reader_follows_the_name(db):
    view = db.view("v")
    db.sql(DOUBLED.replace(" v ", " V "))
    assert [each.name for each in db.views()] == ["v"]
    replaced = db.time
    db.sql("INSERT INTO t VALUES (4, 'x', 1)")
    assert sorted(view.fetchall()) == [("x", 4), ("y", 4), ("z", 0)]
    assert view.changes(replaced).num_rows == 2
    with pytest.raises(ivm.BindError, match="as of time 0"):
        view.arrow(as_of=0)
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT n FROM t WHERE id = 2")
    assert (view.columns, view.fetchall(), len(view), view.sql) == (["n"], [(2,)], 1, "SELECT n FROM t WHERE id = 2")
    db.sql("DROP VIEW v")
    for read in (view.arrow, view.fetchone, lambda: len(view), lambda: view.schema, lambda: view.changes(db.time)):
        with pytest.raises(ivm.ViewDroppedError, match="cannot read view v: it was dropped"):
            read()
    db.sql("CREATE VIEW v AS SELECT 1 AS one")
    with pytest.raises(ivm.ViewDroppedError, match="not MATERIALIZED"):
        view.fetchall()


def test_a_database_that_is_opened_again_goes_on_with_the_new_view(tmp_path):
    for number in (2, 3):
        with ivm.connect(tmp_path / "shop.ivm", compile="off", history=5) as db:
            if number == 2:
                db.sql(_SETUP)
            listener = Listener(db)
            db.sql(DOUBLED.replace("2 *", f"{number} *"))
            db.sql(f"INSERT INTO t VALUES ({10 + number}, 'x', 1)")
            assert listener.is_right()
            db.verify()


def test_whatever_is_raised_at_a_replacement_nobody_is_told_less_or_twice():
    db = ivm.connect(compile="off")
    db.sql(_SETUP)
    listener, number = Listener(db), 2

    def work() -> None:
        db.sql(DOUBLED.replace("2 *", f"{number} *"))

    places = lines_of(work)
    assert any("succession" in path for path, _ in places)
    for place in places[:: len(places) // 120 + 1] + [each for each in places if "succession" in each[0]]:
        number += 1
        raising(work, place, KeyboardInterrupt)
        db.apply({"t": [{"id": number + 100, "a": "q", "n": 1}]})
        assert listener.is_right(), place
    db.verify()
