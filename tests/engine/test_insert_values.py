"""INSERT ... VALUES gives what DuckDB gives, value by value, whichever road a literal takes; or both refuse."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any
from unittest import mock

import duckdb
import pytest

import ivm
from ivm.session import database, statements
from ivm.sql.plain_insert import plain_inserts

TYPES = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL(9,2)", "DECIMAL(30,3)", "DOUBLE", "VARCHAR",
    "BOOLEAN", "DATE", "TIMESTAMP", "FLOAT", "UINTEGER", "TIMESTAMPTZ", "TIME", "UUID", "ENUM('a', 'it''s', '1')",
)  # fmt: skip
LITERALS = (
    "0", "-0", "1", "-1", "007", "127", "128", "-128", "-129", "32768", "2147483647", "2147483648", "-2147483648",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999", "1.5", "2.5", "-1.5",
    "0.92", "1.50", "00.5", "-0.0", "0.005", "1234567.89", "12345678.9", "1e3", "1E-2", "-0e0", "1e400", "1.0",
    "0.1234567890123456789", "12345678901234567.8", "''", "'a'", "'it''s'", "' 1'", "'1'", "'-1'", "'+1'", "'1.5'",
    "'1.005'", "'1e2'", "'-0.0'", "'-0'", "'NaN'", "'inf'", "'1_000'", "'0x10'", "'true'", "'FALSE'", "'t'", "'yes'",
    "TRUE", "false", "NULL", "'NULL'", "DATE '2020-02-29'", "DATE '2021-02-29'", "'2020-02-29'", "'2020-2-9'", "'20200229'",
    "'2020-W01-1'", "'0001-01-01'", "'9999-12-31'", "'10000-01-01'", "'2020-02-29 01:02:03'", "'2020-02-29T01:02:03.5'",
    "'2020-02-29 01:02:03.1234567'", "'2020-02-29 24:00:00'", "TIMESTAMP '2020-02-29 01:02:03.000004'",
    "TIMESTAMP '2020-02-29'", "DATE '2020-02-29 01:02:03'", "'2020-02-29 01:02:03Z'", "1 + 1", "(2)", "+3", "'a' || 'b'",
    "CAST('7' AS INTEGER)", "- 5", "1 -- one", "'1' /* text */", "(-5)", "(-2.5e0)", "(-0e0)", "1.005e0", "0.125e0",
    "0.1251e0", "2.675e0", "9999999.99e0", "9999999.994e0", "-9999999.996e0", "123456789012.345e0", "1e-7", "1.5E0",
    "CAST('2020-01-02' AS DATE)", "CAST('2020-01-02 03:04:05.000006' AS TIMESTAMP)", "CAST('2020-01-02' AS TIMESTAMP)",
    "CAST('1.50' AS DECIMAL(3, 2))", "CAST('-0.5' AS DECIMAL(2, 1))", "CAST('1.505' AS DECIMAL(3, 2))",
    "CAST('12.5' AS DECIMAL(2, 1))", "CAST('7' AS DECIMAL(1, 0))", "CAST('-7.00' AS DECIMAL(3, 2))",
    "CAST('1' AS DECIMAL(2, 3))", "CAST('1' AS DECIMAL(39, 0))", "CAST('-0.0' AS DECIMAL(2, 1))", "CAST('it' AS DECIMAL(2, 1))",
    "CAST('12345678.9012345' AS DECIMAL(15, 7))", "CAST('0' AS DECIMAL(1, 0))", "CAST('123456789' AS DECIMAL(9, 0))",
    "CAST('1.5' AS  DECIMAL(2,1))", "CAST(NULL AS DATE)", "('a')", "(5)", "'01:02:03'", "'01:02:03.000004'", "'1:02:03'",
    "'24:00:00'", "'01:02'", "TIME '23:59:59.999999'", "CAST('01:02:03' AS TIME)", "'2020-02-29 01:02:03+02'",
    "'2020-02-29T01:02:03.25-05:30'", "'2020-02-29 01:02:03+14:59'", "'2020-02-29 01:02:03+15'",
    "TIMESTAMPTZ '2020-02-29 01:02:03Z'", "CAST('2020-02-29 01:02:03+00' AS TIMESTAMPTZ)", "TIMESTAMPTZ '2020-02-29'",
    "'00112233-4455-6677-8899-aabbccddeeff'", "'00112233445566778899AABBCCDDEEFF'", "'0011223344556677'",
    "'{00112233-4455-6677-8899-aabbccddeeff}'", "UUID '00112233-4455-6677-8899-AABBCCDDEEFF'", "'0001-01-01 00:30:00+01'",
    "CAST('00112233-4455-6677-8899-aabbccddeeff' AS UUID)", "'9999-12-31 23:59:59-01'",
)  # fmt: skip
_FAR = ("'inf'", "'10000-01-01'")
UNSHOWN = {
    "DATE": _FAR, "TIMESTAMP": _FAR, "TIME": ("'24:00:00'",),
    "TIMESTAMPTZ": (*_FAR, "'0001-01-01 00:30:00+01'", "'9999-12-31 23:59:59-01'"),
}  # fmt: skip
"""What DuckDB takes, and Python cannot show."""


def outcome(run: Any, statement: str) -> Any:
    try:
        run(statement)
    except (ivm.Error, duckdb.Error):
        return "refused"
    return None


@pytest.mark.parametrize("sql", TYPES)
def test_each_literal_as_duckdb_takes_it(sql):
    db = ivm.connect(compile="off")
    with duckdb.connect() as duck:
        for run in (db.sql, duck.execute):
            run(f"CREATE TABLE t (n INTEGER, x {sql})")
        for number, literal in enumerate(LITERALS):
            statement = f"INSERT INTO t VALUES ({number}, {literal}\n)"
            ours, theirs = outcome(db.sql, statement), outcome(duck.execute, statement)
            if literal in UNSHOWN.get(sql, ()):
                assert (ours, theirs) == ("refused", None)
                duck.execute(f"DELETE FROM t WHERE n = {number}")
            else:
                assert ours == theirs, statement
        query = "SELECT n, x::VARCHAR FROM t ORDER BY n"
        assert db.sql(query).fetchall() == duck.execute(query).fetchall()


@pytest.mark.parametrize("sql", TYPES)
def test_each_literal_is_assigned_as_duckdb_does(sql):
    db = ivm.connect(compile="off")
    rows = [f"({number}, {number}.25, 'it''s', NULL)" for number in range(len(LITERALS))]
    with duckdb.connect() as duck:
        for run in (db.sql, duck.execute):
            run(f"CREATE TABLE t (n INTEGER PRIMARY KEY, d DECIMAL(9,2), s VARCHAR, x {sql})")
            run(f"INSERT INTO t VALUES {', '.join(rows)}")
        for number, literal in enumerate(LITERALS):
            statement = f"UPDATE t SET x = {literal}\n WHERE n = {number}"
            ours, theirs = outcome(db.sql, statement), outcome(duck.execute, statement)
            if literal in UNSHOWN.get(sql, ()):
                assert (ours, theirs) == ("refused", None)
                duck.execute(f"UPDATE t SET x = NULL WHERE n = {number}")
            else:
                assert ours == theirs, statement
        query = "SELECT n, d, s, x::VARCHAR FROM t ORDER BY n"
        assert db.sql(query).fetchall() == duck.execute(query).fetchall()


def test_most_of_them_need_no_second_engine():
    plain = [each for each in LITERALS if plain_inserts(f"INSERT INTO t VALUES ({each}\n)")]
    assert len(plain) > 60


@pytest.fixture
def db() -> Iterator[ivm.Database]:
    db = ivm.connect(compile="off")
    db.sql('CREATE TABLE t (a INTEGER, b VARCHAR); CREATE TABLE "odd name" ("a ""b" INTEGER)')
    yield db
    db.verify()


@pytest.mark.parametrize("end", ["", ";", " ; \n"])
@pytest.mark.parametrize("row", ["(-4, 'ä x')", "( 4 ,\n'') "])
def test_a_row_as_most_write_it_is_read_at_once(db, row, end):
    with mock.patch.object(database, "statements_of", side_effect=AssertionError):
        assert db.sql(f"insert INTO T values {row}{end}").fetchall() == [(1,)]
        with pytest.raises(AssertionError):
            db.sql(f"INSERT INTO T VALUES {row}, (1, 'x')")
        with pytest.raises(AssertionError):
            db.sql("INSERT INTO t VALUES (2147483648, 'x')")
        with pytest.raises(AssertionError):
            db.sql("INSERT INTO u VALUES (1)")
    assert db.sql("SELECT a, b FROM t").fetchall() in ([(-4, "ä x")], [(4, "")])


@pytest.mark.parametrize(
    ("statement", "width"),
    [
        ("INSERT INTO t VALUES (4, '5', 6)", "2 columns (a, b), but 3 values"),
        ("INSERT INTO t VALUES (4)", "2 columns (a, b), but 1 value"),
        ("INSERT INTO t (a) VALUES (1, 2)", "1 column (a), but 2 values"),
        ("INSERT INTO t (a, b) VALUES (1 + 1, 'x', 3)", "2 columns (a, b), but 3 values"),
        ("INSERT INTO t VALUES (1, 'x'), (2)", "2 columns (a, b), but 1 value in row 2"),
        ("INSERT INTO t SELECT 7, '8', 9", "2 columns (a, b), but 3 values"),
        ("INSERT INTO t SELECT 7", "2 columns (a, b), but 1 value"),
        ("INSERT INTO t (b) SELECT * FROM t", "1 column (b), but 2 values"),
        ("INSERT INTO t WITH w AS (SELECT 1 AS x) SELECT x, x, x FROM w", "2 columns (a, b), but 3 values"),
    ],
)
def test_too_many_or_too_few_values(db, statement, width):
    with pytest.raises(ivm.BindError) as raised:
        db.sql(statement)
    assert f"INSERT INTO t has {width}" in str(raised.value)
    assert db.sql("SELECT * FROM t").fetchall() == []


def test_a_row_does_not_depend_on_others(db):
    db.sql("INSERT INTO t VALUES (1, 0.92), ('2', 0), (NULL, 'c')")
    db.sql("INSERT INTO t VALUES (1 + 3, 0.92), ('5', 0)")
    found = db.sql("SELECT * FROM t ORDER BY a NULLS LAST, b").fetchall()
    assert found == [(1, "0.92"), (2, "0"), (4, "0.92"), (5, "0"), (None, "c")]


def test_statements_columns_and_names_of_every_kind(db):
    db.sql("INSERT INTO t (b, A) VALUES ('x', 1);insert  into T values (2,NULL) ;\n INSERT INTO t(B) VALUES('z;''') ; ")
    db.sql('INSERT INTO "odd name" ("a ""b") VALUES (7)')
    assert db.sql("SELECT * FROM t ORDER BY b NULLS FIRST").fetchall() == [(2, None), (1, "x"), (None, "z;'")]
    assert db.sql('SELECT * FROM "odd name"').fetchall() == [(7,)]
    assert db.sql("INSERT INTO t VALUES (?, ?), (9, '?')", [8, "it's"]).fetchall() == [(2,)]
    for wrong, error in (
        ("(a, a) VALUES (1, 2)", ivm.BindError),
        ("(c) VALUES (1)", ivm.BindError),
        ("VALUES (1,", ivm.ParseError),
    ):
        with pytest.raises(error):
            db.sql(f"INSERT INTO t {wrong}")
    with pytest.raises(ivm.BindError, match="no table 'u'"):
        db.sql("INSERT INTO u VALUES (1)")


def test_tables_of_schemas_need_no_second_engine() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE SCHEMA s; CREATE TABLE s.t (a INTEGER PRIMARY KEY, b VARCHAR); CREATE TABLE t (a INTEGER)")
    with mock.patch.object(statements, "parse", side_effect=AssertionError):
        db.sql(
            "INSERT INTO s.t VALUES (1, 'x'); INSERT INTO S.T VALUES (2, 'y'), (3, NULL); INSERT INTO main.t VALUES (1)"
        )
        db.sql("INSERT INTO memory.s.t VALUES (?, ?)", [4, "z"])
        db.sql("INSERT OR REPLACE INTO s.t (b, a) VALUES (?, ?)", ["w", 4])
    for wrong in ("nope.t", "s.nope", "s.t.x", "memory.nope.t"):
        with pytest.raises(ivm.BindError, match="there is no"):
            db.sql(f"INSERT INTO {wrong} VALUES (?)", [1])
    db.sql("SET search_path = 's'; INSERT INTO t VALUES (5, 'path'); INSERT INTO main.t VALUES (2)")
    assert db.sql("FROM s.t ORDER BY a").fetchall() == [(1, "x"), (2, "y"), (3, None), (4, "w"), (5, "path")]
    assert db.sql("FROM main.t ORDER BY a").fetchall() == [(1,), (2,)]


def test_moments_by_the_clocks_of_a_zone() -> None:
    db = ivm.connect(compile="off", timezone="Europe/Zurich")
    naive, aware = dt.datetime(2024, 7, 2, 3, 4, 5), dt.datetime(2024, 7, 2, 3, 4, 5, tzinfo=dt.UTC)
    texts = (
        "'2024-07-02 03:04:05'",
        "'2024-07-02T03:04:05Z'",
        "TIMESTAMPTZ '2024-07-02 03:04:05'",
        "TIMESTAMP '2024-07-02 03:04:05'",
    )
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'Europe/Zurich'")
        for run in (db.sql, duck.execute):
            run("CREATE TABLE t (n INTEGER PRIMARY KEY, z TIMESTAMPTZ, d DATE, m TIMESTAMP)")
            for number, text in enumerate(texts):
                at = 10 * number
                run(f"INSERT INTO t VALUES ({at}, {text}, NULL, NULL)")
                run(f"INSERT INTO t (n, z) VALUES ({at + 1}, {text}), ({at + 2}, NULL)")
                run(f"INSERT INTO t (n, z) VALUES ({at + 1}, {text}) ON CONFLICT (n) DO UPDATE SET z = excluded.z")
                run(f"UPDATE t SET z = {text} WHERE n = {at + 2}")
            for number, value in enumerate(
                (naive, aware, naive.date(), "2024-07-02 03:04:05", "2024-07-02 03:04:05+05:30")
            ):
                run("INSERT INTO t VALUES (?, ?, ?, ?)", [100 + number, value, value, value])
            run(
                "CREATE TABLE k (z TIMESTAMPTZ PRIMARY KEY, n INTEGER); INSERT INTO k VALUES ('2024-07-02 03:04:05', 1)"
            )
            run("UPDATE k SET n = 2 WHERE z = '2024-07-02 03:04:05'")
        for query in (
            "SELECT n, epoch_us(z), d, m FROM t ORDER BY n",
            "SELECT n FROM k WHERE z = '2024-07-02 01:04:05Z'",
        ):
            assert db.sql(query).fetchall() == duck.execute(query).fetchall()
