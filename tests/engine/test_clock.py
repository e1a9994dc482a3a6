"""Views that compare with the clock: they change when time passes, as DuckDB says at each moment."""

from __future__ import annotations

import datetime
import random
import threading
from collections import Counter
from time import monotonic, sleep
from typing import Any

import pytest

import ivm
from ivm.session.database import core_of
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import connect as connect_cluster

BEGIN = datetime.datetime(2024, 2, 28, 22, 0)
TABLES = """
    CREATE TABLE e (id BIGINT PRIMARY KEY, k INTEGER NOT NULL, ts TIMESTAMP, pinned BOOLEAN);
    CREATE TABLE d (k INTEGER, day DATE, hours INTEGER)
"""
VIEWS = {
    "recent": "SELECT id, ts FROM e WHERE ts > now() - INTERVAL 1 HOUR AND ts <= now()",
    "due": "SELECT k, ts FROM e WHERE ts <= current_timestamp",
    "today": "SELECT id FROM e WHERE ts::DATE = current_date",
    "another_day": "SELECT count(*) AS n, sum(k) AS k FROM e WHERE ts::DATE <> current_date",
    "either": "SELECT id FROM e WHERE ts BETWEEN now() - INTERVAL 2 HOUR AND now() OR pinned",
    "aged": """SELECT id, CASE WHEN ts > now() THEN 'to come' WHEN now() - ts < INTERVAL 1 HOUR THEN 'new' ELSE 'old' END
        AS age FROM e""",
    "counted": """SELECT k, count(*) AS n, count(*) FILTER (WHERE ts > now() - INTERVAL 90 MINUTE) AS recent
        FROM e GROUP BY k""",
    "silent": "SELECT k, max(ts) AS last FROM e GROUP BY k HAVING max(ts) < now() - INTERVAL 30 MINUTE",
    "joined": """SELECT e.id, d.day, d.hours FROM e LEFT JOIN d ON e.k = d.k AND d.day >= current_date - 1
        AND d.day + INTERVAL (d.hours) HOUR <= localtimestamp""",
    "windowed": "SELECT id, row_number() OVER (PARTITION BY k ORDER BY ts, id) AS n FROM e WHERE ts <= now()",
    "lonely": """SELECT id FROM e a WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.k = a.k AND day > today())""",
    "months": "SELECT id FROM e WHERE ts > now() - INTERVAL 1 MONTH AND date_diff('hour', ts, localtimestamp) > 2",
    "stacked": "SELECT age, count(*) AS n FROM aged GROUP BY age",
    "again": "SELECT r.id FROM recent r, due u WHERE r.ts = u.ts AND r.ts > now() - INTERVAL 20 MINUTE",
    "clock": "SELECT count(*) AS n, (SELECT now()) AS at FROM recent",
    "shown": "SELECT id, now()::TIMESTAMP - ts AS a, date_diff('minute', ts, now()) AS m, current_date - ts::DATE AS d FROM e",
    "past": "SELECT id, CASE WHEN ts <= now() THEN date_diff('day', ts, now()) END AS days, age(ts) AS age FROM e",
    "lasting": "SELECT d.k, day FROM d WHERE day > now() - to_hours(hours) OR day IS NULL",
    "mean": "SELECT k, avg(now()::TIMESTAMP - ts) AS a, max(date_trunc('hour', now())) AS m FROM e GROUP BY k HAVING max(ts) < now()",
    "nearest": "SELECT id FROM e ORDER BY abs(epoch_us(now()::TIMESTAMP - ts)), id LIMIT 3",
    "oldest": "SELECT id, rank() OVER (PARTITION BY k ORDER BY age(now()::TIMESTAMP, ts), id) AS n FROM e",
    "unfolded": "SELECT id, unnest(generate_series(ts, now()::TIMESTAMP, INTERVAL 3 HOUR)) AS at FROM e WHERE ts > now() - INTERVAL 9 HOUR",
    "mixed": "SELECT id FROM e WHERE now()::TIMESTAMP - ts = ts - now()::TIMESTAMP OR k < extract(hour FROM now() - to_hours(k))",
    "earlier": "SELECT id, localtime AS at FROM e WHERE ts::TIME <= current_localtime() AND ts < now()",
    "many": "SELECT id FROM e WHERE " + " OR ".join(f"ts + INTERVAL {i} HOUR = now()" for i in range(1, 8)),
    "summed": "SELECT id, sum(CASE WHEN ts > now() THEN 1 END) OVER () AS n FROM e",
    "later": "SELECT k FROM d WHERE now() > TIMESTAMPTZ '2024-02-29 03:00:00+00'",
}


def made(names=tuple(VIEWS), **how):
    db = ivm.connect(compile="off", **how)
    db.tick(BEGIN)
    db.sql(TABLES)
    for name in names:
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
    return db


