"""INTERVAL columns: in from Python, Arrow and frames, out again, kept on disk and over shards, in compiled loops too."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import ivm
from ivm.trace.columns.intervals import lengths
from tests.model.intervals import length, made

VIEW = "CREATE MATERIALIZED VIEW v AS SELECT i, count(*) AS n, max(id) AS m FROM t GROUP BY i"
_ARROW = pa.month_day_nano_interval()


def _table(db: ivm.Database) -> None:
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, i INTERVAL)")
    db.sql(VIEW)


def _texts(db: ivm.Database) -> list[str | None]:
    return [text for (text,) in db.sql("SELECT i::VARCHAR FROM t ORDER BY id").fetchall()]


def test_what_is_taken_comes_back():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    db = ivm.connect(compile="off")
    _table(db)
    db.apply({"t": [{"id": 1, "i": timedelta(days=1, hours=26)}, {"id": 2, "i": None}]})
    db.apply({"t": [{"id": 3, "i": "1 month -2:30"}, {"id": 4, "i": "-3 days"}]})
    db.apply({"t": [{"id": 5, "i": pa.MonthDayNano([1, -2, 3000])}]})
    db.apply({"t": pa.table({"id": pa.array([6], pa.int32()), "i": pa.array([-90_000], pa.duration("s"))})})
    db.apply({"t": pandas.DataFrame({"id": [7], "i": [pandas.Timedelta("36 hours")]})})
    db.apply({"t": polars.DataFrame({"id": [8], "i": [timedelta(milliseconds=1)]})})
    db.sql("INSERT INTO t VALUES (9, ?)", [timedelta(days=-1, seconds=1)])
    assert _texts(db) == [
        "2 days 02:00:00", None, "1 month -02:30:00", "-3 days", "1 month -2 days 00:00:00.000003",
        "-1 day -01:00:00", "1 day 12:00:00", "00:00:00.001", "-1 day 00:00:01",
    ]  # fmt: skip
    rows = db.sql("SELECT i FROM t WHERE id IN (3, 6, 9) ORDER BY id")
    assert rows.fetchall() == [
        (timedelta(days=29, hours=21, minutes=30),),
        (timedelta(hours=-25),),
        (timedelta(days=-1, seconds=1),),
    ]
    assert rows.arrow().schema.field("i").type == _ARROW
    assert rows.df()["i"].dtype.kind == "m"
    assert rows.pl()["i"].dtype == polars.Duration("us")
    assert db.verify()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "'soon' is no INTERVAL; write numbers with their units"),
        (5, "give timedelta, or text such as '1 month 2 days'"),
        (pa.MonthDayNano([0, 0, 1]), "finer than a microsecond"),
        ("2562048:00:00", "'2562048:00:00' is no INTERVAL"),
    ],
)
def test_what_is_no_interval_is_refused(value: object, message: str):
    db = ivm.connect(compile="off")
    _table(db)
    with pytest.raises(ivm.TypeMismatchError, match=message):
        db.apply({"t": [{"id": 1, "i": value}]})
    assert db.sql("SELECT * FROM v").fetchall() == []


def test_spans_that_python_has_not_are_told():
    db = ivm.connect(compile="off")
    _table(db)
    db.sql("INSERT INTO t VALUES (1, to_days(2147483647))")
    with pytest.raises(ivm.TypeMismatchError, match="it holds 2147483647 days"):
        db.sql("SELECT i FROM t").fetchall()
    assert "2147483647 days" in str(db.view("v"))


def test_equal_intervals_come_and_go_on_disk(tmp_path: Path):
    with ivm.connect(tmp_path / "db", compile="off") as db:
        _table(db)
        db.sql("INSERT INTO t VALUES (1, '720 hours'), (2, '1 month'), (3, '30 days'), (4, NULL)")
        shown = db.view("v").fetchall()
        db.sql("CHECKPOINT")
        db.sql("DELETE FROM t WHERE id = 2")
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert db.verify()
        assert Counter(db.sql("SELECT i::VARCHAR, n FROM v").fetchall()) == {("30 days", 2): 1, (None, 1): 1}
        db.sql("INSERT INTO t VALUES (2, '1 month')")
        assert sorted(db.view("v").fetchall(), key=str) == sorted(shown, key=str)
        db.sql("DELETE FROM t")
        assert db.view("v").fetchall() == []


def test_maps_whose_keys_are_lists_of_intervals_are_given_as_pairs():
    db = ivm.connect(compile="off")
    found = db.sql("SELECT MAP {[INTERVAL 1 DAY]: 1}, MAP {INTERVAL 1 DAY: INTERVAL 2 DAY}").fetchall()
    day = timedelta(days=1)
    assert found == [([([day], 1)], {day: 2 * day})]


def test_compiled_loops_compute_as_they_do_interpreted():
    text = """CREATE MATERIALIZED VIEW w AS SELECT id, i * id AS a, i + INTERVAL (id) DAY AS b, epoch_us(i) AS c,
        ts + i AS d, ts - TIMESTAMP '2020-01-01' AS e FROM t"""
    rows = [f"({n}, to_months({n % 5 - 2}) + to_days({n % 7 - 3}) + to_microseconds({n * 10**9 - 10**11}), "
            f"TIMESTAMP '2020-01-31' + INTERVAL {n} HOUR)" for n in range(200)]  # fmt: skip
    found = []
    for compile_ in ("off", "wait"):
        db = ivm.connect(compile=compile_)
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, i INTERVAL, ts TIMESTAMP)")
        db.sql(text)
        db.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
        assert db.verify()
        found.append(db.view("w").arrow().sort_by("id"))
    assert found[0].equals(found[1])


def test_lengths_are_what_is_sorted_by():
    parts = [(0, 0, 0), (1, -30, -1), (-(2**31), -(2**31), -9 * 10**15), (2**31 - 1, 2**31 - 1, 9 * 10**15), (0, 1, -1)]
    array = pa.array([pa.MonthDayNano([m, d, us * 1000]) for m, d, us in parts], _ARROW)
    assert [int(each) for each in lengths(array).to_pylist()] == [length(made(*each)) for each in parts]
    assert [int(each) for each in lengths(array.slice(2)).to_pylist()] == [length(made(*each)) for each in parts[2:]]


FORMS = ("1 month", "30 days", "720 hours", "29 days 24 hours", "-30 days", "-1 month", "1 day", "24 hours", "0 days",
         "1 month -30 days", "31 days", "1 month 1 day", None)  # fmt: skip
HISTORIES = (
    "SELECT i, count(*) AS n, min(g) AS m FROM t GROUP BY i",
    "SELECT g, min(i) AS a, max(j) AS b, count(DISTINCT i) AS c, avg(i) AS d FROM t GROUP BY g",
    "SELECT id, i FROM t ORDER BY i DESC, id LIMIT 4",
    "SELECT DISTINCT ON (i) i, id FROM t ORDER BY i, j, id",
    "SELECT a.id, b.id AS other FROM t a LEFT JOIN t b ON a.i = b.j",
    "SELECT i FROM t EXCEPT SELECT j FROM t",
    "SELECT id, rank() OVER (PARTITION BY g ORDER BY i) AS r FROM t",
    "SELECT id FROM t WHERE i NOT IN (SELECT j FROM t WHERE j IS NOT NULL)",
)


@pytest.mark.parametrize("shards", [None, 2])
def test_any_history_shows_what_its_rows_do(shards: int | None):
    random = Random(7)
    db = ivm.connect(compile="off") if shards is None else ivm.connect(shards=shards)
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, i INTERVAL, j INTERVAL)")
    for number, text in enumerate(HISTORIES):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {text}")

    def form() -> str:
        found = random.choice(FORMS)
        return "NULL" if found is None else f"INTERVAL '{found}'"

    for step in range(5):
        rows = (f"({4 * step + n}, {n % 3}, {form()}, {form()})" for n in range(4))
        db.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
        db.sql(f"UPDATE t SET i = {form()}, j = {form()} WHERE id % 5 = {step % 5}")
        db.sql("DELETE FROM t" if step == 2 else f"DELETE FROM t WHERE id % 7 = {step % 7}")
        assert db.verify()
    for number, text in enumerate(HISTORIES):  # whatever came before
        db.sql(f"CREATE MATERIALIZED VIEW w AS {text}")
        now, anew = (Counter(map(str, db.view(name).arrow().to_pylist())) for name in (f"v{number}", "w"))
        assert now == anew
        db.sql("DROP VIEW w")
