"""ALTER between BEGIN and COMMIT: seen by the transaction at once, by others with the commit, or by nobody."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ivm
from ivm.engine.engine import Engine
from ivm.session.core import engine_of
from ivm.session.database import Database, core_of
from ivm.storage.log import Log

BEFORE = """
    CREATE TABLE p (k INTEGER PRIMARY KEY);
    CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER CHECK (b < 100), s VARCHAR, k INTEGER REFERENCES p (k))
        WITH (check_foreign_keys = true);
    CREATE TABLE m (x INTEGER, y VARCHAR);
    INSERT INTO p VALUES (1), (2);
    INSERT INTO t VALUES (1, 10, 'x', 1), (2, 20, 'y', 2), (3, NULL, 'x', 1);
    INSERT INTO m VALUES (1, 'q'), (1, 'q'), (2, 'r');
    CREATE MATERIALIZED VIEW sums AS SELECT s, sum(b) AS n FROM t GROUP BY s;
    CREATE MATERIALIZED VIEW meet AS SELECT t.s, m.y FROM t JOIN m ON t.a = m.x;
    CREATE VIEW plain AS SELECT n FROM sums
"""
STEPS = (
    "UPDATE t SET b = 11 WHERE a = 1",
    "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 7",
    "UPDATE t SET c = 8 WHERE a = 2",
    "INSERT INTO t VALUES (4, 40, 'z', 2, 9)",
    "ALTER TABLE t RENAME b TO amount",
    "UPDATE t SET amount = 0 WHERE amount IS NULL",
    "ALTER TABLE t ALTER amount SET NOT NULL",
    "ALTER TABLE t ADD COLUMN d VARCHAR",
    "ALTER TABLE t RENAME d TO e",
    "UPDATE t SET e = s || c WHERE a > 2",
    "ALTER TABLE t ALTER s SET DEFAULT 'w'",
    "INSERT INTO t (a, amount) VALUES (5, 50)",
    "ALTER TABLE p RENAME k TO key",
    "INSERT INTO p VALUES (3)",
    "DELETE FROM m WHERE x = 2",
    "ALTER TABLE m ADD COLUMN z DOUBLE",
    "INSERT INTO m VALUES (4, 'v', 0.5), (1, 'q', NULL)",
    "CREATE MATERIALIZED VIEW late AS SELECT c, count(*) AS n, max(e) AS e FROM t GROUP BY c",
    "COMMENT ON COLUMN t.c IS 'seven'",
)
WANTED: dict[str, list[tuple[Any, ...]]] = {
    "t": [(1, 11, "x", 1, 7, None), (2, 20, "y", 2, 8, None), (3, 0, "x", 1, 7, "x7"), (4, 40, "z", 2, 9, "z9"),
          (5, 50, "w", None, 7, None)],
    "m": [(1, "q", None), (1, "q", None), (1, "q", None), (4, "v", 0.5)],
    "sums": [("w", 50), ("x", 11), ("y", 20), ("z", 40)],
    "meet": [("x", "q"), ("x", "q"), ("x", "q"), ("z", "v")],
    "plain": [(11,), (20,), (40,), (50,)],
    "late": [(7, 3, "x7"), (8, 1, None), (9, 1, "z9")],
    "p": [(1,), (2,), (3,)],
}  # fmt: skip


def made(path: Path | None = None) -> Database:
    db = ivm.connect(path, compile="off")
    db.sql(BEFORE)
    return db


def rows(db: Database, name: str) -> list[tuple[Any, ...]]:
    return sorted(db.sql(f"SELECT * FROM {name}").fetchall(), key=repr)


def there(db: Database) -> object:
    names = [entry.name for entry in core_of(db).catalog.content.values()]
    return db.time, {name: (rows(db, name), db.sql(f"DESCRIBE {name}").fetchall()) for name in names}


def nodes(db: Database) -> set[int]:
    return {node.number for node in engine_of(core_of(db)).renderer.graph.nodes}


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_it_is_there_with_the_commit(place: str, tmp_path: Path) -> None:
    db = made(tmp_path / "db" if place == "disk" else None)
    before, kept = there(db), nodes(db)
    with ThreadPoolExecutor(1) as other, db.subscribe("sums", snapshot=False) as told:
        db.begin()
        for step in STEPS:
            db.sql(step)
        assert {name: rows(db, name) for name in WANTED} == WANTED
        assert other.submit(there, db).result() == before
        other.submit(db.sql, "INSERT INTO m VALUES (7, 'others')").result()  # which changes nothing that is promised
        db.commit()
    wanted = {**WANTED, "m": sorted([*WANTED["m"], (7, "others", None)])}
    assert {name: rows(db, name) for name in WANTED} == wanted
    assert kept <= nodes(db), "nothing was filled again"
    assert {row["s"]: row["_diff"] for row in told.fetch().to_pylist()}.keys() == {"w", "x", "z"}
    for text in (
        "UPDATE t SET amount = NULL",
        "INSERT INTO t (a, amount) VALUES (9, 100)",
        "INSERT INTO t VALUES (9, 1, 's', 77, 1, 'e')",
    ):
        with pytest.raises(ivm.ConstraintError):
            db.sql(text)
    db.verify()
    if place == "disk":
        seen = there(db)
        shutil.copytree(tmp_path / "db", tmp_path / "copy")  # the log alone
        for path in ("copy", "db"):
            if path == "db":
                db.close()
            with ivm.connect(tmp_path / path, compile="off") as again:
                assert there(again) == seen
                again.sql("INSERT INTO t (a, amount) VALUES (8, 1); DELETE FROM t WHERE a = 1")
                again.verify()


def test_rolled_back_nothing_is_left() -> None:
    with made() as db:
        before, kept = there(db), nodes(db)
        for end in range(2, len(STEPS), 7):
            db.sql("; ".join(("BEGIN", *STEPS[:end], "ROLLBACK")))
        db.sql(f"BEGIN; {'; '.join(STEPS)}")
        with pytest.raises(ivm.BindError):
            db.sql("ALTER TABLE t DROP COLUMN none")
        db.sql("ROLLBACK")
        assert (there(db), nodes(db)) == (before, kept)
        db.sql("INSERT INTO t VALUES (9, 9, 'n', 1); INSERT INTO m VALUES (9, 'n')")
        db.verify()


@pytest.mark.parametrize(
    ("steps", "others", "error"),
    [
        ("ALTER TABLE t ADD COLUMN c INTEGER; INSERT INTO t VALUES (9, 1, 's', 77, 1)", "", ivm.ConstraintError),
        (
            "ALTER TABLE m ALTER y SET NOT NULL; INSERT INTO m VALUES (9, 'y')",
            "INSERT INTO m VALUES (8, NULL)",
            ivm.TransactionError,
        ),
        (
            "ALTER TABLE t ADD COLUMN c INTEGER; UPDATE t SET c = 1",
            "UPDATE t SET b = 1 WHERE a = 1",
            ivm.TransactionError,
        ),
        ("ALTER TABLE t ADD COLUMN c INTEGER", "ALTER TABLE t ADD COLUMN c INTEGER", ivm.TransactionError),
    ],
)
def test_a_commit_that_fails_leaves_nothing(steps: str, others: str, error: type[ivm.Error]) -> None:
    with made() as db, ThreadPoolExecutor(1) as other:
        db.sql(f"BEGIN; {steps}")
        if others:
            other.submit(db.sql, others).result()
        before, kept = other.submit(there, db).result(), nodes(db)
        with pytest.raises(error):
            db.commit()
        assert (there(db), nodes(db)) == (before, kept)
        db.sql("INSERT INTO t (a, s) VALUES (9, 'n'); INSERT INTO m (x, y) VALUES (9, 'n')")
        db.verify()


def interrupt_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """Let the next call of a method raise, what keeps a record after it is done."""
    once: Callable[..., Any] = getattr(owner, name)

    def interrupted(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        if name == "keep":
            once(*given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize("where", [(Engine, "planned"), (Engine, "_begun"), (Log, "keep")])
def test_interrupted_it_has_happened_or_not(
    where: tuple[type, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    db = made(tmp_path / "db")
    before, owner, name = there(db), *where
    db.sql(f"BEGIN; {'; '.join(STEPS)}")
    interrupt_once(monkeypatch, owner, name)
    with pytest.raises(KeyboardInterrupt):
        db.commit()
    found = there(db)
    assert found == before or {each: rows(db, each) for each in WANTED} == WANTED
    db.sql(
        "INSERT INTO m (x, y) VALUES (9, 'n'); INSERT INTO t (a, s) VALUES (9, 'n')"
        if found == before
        else "DELETE FROM t WHERE a = 1"
    )
    db.verify()
    db.close()
    with ivm.connect(tmp_path / "db", compile="off") as again:
        again.verify()