def minutes(count):
    return BEGIN + datetime.timedelta(minutes=count)


def moment(rng, at):
    return None if rng.random() < 0.1 else minutes(at + 10 * rng.randint(-15, 15))


def change(db, rng, at):
    """Some rows come, change and go: of few keys, at few moments, so that many are alike."""
    with db.transaction() as tx:
        for _ in range(rng.randint(0, 3)):
            row = {
                "id": rng.randint(0, 12),
                "k": rng.randint(0, 2),
                "ts": moment(rng, at),
                "pinned": rng.random() < 0.2,
            }
            tx.upsert("e", [row])
        if rng.random() < 0.5:
            tx.delete("e", [{"id": rng.randint(0, 12)}], missing="ignore")
        days = {"k": rng.randint(0, 2), "day": minutes(at).date(), "hours": rng.choice([None, 0, 1, 5])}
        if rng.random() < 0.4:
            tx.insert("d", [days])
        elif rng.random() < 0.5:
            tx.delete("d", [days], missing="ignore")


@pytest.mark.parametrize("how", [{}, {"shards": 3}, {"sharing": False}], ids=["one", "shards", "apart"])
def test_time_passes(how):
    rng = random.Random(5)
    with made(**how) as db:
        at = 0
        for step in range(11):
            if rng.random() < 0.6:
                at += rng.choice([1, 10, 10, 60, 400])
                db.tick(minutes(at))
            if rng.random() < 0.8:
                change(db, rng, at)
            if step % 5 == 4:
                db.sql("DELETE FROM e" if rng.random() < 0.5 else "DELETE FROM d")
            if step % 3 == 2:
                db.verify()


def rows_of(db, name):
    return Counter(map(tuple, (row.values() for row in db.view(name).arrow().to_pylist())))


def test_what_is_told_of_time_adds_up():
    rng = random.Random(6)
    with made() as db:
        told = {name: db.subscribe(name) for name in VIEWS}
        rows = {name: rows_of(db, name) for name in VIEWS}
        for step in range(12):
            db.tick(minutes(20 * step))
            change(db, rng, 20 * step)
        for name, subscription in told.items():
            for *row, _, diff in (tuple(each.values()) for each in subscription.fetch().to_pylist()):
                rows[name][tuple(row)] += diff
            assert +rows[name] == rows_of(db, name), name


def test_rows_cross_once_each_and_at_their_moment():
    with made(["recent"]) as db, db.subscribe("recent") as told:
        db.sql("INSERT INTO e VALUES (1, 0, '2024-02-28 22:10:00', false), (2, 0, '2024-02-28 22:10:00', false)")
        for at in (9, 10, 11, 69, 70, 71):
            db.tick(minutes(at))
        found = [(row["id"], row["_diff"]) for row in told.fetch().to_pylist()]
        times = told.fetch().num_rows
        assert sorted(found) == [(1, -1), (1, 1), (2, -1), (2, 1)]
        assert times == 0


def test_a_value_changes_when_what_it_reads_does():
    with made(["shown", "past"]) as db, db.subscribe("past") as told:
        db.sql("CREATE MATERIALIZED VIEW days AS SELECT id, date_diff('minute', ts, now()) AS m FROM e")
        db.sql("INSERT INTO e VALUES (1, 0, '2024-02-28 22:10:00', false)")
        with db.subscribe("days") as minutely:
            for seconds in range(30, 150, 30):
                db.tick(BEGIN + datetime.timedelta(seconds=seconds))
            told_of = [(row["m"], row["_diff"]) for row in minutely.fetch().to_pylist()]
            assert sorted(told_of) == [(-10, -1), (-9, -1), (-9, 1), (-8, 1)]
        assert len(told.fetch()) == 1
        visited = "SELECT sum(visited) FROM ivm_operators WHERE view = 'days'"
        before = db.sql(visited).fetchall()
        db.tick(BEGIN + datetime.timedelta(seconds=121))
        assert db.sql(visited).fetchall() == before
        db.verify()


def test_a_commit_moves_the_clock_and_one_that_fails_does_not():
    with made(["recent"]) as db:
        db.sql("INSERT INTO e VALUES (1, 0, '2024-02-28 22:10:00', false)")
        core_of(db).clock.give(core_of(db).engine, int(minutes(10).replace(tzinfo=datetime.UTC).timestamp() * 1e6))
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO e VALUES (1, 0, NULL, false)")
        assert db.view("recent").fetchall() == []
        db.sql("INSERT INTO e VALUES (2, 0, NULL, false)")
        assert db.view("recent").fetchall() == [(1, minutes(10))]
        db.verify()


