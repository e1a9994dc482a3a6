"""SELECT as of a time, and several reads at one: what there was, whatever has been committed since."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ivm
from ivm.session.database import core_of
from ivm.shell.definitions import definition_text

SETUP = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, tax INTEGER);
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER);
CREATE TABLE log (what VARCHAR);
CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price + tax) AS total FROM sale JOIN city ON city = name GROUP BY city;
CREATE MATERIALIZED VIEW bag AS SELECT what FROM log;
CREATE VIEW few AS SELECT count(*) AS n, max(what) AS last FROM sale, log;
"""
RELATIONS = {"city": "*", "sale": "id, city, price", "log": "*", "revenue": "*", "bag": "*", "few": "*"}
OTHERS = [("SELECT city, count(*) AS n, min(price) AS least FROM sale GROUP BY city", "late"), ("FROM few", "later")]


def test_a_snapshot_can_be_taken_whoever_commits() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        over = threading.Event()

        def commit() -> None:
            while not over.is_set():
                db.sql("INSERT INTO log VALUES ('x')")

        others = threading.Thread(target=commit)
        others.start()
        try:
            for _ in range(40):
                with db.snapshot() as held:
                    assert held.sql("SELECT count(*) FROM log").fetchall() == [(len(held.view("bag").fetchall()),)]
        finally:
            over.set()
            others.join()


def rows(found: Any) -> Counter[str]:
    return Counter(map(str, found.fetchall()))


def statement(chance: Random) -> str:
    key, name = chance.randrange(6), chance.choice("abc")
    return chance.choice(
        [
            f"INSERT OR REPLACE INTO sale (id, city, price) VALUES ({key}, '{name}', {chance.randint(1, 9)})",
            f"INSERT OR REPLACE INTO city VALUES ('{name}', {chance.randrange(4)})",
            f"DELETE FROM sale WHERE id = {key}",
            f"DELETE FROM city WHERE name = '{name}'",
            f"INSERT INTO log VALUES ('{name}'), ('{name}')",
            f"DELETE FROM log WHERE what = '{name}'",
            f"UPDATE sale SET price = price + 1 WHERE city = '{name}'",
            f"BEGIN; DELETE FROM sale; INSERT INTO city VALUES ('n{key}', 1); ROLLBACK",
            f"BEGIN; DELETE FROM sale WHERE id = {key}; INSERT INTO sale (id, city, price) VALUES ({key}, '{name}', 3); COMMIT",
            f"INSERT INTO sale (id, city, price) VALUES ({key + 9}, NULL, 0)",
        ]
    )


def told(db: ivm.Database, relations: dict[str, str], suffix: str = "") -> dict[str, Counter[str]]:
    return {name: rows(db.sql(f"SELECT {of} FROM {name}{suffix}")) for name, of in relations.items()}


@pytest.mark.parametrize("seed", range(2))
def test_every_time_of_a_random_program(seed: int, tmp_path: Path) -> None:
    chance, twin, relations = Random(seed), dict[int, dict[str, Counter[str]]](), dict(RELATIONS)
    with ivm.connect(tmp_path / "db" if seed else None, history=100, compile="off") as db:
        db.sql(SETUP)
        begun = set[str]()
        held: list[tuple[ivm.Snapshot, dict[str, Counter[str]]]] = []
        for step in range(15):
            with suppress(ivm.ConstraintError):
                db.sql(statement(chance))
            if step == 5:
                db.sql(
                    "ALTER TABLE sale ADD COLUMN note VARCHAR DEFAULT 'x'; ALTER TABLE sale RENAME COLUMN note TO text"
                )
            if step in (6, 9):
                text, name = OTHERS[step > 6]
                db.sql(f"CREATE {'MATERIALIZED ' if step == 6 else ''}VIEW {name} AS {text}")
                begun.add(name)
                relations[name] = "*"
            twin[db.time] = told(db, relations)
            if step % 5 == 4:
                held.append((db.snapshot(), twin[db.time]))
        for time, expected in twin.items():
            assert told(db, {name: relations[name] for name in expected}, f" AS OF {time}") == expected, time
            with db.snapshot(time) as then:
                assert rows(then.view("revenue")) == expected["revenue"]
        first, last = min(twin), max(twin)
        assert rows(db.sql(f"SELECT least FROM late AS OF {first}")) == rows(
            db.sql(f"SELECT min(price) FROM sale AS OF {first} GROUP BY city")
        )
        for snapshot, expected in held:
            with snapshot as then:
                if "late" in expected:  # since then nothing was altered
                    assert {
                        name: rows(then.sql(f"SELECT {relations[name]} FROM {name}")) for name in expected
                    } == expected
        both = f"SELECT count(*), (SELECT count(*) FROM sale AT (VERSION => {first})) FROM sale AS s AT (VERSION => {last})"
        assert db.sql(both).fetchall() == [(twin[last]["sale"].total(), twin[first]["sale"].total())]


