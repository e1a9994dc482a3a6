"""Tables that get columns while all that reads them goes on: nothing is made anew, whatever keeps it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import Database, core_of

_VIEWS = (
    "SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g",
    "SELECT s, max(v) AS m FROM t WHERE v * 2 + g > 10 GROUP BY s",
    "SELECT DISTINCT s, g FROM t",
    "SELECT x.g, y.s, count(*) AS n FROM t AS x JOIN t AS y ON x.v = y.v GROUP BY ALL",
    "SELECT t.v, u.s FROM t LEFT JOIN u ON t.s = u.s AND t.g < u.g",
    "SELECT g, v, row_number() OVER (PARTITION BY g ORDER BY v, s) AS r FROM t",
    "SELECT v, s FROM t ORDER BY v DESC, s LIMIT 5",
    "SELECT t.v, u.v AS w FROM t ASOF JOIN u ON t.g = u.g AND t.v >= u.v",
    "SELECT * FROM t WHERE s > 'b'",
    "SELECT upper(s) AS up FROM u WHERE v IS NOT NULL",
)
_DEFAULTS = (
    "INTEGER", "INTEGER DEFAULT 7", "VARCHAR DEFAULT 'new'", "VARCHAR", "DECIMAL(9,2) DEFAULT 1.5 NOT NULL",
    "INTEGER[]", "BOOLEAN DEFAULT true", "DOUBLE", "STRUCT(a INTEGER)",
)  # fmt: skip


def _made(db: Database, key: str) -> None:
    for table in ("t", "u"):
        db.sql(f"CREATE TABLE {table} (id INTEGER {key}, g INTEGER, v INTEGER, s VARCHAR)")
        _insert(db, table, range(40))
    for number, text in enumerate(_VIEWS):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {text}")


def _insert(db: Database, table: str, ids: range) -> None:
    rows = ", ".join(f"({i}, {i % 5}, {(i * 7) % 23}, '{'abcd'[i % 4]}')" for i in ids)
    db.sql(f"INSERT INTO {table} (id, g, v, s) VALUES {rows}")


def _states(db: Database) -> dict[int, int]:
    """The nodes there are, with what they have taken in."""
    return {node.number: node.updates_in for node in engine_of(core_of(db)).renderer.graph.nodes}


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_all_goes_on(key: str, tmp_path: Path) -> None:
    chance = random.Random(len(key))
    path = tmp_path / "db"
    with ivm.connect(path, compile="off") as db:
        _made(db, key)
        at, told = 40, db.subscribe("v0", snapshot=False)
        for step in range(6):
            table = "tu"[step % 3 == 2]
            before, held = _states(db), db.sql(f"SELECT count(*) FROM {table}").fetchall()
            db.sql(f"ALTER TABLE {table} ADD COLUMN c{step} {_DEFAULTS[step % len(_DEFAULTS)]}")
            assert _states(db) == before, "nothing is filled again"
            assert db.sql(f"SELECT count(*) FROM {table}").fetchall() == held
            _insert(db, table, range(at, at + 4))
            at += 4
            with pytest.raises(ivm.Error):
                db.sql(f"INSERT INTO {table} (id, g) VALUES (1000, 2), (1000, 2), (NULL, 'x')")
            db.sql(f"UPDATE {table} SET v = v + 1, c{step} = c{step} WHERE g = {chance.randrange(5)}")
            db.sql(f"DELETE FROM {table} WHERE id % 11 = {chance.randrange(11)}")
            if step == 2:
                db.sql("DELETE FROM u")
            if step == 4:
                db.sql("CREATE MATERIALIZED VIEW late AS SELECT c0, sum(v) AS s FROM t GROUP BY c0")
            if step == 3:
                db.sql("CHECKPOINT")
        db.verify()
        assert len(told.fetch()) > 0
        expected = {name: sorted(map(repr, db.sql(f"SELECT * FROM {name}").fetchall())) for name in ("t", "u", "v8")}
    with ivm.connect(path, compile="off") as db:
        for name, rows in expected.items():
            assert sorted(map(repr, db.sql(f"SELECT * FROM {name}").fetchall())) == rows
        db.verify()


def test_many_rows_come_and_go(tmp_path: Path) -> None:
    """Rows get other numbers while columns come."""
    with ivm.connect(compile="off", history=2) as db:
        _made(db, "PRIMARY KEY")
        for step in range(2):
            db.sql(
                f"INSERT INTO t (id, g, v, s) SELECT 100 + i, i % 7, i, 'r' || (i % 3) FROM range({20_000 + step}) AS r(i)"
            )
            db.sql("DELETE FROM t WHERE id BETWEEN 100 AND 18000")
            db.sql(f"ALTER TABLE t ADD COLUMN c{step} VARCHAR DEFAULT 'x{step}'")
            for _ in range(3):
                db.sql("UPDATE t SET v = v + 1 WHERE id % 10 = 1")
            db.sql("DELETE FROM t WHERE id >= 100")
        db.verify()
        assert db.sql("SELECT DISTINCT c0, c1 FROM t").fetchall() == [("x0", "x1")]


def test_not_null_is_a_check_alone() -> None:
    with ivm.connect(compile="off") as db:
        _made(db, "PRIMARY KEY")
        before = _states(db)
        db.sql("ALTER TABLE t ALTER v SET NOT NULL")
        assert _states(db) == before
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO t (id) VALUES (100)")
        db.sql(
            "ALTER TABLE t ALTER s SET NOT NULL; ALTER TABLE t ALTER s DROP NOT NULL; ALTER TABLE t ALTER v DROP NOT NULL"
        )
        db.sql("INSERT INTO t (id) VALUES (100)")
        with pytest.raises(ivm.ConstraintError, match="NULL in 1 row"):
            db.sql("ALTER TABLE t ALTER v SET NOT NULL")
        db.verify()