def test_time_never_falls(tmp_path, monkeypatch):
    with made(["recent"]) as db:
        time = db.time
        with pytest.raises(ivm.InterfaceError, match="it is 2024-02-28 22:00:00 already, and time never falls"):
            db.tick(minutes(-1))
        assert db.tick(BEGIN) == time  # no time has passed
        db.tick()
        now = db.sql("SELECT now FROM ivm_clock").fetchall()
        monkeypatch.setattr("ivm.session.clock.time_ns", lambda: 10**15)
        db.tick()
        db.sql("INSERT INTO e VALUES (1, 0, NULL, false)")
        assert db.sql("SELECT now FROM ivm_clock").fetchall() == now == db.sql("SELECT now()").fetchall()
        db.verify()


def test_no_time_passes_where_nobody_asks():
    with ivm.connect() as db:
        db.sql("CREATE TABLE e (id BIGINT PRIMARY KEY)")
        assert (db.tick(), db.tick("2990-01-01"), db.time) == (0, 0, 0)
        assert db.sql("SELECT now() = '2990-01-01', current_date").fetchall() == [(True, datetime.date(2990, 1, 1))]
        assert [table.name for table in db.tables()] == ["e"]
    wrongs: list[Any] = ["soon", 5, datetime.date(2024, 1, 1)]
    for wrong in wrongs:
        with ivm.connect() as db, pytest.raises(ivm.TypeMismatchError, match="at is"):
            db.tick(wrong)


def test_the_clock_is_in_the_log(tmp_path):
    path = tmp_path / "db"
    names = ("recent", "aged", "joined", "stacked", "clock", "shown", "mixed", "mean")
    with made(names, path=path) as db:
        change(db, random.Random(1), 30)
        db.tick(minutes(40))
        held = {name: rows_of(db, name) for name in names}
    with ivm.connect(path, compile="off", read_only=True) as db:
        assert {name: rows_of(db, name) for name in names} == held
    for checkpoint in (True, False):
        with ivm.connect(path, compile="off") as db:
            assert {name: rows_of(db, name) for name in names} == held
            with pytest.raises(ivm.InterfaceError, match="time never falls"):
                db.tick(minutes(39))
            if checkpoint:
                db.sql("CHECKPOINT")
            db.tick(minutes(40))
            db.verify()


def test_rows_come_with_the_time_that_was_given():
    with ivm.connect(compile="off") as db:
        db.tick("2024-02-29T12:00:00+02:00")
        db.sql("CREATE TABLE e (id INTEGER PRIMARY KEY, made TIMESTAMP DEFAULT now(), day DATE DEFAULT current_date)")
        db.sql("INSERT INTO e (id) VALUES (1)")
        db.tick("2024-03-01")
        with db.transaction() as tx:
            tx.insert("e", [{"id": 2}])
        db.sql("INSERT INTO e SELECT 3, localtimestamp, today()")
        db.sql("UPDATE e SET made = get_current_timestamp() WHERE id = 1")
        march = datetime.datetime(2024, 3, 1)
        assert sorted(db.sql("SELECT * FROM e WHERE made <= now()").fetchall()) == [
            (1, march, datetime.date(2024, 2, 29)), (2, march, march.date()), (3, march, march.date())
        ]  # fmt: skip


def test_a_transaction_sees_one_moment():
    with made(["recent"]) as db:
        db.sql("BEGIN; INSERT INTO e VALUES (1, 0, now(), false)")
        with pytest.raises(ivm.TransactionError, match=r"cannot call db\.tick"):
            db.tick()
        other = threading.Thread(target=db.tick, args=(minutes(10),))
        other.start()
        other.join()
        db.sql("INSERT INTO e VALUES (2, 0, localtimestamp, false); COMMIT")
        assert sorted(db.view("recent").fetchall()) == [(1, BEGIN), (2, BEGIN)]
        assert db.sql("SELECT localtimestamp").fetchall() == [(minutes(10),)]
        db.verify()


def test_several_times_of_one_batch_see_the_clock_of_their_commit():
    with made(["recent"], history=10) as db:
        db.tick(minutes(60))
        rows = [{"id": i, "k": 0, "ts": minutes(50), "pinned": False, "_time": 100 + i} for i in range(3)]
        db.apply({"e": rows})
        assert [len(db.view("recent").fetchall(as_of=100 + i)) for i in range(3)] == [1, 2, 3]
        db.verify()