def test_what_is_held_is_kept_and_told() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        db.sql("INSERT INTO city VALUES ('a', 0); INSERT INTO sale VALUES (1, 'a', 5); INSERT INTO log VALUES ('x')")
        db.begin()
        assert db.sql("SELECT count(*) FROM sale").fetchall() == [(1,)]
        with db.snapshot() as then:
            threading.Thread(target=db.sql, args=["DELETE FROM sale; DELETE FROM city; DELETE FROM log"]).start()
            while db.time < 6:
                pass
            read = "SELECT total, n, last, price FROM revenue, few, sale"
            assert then.sql(read).fetchall() == [(5, 1, "x", 5)]
            assert then.view("revenue").fetchall() == [("a", 5)]
            held = "SELECT time, holder, thread FROM ivm_snapshots ORDER BY ALL"
            assert db.sql(held).fetchall() == [(3, "snapshot", "MainThread"), (3, "transaction", "MainThread")]
            for wrong in ("DELETE FROM sale", "CREATE TABLE x (i INTEGER)", "BEGIN", "COMMIT", "ROLLBACK"):
                with pytest.raises(ivm.TransactionError, match="snapshot"):
                    then.sql(wrong)
            with pytest.raises(ivm.BindError, match="nothing"):
                then.sql("SELECT nothing FROM sale")
            assert then.sql(read).fetchall() == [(5, 1, "x", 5)]
            view = then.view("revenue")
            for ask in (lambda: view.arrow(2), lambda: view.changes(2)):
                with pytest.raises(ivm.BindError, match="snapshot of time 3"):
                    ask()
        db.rollback()
        assert db.sql(held).fetchall() == []
        for read_on in (lambda: then.sql("FROM sale"), view.fetchall, lambda: then.view("revenue")):
            with pytest.raises(ivm.InterfaceError, match="closed"):
                read_on()
        assert repr(then) == "<ivm.Snapshot, closed>"


def test_what_is_gone_meanwhile_is_refused() -> None:
    with ivm.connect(compile="off", history=5) as db:
        db.sql(SETUP)
        db.sql("INSERT INTO sale VALUES (1, 'a', 5)")
        then = db.snapshot()
        view = then.view("bag")
        db.sql("DROP VIEW bag; DROP VIEW few; DROP TABLE log; CREATE TABLE log (i INTEGER); INSERT INTO log VALUES (1)")
        refused(lambda: then.sql("FROM log"), ivm.TransactionError, "dropped or replaced")
        refused(view.fetchall, ivm.TransactionError, "dropped or replaced")
        refused(lambda: db.sql("FROM log AS OF 0"), ivm.BindError, "past is known since time 1")
        assert then.sql("SELECT id FROM sale").fetchall() == [(1,)]
        db.sql("ALTER TABLE sale ALTER price TYPE BIGINT USING price * 2")
        refused(lambda: db.sql("FROM sale AS OF 1"), ivm.BindError, "written anew")
        assert db.sql("SELECT price FROM sale AS OF 2").fetchall() == [(10,)]


