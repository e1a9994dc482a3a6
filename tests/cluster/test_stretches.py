"""Rows that are brought to new shards in stretches: so many at a time, all of them at one time, and all or none."""

from __future__ import annotations

import errno
import random
from copy import deepcopy
from shutil import copytree
from typing import Any
from unittest.mock import patch

import pytest

import ivm
from ivm.catalog.errors import ConstraintError, InterfaceError, StorageError
from ivm.catalog.schema import Field, ForeignKey, Table
from ivm.catalog.types import BIGINT
from ivm.cluster.driver import stretches
from ivm.cluster.driver.database import ShardedDatabase
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.stretches import in_turn, stretches_elsewhere
from ivm.cluster.files.chains import clean_left
from ivm.cluster.files.files import Files
from tests.cluster import over_copies
from tests.cluster.faulty import Faulty
from tests.cluster.memory import MemoryFolder
from tests.cluster.test_filling import driver

TABLES = """
CREATE TABLE town (name VARCHAR PRIMARY KEY) REPLICATED;
CREATE TABLE worker (id BIGINT PRIMARY KEY, boss BIGINT REFERENCES worker, town VARCHAR REFERENCES town)
    WITH (check_foreign_keys = true);
CREATE TABLE task (id BIGINT PRIMARY KEY, worker BIGINT REFERENCES worker, code VARCHAR UNIQUE, note VARCHAR)
    WITH (check_foreign_keys = true);
CREATE TABLE seen (what VARCHAR, tags VARCHAR[]);
CREATE TABLE none (id BIGINT PRIMARY KEY);
CREATE MATERIALIZED VIEW towns AS
    SELECT town, count(*) AS n, max(task.id) AS last FROM task JOIN worker ON task.worker = worker.id GROUP BY town;
CREATE MATERIALIZED VIEW whats AS SELECT what, count(*) AS n FROM seen GROUP BY what;
INSERT INTO town VALUES ('Bern'), ('Oslo'), ('Rom');
INSERT INTO worker SELECT i, 99 - i, ['Bern', 'Oslo', NULL][i % 3 + 1] FROM range(100) r(i);
INSERT INTO task SELECT i, i * 7 % 100, 'code ' || i, repeat('x', i % 50) FROM range(1000) r(i);
INSERT INTO seen SELECT 'what ' || i % 9, ['a', NULL] FROM range(500) r(i);
DELETE FROM task WHERE id % 10 = 3;
"""
NAMES = ("town", "worker", "task", "seen", "none", "towns", "whats")


def contents(db: ivm.Database) -> dict[str, Any]:
    found = {name: db.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in NAMES}
    return found | {"": (db.time, db.batches())}


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A directory whose checkpoint has some of it, and its log the rest; and what it has."""
    path = tmp_path_factory.mktemp("one") / "one.ivm"
    with ivm.connect(path.with_name("made.ivm")) as db:
        db.sql(TABLES)
        db.sql("CHECKPOINT; DELETE FROM task WHERE id % 10 = 4; DELETE FROM worker WHERE id = 100")
        db.apply({"seen": [{"what": "last", "tags": []}]}, batch=("seen", 8))
        copytree(path.with_name("made.ivm"), path)  # closing makes another checkpoint
        return path, contents(db)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Stretches of some hundred rows."""
    monkeypatch.setattr(stretches, "BYTES", 1 << 13)
    monkeypatch.setattr(stretches, "ROWS", 150)
    monkeypatch.setattr(stretches, "_PIECE", 64)


def watched(rows: list[tuple[set[str], int]]) -> Any:
    """Has `rows` told what is brought at a time: of which tables, and how many of them the driver had."""
    bring = Driver.bring

    def told(self: Driver, names: Any, changes: Any, frames: Any) -> None:
        rows.append((set(names), sum(each.data.num_rows for each in changes)))
        bring(self, names, changes, frames)

    return patch.object(Driver, "bring", told)


def goes_on(db: ShardedDatabase) -> None:
    """All constraints hold, and all views follow."""
    assert len(db.verify()) == 2
    for text, what in (
        ("INSERT INTO task VALUES (5000, 1, 'code 5', NULL)", "more than once"),
        ("INSERT INTO task VALUES (5000, 500, 'new', NULL)", "refer to no row"),
        ("INSERT INTO task VALUES (5, 1, 'new', NULL)", "PRIMARY KEY|key"),
        ("INSERT INTO worker VALUES (500, 1, 'Nowhere')", "refer to no row"),
        ("DELETE FROM worker WHERE id = 7", "refer"),
    ):
        with pytest.raises(ConstraintError, match=what):
            db.sql(text)
    db.sql("DELETE FROM task; DELETE FROM seen WHERE what = 'what 3'; INSERT INTO task VALUES (5, 1, 'code 5', NULL)")
    db.sql("INSERT INTO task SELECT i, i % 100, 'more ' || i, '' FROM range(100, 300) r(i)")
    assert len(db.verify()) == 2


@pytest.fixture(params=["in memory", "in a folder"])
def new(request):
    """A database over three shards that has nothing."""
    in_folder = request.param == "in a folder"
    db = over_copies.connect(MemoryFolder(), 3) if in_folder else ivm.connect(shards=3, compile="off")
    assert isinstance(db, ShardedDatabase)
    with db:
        yield db


