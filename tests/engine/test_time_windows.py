"""TUMBLE, HOP and SESSION: what they give is what a loop over the rows gives, while rows come, move and go."""

from __future__ import annotations

import datetime
import random
from collections import Counter

import pytest

import ivm

BEGIN = datetime.datetime(2024, 2, 28)
MINUTE = datetime.timedelta(minutes=1)
VIEWS = {
    "tumbles": "SELECT id, window_start, window_end FROM TUMBLE(e, ts, INTERVAL '30 minutes')",
    "hops": "SELECT id, window_start, window_end FROM HOP(e, ts, INTERVAL 15 MINUTE, INTERVAL '40 minutes') AS h",
    "sessions": "SELECT id, window_start, window_end FROM session(e, ts, INTERVAL '10 minutes', k)",
    "whole": "SELECT id, window_start, window_end FROM SESSION(data := e, timecol := ts, gap := INTERVAL 10 MINUTE)",
}


def floor(ts, minutes):
    return BEGIN + (ts - BEGIN) // (minutes * MINUTE) * (minutes * MINUTE)


def tumbles(rows):
    return [(i, floor(ts, 30), floor(ts, 30) + 30 * MINUTE) for i, _, ts in rows]


def hops(rows):
    starts = [(i, ts, floor(ts, 15) - 15 * n * MINUTE) for i, _, ts in rows for n in range(4)]
    return [(i, start, start + 40 * MINUTE) for i, ts, start in starts if ts < start + 40 * MINUTE]


def sessions(rows, keyed=True):
    found = []
    for key in {k if keyed else 0 for _, k, _ in rows}:
        session: list[tuple[int, datetime.datetime]] = []
        mine = sorted(((ts, i) for i, k, ts in rows if not keyed or k == key), reverse=True)
        for ts, i in [*mine, (datetime.datetime.min, -1)]:
            if session and session[-1][1] - ts > 10 * MINUTE:
                found += [(each, session[-1][1], session[0][1] + 10 * MINUTE) for each, _ in session]
                session = []
            session.append((i, ts))
    return found


TWINS = {"tumbles": tumbles, "hops": hops, "sessions": sessions, "whole": lambda rows: sessions(rows, keyed=False)}


@pytest.mark.parametrize("shards", [None, 3])
def test_windows_are_those_of_a_loop(shards):
    rng = random.Random(7)
    with ivm.connect(compile="off", shards=shards) as db:
        db.sql("CREATE TABLE e (id BIGINT PRIMARY KEY, k INTEGER, ts TIMESTAMP)")
        for name, text in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
        for step in range(12):
            with db.transaction() as tx:
                for _ in range(rng.randint(1, 4)):
                    ts = None if rng.random() < 0.1 else BEGIN + rng.randint(0, 24) * 5 * MINUTE
                    tx.upsert("e", [{"id": rng.randint(0, 9), "k": rng.randint(0, 1), "ts": ts}])
                tx.delete("e", [{"id": rng.randint(0, 9)}], missing="ignore")
            if step == 8:
                db.sql("DELETE FROM e")
            rows = db.sql("SELECT id, k, ts FROM e WHERE ts IS NOT NULL").fetchall()
            for name, twin in TWINS.items():
                assert Counter(db.view(name).fetchall()) == Counter(twin(rows)), name
        assert Counter(db.sql(VIEWS["hops"]).fetchall()) == Counter(hops(rows))
        db.verify()


def test_they_stand_wherever_a_table_does(tmp_path):
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.tick("2024-02-28 00:50:00")
        db.sql("CREATE TABLE e (id INTEGER PRIMARY KEY, ts TIMESTAMPTZ); CREATE TABLE hop (session BIGINT)")
        db.sql("INSERT INTO e VALUES (1, '2024-02-28 00:10:00+00'), (2, '2024-02-28 00:40:00+00')")
        db.sql("INSERT INTO hop (session) SELECT count(*) FROM TUMBLE(e, ts, INTERVAL 1 HOUR)")
        assert db.sql("SELECT * FROM hop").fetchall() == [(2,)]
        db.sql("""CREATE MATERIALIZED VIEW over AS WITH x AS (SELECT ts AS seen FROM e)
            SELECT window_end, count(*) AS n FROM TUMBLE((SELECT * FROM x), seen, INTERVAL 20 MINUTE)
            WHERE window_end <= now() GROUP BY window_end""")
        assert [n for _, n in db.view("over").fetchall()] == [1]
        db.tick("2024-02-28 01:00:00")
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert [n for _, n in db.view("over").fetchall()] == [1, 1]
        db.verify()


REFUSED = (
    ("TUMBLE(e, ts)", r"it is TUMBLE\(data, timecol, size\)"),
    ("TUMBLE(nothing, ts, INTERVAL 1 HOUR)", "there is no table or view 'nothing'"),
    ("TUMBLE(e, nothing, INTERVAL 1 HOUR)", "there is no column 'nothing'"),
    ("HOP(e, ts, INTERVAL 1 MONTH, INTERVAL 1 HOUR)", "has months"),
    ("HOP(e, ts, INTERVAL 0 HOUR, INTERVAL 1 HOUR)", "not over zero"),
    ("HOP(e, ts, id, INTERVAL 1 HOUR)", "is no constant INTERVAL"),
    ("HOP(e, ts, INTERVAL 1 SECOND, INTERVAL 1 DAY)", "10000 is the limit"),
)


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE e (id INTEGER PRIMARY KEY, ts TIMESTAMP)")
        with pytest.raises(ivm.BindError, match=words):
            db.sql(f"CREATE MATERIALIZED VIEW w AS SELECT * FROM {call}")


def test_a_macro_of_the_name_is_meant():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE MACRO tumble(x) AS TABLE SELECT x AS y; CREATE MACRO hop(x) AS x + 1")
        assert db.sql("SELECT y, hop(y) FROM tumble(3)").fetchall() == [(3, 4)]