def refused(act: Callable[[], object], error: type[ivm.Error], why: str) -> None:
    with pytest.raises(error, match=why):
        act()


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("FROM sale AS OF 9", ivm.BindError, "times from 1 to 3 can be read"),
        ("FROM sale AT (VERSION => 0)", ivm.BindError, "larger `history`"),
        ("FROM sale AT (TIMESTAMP => '2000-01-01')", ivm.BindError, "times from 1 to 3"),
        ("FROM sale AT (TIMESTAMP => now() + INTERVAL 1 DAY)", ivm.BindError, "still to come"),
        ("FROM sale AT (VERSION => NULL)", ivm.BindError, "is NULL"),
        ("FROM sale AT (VERSION => 'x')", ivm.NumericError, "convert"),
        ("FROM nothing AS OF 2", ivm.BindError, "no table or view 'nothing'"),
        ("FROM ivm_commits AS OF 2", ivm.BindError, "has no past"),
        ("CREATE VIEW v AS FROM sale AS OF 2", ivm.UnsupportedError, "shows the present"),
        (
            "CREATE MATERIALIZED VIEW v AS SELECT * FROM sale AT (VERSION => 2)",
            ivm.UnsupportedError,
            "shows the present",
        ),
        ("EXPLAIN SELECT * FROM sale AT (VERSION => 2)", ivm.UnsupportedError, "shows the present"),
        ("SELECT * FROM sale FOR SYSTEM_TIME BETWEEN 1 AND 2", ivm.UnsupportedError, "only one time"),
        ("UPDATE sale AT (VERSION => 2) SET price = 1", ivm.UnsupportedError, "as it is now"),
    ],
)
def test_refusals(past: ivm.Database, text: str, error: type[ivm.Error], why: str) -> None:
    refused(lambda: past.sql(text), error, why)


@pytest.fixture(scope="module")
def past() -> Any:
    with ivm.connect(compile="off", history=2) as db:
        db.tick("2024-01-01 10:00")
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, price INTEGER)")
        for price in (1, 2, 3):
            db.sql(f"INSERT OR REPLACE INTO sale VALUES (1, {price})")
            db.tick(f"2024-01-0{price + 1} 10:00")
        db.sql("CREATE SCHEMA s; CREATE TABLE s.sale (id INTEGER)")
        yield db


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT price FROM sale AT (VERSION => 1 + 1)", 2),
        ("SELECT price FROM sale FOR SYSTEM_TIME AS OF 2", 2),
        ("SELECT price FROM sale FOR VERSION AS OF 2", 2),
        ("SELECT x.price FROM sale AS x AT (TIMESTAMP => '2024-01-02 12:00')", 2),
        ("SELECT price FROM sale AS OF TIMESTAMP '2024-01-02 12:00'", 2),
        ("SELECT price FROM sale AS OF TIMESTAMP now() - INTERVAL 2 DAY", 2),
        ("SELECT sale.price - now.price FROM sale AS OF 2, sale AS now", -1),
        ("SELECT a.price + b.price FROM sale AS a, sale AS b AS OF 2", 4),
        ("SELECT a.price + b.price FROM sale AS a JOIN sale AS b USING (id) AS OF 2", 4),
        ("SELECT a.price + b.price FROM sale AS a, sale AS b AT (VERSION => 2)", 5),
        ("WITH c AS (SELECT price FROM sale) SELECT sum(price) FROM (FROM c UNION ALL FROM c) AS OF 2", 4),
        ("SELECT price + (SELECT max(price) FROM sale AS OF 2) FROM sale", 5),
        ("SELECT of.price FROM sale AS of", 3),
        ("SELECT main.sale.price FROM main.sale AT (VERSION => 2)", 2),
        ("SELECT count(*) FROM s.sale AS OF 3", 0),
        ("BEGIN; DELETE FROM sale; SELECT price FROM sale AS OF '2024-01-03 12:00'", 3),
    ],
)
def test_spellings(past: ivm.Database, text: str, expected: int) -> None:
    assert past.sql(text).fetchall() == [(expected,)]
    if past.in_transaction:
        past.rollback()


def test_statements_that_read_the_past(past: ivm.Database) -> None:
    with past.what_if() as would:
        would.sql("INSERT OR REPLACE INTO sale SELECT * FROM sale AS OF 2")
        assert would.sql("SELECT price FROM sale").fetchall() == [(2,)]
        would.sql("CREATE TABLE copy AS SELECT * FROM sale AT (VERSION => 3)")
        would.sql("UPDATE copy SET price = 7 FROM sale AS old AT (VERSION => 2) WHERE old.id = copy.id")
        assert would.sql("FROM copy").fetchall() == [(1, 7)]
    assert past.sql("PREPARE p AS SELECT price FROM sale AT (VERSION => $1); EXECUTE p(2)").fetchall() == [(2,)]
    assert past.sql("SELECT price FROM sale VERSION AS OF 2", dialect="spark").fetchall() == [(2,)]
    with past.snapshot("2024-01-02 12:00") as then:
        assert then.time == 2
        assert then.sql("SELECT price, now()::DATE::VARCHAR FROM sale").fetchall() == [(2, "2024-01-02")]


