"""Cursors and the database as a connection, as users of DB-API 2 (PEP 249) expect them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pandas as pd
import pytest

import ivm
from ivm import dbapi


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(
        """CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, price DECIMAL(9,2), day DATE);
        CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(price) AS total FROM t"""
    )
    return db


def test_execute_fetches_rows_once_from_the_first_to_the_last(db: ivm.Database) -> None:
    cursor = db.execute("INSERT INTO t VALUES (1, 'a', 1.50, '2024-01-01'), (2, 'b', NULL, NULL), (3, 'c', 2, NULL)")
    assert (cursor.rowcount, cursor.connection) == (3, db)
    assert cursor.execute("SELECT id, name FROM t ORDER BY id") is cursor
    assert cursor.rowcount == 3
    assert cursor.description == [("id", "BIGINT", *[None] * 5), ("name", "VARCHAR", *[None] * 5)]
    assert cursor.fetchone() == (1, "a")
    assert cursor.fetchmany() == [(2, "b")]
    cursor.arraysize = 5
    assert cursor.fetchmany() == [(3, "c")]
    assert cursor.fetchone() is None
    assert cursor.fetchmany(2) == cursor.fetchall() == []
    cursor.execute("SELECT price, day FROM t WHERE id = ?", [1])
    assert list(cursor) == [(Decimal("1.50"), date(2024, 1, 1))]
    assert cursor.execute("SELECT name FROM t WHERE id = $id", {"id": 2}).fetchone() == ("b",)
    assert list(db.execute("FROM v")) == [(3, Decimal("3.50"))]


def test_rowcount_says_how_many_rows_changed(db: ivm.Database) -> None:
    cursor = db.cursor()
    assert (cursor.rowcount, cursor.description) == (-1, None)
    for statement, count in (
        ("INSERT INTO t (id) VALUES (1), (2), (3)", 3),
        ("INSERT INTO t (id) SELECT id + 10 FROM t WHERE id < 3", 2),
        ("UPDATE t SET name = 'x' WHERE id > 2", 3),
        ("UPDATE t SET name = 'x' WHERE id > 99", 0),
        ("DELETE FROM t WHERE id > 10", 2),
        ("SELECT * FROM t WHERE id = 7", 0),
        ("CREATE VIEW w AS SELECT 1 AS x", -1),
        ("", -1),
        ("DELETE FROM t WHERE id = 1; UPDATE t SET name = 'y'", 2),
    ):
        assert cursor.execute(statement).rowcount == db_count(cursor) == count, statement


def db_count(cursor: ivm.Cursor) -> int:
    return cursor.rowcount


def test_executemany_inserts_in_one_commit(db: ivm.Database) -> None:
    rows = [(number, f"it's {number}", Decimal(number) / 4, date(2024, 1, 1)) for number in range(-500, 500)]
    cursor = db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", iter(rows))
    assert cursor.rowcount == 1000
    assert db.time == 1
    assert db.sql("SELECT * FROM t ORDER BY id").fetchall() == rows
    with pytest.raises(ivm.ConstraintError):
        cursor.executemany("insert into t (id, name) values ($id, 'new');", [{"id": 1000}, {"id": 1}])
    assert (cursor.rowcount, db.time) == (-1, 1)
    cursor.executemany("INSERT INTO t (id, name) VALUES ($id, NULL)", [{"id": 1000}, {"id": 1001}])
    assert (cursor.rowcount, db.time) == (2, 2)


def test_executemany_of_other_statements(db: ivm.Database) -> None:
    cursor = db.cursor()
    cursor.executemany("INSERT INTO t (id, name) /* ; */ VALUES (abs(?) * (1), 'a(''?) -- b');", [(1,), (2,), (3,)])
    assert (cursor.rowcount, db.time) == (3, 1)
    cursor.executemany("INSERT INTO t (id, name) VALUES (?, 'x'), (?, 'y')", [(6, 7), (8, 9)])
    assert cursor.executemany("DELETE FROM t WHERE id > ?", [(5,)]).rowcount == 4
    assert cursor.executemany("UPDATE t SET name = ? WHERE id >= ?", [("x", 2), ("y", 3)]).rowcount == 3
    assert cursor.executemany("DELETE FROM t WHERE id = ?", [(1,), (9,)]).rowcount == 1
    assert cursor.executemany("DELETE FROM t WHERE id = ?", []).rowcount == 0
    assert cursor.executemany("INSERT INTO t VALUES (?)", []).rowcount == 0
    assert db.sql("SELECT id, name FROM t ORDER BY id").fetchall() == [(2, "x"), (3, "y")]
    with pytest.raises(ivm.BindError, match="1 parameter"):
        cursor.executemany("INSERT INTO t (id) VALUES (?)", [(1, 2)])
    with pytest.raises(ivm.ParseError):
        cursor.executemany(None, [])  # type: ignore[arg-type]


def test_a_cursor_that_has_nothing_or_is_closed(db: ivm.Database) -> None:
    cursor = db.cursor()
    fetches: list[Callable[[], object]] = [cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: list(cursor)]
    for fetch in fetches:
        with pytest.raises(ivm.InterfaceError, match="call execute with a SELECT first"):
            fetch()
    cursor.execute("SELECT 1")
    with pytest.raises(ivm.BindError):
        cursor.execute("SELECT nothing FROM t")
    assert (cursor.rowcount, cursor.description) == (-1, None)
    with pytest.raises(ivm.InterfaceError), cursor as same:
        assert same is cursor
        cursor.setinputsizes([1])
        cursor.setoutputsize(1)
        cursor.fetchall()
    for use in (*fetches, lambda: cursor.execute("SELECT 1"), lambda: cursor.executemany("SELECT 1", [])):
        with pytest.raises(ivm.InterfaceError, match=r"closed; make another with db\.cursor"):
            use()


def test_two_cursors_are_apart(db: ivm.Database) -> None:
    db.executemany("INSERT INTO t (id) VALUES (?)", [(1,), (2,)])
    first, second = db.execute("SELECT id FROM t ORDER BY id"), db.cursor().execute("SELECT id FROM t ORDER BY id")
    assert first.fetchone() == second.fetchone() == (1,)
    db.sql("DELETE FROM t")
    assert (first.fetchall(), second.fetchall()) == ([(2,)], [(2,)])


def test_the_module_of_dbapi() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert all(hasattr(dbapi, name) for name in dbapi.__all__)
    connection = dbapi.connect()
    assert isinstance(connection, dbapi.Connection)
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")
    connection.commit()
    for statement, error in (
        ("SELEC 1", dbapi.ProgrammingError),
        ("SELECT x FROM t", dbapi.ProgrammingError),
        ("INSERT INTO t VALUES (1), (1)", dbapi.IntegrityError),
        ("CREATE MATERIALIZED VIEW v AS SELECT id FROM t USING SAMPLE 1", dbapi.NotSupportedError),
        ("SELECT * FROM 'x.csv'", dbapi.OperationalError),
    ):
        with pytest.raises(error) as raised:
            cursor.execute(statement)
        assert isinstance(raised.value, dbapi.DatabaseError)
        assert isinstance(raised.value, ivm.Error)
    connection.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute("SELECT 1")


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy:UserWarning")
def test_pandas_reads_through_it(db: ivm.Database) -> None:
    db.executemany("INSERT INTO t (id, name) VALUES (?, ?)", [(1, "a"), (2, "b")])
    frame = pd.read_sql("SELECT id, name FROM t WHERE id > ? ORDER BY id", db, params=[0])
    assert frame.to_dict("list") == {"id": [1, 2], "name": ["a", "b"]}


def test_tables_and_views_are_listed(db: ivm.Database) -> None:
    db.sql("CREATE TABLE U (x INTEGER NOT NULL, b BOOLEAN); CREATE VIEW w AS SELECT x + 1 AS y FROM u")
    db.sql("INSERT INTO u VALUES (1, true), (1, true); INSERT INTO t (id) VALUES (1)")
    db.sql("CREATE MATERIALIZED VIEW twice AS SELECT x FROM u")
    columns = {"id": "BIGINT", "name": "VARCHAR", "price": "DECIMAL(9,2)", "day": "DATE"}
    assert db.tables() == [
        ivm.TableInfo("t", columns, ("id",), 1),
        ivm.TableInfo("U", {"x": "INTEGER", "b": "BOOLEAN"}, (), 2),
    ]
    views = db.views()
    assert [(view.name, view.maintained, view.rows) for view in views] == [
        ("v", True, 1),
        ("w", False, None),
        ("twice", True, 2),
    ]
    assert views[0].columns == {"n": "BIGINT", "total": "DECIMAL(38,2)"}
    assert views[1].sql == "SELECT x + 1 AS y FROM u"
    db.sql("DROP VIEW v; DROP VIEW w; DROP VIEW twice; DROP TABLE t; DROP TABLE u")
    assert (db.tables(), db.views()) == ([], [])


TYPES = ("BIGINT", "SMALLINT", "HUGEINT", "DECIMAL(9,2)", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP")
VALUES = (
    None, True, 0, -5, 2**40, -(2**70), 1.5, -0.0, 0.1, 1e300, float("nan"), Decimal("1.50"), Decimal("-0.005"),
    Decimal("100"), Decimal("1E+3"), Decimal("-0.00"), Decimal("0.1234567890123456789012345678901234567"), "it's",
    "12", "1.5", "2020-02-29", "", "?", "true", date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5, 678), date(1, 1, 1),
)  # fmt: skip


@pytest.mark.parametrize("type_", TYPES)
def test_executemany_means_the_same_as_execute(type_: str) -> None:
    db = ivm.connect(compile="off")
    db.sql(f"CREATE TABLE t (x {type_})")
    cursor = db.cursor()

    def outcome(run: Callable[[], object]) -> str:
        try:
            run()
        except ivm.Error as error:
            return type(error).__name__
        found = repr(cursor.execute("SELECT x, typeof(x) FROM t").fetchone())
        db.sql("DELETE FROM t")
        return found

    for value in VALUES:
        once = outcome(lambda value=value: cursor.execute("INSERT INTO t VALUES (?)", [value]))  # type: ignore[misc]
        many = outcome(lambda value=value: cursor.executemany("INSERT INTO t VALUES (?)", [[value]]))  # type: ignore[misc]
        assert once == many, value
