"""`Database.sink` without Spark: a micro-batch is whatever has `toArrow`."""

from __future__ import annotations

import datetime
import json
import logging
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.session.database import core_of

TABLES = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL CHECK (price > 0));
    CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total, count(*) AS n FROM sale GROUP BY city;
    CREATE TABLE refused (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR);
"""


class Frame:
    """What of a DataFrame a sink uses."""

    def __init__(self, rows: list[dict[str, Any]] | pa.Table) -> None:
        self.rows = rows
        self.computed = 0

    def toArrow(self) -> pa.Table:
        self.computed += 1
        return self.rows if isinstance(self.rows, pa.Table) else pa.Table.from_pylist(self.rows)


def sale(id: int, city: Any = "Bern", price: str = "1.00", **more: Any) -> dict[str, Any]:
    return {"id": id, "city": city, "price": Decimal(price), **more}


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    with ivm.connect(compile="off") as made:
        made.sql(TABLES)
        yield made
        made.verify()


def ids(db: ivm.Database) -> list[int]:
    return [row[0] for row in db.sql("SELECT id FROM sale ORDER BY id").fetchall()]


def test_a_batch_that_comes_again_changes_nothing_and_is_not_computed(db):
    sink = db.sink("SALE", mode="append", source="s")
    again = Frame([sale(1)])
    for number, frame in ((0, again), (0, again), (1, Frame([sale(2)])), (0, again), (1, Frame([sale(2)]))):
        sink(frame, number)
    assert ids(db) == [1, 2]
    assert db.batches() == {"s": 1}
    assert again.computed == 1


def test_a_durable_database_knows_what_came_after_it_was_opened_again(tmp_path):
    for _ in range(2):
        with ivm.connect(tmp_path / "db", compile="off") as db:
            if not db.tables():
                db.sql(TABLES)
            sink = db.sink("sale", mode="append", source="s")
            sink(Frame([sale(1)]), 0)
            sink(Frame([sale(2)]), 1)
            assert ids(db) == [1, 2]


def test_a_batch_that_fails_changes_nothing_and_may_come_again(db):
    sink = db.sink("sale", mode="append", source="s")
    time = db.time
    with pytest.raises(ivm.ConstraintError):
        sink(Frame([sale(1), sale(2, price="-1.00")]), 0)
    assert (ids(db), db.time, db.batches()) == ([], time, {})
    sink(Frame([sale(1), sale(2)]), 0)
    assert ids(db) == [1, 2]


class Broken:
    def toArrow(self) -> pa.Table:
        raise RuntimeError("an executor was lost")


def test_a_batch_that_cannot_be_computed_changes_nothing(db):
    with pytest.raises(RuntimeError, match="executor"):
        db.sink("sale", mode="append", source="s")(Broken(), 0)
    assert db.batches() == {}


def test_missing_batches_are_no_silence(db):
    sink = db.sink("sale", mode="append", source="s")
    sink(Frame([sale(1)]), 4)
    with pytest.raises(ivm.InterfaceError, match=r"last one that this database has is 4.*checkpoint"):
        sink(Frame([sale(2)]), 6)
    sink(Frame(pa.Table.from_pylist([sale(0)]).slice(0, 0)), 5)
    sink(Frame([sale(2)]), 6)
    assert ids(db) == [1, 2]


def test_changes_by_their_type(db):
    sink = db.sink("sale", source="s")
    marks: dict[str, Any] = {"_commit_version": 7, "_commit_timestamp": datetime.datetime(2020, 1, 1)}
    sink(Frame([sale(n, **marks, _change_type="insert") for n in range(4)]), 0)
    changes = [
        sale(0, price="5.00", **marks, _change_type="update_postimage"),
        sale(0, **marks, _change_type="update_preimage"),
        sale(1, **marks, _change_type="delete"),
        sale(2, **marks, _change_type="update_preimage"),
        sale(9, **marks, _change_type="update_postimage"),
        sale(5, **marks, _change_type="insert"),
        sale(5, **marks, _change_type="delete"),
    ]
    sink(Frame(changes), 1)
    assert ids(db) == [0, 3, 9]
    assert db.view("revenue").fetchall() == [("Bern", Decimal("7.00"), 3)]


def test_changes_by_diff_with_keys_alone_where_rows_go(db):
    sink = db.sink("sale", mode="changes", source="s")
    sink(Frame([{**sale(1), "_diff": 1, "_time": 3}, {**sale(2), "_diff": 1, "_time": 4}]), 0)
    sink(Frame([{"id": 1, "city": None, "price": None, "_diff": -1}, {**sale(3), "_diff": 1}]), 1)
    sink(Frame([{"id": 2, "_diff": -1}]), 2)
    assert ids(db) == [3]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([sale(1)], "neither _change_type nor _diff"),
        ([sale(1, _change_type="insert", _diff=1)], "both _change_type and _diff"),
        ([sale(1, _change_type="insert"), sale(2, _change_type="upsert")], "row 1 counted from 0, is 'upsert'"),
        ([sale(1, _change_type=None), sale(2, _change_type="insert")], "row 0 counted from 0, is None"),
        ([sale(1, _change_type=[5])], "must be text"),
        ([sale(1, _change_type="insert", colour="red")], "there is no column 'colour'"),
        ([{"id": 1, "_change_type": "insert"}], "column 'city', VARCHAR, is missing"),
        ([{**sale(1, _change_type="insert"), "id": "1"}], r"CAST\(id AS BIGINT\)"),
    ],
)
def test_feeds_that_are_none(db, rows, told):
    with pytest.raises(ivm.TypeMismatchError, match=told):
        db.sink("sale", source="s")(Frame(rows), 0)
    assert ids(db) == []


def test_upserts_replace_by_key(db):
    sink = db.sink("sale", mode="upsert", keys=["ID"], source="s")
    sink(Frame([sale(1), sale(2)]), 0)
    sink(Frame([sale(2, price="5.00"), sale(3, price="6.00"), sale(3, price="7.00")]), 1)
    assert db.view("revenue").fetchall() == [("Bern", Decimal("13.00"), 3)]


@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize("mark", ["_change_type", "_diff", "_commit_version", "_time"])
def test_change_feeds_are_not_taken_for_rows(db, mode, mark):
    with pytest.raises(ivm.TypeMismatchError, match=f"'{mark}' is there, as in a change feed; use mode 'changes'"):
        db.sink("sale", mode=mode, source="s")(Frame([{**sale(1), mark: 1}]), 0)


def test_a_table_may_have_columns_of_these_names(db):
    db.sql("CREATE TABLE audit (_change_type VARCHAR, _commit_version BIGINT)")
    db.sink("audit", mode="append", source="a")(Frame([{"_change_type": "x", "_commit_version": 1}]), 0)
    db.sink("audit", source="b")(Frame([{"_change_type": "x", "_commit_version": 1, "_diff": -1}]), 0)
    assert db.sql("SELECT * FROM audit").fetchall() == []


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"table": "sales"}, ivm.BindError, "sale"),
        ({"mode": "replace"}, ivm.TypeMismatchError, "'changes', 'append', 'upsert'"),
        ({"on_error": "skip"}, ivm.TypeMismatchError, "'stop', 'quarantine'"),
        ({"mode": "upsert", "keys": ["city"]}, ivm.BindError, "keys are city.*its primary key is id"),
        ({"keys": "city"}, ivm.BindError, "keys are city"),
        ({"table": "refused", "mode": "upsert"}, ivm.ConstraintError, "refused"),
        ({"table": "refused", "keys": ["batch"]}, ivm.BindError, "it has none"),
        ({"on_error": "quarantine"}, ivm.TypeMismatchError, "go together"),
        ({"quarantine": "refused"}, ivm.TypeMismatchError, "go together"),
        ({"on_error": "quarantine", "quarantine": "sale"}, ivm.BindError, "declare it as CREATE TABLE sale"),
        ({"on_error": "quarantine", "quarantine": "nowhere"}, ivm.BindError, "nowhere"),
        ({"source": 5}, ivm.TypeMismatchError, "source"),
    ],
)
def test_arguments(db, arguments, error, told):
    with pytest.raises(error, match=told):
        db.sink(**{"table": "sale", **arguments})


def test_what_is_no_batch(db):
    with pytest.raises(ivm.InterfaceError, match="source='orders'"):
        db.sink("sale")(Frame([sale(1)]), 0)
    with pytest.raises(ivm.TypeMismatchError, match="toArrow"):
        db.sink("sale", source="s")([sale(1)], 0)
    with pytest.raises(ivm.TypeMismatchError, match="number of a batch"):
        db.sink("sale", source="s")(Frame([sale(1)]), -1)


def test_a_schema_that_changes_under_a_stream_is_an_error_by_name(db):
    sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
    sink(Frame([sale(1)]), 0)
    with pytest.raises(ivm.TypeMismatchError, match="there is no column 'tax'"):
        sink(Frame([sale(2, tax=1)]), 1)
    with pytest.raises(ivm.TypeMismatchError, match=r"column 'price'.*string"):
        sink(Frame([{**sale(2), "price": "1"}]), 1)
    assert db.sql("SELECT * FROM refused").fetchall() == []
    sink(Frame([sale(2)]), 1)
    db.sql("DROP TABLE sale CASCADE")
    with pytest.raises(ivm.BindError, match="sale"):
        sink(Frame([sale(3)]), 2)
    db.sql("CREATE TABLE sale (id BIGINT, city VARCHAR)")
    with pytest.raises(ivm.TypeMismatchError, match="there is no column 'price'"):
        sink(Frame([sale(3)]), 2)


def test_refused_rows_are_put_aside(db, caplog):
    sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
    sink(Frame([sale(1)]), 0)
    time = db.time
    rows = [sale(n) for n in range(2, 60)]
    rows[7] = sale(9, city=None, more=None)
    rows[20] = sale(1, city="Rome")
    rows[30] = sale(32, price="0.00")
    rows[41] = sale(43, price="123456789.00")
    for row in rows:
        row.pop("more", None)
    with caplog.at_level(logging.WARNING, "ivm"):
        sink(Frame(rows), 1)
    assert "4 of 58 rows of batch 1 of s were refused" in caplog.text
    assert db.time == time + 1
    assert ids(db) == sorted({*range(1, 60)} - {9, 22, 32, 43})
    found = {json.loads(data)["id"]: (batch, error) for _, batch, error, data in db.sql("FROM refused").fetchall()}
    assert {n: batch for n, (batch, _) in found.items()} == {1: 1, 9: 1, 32: 1, 43: 1}
    assert "row(s), counted from 0: 0" in found[9][1]
    assert "price" in found[32][1]
    assert "price" in found[43][1]
    before = db.sql("FROM refused").fetchall()
    sink(Frame(rows), 1)
    assert db.sql("FROM refused").fetchall() == before


def test_a_batch_of_which_nothing_is_left(db):
    sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
    sink(Frame([sale(1, price="-1.00"), sale(2, price="-1.00")]), 0)
    assert ids(db) == []
    assert db.sql("SELECT count(*) FROM refused").fetchall() == [(2,)]
    assert db.batches() == {"s": 0}


def test_rows_of_one_key_stay_together(db):
    sink = db.sink("sale", source="s", on_error="quarantine", quarantine="refused")
    sink(Frame([sale(n, _change_type="insert") for n in range(3)]), 0)
    changes = [
        sale(1, _change_type="update_preimage"),
        sale(2, _change_type="delete"),
        sale(1, price="-5.00", _change_type="update_postimage"),
        sale(7, _change_type="sideways"),
    ]
    sink(Frame(changes), 1)
    assert ids(db) == [0, 1]
    kept = [(json.loads(data)["_change_type"], error) for *_, error, data in db.sql("FROM refused").fetchall()]
    assert sorted(kind for kind, _ in kept) == ["sideways", "update_postimage", "update_preimage"]
    assert db.view("revenue").fetchall() == [("Bern", Decimal("2.00"), 2)]


def test_what_a_row_needs_may_come_after_it():
    with ivm.connect(compile="off") as db:
        db.sql(
            "CREATE TABLE part (id BIGINT PRIMARY KEY, of_part BIGINT REFERENCES part (id)) WITH (check_foreign_keys = true)"
        )
        db.sql("CREATE TABLE refused (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR)")
        sink = db.sink("part", mode="append", source="s", on_error="quarantine", quarantine="refused")
        rows = [{"id": n, "of_part": n + 1 if n < 9 else None} for n in range(10)]
        sink(Frame([*rows, {"id": 50, "of_part": 51}]), 0)
        assert db.sql("SELECT count(*) FROM part").fetchall() == [(10,)]
        assert db.sql("SELECT data FROM refused").fetchall() == [('{"id": 50, "of_part": 51}',)]


def test_a_number_too_large_for_a_view_is_put_aside():
    with ivm.connect(compile="off") as db:
        db.sql(
            "CREATE TABLE n (id BIGINT PRIMARY KEY, x BIGINT); CREATE MATERIALIZED VIEW v AS SELECT x * 2 AS y FROM n"
        )
        db.sql("CREATE TABLE refused (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR)")
        sink = db.sink("n", mode="append", source="s", on_error="quarantine", quarantine="refused")
        sink(Frame([{"id": 1, "x": 1}, {"id": 2, "x": 2**62}, {"id": 3, "x": 3}]), 0)
        assert sorted(db.view("v").fetchall()) == [(2,), (6,)]
        ((error,),) = db.sql("SELECT error FROM refused").fetchall()
        assert "view v" in error


def test_too_many_refused_rows_are_no_exceptions(db, monkeypatch):
    monkeypatch.setattr("ivm.intake.refused_rows.MOST", 10)
    sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
    with pytest.raises(ivm.ConstraintError, match="more than 10 rows are refused"):
        sink(Frame([sale(n, price="-1.00") for n in range(20)]), 0)
    assert db.sql("FROM refused").fetchall() == []


def test_others_may_commit_while_rows_are_looked_for(db, monkeypatch):
    sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
    committed = ivm.session.core.Core.check
    left = iter([5, 6])

    def check(core, changes):
        committed(core, changes)
        if (number := next(left, None)) is not None:
            db.sql(f"INSERT INTO sale VALUES ({number}, 'Oslo', 2)")

    monkeypatch.setattr("ivm.session.core.Core.check", check)
    sink(Frame([sale(n) for n in range(8)] + [sale(20, price="-1.00")]), 0)
    assert ids(db) == [*range(8)]
    assert sorted(json.loads(data)["id"] for (data,) in db.sql("SELECT data FROM refused").fetchall()) == [5, 6, 20]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_is_what_can_be(seed):
    """Random batches with what is wrong in them: what the sink keeps is what a row by row commit would keep."""
    chosen = random.Random(seed)
    with ivm.connect(compile="off") as db, ivm.connect(compile="off") as slow:
        for each in (db, slow):
            each.sql(TABLES)
        sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
        for number in range(4):
            count, prices = chosen.randrange(1, 80), ["1.00"] * 9 + ["-1.00"]
            rows = [sale(chosen.randrange(10**6), price=chosen.choice(prices)) for _ in range(count)]
            rows = list({row["id"]: row for row in rows}.values())
            sink(Frame(rows), number)
            for row in rows:
                try:
                    slow.apply({"sale": [row]})
                except ivm.ConstraintError:
                    continue
        assert sorted(db.view("revenue").fetchall()) == sorted(slow.view("revenue").fetchall())
        db.verify()


def test_what_is_put_aside_survives_with_the_rest(tmp_path):
    for _ in range(2):
        with ivm.connect(tmp_path / "db", compile="off") as db:
            if not db.tables():
                db.sql(TABLES)
            sink = db.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
            sink(Frame([sale(1), sale(2, price="-1.00"), sale(3)]), 0)
            assert ids(db) == [1, 3]
            assert db.sql("SELECT batch, data FROM refused").fetchall() == [
                (0, '{"id": 2, "city": "Bern", "price": "-1.00"}')
            ]
            assert db.time == 1


def test_a_database_over_shards_takes_streams_too():
    with ivm.connect(shards=3, compile="off") as db:
        db.sql("CREATE TABLE n (id BIGINT PRIMARY KEY, x BIGINT CHECK (x <> 7))")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT x % 2 AS odd, sum(x) AS total FROM n GROUP BY 1")
        sink, rows = db.sink("n", mode="append", source="s"), [{"id": x, "x": x} for x in range(40)]
        with pytest.raises(ivm.ConstraintError, match="<> 7"):
            sink(Frame(rows), 0)
        core = core_of(db)
        core.check([core.incoming.change("n", rows[:7], "diff")])
        with pytest.raises(ivm.ConstraintError, match="<> 7"):
            core.check([core.incoming.change("n", rows, "diff")])
        assert (db.time, db.view("v").fetchall()) == (0, [])
        for _ in range(2):
            sink(Frame(rows[8:]), 0)
        assert sorted(db.view("v").fetchall()) == [(0, 368), (1, 384)]
        with pytest.raises(ivm.BindError, match="larger `history`"):
            db.view("v").changes(0)
        db.verify()