def test_time_passes_by_itself(caplog, monkeypatch):
    now = [10**15]
    monkeypatch.setattr("ivm.session.clock.time_ns", lambda: now[0] * 1000)
    with ivm.connect(compile="off", ticks="5ms") as db:
        db.sql("CREATE TABLE e (id INTEGER PRIMARY KEY, ts TIMESTAMP)")
        db.sql("CREATE MATERIALIZED VIEW due AS SELECT 10 // (id - 2) AS x FROM e WHERE ts <= now()")
        db.sql("INSERT INTO e SELECT i, make_timestamp(1000000000000000 + i * 1000000) FROM range(1, 4) AS r (i)")
        with db.subscribe("due") as told:
            now[0] += 1_000_000
            assert told.fetch(timeout=30).to_pylist() == [{"x": -10, "_time": db.time, "_diff": 1}]
        time = db.time
        db.tick("2001-09-09 01:46:41")
        now[0] += 1_000_000  # from now on a row is due that cannot be computed, but time was given
        sleep(0.05)
        assert (db.time, caplog.text) == (time, "")
        with pytest.raises(ivm.NumericError, match="division by zero"):
            db.tick()
        deadline = monotonic() + 30
        while "a tick has failed" not in caplog.text and monotonic() < deadline:
            sleep(0.01)
        assert "view due" in caplog.text
        db.sql("DELETE FROM e WHERE id = 2")
        assert db.view("due").fetchall() == [(-10,)]
        thread = next(each for each in threading.enumerate() if each.name == "ivm-ticks")
    thread.join(timeout=30)
    assert not thread.is_alive()
    for wrong in ("soon", "1 month", 0, -1, "0s"):
        with pytest.raises(ivm.TypeMismatchError, match="ticks is"):
            ivm.connect(ticks=wrong)
    with pytest.raises(ivm.UnsupportedError, match="leave ticks out"):
        ivm.connect("nowhere", read_only=True, ticks=1)


def test_the_clock_is_the_engines_own():
    with made(["recent"]) as db:
        for text in ("DROP TABLE ivm_clock", "DELETE FROM ivm_clock", "INSERT INTO ivm_clock VALUES (1, now())"):
            with pytest.raises(ivm.BindError, match="the engine's own"):
                db.sql(text)
        with pytest.raises(ivm.BindError, match="the engine's own"):
            db.apply({"ivm_clock": [{"id": 0, "now": BEGIN}]})
        for text in (
            "SHOW TABLES",
            "SELECT * FROM duckdb_constraints()",
            "FROM pg_class",
            "FROM information_schema.columns",
        ):
            assert "ivm_clock" not in str(db.sql(text).fetchall())
        db.sql("CREATE VIEW ages AS SELECT age(ts), now() FROM e")
        columns = [row[1] for row in db.sql("PRAGMA table_info('ages')").fetchall()]
        assert columns == [row[0] for row in db.sql("DESCRIBE ages").fetchall()] == ["age(ts)", "now()"]
        assert db.sql("SELECT count(*) FROM duckdb_views() WHERE contains(sql, 'now()')").fetchall() == [(2,)]


@pytest.mark.parametrize("how", [{}, {"shards": 2}], ids=["one", "shards"])
def test_what_fails_leaves_no_clock(how, tmp_path):
    path = {} if how else {"path": tmp_path / "db"}
    with made([], **how, **path) as db:
        db.sql("INSERT INTO e VALUES (1, 0, '2024-01-01', false), (2, 1, NULL, false)")
        for again in range(2):
            with pytest.raises(ivm.NumericError, match="division by zero"):
                db.sql("CREATE MATERIALIZED VIEW w AS SELECT 1 // k AS x FROM e WHERE ts < now()")
            assert "ivm_clock" not in core_of(db).catalog.content
            db.tick(minutes(5 + again))
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT id, now() AS at FROM e WHERE ts < now()")
        db.sql("DROP VIEW w; DELETE FROM e WHERE id = 2")
        db.tick(minutes(9))
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT id, localtimestamp AS at FROM e WHERE ts < now()")
        assert db.view("w").fetchall() == [(1, minutes(9))]
        db.verify()
    if path:
        with ivm.connect(**path, compile="off") as db:
            assert db.view("w").fetchall() == [(1, minutes(9))]


def test_the_clock_of_a_cluster_that_is_opened_again_goes_on():
    folder = MemoryFolder()
    with connect_cluster(folder) as db:
        db.tick("2990-01-01")
        db.sql(f"{TABLES}; CREATE MATERIALIZED VIEW due AS SELECT id FROM e WHERE ts <= now()")
        db.sql("INSERT INTO e VALUES (1, 0, '2989-12-31', false), (2, 0, '2990-01-02', false)")
    with connect_cluster(folder) as db:
        with pytest.raises(ivm.InterfaceError, match="it is 2990-01-01 00:00:00 already"):
            db.tick("2024-01-01")
        time = db.time
        db.tick()
        assert (db.view("due").fetchall(), db.time) == ([(1,)], time)
        db.tick("2990-01-03")
        assert sorted(db.view("due").fetchall()) == [(1,), (2,)]
        db.verify()
