"""What keeps tables anew, or makes others of their names, between BEGIN and COMMIT: there is what the same statements leave
one by one, or nothing of it.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ivm
from ivm.engine.engine import Engine
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.storage.log import Log
from tests.interface.test_begin_alter import interrupt_once, made, nodes, rows, there

STEPS = (
    "DELETE FROM m WHERE x = 2",
    "ALTER TABLE t DROP COLUMN b CASCADE",
    "ALTER TABLE t RENAME TO u",
    "INSERT INTO u VALUES (4, 'z', 2); DELETE FROM u WHERE a = 2",
    "CREATE TABLE t (q INTEGER); INSERT INTO t VALUES (1), (NULL)",
    "ALTER TABLE p RENAME TO parents; ALTER TABLE parents RENAME k TO id",
    "INSERT INTO parents VALUES (9); INSERT INTO u VALUES (5, 'w', 9)",
    "CREATE MATERIALIZED VIEW counted AS SELECT q, count(*) AS n FROM t GROUP BY q",
    "ALTER TABLE m ALTER x TYPE INTEGER USING x + 1",
    "INSERT INTO m VALUES (5, 'v'), (3, NULL); UPDATE m SET y = 'u' WHERE x = 3",
    "ALTER VIEW meet RENAME TO met",
    "CREATE MATERIALIZED VIEW over_met AS SELECT s, count(y) AS n FROM met GROUP BY s",
    "CREATE OR REPLACE MATERIALIZED VIEW met AS SELECT u.s, m.y FROM u JOIN m ON u.a = m.x OR u.a = 1",
    "INSERT INTO u VALUES (30, 'k', 1); CREATE UNIQUE INDEX i ON u (s, a); CREATE INDEX j ON u (s)",
    "INSERT INTO u VALUES (12, 'w', 9); DROP INDEX i; INSERT INTO u VALUES (6, 'w', 9)",
    "ALTER TABLE u ADD COLUMN c INTEGER DEFAULT 1; ALTER TABLE u ALTER c SET DEFAULT 3; INSERT INTO u (a) VALUES (20)",
    "DROP VIEW counted; DROP TABLE t; CREATE TABLE t (z VARCHAR UNIQUE); INSERT INTO t VALUES ('a'), ('b')",
    "ALTER TABLE t ADD PRIMARY KEY (z); DELETE FROM t WHERE z = 'a'",
    "ALTER TABLE m ADD COLUMN d INTEGER DEFAULT 4; ALTER TABLE m DROP COLUMN y CASCADE",
    "ALTER TABLE m RENAME TO n; CREATE OR REPLACE TABLE n (only INTEGER); INSERT INTO n VALUES (1); TRUNCATE u",
    "INSERT INTO u VALUES (1, 'back', 1, 1)",
)
FAILING = ("ALTER TABLE m ALTER x TYPE INTEGER USING x * 3000000000", "CREATE UNIQUE INDEX i ON t (s)")


def seen(db: ivm.Database) -> object:
    """What the thread sees, in a transaction too."""
    names = [name for (name,) in db.sql("SHOW TABLES").fetchall()]
    return {name: (rows(db, name), db.sql(f"DESCRIBE {name}").fetchall()) for name in names}


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_there_is_what_the_same_statements_leave_one_by_one(place: str, tmp_path: Path) -> None:
    path = tmp_path / "db"
    db, one = made(path if place == "disk" else None), made()
    for first, last in ((0, 6), (6, 13), (13, 16), (16, 19), (19, len(STEPS))):
        before, time = there(db), db.time
        with ThreadPoolExecutor(1) as other:
            db.begin()
            for step in STEPS[first:last]:
                db.sql(step)
                one.sql(step)
                assert seen(db) == seen(one), step
            assert other.submit(there, db).result() == before
        db.commit()
        assert (seen(db), db.time) == (seen(one), time + 1)
        db.verify()
        if place == "disk":
            shutil.copytree(path, tmp_path / f"copy{first}", ignore=shutil.ignore_patterns("LOCK"))
            if first == 13:
                db.sql("CHECKPOINT")
            with ivm.connect(tmp_path / f"copy{first}", compile="off") as again:  # as after a crash: the log alone
                assert there(again) == there(db)
                again.sql("DELETE FROM u")
                again.verify()


def test_names_go_round() -> None:
    """What is renamed stays as it is, whatever had its name, or has it then."""
    with made() as db:
        db.sql("CREATE TABLE q (x INTEGER, y VARCHAR); INSERT INTO q VALUES (7, 'q')")
        db.sql("CREATE MATERIALIZED VIEW of_q AS SELECT x, count(*) AS n FROM q GROUP BY x")
        db.sql("CREATE MATERIALIZED VIEW of_m AS SELECT x, count(*) AS n FROM m GROUP BY x")
        kept = engine_of(core_of(db)).views["of_q"].node
        db.sql("ALTER TABLE q RENAME TO r; ALTER TABLE r RENAME TO q")
        db.sql(
            "BEGIN; DROP VIEW of_m; DROP VIEW meet; DROP TABLE m; ALTER TABLE q RENAME TO m; ALTER VIEW of_q RENAME TO of_m"
        )
        db.sql(
            "INSERT INTO m VALUES (8, 'r'); CREATE TABLE q (x INTEGER, y VARCHAR); INSERT INTO q VALUES (1, 'new'); COMMIT"
        )
        db.sql("CREATE MATERIALIZED VIEW of_q AS SELECT x, count(*) AS n FROM q GROUP BY x")
        db.sql("CREATE MATERIALIZED VIEW again AS SELECT x, count(*) AS n FROM m GROUP BY x")
        assert engine_of(core_of(db)).views["of_m"].node is kept
        db.sql("BEGIN; ALTER TABLE q RENAME TO s; ALTER TABLE m RENAME TO q; ALTER TABLE s RENAME TO m; COMMIT")
        db.sql("INSERT INTO q VALUES (10, 'q'); INSERT INTO m VALUES (20, 'm')")
        assert rows(db, "of_m") == rows(db, "again") == [(10, 1), (7, 1), (8, 1)]
        assert rows(db, "of_q") == [(1, 1), (20, 1)]
        db.verify()


def test_rolled_back_or_refused_nothing_is_left() -> None:
    with made() as db:
        before, kept = there(db), nodes(db)
        for end in range(1, len(STEPS) + 1, 5):
            db.sql("; ".join(("BEGIN", *STEPS[:end], "ROLLBACK")))
        for text in FAILING:
            with pytest.raises((ivm.ConstraintError, ivm.NumericError, ivm.TypeMismatchError)):
                db.sql(f"BEGIN; {STEPS[0]}; {text}")
            db.sql("ROLLBACK")
        assert (there(db), nodes(db)) == (before, kept)


@pytest.mark.parametrize(
    ("steps", "others", "error"),
    [
        ("ALTER TABLE m ALTER x TYPE INTEGER USING x + 1", "INSERT INTO m VALUES (5, 'o')", "written all rows"),
        ("ALTER TABLE t RENAME TO u; UPDATE u SET b = 1", "UPDATE t SET b = 2 WHERE a = 1", "changed by others"),
        ("CREATE UNIQUE INDEX i ON m (x, y)", "INSERT INTO m VALUES (2, 'r')", "more than once"),
        ("ALTER TABLE t DROP COLUMN s CASCADE; INSERT INTO t VALUES (8, 8, 77)", "", "refer to no row"),
        ("ALTER TABLE t RENAME TO u; INSERT INTO u VALUES (8, 500, '', 1)", "", "is false"),
        (
            "ALTER TABLE p ADD COLUMN n INTEGER; DELETE FROM p WHERE k = 2; ALTER TABLE p ALTER n TYPE BIGINT",
            "",
            "still refer",
        ),
        (
            "CREATE TABLE s (x INTEGER) WITH (static = true); INSERT INTO s VALUES (1); CREATE MATERIALIZED VIEW of_s AS FROM s",
            "",
            "is declared static",
        ),
    ],
)
def test_a_commit_that_fails_leaves_nothing(steps: str, others: str, error: str) -> None:
    with made() as db, ThreadPoolExecutor(1) as other:
        db.sql("DELETE FROM m WHERE y = 'q'")
        db.begin()
        try:
            db.sql(steps)
        except ivm.ConstraintError:
            db.rollback()
            return
        if others:
            other.submit(db.sql, others).result()
        before, kept = other.submit(there, db).result(), nodes(db)
        with pytest.raises((ivm.TransactionError, ivm.ConstraintError), match=error):
            db.commit()
        assert (there(db), nodes(db)) == (before, kept)
        db.sql("INSERT INTO t VALUES (9, 9, 'n', 1); INSERT INTO m VALUES (9, 'n')")
        db.verify()


def test_what_refers_goes_with_what_it_refers_to() -> None:
    with made() as db:
        db.sql("BEGIN; DELETE FROM p WHERE k = 2; DROP TABLE t CASCADE; CREATE TABLE t (k INTEGER); COMMIT")
        assert rows(db, "p") == [(1,)]
        db.verify()


def test_what_others_do_meanwhile_is_in_it() -> None:
    with made() as db, ThreadPoolExecutor(1) as other, db.subscribe("sums", snapshot=False) as told:
        db.sql("BEGIN; ALTER TABLE t RENAME TO u; ALTER TABLE u ADD c INTEGER; ALTER VIEW sums RENAME TO totals")
        db.sql("ALTER TABLE u ADD d INTEGER DEFAULT 3; ALTER TABLE u DROP c; INSERT INTO u VALUES (7, 70, 'x', 1, 4)")
        other.submit(db.sql, "INSERT INTO t VALUES (8, 80, 'y', 1)").result()
        db.sql("COMMIT")
        assert db.sql("SELECT * FROM u WHERE a > 6 ORDER BY a").fetchall() == [
            (7, 70, "x", 1, 4),
            (8, 80, "y", 1, 3),
        ]
        db.sql("UPDATE u SET b = 99 WHERE a = 8")
        changes = told.fetch().to_pylist()
        assert sum(row["n"] * row["_diff"] for row in changes) == 70 + 99
        db.verify()


@pytest.mark.parametrize("where", [(Engine, "planned"), (Engine, "_begun"), (Log, "keep")])
def test_interrupted_it_has_happened_or_not(
    where: tuple[type, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    db, one, (owner, name) = made(tmp_path / "db"), made(), where
    steps = STEPS[:13]
    for step in steps:
        one.sql(step)
    before, kept = there(db), nodes(db)
    db.sql(f"BEGIN; {'; '.join(steps)}")
    interrupt_once(monkeypatch, owner, name)
    with pytest.raises(KeyboardInterrupt):
        db.commit()
    assert (there(db) == before and nodes(db) == kept) or seen(db) == seen(one)
    db.sql("INSERT INTO p VALUES (77)" if there(db) == before else "INSERT INTO parents VALUES (77)")
    db.verify()
    after = there(db)
    db.close()
    with ivm.connect(tmp_path / "db", compile="off") as again:
        assert there(again) == after
        again.verify()