def test_a_length_of_time() -> None:
    with ivm.connect(compile="off", history="2 hours") as db:
        db.sql("CREATE TABLE t (i INTEGER)")
        db.sql("CREATE MATERIALIZED VIEW few WITH (history = 1) AS SELECT count(*) AS n FROM t")
        db.sql("CREATE MATERIALIZED VIEW long WITH (history = '5 hours') AS SELECT count(*) AS n FROM t")
        for hour in range(100):
            db.tick(f"2024-01-0{1 + hour // 24} {hour % 24:02}:30")
            db.sql(f"INSERT INTO t VALUES ({hour})")
        assert [db.sql(f"SELECT count(*) FROM t AS OF {time}").fetchall() for time in (98, 100)] == [[(98,)], [(100,)]]
        assert db.view("few").fetchall(as_of=98) == [(98,)]
        refused(lambda: db.sql("FROM t AS OF 97"), ivm.BindError, "times from 98 to 100")
        refused(lambda: db.view("few").arrow(97), ivm.BindError, "times from 98 to 100")
        refused(lambda: db.snapshot(97), ivm.BindError, "times from 98 to 100")
        assert db.sql("FROM long AS OF 95").fetchall() == db.view("long").fetchall(as_of=95) == [(95,)]
        assert db.view("long").changes(95).num_rows == 10
        refused(lambda: db.view("long").arrow(94), ivm.BindError, "times from 95 to 100")
        refused(lambda: db.sql("FROM long AS OF 94"), ivm.BindError, "times from 98 to 100")
        assert db.sql(
            "SELECT i FROM t AS OF TIMESTAMP now() - INTERVAL 90 MINUTE ORDER BY i DESC LIMIT 1"
        ).fetchall() == [(97,)]
    wrong: Any
    for wrong in ("soon", "1 month", -1, 1.5, "0 seconds"):
        with pytest.raises(ivm.TypeMismatchError, match="history"):
            ivm.connect(history=wrong)


def test_a_view_with_a_history_of_its_own(tmp_path: Path) -> None:
    create = "CREATE MATERIALIZED VIEW long WITH (history = 9) AS SELECT count(*) AS n FROM t"
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE TABLE t (i INTEGER)")
        for wrong, why in (("'soon'", "length of time"), ("true", "number of times")):
            with pytest.raises(ivm.Error, match=why):
                db.sql(create.replace("9", wrong))
        refused(lambda: db.sql(create.replace("MATERIALIZED ", "")), ivm.BindError, "write CREATE MATERIALIZED VIEW")
        db.sql(create)
        db.apply({"t": {"i": list(range(20)), "_time": list(range(1, 21))}})
        assert [db.view("long").fetchall(as_of=time) for time in (11, 15, 20)] == [[(11,)], [(15,)], [(20,)]]
        refused(lambda: db.view("long").arrow(10), ivm.BindError, "times from 11 to 20")
        refused(lambda: db.sql("FROM t AS OF 15"), ivm.BindError, "times from 20 to 20")
        assert db.sql("FROM long AS OF 15").fetchall() == [(15,)]
        db.sql("CHECKPOINT; INSERT INTO t VALUES (0)")
        held = db.subscribe("long", from_time=12)
        assert held.fetch().num_rows == 18
        db.sql(create.replace("long", "late"))
        refused(lambda: db.view("late").arrow(20), ivm.BindError, "times from 21 to 21")
        db.sql("INSERT INTO t VALUES (1)")
        assert db.view("late").fetchall(as_of=21) == [(21,)]
        refused(lambda: db.view("late").arrow(20), ivm.BindError, "times from 21 to 22")
        db.sql("DROP VIEW late")
        db.sql(f"BEGIN; {create.replace('long', 'late')}; INSERT INTO t VALUES (2)")
        assert db.sql("FROM late").fetchall() == [(23,)]
        db.sql("COMMIT; INSERT INTO t VALUES (3)")
        assert [db.view("late").fetchall(as_of=time) for time in (22, 23, 24)] == [[(22,)], [(23,)], [(24,)]]
        refused(lambda: db.view("late").arrow(21), ivm.BindError, "times from 22 to 24")
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert [db.view("long").fetchall(as_of=time) for time in (16, 20, 24)] == [[(16,)], [(20,)], [(24,)]]
        assert db.view("late").fetchall(as_of=23) == [(23,)]
        assert "history = '9'" in definition_text(core_of(db).catalog.view("long"), core_of(db).catalog)
    with ivm.connect(shards=2, compile="off") as db:
        db.sql("CREATE TABLE t (i INTEGER)")
        refused(lambda: db.sql(create), ivm.UnsupportedError, "over shards")
        db.sql("BEGIN")
        refused(lambda: db.sql(create), ivm.UnsupportedError, "over shards")
    refused(lambda: ivm.connect(shards=2, history="1 hour"), ivm.UnsupportedError, "over shards")


