"""What would be: changes that are told, read, and gone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ivm
from ivm.session.database import core_of

SETUP = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, tax INTEGER);
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR REFERENCES city, price INTEGER CHECK (price > 0))
    WITH (check_foreign_keys = true);
CREATE TABLE log (what VARCHAR);
CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price + tax) AS total FROM sale JOIN city ON city = name GROUP BY city;
CREATE MATERIALIZED VIEW best AS SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 2;
CREATE MATERIALIZED VIEW bag AS SELECT what FROM log;
INSERT INTO city VALUES ('a', 1), ('b', 2);
INSERT INTO sale VALUES (1, 'a', 10), (2, 'b', 20);
INSERT INTO log VALUES ('x'), ('x');
"""


@pytest.fixture(params=["memory", "disk"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ivm.Database]:
    path = tmp_path / "shop.ivm" if request.param == "disk" else None
    with ivm.connect(path, compile="off") if path else ivm.connect(compile="off") as db:
        db.sql(SETUP)
        yield db


def contents(db: ivm.Database) -> dict[str, Counter[str]]:
    return {name: Counter(map(repr, db.view(name).fetchall())) for name in ("revenue", "best", "bag")}


def with_changes(rows: Counter[str], told: Any) -> Counter[str]:
    found = Counter(rows)
    for row in told.to_pylist():
        diff, _ = row.pop("_diff"), row.pop("_time")
        found[repr(tuple(int(each) if isinstance(each, Decimal) else each for each in row.values()))] += diff
    assert min(found.values(), default=0) >= 0
    return +found


def test_what_is_told_is_what_the_commit_would_do(db):
    chosen = Random(5)
    for turn in range(25):
        before, time, listener = contents(db), db.time, db.subscribe("revenue")
        rows = [
            {"id": id_, "city": chosen.choice("ab"), "price": chosen.randrange(1, 30)}
            for id_ in chosen.sample(range(6), 2)
        ]
        with db.what_if() as would:
            would.apply({"sale": rows}, mode="upsert")
            would.sql("DELETE FROM sale WHERE id = ?; INSERT INTO log VALUES ('y')", [chosen.randrange(6)])
            if turn % 3 == 0:
                would.sql("DELETE FROM log WHERE what = 'x'")
            told = {name: with_changes(before[name], would.changes(name)) for name in before}
            read = {name: Counter(map(repr, would.sql(f"SELECT * FROM {name}").fetchall())) for name in before}
            kept = {name: would.sql(f"SELECT * FROM {name}").fetchall() for name in ("sale", "log")}
        assert told == read
        assert (contents(db), db.time, listener.fetch().num_rows) == (before, time, 0)
        db.sql("BEGIN; DELETE FROM sale; DELETE FROM log")
        db.executemany("INSERT INTO sale VALUES (?, ?, ?)", kept["sale"])
        db.executemany("INSERT INTO log VALUES (?)", kept["log"])
        db.sql("COMMIT")
        assert contents(db) == told
    db.verify()
    listener.close()
    assert not core_of(db).engine.listeners.each()


def test_nothing_of_it_stays_whatever_goes_wrong(db):
    before = contents(db)
    with db.what_if() as would:
        for sql, error in [
            ("INSERT INTO sale VALUES (1, 'a', 1)", ivm.ConstraintError),
            ("COMMIT", ivm.TransactionError),
            ("BEGIN", ivm.TransactionError),
            ("SELECT nothing", ivm.BindError),
        ]:
            with pytest.raises(error):
                would.sql(sql)
            would.sql("ROLLBACK")
        for rows, error in [
            ([{"id": 1, "city": "a", "price": 1}], ivm.ConstraintError),
            ([{"id": 9, "city": "a", "price": -1}], ivm.ConstraintError),
            ([{"id": 9, "city": "a", "price": 1, "_time": 99}], ivm.UnsupportedError),
            ([{"id": "x"}], ivm.TypeMismatchError),
        ]:
            with pytest.raises(error):
                would.apply({"sale": rows})
        assert not would.changes("revenue").num_rows
        assert would.changes("revenue").column_names == ["city", "total", "_time", "_diff"]
        would.apply({"sale": [{"id": 9, "city": "nowhere", "price": 1}]})
        with pytest.raises(ivm.ConstraintError, match="nowhere"):
            would.changes("revenue")
        with pytest.raises(ivm.BindError, match="nobody"):
            would.changes("nobody")
        with pytest.raises(ivm.TypeMismatchError, match="mode is 'all'"):
            would.apply({}, mode="all")
        would.sql("ROLLBACK; CREATE MATERIALIZED VIEW new AS SELECT 1 AS x; INSERT INTO log VALUES ('z')")
        assert would.sql("SELECT x FROM new").fetchall() == [(1,)]
        with pytest.raises(ivm.UnsupportedError, match="was created, altered or dropped too"):
            would.changes("bag")
    for use in (lambda: would.sql("SELECT 1"), lambda: would.changes("bag"), lambda: would.apply({})):
        with pytest.raises(ivm.InterfaceError, match=r"this was closed; begin anew with db.what_if\(\)"):
            use()
    assert contents(db) == before
    assert [view.name for view in db.views()] == ["revenue", "best", "bag"]


def test_others_go_on_meanwhile(db):
    with db.what_if() as would, db.what_if() as other:
        would.sql("UPDATE sale SET price = 11 WHERE id = 1")
        other.sql("UPDATE sale SET price = 50 WHERE id = 2")
        thread = threading.Thread(target=db.sql, args=["INSERT INTO sale VALUES (3, 'a', 7)"])
        thread.start()
        thread.join()
        assert would.sql("SELECT count(*) FROM sale").fetchall() == [(2,)]
        assert {(row["total"], row["_diff"]) for row in would.changes("revenue").to_pylist()} == {(19, -1), (20, 1)}
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(other.changes("best").to_pylist()))
        thread.start()
        thread.join()
        assert {(row["id"], row["price"], row["_diff"]) for row in found[0]} == {(2, 20, -1), (2, 50, 1)}
        db.sql("BEGIN")
        assert would.sql("SELECT price FROM sale WHERE id = 1").fetchall() == [(11,)]
        db.sql("ROLLBACK; DELETE FROM sale WHERE id = 1")
        with pytest.raises(ivm.TransactionError, match="changed by others"):
            would.changes("revenue")
    db.verify()


def test_over_shards_it_is_read(tmp_path):
    with ivm.connect(shards=2, compile="off") as db:
        db.sql(SETUP.replace("REFERENCES city", "").replace("WITH (check_foreign_keys = true)", ""))
        with db.what_if() as would:
            would.apply({"sale": [{"id": 3, "city": "a", "price": 5}]})
            assert would.sql("SELECT total FROM revenue WHERE city = 'a'").fetchall() == [(17,)]
            with pytest.raises(ivm.UnsupportedError, match="over shards; read what would be by sql"):
                would.changes("revenue")
        assert db.view("revenue").fetchall() == [("a", 11), ("b", 22)]
