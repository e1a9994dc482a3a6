"""A connection's time zone, and the one that a view and a table keep: over transactions, stacks, the disk and time."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.asked import _local
from ivm.catalog.plain import plain_table, plain_view, table_of, view_of
from ivm.catalog.schema import Table, View
from ivm.session.database import core_of
from ivm.shell.definitions import whole_text
from ivm.zones import clocks_of

ZURICH, TOKYO = "Europe/Zurich", "Asia/Tokyo"
DAYS = "SELECT z::DATE AS day, count(*) AS n FROM t GROUP BY day"
SECOND, HOUR, DAY = 10**6, 3600 * 10**6, 86_400 * 10**6


@pytest.fixture
def db():
    with ivm.connect(compile="off", timezone="europe/zurich", external_access=True) as made:
        made.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, z TIMESTAMPTZ)")
        made.sql("INSERT INTO t VALUES (1, '2024-06-30 22:30Z'), (2, '2024-07-01 23:30')")
        yield made


def zone_of(db: ivm.Database) -> str:
    return db.sql("SELECT current_setting('TimeZone')").fetchall()[0][0]


def days(db: ivm.Database, view: str) -> list[tuple[date, int]]:
    return db.sql(f"SELECT day, n FROM {view} ORDER BY day").fetchall()


def test_it_is_the_connections(db):
    assert zone_of(db) == ZURICH
    cursor, other = db.cursor(), db.cursor()
    cursor.execute(f"SET TimeZone = '{TOKYO}'")
    assert other.execute("SELECT current_setting('TimeZone')").fetchall() == [(TOKYO,)]
    db.sql("RESET TimeZone")
    assert zone_of(db) == ZURICH
    with ivm.connect() as apart:
        assert zone_of(apart) == "UTC"


@pytest.mark.parametrize(
    ("zone", "error", "says"),
    [
        ("Europe/Zurik", ivm.BindError, "did you mean 'Europe/Zurich'"),
        ("localtime", ivm.BindError, "no time zone"),
        ("", ivm.BindError, "such as 'Europe/Zurich'"),
        ("+02:00", ivm.BindError, "no time zone"),
        (None, ivm.TypeMismatchError, "must be a text"),
        (3, ivm.TypeMismatchError, "must be a text"),
    ],
)
def test_a_zone_that_there_is_not(zone, error, says):
    with pytest.raises(error, match=says):
        ivm.connect(timezone=zone)


def test_a_transaction_that_is_undone_leaves_it_set_as_in_duckdb(db):
    db.sql(f"BEGIN; SET TimeZone = '{TOKYO}'; CREATE MATERIALIZED VIEW v AS {DAYS}")
    assert db.sql("SELECT n FROM v WHERE day = '2024-07-01'").fetchall() == [(1,)]
    db.sql("ROLLBACK")
    assert zone_of(db) == TOKYO
    db.sql(f"SET TimeZone = '{ZURICH}'; BEGIN; CREATE MATERIALIZED VIEW v AS {DAYS}; SET TimeZone = 'UTC'; COMMIT")
    assert [(view.name, view.time_zone) for view in db.views()] == [("v", ZURICH)]
    assert (zone_of(db), days(db, "v")) == ("UTC", [(date(2024, 7, 1), 2)])
    db.verify()


def test_views_of_several_zones_on_each_other(db):
    """Each is told in its own, whoever reads it, maintained or not; a replaced one is in that of who replaces it."""
    db.sql(f"CREATE VIEW here AS {DAYS}; CREATE MATERIALIZED VIEW kept AS {DAYS}")
    db.sql(f"SET TimeZone = '{TOKYO}'; CREATE VIEW there AS {DAYS}")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT day, n, day::TIMESTAMPTZ AS begins FROM here")
    db.sql(
        "CREATE MATERIALIZED VIEW w AS SELECT h.day, t.n, k.n AS k FROM here h JOIN there t USING (day) JOIN kept k USING (day)"
    )
    db.sql("CREATE VIEW below AS SELECT day, n, day::TIMESTAMPTZ AS begins FROM here")
    for zone in ("UTC", ZURICH, TOKYO):
        db.sql(f"SET TimeZone = '{zone}'")
        assert days(db, "here") == days(db, "kept") == [(date(2024, 7, 1), 2)]
        assert days(db, "there") == [(date(2024, 7, 1), 1), (date(2024, 7, 2), 1)]
        assert db.sql("SELECT epoch(begins) FROM below").fetchall() == [(1719759600.0,)]
        assert db.sql("SELECT day, n, k FROM w").fetchall() == [(date(2024, 7, 1), 1, 2)]
        db.verify()
    db.sql("UPDATE t SET z = z + INTERVAL 1 DAY WHERE id = 2; DELETE FROM t WHERE id = 1")
    db.sql("INSERT INTO t VALUES (1, '2024-07-02 00:00')")
    db.verify()
    db.sql(f"SET TimeZone = 'UTC'; CREATE OR REPLACE VIEW here AS {DAYS}; ALTER TABLE t RENAME COLUMN id TO key")
    assert {view.name: view.time_zone for view in db.views()} == {
        "here": "UTC", "kept": ZURICH, "there": TOKYO, "v": TOKYO, "w": TOKYO, "below": TOKYO,
    }  # fmt: skip
    assert db.sql("SELECT epoch(begins) FROM v WHERE day = '2024-07-01'").fetchall() == [(1719759600.0,)]
    db.verify()


def test_a_loop_is_told_in_the_zone_of_who_asks(db):
    asked = "WITH MUTUALLY RECURSIVE r (d DATE) AS (SELECT z::DATE FROM t UNION SELECT d + 1 FROM r WHERE d < '2024-07-02') FROM r"
    assert sorted(db.sql(asked).fetchall()) == [(date(2024, 7, 1),), (date(2024, 7, 2),)]
    db.sql(f"CREATE VIEW looped AS {asked}; SET TimeZone = 'UTC'")
    assert len(db.sql(asked).fetchall()) == 3
    assert len(db.sql("FROM looped").fetchall()) == 2


def test_what_a_table_says_of_its_rows_is_told_in_its_zone(db):
    """But a DEFAULT is what DuckDB makes of it: by the clocks of who inserts."""
    db.tick("2024-06-30 22:30:00")
    db.sql(
        "CREATE TABLE g (id INTEGER PRIMARY KEY, z TIMESTAMPTZ CHECK (z::DATE >= '2024-07-01'), "
        "day DATE GENERATED ALWAYS AS (z::DATE), made DATE DEFAULT current_date)"
    )
    db.sql("INSERT INTO g (id, z) VALUES (1, now())")
    db.sql("SET TimeZone = 'UTC'; INSERT INTO g (id, z) VALUES (2, now())")
    moment = datetime.fromisoformat("2024-06-30 22:30:00+00:00")
    db.apply({"g": pa.table({"id": pa.array([3], pa.int32()), "z": pa.array([moment], pa.timestamp("us", "UTC"))})})
    found = db.sql("SELECT day, made FROM g ORDER BY id").fetchall()
    assert found == [(date(2024, 7, 1), date(2024, 7, 1)), *[(date(2024, 7, 1), date(2024, 6, 30))] * 2]
    with pytest.raises(ivm.ConstraintError, match="CHECK"):
        db.sql("INSERT INTO g (id, z) VALUES (4, '2024-06-30 21:59:59')")
    db.sql(f"SET TimeZone = '{TOKYO}'")
    with pytest.raises(ivm.ConstraintError, match="CHECK"):
        db.sql("INSERT INTO g (id, z) VALUES (4, '2024-07-01 06:59:59')")
    db.sql(
        "INSERT INTO g (id, z) VALUES (4, '2024-07-01 07:00:00'); UPDATE g SET z = '2024-07-02 06:59:59' WHERE id = 4"
    )
    assert db.sql("SELECT day FROM g WHERE id = 4").fetchall() == [(date(2024, 7, 1),)]


def test_time_passes_by_the_clocks_of_the_view(db):
    db.tick("2024-06-30 21:59:59")
    db.sql("CREATE MATERIALIZED VIEW today AS SELECT id FROM t WHERE z::DATE = current_date")
    db.sql("CREATE MATERIALIZED VIEW recent AS SELECT id FROM t WHERE z > now() - INTERVAL 1 DAY AND z <= now()")
    db.sql("CREATE MATERIALIZED VIEW aged AS SELECT id, now() - z AS age, now()::DATE - z::DATE AS days FROM t")
    for at, expected in (
        ("2024-06-30 21:59:59", []),
        ("2024-06-30 22:00:00", [1, 2]),
        ("2024-07-01 21:30:00", [1, 2]),
        ("2024-07-01 22:00:00", []),
        ("2024-07-02 00:00:00", []),
    ):
        db.tick(at)
        assert sorted(row[0] for row in db.view("today").fetchall()) == expected
        db.verify()


def test_what_is_answered_is_told_in_the_zone(db):
    typed = pa.timestamp("us", ZURICH)
    for text in ("SELECT z FROM t", "SELECT z FROM t WHERE id = 1", "DELETE FROM t WHERE id = 1 RETURNING z"):
        found = db.sql(text)
        assert found.arrow().schema.types == [typed]
        assert str(found.fetchall()[0][0]) == "2024-07-01 00:30:00+02:00"
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT [z] AS l, {'z': z} AS s, z FROM t")
    found = db.sql("FROM v")
    assert found.arrow().schema.types == [pa.list_(typed), pa.struct([("z", typed)]), typed]
    assert "2024-07-01 23:30:00+02" in repr(found)
    assert "2024-07-01 21:30:00+00" in repr(db.view("v"))
    assert whole_text(core_of(db).catalog.view("v"), core_of(db).catalog).startswith(
        f"SET TimeZone = '{ZURICH}';\nCREATE "
    )


def test_functions_of_the_applications_and_files(db, tmp_path: Path):
    db.create_function("hour_of", lambda moment: moment.astimezone().hour, ["TIMESTAMPTZ"], "INTEGER")
    assert db.sql("SELECT z::VARCHAR FROM t WHERE hour_of(z) < 24 AND id = 1").fetchall() == [
        ("2024-07-01 00:30:00+02",)
    ]
    path = tmp_path / "t.csv"
    db.sql(f"COPY t TO '{path}'")
    assert "1,2024-07-01 00:30:00+02\n" in path.read_text()
    path.write_text("id,z\n3,2024-03-31 02:30:00\n4,2024-03-31 02:30:00Z\n")
    db.sql(f"COPY t FROM '{path}'")
    assert db.sql("SELECT epoch(z) FROM t WHERE id > 2 ORDER BY id").fetchall() == [(1711848600.0,), (1711852200.0,)]


def test_it_is_kept_on_the_disk(tmp_path: Path):
    """In the log and in checkpoints; the connection's own is not."""
    with ivm.connect(tmp_path, compile="off", timezone=ZURICH) as db:
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, z TIMESTAMPTZ, here DATE GENERATED ALWAYS AS (z::DATE))")
        db.sql(f"CREATE MATERIALIZED VIEW v AS {DAYS}; CREATE VIEW u AS {DAYS}")
        db.sql("INSERT INTO t VALUES (1, '2024-06-30 22:30Z')")
    for opened in range(3):
        with ivm.connect(tmp_path, compile="off") as db:
            assert zone_of(db) == "UTC"
            db.sql(f"INSERT INTO t VALUES ({opened + 2}, '2024-06-30 22:30')")
            assert days(db, "v") == days(db, "u") == [(date(2024, 7, 1), opened + 2)]
            assert db.sql("SELECT DISTINCT here FROM t").fetchall() == [(date(2024, 7, 1),)]
            db.verify()
            if opened != 1:
                db.sql("CHECKPOINT")