def test_after_it_was_opened_again(tmp_path: Path) -> None:
    with ivm.connect(tmp_path / "db", compile="off", history=9) as db:
        db.sql(SETUP)
        db.sql("INSERT INTO log VALUES ('x'); INSERT INTO log VALUES ('y')")
    with ivm.connect(tmp_path / "db", compile="off", history=9) as db:
        assert db.sql("FROM bag AS OF 1").fetchall() == [("x",)]
        assert db.sql("FROM log AS OF 1").fetchall() == [("x",)]
        db.sql("DELETE FROM log")
        assert rows(db.sql("FROM log AS OF 2")) == rows(db.sql("FROM bag AS OF 2")) == Counter(["('x',)", "('y',)"])


def test_over_shards() -> None:
    with ivm.connect(shards=2, compile="off", history=9) as db:
        db.sql(SETUP)
        db.sql("INSERT INTO log VALUES ('x')")
        with db.snapshot() as then:
            assert then.sql("FROM log").fetchall() == [("x",)] == db.sql("FROM bag AS OF 1").fetchall()
            db.sql("INSERT INTO log VALUES ('y')")
            assert then.sql("FROM log").fetchall() == then.sql("FROM bag").fetchall() == [("x",)]
            db.sql("BEGIN")
            assert len(db.sql("FROM log").fetchall()) == len(db.sql("FROM bag").fetchall()) == 2
            committed_aside(db, "INSERT INTO log VALUES ('z')")
            assert len(db.sql("FROM log").fetchall()) == len(db.sql("FROM bag").fetchall()) == 2
            db.sql("COMMIT")
            for number in range(9):
                db.sql(f"INSERT INTO log VALUES ('{number}')")
            db.sql("BEGIN")
            db.sql("FROM log")
            for number in range(10):
                committed_aside(db, f"INSERT INTO log VALUES ('{number}')")
            for of in ("log", "bag"):
                refused(partial(db.sql, f"FROM {of}"), ivm.TransactionError, "from time 13 on|aborted")
                refused(partial(then.sql, f"FROM {of}"), ivm.BindError, "times from 13 to 22")
            db.sql("ROLLBACK")
            for of in ("log", "bag"):
                refused(partial(db.sql, f"FROM {of} AS OF 2"), ivm.BindError, "times from 13 to 22")
        assert db.sql("SELECT count(*) FROM sale AS OF 13, bag AS OF 14").fetchall() == [(0,)]
        db.sql("CREATE TABLE late AS SELECT 1 AS x; CREATE MATERIALIZED VIEW of_late AS SELECT x FROM late")
        for of in ("late", "of_late"):
            refused(partial(db.sql, f"FROM {of} AS OF 15"), ivm.BindError, "known from time 2[23] on")


def test_over_shards_all_is_as_it_was() -> None:
    chance = Random(3)
    with ivm.connect(shards=2, compile="off", history=100) as db:
        db.sql(SETUP)
        texts = {**{name: f"FROM {name}" for name in RELATIONS}, "point": "SELECT price FROM sale WHERE id = 3"}
        was = [{name: rows(db.sql(text)) for name, text in texts.items()}]
        while db.time < 25:
            before = db.time
            with suppress(ivm.ConstraintError):
                db.sql(statement(chance))
            if db.time > before:
                was.append({name: rows(db.sql(text)) for name, text in texts.items()})
        for time in range(1, 26, 3):
            with db.snapshot(time) as held:
                assert {name: rows(held.sql(text)) for name, text in texts.items()} == was[time], time
            assert rows(db.sql(f"FROM revenue AS OF {time}")) == was[time]["revenue"]


def committed_aside(db: ivm.Database, text: str) -> None:
    """A commit of somebody else."""
    other = threading.Thread(target=db.sql, args=(text,))
    other.start()
    other.join()
