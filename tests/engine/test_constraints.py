"""DEFAULT, CHECK and UNIQUE hold by whatever road rows come, and a commit that breaks one leaves everything as it was."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

import ivm

TABLE = """CREATE TABLE t (id BIGINT PRIMARY KEY, email VARCHAR UNIQUE, age INTEGER CONSTRAINT grown CHECK (age >= 18),
    price DECIMAL(9, 2) DEFAULT 2.50, day DATE DEFAULT DATE '2024-02-29', CONSTRAINT pair UNIQUE (age, day),
    CHECK (email LIKE '%@%' OR price > 1000))"""
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, max(email) AS e, sum(price) AS p FROM t"


@pytest.fixture
def db():
    db = ivm.connect(compile="off")
    db.sql(TABLE)
    db.sql(VIEW)
    db.sql("INSERT INTO t (id, email, age) VALUES (1, 'a@x', 20), (2, 'b@x', 21), (3, NULL, 22), (4, NULL, NULL)")
    return db


def state(db):
    return sorted(db.sql("SELECT * FROM t").fetchall(), key=repr), db.view("v").fetchall(), db.time


def rows(**more):
    return {"id": 9, "email": "z@x", "age": 50, **more}


def insert(db, row):
    with db.transaction() as tx:
        tx.insert("t", [row])


def upsert(db, row):
    with db.transaction() as tx:
        tx.upsert("t", [row])


def apply(db, row):
    db.apply({"t": pa.Table.from_pylist([row])})


def sql(db, row):
    names = ", ".join(row)
    values = ", ".join("NULL" if value is None else repr(value) for value in row.values())
    db.sql(f"INSERT INTO t ({names}) VALUES ({values})")


def select(db, row):
    values = ", ".join(f"{'NULL' if value is None else repr(value)} AS {name}" for name, value in row.items())
    db.sql(f"INSERT INTO t BY NAME SELECT {values}")


ROADS = (insert, upsert, apply, sql, select)
BROKEN = (
    ({"age": 3}, r"table t: CONSTRAINT grown CHECK \(\"age\" >= 18\) is false on 1 row\(s\): .*9, 'z@x', 3, "),
    ({"email": "nobody"}, r"CHECK \(.*LIKE '%@%' OR .* is false on 1 row"),
    ({"email": "a@x"}, r"UNIQUE \(email\) would be broken: \(email\) = \('a@x',\).*\(id\) = \(9,\)"),
    ({"age": 20}, r"CONSTRAINT pair UNIQUE \(age, day\) would be broken: .*20, .*2024, 2, 29"),
)


@pytest.mark.parametrize("road", ROADS, ids=[road.__name__ for road in ROADS])
def test_constraints_hold_by_every_road(db, road):
    before = state(db)
    for broken, message in BROKEN:
        with pytest.raises(ivm.ConstraintError, match=message):
            road(db, rows(**broken))
        assert state(db) == before
    for number, row in enumerate((rows(), rows(email=None, age=None), rows(email=None, age=60))):
        road(db, {**row, "id": 10 + number})
    assert sorted(db.sql("SELECT * FROM t WHERE id >= 10").fetchall())[1] == (
        11,
        None,
        None,
        Decimal("2.50"),
        date(2024, 2, 29),
    )
    assert state(db)[1] == [(7, "z@x", Decimal("17.50"))]
    db.verify()


def test_what_nets_out_breaks_nothing(db):
    with db.transaction() as tx:  # values swapped, and one that moves on
        tx.delete("t", [{"id": 1}, {"id": 2}])
        tx.insert("t", [rows(id=1, email="b@x", age=21), rows(id=2, email="a@x", age=20)])
        tx.upsert("t", [rows(id=2, email="c@x", age=20)])
        tx.insert("t", [rows(id=5, email="a@x", age=30)])
    changes = pa.table({
        "id": [6, 6, 7], "email": ["s@x", "s@x", "s@x"], "age": [31, 31, 31], "_diff": [1, -1, 1],
    })  # fmt: skip
    db.apply({"t": changes})
    db.sql("UPDATE t SET email = CASE id WHEN 1 THEN 'c@x' ELSE 'b@x' END WHERE id < 3")
    assert sorted(db.sql("SELECT id, email FROM t WHERE email IS NOT NULL").fetchall()) == [
        (1, "c@x"), (2, "b@x"), (5, "a@x"), (7, "s@x"),
    ]  # fmt: skip
    db.verify()


def test_every_time_of_a_batch_is_checked(db):
    times = [db.time + 10, db.time + 12, db.time + 11]
    batch = {"id": [8, 8, 9], "email": ["s@x"] * 3, "age": [40, 40, 41], "_diff": [1, -1, 1]}
    before = state(db)
    with pytest.raises(ivm.ConstraintError, match=r"UNIQUE \(email\) .*\(id\) = \(9,\)"):  # both are there at 11
        db.apply({"t": {**batch, "_time": times}})
    assert state(db) == before
    db.apply({"t": {**batch, "_time": [times[0], times[2], times[1]]}})
    with pytest.raises(ivm.ConstraintError, match="grown"):  # though it goes again
        db.apply(
            {
                "t": {
                    "id": [10, 10],
                    "email": ["q@x"] * 2,
                    "age": [1, 1],
                    "_diff": [1, -1],
                    "_time": [db.time + 1, db.time + 2],
                }
            }
        )
    db.verify()


def test_a_null_breaks_nothing_and_a_check_that_cannot_be_computed_is_said():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER, b INTEGER, CHECK (a // b > 0), UNIQUE (a, b))")
    db.sql("INSERT INTO t VALUES (NULL, 1), (NULL, 1), (1, NULL), (1, NULL), (4, 2)")
    with pytest.raises(ivm.ConstraintError, match=r"UNIQUE \(a, b\) would be broken: \(a, b\) = \(4, 2\)"):
        db.sql("INSERT INTO t VALUES (4, 2)")
    db.sql("DELETE FROM t WHERE a = 4")
    db.sql("INSERT INTO t VALUES (4, 2)")
    db.sql("CREATE TABLE u (a BIGINT CHECK (a * a > 0))")
    with pytest.raises(ivm.ConstraintError, match=r"CHECK \(.*\) cannot be computed: .*does not fit BIGINT"):
        db.sql("INSERT INTO u VALUES (9223372036854775807)")
    assert db.sql("SELECT * FROM u").fetchall() == []


def test_a_hundred_thousand_rows_and_one_that_is_wrong():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT UNIQUE, x DOUBLE CHECK (x < 1e5))")
    n = 100_000
    ids = pa.array(range(n))
    db.apply({"t": pa.table({"id": ids, "k": ids, "x": ids.cast(pa.float64())})})
    more = [n + i for i in range(n)]
    with pytest.raises(ivm.ConstraintError, match=r"\(k\) = \(77,\)"):
        db.apply({"t": {"id": more, "k": [77, *more[1:]], "x": [0.0] * n}})
    with pytest.raises(ivm.ConstraintError, match=r"is false on 1 row"):
        db.apply({"t": {"id": more, "k": more, "x": [*[0.0] * (n - 1), 1e5]}})
    db.apply({"t": {"id": more, "k": more, "x": [0.0] * n}})
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(2 * n,)]


def test_what_is_left_out_has_its_default():
    db = ivm.connect(compile="off")
    db.sql("""CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR NOT NULL DEFAULT 'new', d DECIMAL(5, 2) DEFAULT 1.5,
        made TIMESTAMP DEFAULT now(), r DOUBLE DEFAULT random(), h HUGEINT DEFAULT 3, n INTEGER)""")
    with db.transaction() as tx:
        tx.insert("t", [{"id": 1, "n": 1}])
        tx.insert("t", [{"id": 2, "s": "own", "n": 2}, {"id": 3, "n": 3, "d": None}])
        tx.insert("t", {"ID": [4, 5], "n": [4, 5]})
        tx.upsert("t", pa.table({"id": [6], "n": pa.array([6], pa.int32())}))
        tx.insert("t", pa.record_batch({"id": [7], "n": pa.array([7], pa.int32())}))
    db.apply({"t": [{"id": 8, "n": None}]})
    db.apply({"t": {"id": [9], "n": [9], "_diff": [1]}})
    db.sql("INSERT INTO t (id) VALUES (10), (11)")
    found = db.sql("SELECT id, s, d, h FROM t ORDER BY id").fetchall()
    assert [row[1] for row in found] == ["new", "own", *["new"] * 9]
    assert [row[2] for row in found] == [Decimal("1.50"), Decimal("1.50"), None, *[Decimal("1.50")] * 8]
    assert {row[3] for row in found} == {3}
    assert db.sql("SELECT count(DISTINCT r) = 11 AND min(made) > DATE '2020-01-01' FROM t").fetchall() == [(True,)]
    with pytest.raises(ivm.ConstraintError, match="NOT NULL column 's'"):
        db.apply({"t": [{"id": 12, "s": None, "n": 1}]})
    with pytest.raises(ivm.TypeMismatchError, match="column 'n', INTEGER, is missing"):
        db.apply({"t": [{"id": 12}]})
    db.sql("CREATE TABLE all_of_it (a INTEGER DEFAULT 1, b VARCHAR DEFAULT 'b')")
    db.apply({"all_of_it": [{}, {"b": "c"}]})
    assert db.sql("FROM all_of_it").fetchall() == [(1, "b"), (1, "c")]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("CREATE TABLE t (a INTEGER DEFAULT 'x')", ivm.NumericError, "DEFAULT 'x' of column 'a': .*Could not convert"),
        ("CREATE TABLE t (a INTEGER DEFAULT nextval('s'))", ivm.BindError, "Sequence with name s does not exist"),
        ("CREATE TABLE t (a INTEGER DEFAULT foo(1))", ivm.BindError, "foo does not exist"),
        ("CREATE TABLE t (a INTEGER UNIQUE, UNIQUE (b))", ivm.BindError, r"its UNIQUE \(b\) names column 'b'"),
        ("CREATE TABLE t (a INTEGER, UNIQUE (a, A))", ivm.BindError, "names a column twice"),
        ("CREATE TABLE t (a INTEGER CONSTRAINT k UNIQUE, CONSTRAINT K CHECK (a > 1))", ivm.BindError, "two constraints are called 'K'"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_hold_is_refused(text, error, message):
    db = ivm.connect(compile="off")
    with pytest.raises(error, match=message):
        db.sql(text)
    db.sql("CREATE TABLE t (a INTEGER)")


def test_unique_constraints_share_the_indexes_of_views(db):
    db.sql("CREATE TABLE u (email VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW joined AS SELECT t.id FROM t, u WHERE t.email = u.email")
    db.sql("INSERT INTO u VALUES ('a@x')")
    assert db.view("joined").fetchall() == [(1,)]
    db.sql("DROP VIEW joined")
    with pytest.raises(ivm.ConstraintError, match="UNIQUE"):
        insert(db, rows(email="a@x"))
    db.sql("DROP TABLE t CASCADE")
    assert db.sql("SELECT count(*) FROM ivm_arrangements WHERE collection = 't'").fetchall() == [(0,)]