def test_files_that_say_of_no_zone_mean_utc():
    for zone, is_said in (("UTC", False), (TOKYO, True)):
        table, view = (
            plain_table(Table("t", (), zone=zone)),
            plain_view(View("v", "", (), (), maintained=True, zone=zone)),
        )
        assert ("zone" in table, "zone" in view) == (is_said, is_said)
        assert (table_of(table).zone, view_of(view).zone) == (zone, zone)


TOLD = ", ".join(
    f"{text} AS x{place}"
    for place, text in enumerate((
        "z::DATE", "z::VARCHAR", "z + INTERVAL 1 DAY", "z - INTERVAL '1 month 3 hours'", "date_trunc('hour', z)",
        "date_trunc('day', z)", "date_trunc('week', z)", "date_trunc('year', z)", "z - y", "date_diff('day', z, y)",
        "age(z, y)", "time_bucket(INTERVAL 1 DAY, z)", "c::TIMESTAMPTZ", "c::DATE::TIMESTAMPTZ", "c < z", "epoch(z)",
        "extract(hour FROM z)", "last_day(z)", "strftime(z, '%c')", "z::VARCHAR::TIMESTAMPTZ", "to_json([z])",
    ))
)  # fmt: skip


@pytest.mark.parametrize("zone", ["Australia/Lord_Howe", "America/Sao_Paulo"])
def test_moments_around_changes_of_the_clocks(zone: str):
    """As DuckDB tells them, when they come, go and come back."""
    random, clocks = Random(zone), clocks_of(zone, _local)
    assert clocks is not None
    near = [
        random.choice(clocks.changes) + random.choice((-DAY, -HOUR, -1, 0, HOUR // 2, HOUR, DAY)) for _ in range(60)
    ]
    moments = np.array([*near, *(random.randrange(-2 * 10**15, 4 * 10**15) for _ in range(20))])
    shown = clocks.local(moments) + np.array([random.choice((0, HOUR // 2, -HOUR)) for _ in moments])
    rows = pa.table({
        "id": pa.array(range(80), pa.int32()), "z": pa.array(moments, pa.timestamp("us", "UTC")),
        "y": pa.array(moments[::-1], pa.timestamp("us", "UTC")), "c": pa.array(shown, pa.timestamp("us")),
    })  # fmt: skip
    with ivm.connect(compile="off", timezone=zone) as db:
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, z TIMESTAMPTZ, y TIMESTAMPTZ, c TIMESTAMP)")
        db.sql(f"CREATE MATERIALIZED VIEW told AS SELECT id, {TOLD} FROM t")
        db.sql(
            "CREATE MATERIALIZED VIEW hours AS SELECT date_trunc('hour', z) AS h, count(*) AS n, max(z) AS m FROM t GROUP BY h"
        )
        for part in (rows, rows.slice(30, 40)):
            db.apply({"t": part})
            db.verify()
            db.sql("DELETE FROM t WHERE id BETWEEN 30 AND 69")
            db.verify()


@pytest.mark.parametrize(
    "text", ["2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-07-01", "1890-01-01 12:00", "2199-07-01 12:00+03"]
)
@pytest.mark.parametrize("zone", [ZURICH, "America/New_York"])
def test_literals_are_read_by_the_clocks(zone: str, text: str):
    """Python reads those of a view, DuckDB those of a query."""
    with ivm.connect(compile="off", timezone=zone) as db:
        db.sql("CREATE TABLE one (x INTEGER); INSERT INTO one VALUES (1)")
        asked = f"SELECT TIMESTAMPTZ '{text}' AS a, TIMESTAMPTZ '{text}'::DATE AS b, TIMESTAMP '{text}'::TIMESTAMPTZ AS c FROM one"
        db.sql(f"CREATE MATERIALIZED VIEW v AS {asked}")
        assert db.sql("FROM v").fetchall() == db.sql(asked).fetchall()
        db.verify()


def test_a_constant_default_is_another_moment_in_each_zone_and_the_same_when_it_is_back() -> None:
    db = ivm.connect(compile="off")
    with duckdb.connect() as duck:
        for run in (db.sql, duck.execute):
            run("SET TimeZone = 'UTC'")
            run("CREATE TABLE t (n INTEGER, z TIMESTAMPTZ DEFAULT '2024-07-02 03:04:05')")
            for number, zone in enumerate(("UTC", "Europe/Zurich", "America/New_York", "Europe/Zurich", "UTC")):
                run(f"SET TimeZone = '{zone}'")
                run(f"INSERT INTO t (n) VALUES ({number}); INSERT INTO t (n) SELECT {number + 10}")
                run("INSERT INTO t (n) VALUES (?)", [number + 20])
        query = "SELECT n, epoch_us(z) FROM t ORDER BY n"
        assert db.sql(query).fetchall() == duck.execute(query).fetchall()