def test_of_a_directory_the_driver_has_a_stretch(one, new):
    path, expected = one
    brought: list[tuple[set[str], int]] = []
    with watched(brought):
        new.restore(path)
    assert contents(new) == expected
    assert len(brought) > 5
    alone = [rows for names, rows in brought if "worker" in names]
    assert len(alone) == 1, "they refer to each other"
    assert max(rows for names, rows in brought if "worker" not in names) <= 400
    goes_on(new)


def test_of_other_shards_each_sends_a_stretch(one, new):
    path, expected = one
    brought: list[tuple[set[str], int]] = []
    new.restore(path)
    for shards in (2, 4):
        brought.clear()
        with watched(brought):
            new.rescale(shards)
        assert contents(new) == expected
        assert sum("task" in names for names, _ in brought) > 1
        assert sum("worker" in names for names, _ in brought) == 1
        assert not any(rows for _, rows in brought)
    goes_on(new)


def test_tables_come_after_those_that_they_refer_to():
    def table(name: str, *others: str) -> Table:
        key = [Field("id", BIGINT, nullable=False), *(Field(f"of_{each}", BIGINT) for each in others)]
        keys = tuple(ForeignKey((f"of_{each}",), each, ("id",), enforced=True) for each in others)
        return Table(name, tuple(key), ("id",), foreign_keys=keys)

    tables = [table("a", "b"), table("b", "C"), table("C", "d", "b"), table("d"), table("e", "e"), table("f", "a", "e")]
    found = [([each.name for each in several], at_once) for several, at_once in in_turn(tables)]
    assert found == [(["d"], False), (["e"], True), (["b", "C"], True), (["a"], False), (["f"], False)]
    rows = {"a": 1000, "b": 900, "C": 1, "d": 100, "e": 0, "f": 5}
    parts = [("".join(t.name for t in ts), part, of) for ts, part, of in stretches_elsewhere(tables, rows, 3)]
    assert parts == [("d", 0, 1), ("bC", 0, 1), *(("a", part, 3) for part in range(3)), ("f", 0, 1)]


def test_progress_is_told_and_may_end_it(one):
    path, expected = one
    told: list[ivm.Progress] = []
    db = over_copies.connect(MemoryFolder(), 3)
    with db:
        db.restore(path, progress=told.append)
        assert not told[0].view
        assert 0 < told[0].rows <= told[0].expected
        of = {name: [each for each in told if each.view == name] for name in NAMES}
        assert [each.rows for each in of["task"]] == sorted({each.rows for each in of["task"]})
        assert of["task"][-1] == ivm.Progress("task", 800, 800)
        assert len(of["task"]) > 3
        assert [bool(of[name]) for name in ("towns", "whats", "none")] == [True, True, False]
        told.clear()
        db.rescale(2, progress=told.append)
        assert [each for each in told if each.view == "task"][-1] == ivm.Progress("task", 800, 800)

        def uses(now: ivm.Progress) -> None:
            db.sql("INSERT INTO none VALUES (1)")

        with pytest.raises(InterfaceError, match="function that it calls"):
            db.rescale(3, progress=uses)
        with pytest.raises(ivm.TypeMismatchError, match="progress"):
            db.rescale(3, progress=7)  # type: ignore[arg-type]
        assert contents(db) == expected
    for at in (1, 8):
        left = [at]

        def ends(now: ivm.Progress, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

        folder = MemoryFolder()
        db = over_copies.connect(folder, 3)
        with db:
            with pytest.raises(KeyboardInterrupt):
                db.restore(path, progress=ends)
            assert (db.tables(), db.views(), db.time) == ([], [], 0)
            assert not [name for name in folder.all() if "commits" in name or "logs" in name]
            db.restore(path)
            assert contents(db) == expected


def test_a_driver_that_is_killed_leaves_nothing(one):
    path, expected = one
    folder, taken = MemoryFolder(), list[MemoryFolder]()
    bring = Driver.bring

    def killed(self: Driver, *given: Any) -> None:
        bring(self, *given)
        taken.append(MemoryFolder())
        taken[-1]._folders = deepcopy(folder._folders)

    db = over_copies.connect(folder, 3)
    with db, patch.object(Driver, "bring", killed):
        db.restore(path)
        taken_from_restore = len(taken)
        db.rescale(2)
    for number in (taken_from_restore - 1, len(taken) - 2):
        left, is_new = taken[number], number < taken_from_restore
        db = over_copies.connect(left, 3)
        with db:
            if is_new:
                assert (db.tables(), db.time) == ([], 0)
                db.restore(path)
            else:
                assert driver(db).transport.shards == 3
                db.rescale(2)
            assert contents(db) == expected
            db.sql("INSERT INTO none VALUES (1); DELETE FROM none")
        clean_left(Files(left))
        chains = {name.split("/")[1] for name in left.all() if name.startswith("scaled/") and "/logs/" in name}
        assert len(chains) == 1, "that which counts"


def test_a_full_disk_leaves_nothing(one):
    path, expected = one
    folder = Faulty(random.Random(1))
    db = over_copies.connect(folder, 3)
    with db:
        for most in (3, 60):
            left = [most]

            def full(call: str, left: list[int] = left) -> None:
                left[0] -= call in ("put", "put_new")
                if left[0] < 0 and call in ("put", "put_new"):
                    raise OSError(errno.ENOSPC, "No space left on device")

            folder.before = full
            with pytest.raises(StorageError, match="No space left"):
                db.restore(path)
            folder.before = lambda call: None
            assert (db.tables(), db.time) == ([], 0)
        db.restore(path)
        assert contents(db) == expected
        goes_on(db)
