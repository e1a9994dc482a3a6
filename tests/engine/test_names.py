"""Names keep the case they were written in, are found in any, and may hold any character but the NUL."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ivm
from ivm.session.database import core_of


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql('CREATE TABLE Hits (UserID BIGINT PRIMARY KEY, URL VARCHAR, "the place" VARCHAR, "a""b" INTEGER)')
    db.sql('INSERT INTO HITS (userid, Url, "The Place", "A""B") VALUES (1, \'u\', \'here\', 2)')
    db.sql('CREATE MATERIALIZED VIEW PerUser AS SELECT userid, URL AS "Foo", count(*) AS N FROM hits GROUP BY ALL')
    return db


def test_they_come_out_as_they_were_written(db: ivm.Database) -> None:
    assert db.view("PERUSER").arrow().column_names == ["UserID", "Foo", "N"]
    assert db.view("peruser").name == "PerUser"
    assert db.sql("SELECT * FROM hITS").arrow().column_names == ["UserID", "URL", "the place", 'a"b']
    assert db.sql("SELECT view FROM IVM_VIEWS").fetchall() == [("PerUser",)]
    with db.subscribe("perUSER", snapshot=True) as subscription:
        assert subscription.fetch().column_names == ["UserID", "Foo", "N", "_time", "_diff"]
    assert [checked.view for checked in db.verify(["peruser"])] == ["PerUser"]
    assert '"' not in db.sql("EXPLAIN SELECT uSERid FROM hits").fetchall()[0][0].split("\n")[0]


def test_they_are_found_in_any_case(db: ivm.Database) -> None:
    row = {"USERID": [2], "url": ["v"], "THE PLACE": [None], 'A"b': [3]}
    db.apply({"hits": row})
    db.apply({"HITS": pa.table({**row, "userId": [3], "_DIFF": pa.array([1])}).drop_columns(["USERID"])})
    with db.transaction() as tx:
        tx.upsert("hiTS", [{"userid": 4, "URL": "w", "the place": "", 'a"B': 4}])
        tx.delete("HITS", {"USERid": [1]})
    db.sql("UPDATE hits AS H SET UrL = 'x' WHERE h.USERID = 3; DELETE FROM HITS WHERE Hits.userid = 2")
    assert sorted(db.view("PerUser").fetchall()) == [(3, "x", 1), (4, "w", 1)]
    assert db.sql("SELECT n FROM PERUSER WHERE foo = 'x'").fetchall() == [(1,)]
    db.verify()
    db.sql("DROP VIEW peruser; DROP TABLE hits")
    assert not core_of(db).catalog.views
    assert not core_of(db).catalog.tables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE HITS (a INTEGER)", "there is a table of that name"),
        ("CREATE TABLE t (a INTEGER, A INTEGER)", "column 'A' is declared twice"),
        ("CREATE VIEW HITS AS SELECT 1 AS a", "there is a table of that name"),
        ("CREATE VIEW v (a, A) AS SELECT 1, 2", "two columns would be called 'A'"),
        ("INSERT INTO hits (UserID, USERID) VALUES (1, 2)", "names column 'UserID' twice"),
        ("UPDATE hits SET url = 'a', URL = 'b'", "sets column 'URL' twice"),
        ("DROP TABLE hits", "used by view 'PerUser'"),
        ("CREATE TABLE t (a INTEGER REFERENCES HITZ)", "did you mean 'Hits'"),
        ("SELECT usrid FROM peruzer", "did you mean 'PerUser'"),
        ("CREATE VIEW v AS SELECT usrid FROM hits", "did you mean 'UserID'"),
        ("CREATE VIEW v AS SELECT a FROM (SELECT 1 AS a) x, (SELECT 2 AS A) y", "write x.a or y.A"),
        ("CREATE VIEW v AS SELECT * FROM hits h, hits H", "stands twice in FROM"),
        ("CREATE VIEW v AS WITH c AS (SELECT 1), C AS (SELECT 2) SELECT * FROM c", "WITH names 'C' twice"),
        ("CREATE VIEW Ivm_mine AS SELECT 1 AS a", "are the engine's own"),
    ],
)
def test_names_in_two_cases_are_one_name(db: ivm.Database, text: str, message: str) -> None:
    with pytest.raises(ivm.BindError) as caught:
        db.sql(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "name", ['a"b', "a'b", "a b", 'x" AS SELECT 1; --', "select", "at", "Ä", "a.b", "%s {0} \\", "🦆"]
)
def test_odd_names(name: str) -> None:
    db = ivm.connect(compile="off")
    quoted = '"' + name.replace('"', '""') + '"'
    view = '"v ' + name.replace('"', '""') + '"'
    db.sql(f"CREATE TABLE {quoted} ({quoted} INTEGER PRIMARY KEY, other INTEGER REFERENCES {quoted})")
    db.sql(f"CREATE VIEW {view} AS SELECT {quoted}.{quoted}, other FROM {quoted} ORDER BY {quoted} LIMIT 2")
    db.sql(
        f'CREATE MATERIALIZED VIEW "m" AS WITH {quoted} AS (SELECT * FROM {view}) SELECT max(t.{quoted}) AS {quoted}, '
        f"row_number() OVER (ORDER BY other) AS n FROM {quoted} AS t GROUP BY other"
    )
    db.sql(f"INSERT INTO {quoted} ({quoted}) VALUES (1), (2), (3); UPDATE {quoted} SET other = 1 WHERE {quoted} = 2")
    db.sql(f"DELETE FROM {quoted} AS t WHERE t.{quoted} = 3")
    db.apply({name: [{name: 5, "other": None}]})
    assert sorted(db.view("m").fetchall()) == [(1, 2), (2, 1)]
    assert db.sql(f"SELECT {quoted} FROM {view} ORDER BY 1").fetchall() == [(1,), (2,)]
    assert db.sql(f"SELECT count({quoted}.{quoted}) FROM {quoted}").fetchall() == [(3,)]
    assert db.sql("EXPLAIN SELECT * FROM m").fetchall()
    db.verify()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", ""])
def test_names_that_no_other_system_can_hold(name: str) -> None:
    db = ivm.connect(compile="off")
    for text in (f'CREATE TABLE "{name}" (a INTEGER)', f'CREATE TABLE t ("{name}" INTEGER)',
                 f'CREATE VIEW "{name}" AS SELECT 1 AS a', f'CREATE VIEW v AS SELECT 1 AS "{name}"',
                 f'CREATE VIEW v AS SELECT x.a FROM (SELECT 1 AS a) AS "{name}"'):  # fmt: skip
        with pytest.raises(ivm.Error):
            db.sql(text)
    assert not core_of(db).catalog.views
    assert not core_of(db).catalog.tables
    with pytest.raises(ivm.BindError):
        db.view(name)
