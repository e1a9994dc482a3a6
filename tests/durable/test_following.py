"""A database that follows, beside the process that changes it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
import pytest

import ivm
from ivm.durable import following
from ivm.session.database import core_of
from ivm.storage.record import HEADER, MAGIC
from tests.durable.opening import contents, finish
from tests.durable.workload import begin, steps


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.ivm"


@pytest.fixture
def shop(path: Path) -> Iterator[ivm.Database]:
    with writer(path) as db:
        begin(db)
        yield db


def writer(path: Path, **more: object) -> ivm.Database:
    return ivm.connect(path, compile="off", durability="off", **more)  # type: ignore[arg-type]


def follower(path: Path, **more: object) -> ivm.Database:
    """One that follows only when it is told to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "EVERY", 3600.0)
        db = ivm.connect(path, compile="off", read_only=True, follow=True, **more)  # type: ignore[arg-type]
        time.sleep(0.02)
    return db


def added(told: Counter[str], changes: pa.Table) -> None:
    for row in changes.to_pylist():
        diff = row.pop("_diff")
        del row["_time"]
        told[str(row)] += diff


def held(db: ivm.Database, view: str) -> Counter[str]:
    return Counter(str(row) for row in db.view(view).arrow().to_pylist())


MORE = [
    "CHECKPOINT",
    "CHECKPOINT; INSERT INTO sale (id) VALUES (-1); CHECKPOINT; DELETE FROM sale WHERE id = -1; CHECKPOINT",
    "ALTER TABLE sale ADD COLUMN more INTEGER DEFAULT 3",
    "CREATE OR REPLACE MATERIALIZED VIEW by_item AS SELECT item, sum(price) AS total, count(*) + 1 AS n FROM sale GROUP BY item",
    "CREATE TABLE new AS SELECT id FROM sale; CREATE MATERIALIZED VIEW of_new AS SELECT count(*) AS n FROM new",
    "CREATE TABLE new (id BIGINT); CREATE VIEW of_new AS FROM new; INSERT INTO new VALUES (1), (1)",
    "DROP TABLE new CASCADE; CREATE TABLE new (id VARCHAR); INSERT INTO new VALUES ('x')",
    "CREATE TYPE mood AS ENUM ('ok'); CREATE MACRO twice(x) AS 2 * x; COMMENT ON TABLE sale IS 'sold'",
    "BEGIN; CREATE TABLE both (i INTEGER); INSERT INTO both VALUES (1); DELETE FROM seen; COMMIT",
    "DROP TABLE IF EXISTS both",
]


@pytest.mark.parametrize("seed", range(2))
def test_a_random_history_is_followed(shop: ivm.Database, path: Path, seed: int) -> None:
    chance, told = random.Random(seed), Counter[str]()
    finish(shop)
    with follower(path, history=seed * 5) as db:
        changes = db.subscribe("by_item", snapshot=True)
        added(told, changes.fetch())
        for step in steps(seed, 18):
            step(shop)
            if chance.random() < 0.3:
                try:
                    shop.sql(chance.choice(MORE))
                except ivm.Error:
                    shop.rollback() if shop.in_transaction else None
            if chance.random() < 0.6:
                continue
            finish(shop)
            assert db.refresh() == shop.time
            assert contents(db) == contents(shop)
            added(told, changes.fetch())
            assert +told == held(shop, "by_item")
            assert all(n >= 0 for n in told.values())
        db.verify()


def test_views_listeners_and_snapshots_go_on(shop: ivm.Database, path: Path) -> None:
    shop.sql("INSERT INTO sale (id, item, price) VALUES (1, 'ink', 2)")
    finish(shop)
    with follower(path) as db:
        view, top, then = db.view("by_item"), db.subscribe("top"), db.snapshot()
        shop.sql("INSERT INTO sale (id, item, price) VALUES (2, 'pen', 3)")
        finish(shop)
        assert len(view) == 1
        (behind,) = db.sql("SELECT time, record, bytes_behind > 0, error FROM ivm_following").fetchall()
        assert behind[0] == 1
        assert behind[2:] == (True, "")
        assert db.refresh() == 2
        assert len(view) == 2
        assert top.fetch().num_rows == 1
        assert then.sql("SELECT count(*) FROM sale").fetchall() == [(1,)]
        assert db.sql("SELECT bytes_behind FROM ivm_following").fetchall() == [(0,)]
        shop.sql("CREATE OR REPLACE VIEW dear AS SELECT * FROM sale WHERE price > 1; DROP VIEW top")
        finish(shop)
        db.refresh()
        assert len(view) == 2
        with pytest.raises(ivm.ViewDroppedError, match="dropped"):
            top.fetch()
        with pytest.raises(ivm.TransactionError, match="dropped or replaced"):
            then.sql("SELECT count(*) FROM sale")
        with pytest.raises(ivm.AccessError, match="read_only"):
            db.sql("DELETE FROM sale")


def test_who_stops_listening_here_takes_nothing_of_the_writers_along(shop: ivm.Database, path: Path) -> None:
    with shop.subscribe("SELECT id FROM sale WHERE price > 3", name="dear"):
        finish(shop)
        with follower(path) as db:
            for number in range(3):
                db.subscribe("by_item").close()
                shop.sql(f"CREATE VIEW w{number} AS SELECT 1 AS a; INSERT INTO sale (id, price) VALUES ({number}, 5)")
                finish(shop)
                db.refresh()
                assert contents(db) == contents(shop)
                assert core_of(db).catalog.content.keys() == core_of(shop).catalog.content.keys()


def test_it_goes_on_by_itself_and_writes_nothing(shop: ivm.Database, path: Path) -> None:
    finish(shop)
    before_it = handles(path)
    with ivm.connect(path, compile="off", read_only=True, follow=True) as db, db.subscribe("by_item") as changes:
        shop.sql("INSERT INTO sale (id, item, price) VALUES (1, 'ink', 2)")
        finish(shop)
        before = files(path)
        assert changes.fetch(timeout=20).num_rows == 1
        assert db.time == 1
        assert files(path) == before
    deadline = time.monotonic() + 5
    while len(handles(path)) > len(before_it) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(handles(path)) == len(before_it)


def handles(path: Path) -> list[str]:
    """What this process has open of a directory."""
    found = []
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{each}"))
    return [name for name in found if str(path) in name]


def files(path: Path) -> dict[str, tuple[bytes, int]]:
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in path.iterdir()}


def test_what_is_half_written_is_not_seen_and_a_writer_that_died_is_followed_by_the_next(path: Path) -> None:
    with writer(path) as shop:
        begin(shop)
        shop.sql("INSERT INTO sale (id) VALUES (1)")
        finish(shop)
        db = follower(path)
        (log,) = path.glob("*.log")
        whole = log.stat().st_size
        shop.sql("INSERT INTO sale (id) VALUES (2)")
        finish(shop)
        record = log.read_bytes()[whole:]
    rmtree(path)
    with writer(path) as shop:
        begin(shop)
        shop.sql("INSERT INTO sale (id) VALUES (1)")
        finish(shop)
        db.close()
        db = follower(path)
        (log,) = path.glob("*.log")
        start = log.stat().st_size
        for end in (5, HEADER, len(record) - 9):  # what one leaves that is killed
            with log.open("r+b") as file:
                file.seek(start)
                file.write(record[:end])
            assert db.refresh() == 1
            assert db.sql("SELECT count(*) FROM sale").fetchall() == [(1,)]
        os.truncate(log, start)
        shop.sql("INSERT INTO sale (id) VALUES (3)")
        finish(shop)
        assert db.refresh() == 2
        with log.open("ab") as file:
            file.write(MAGIC + b"half of a record")
    assert db.refresh() == 2
    with writer(path) as shop:
        shop.sql("INSERT INTO sale (id) VALUES (4)")
        finish(shop)
        assert db.refresh() == 3
        assert contents(db) == contents(shop)
    db.close()


PROGRAM = """
import sys, ivm
db = ivm.connect(sys.argv[1], compile="off", durability="off")
db.sql("CREATE TABLE IF NOT EXISTS a (i BIGINT); CREATE TABLE IF NOT EXISTS b (i BIGINT)")
for number in range(1_000_000):
    db.apply({table: [{"i": number}] for table in "ab"})
    if number % 12 == 11:
        db.sql("CHECKPOINT; ALTER TABLE a ADD COLUMN x INTEGER; ALTER TABLE a DROP COLUMN x")
"""


def test_a_writer_that_is_killed(path: Path) -> None:
    with writer(path) as shop:
        shop.sql("CREATE TABLE a (i BIGINT); CREATE TABLE b (i BIGINT)")
        shop.sql("CREATE MATERIALIZED VIEW same AS SELECT (SELECT count(*) FROM a) - (SELECT count(*) FROM b) AS x")
    with ivm.connect(path, compile="off", read_only=True, follow=True) as db:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, path], cwd=Path(__file__).parents[2])
        deadline = time.monotonic() + 60
        while db.time < 25 and time.monotonic() < deadline:
            assert db.view("same").fetchall() == [(0,)]
            seen = db.time
            assert db.refresh() >= seen
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert db.refresh() >= 25
        with writer(path) as shop:
            assert contents(shop) == contents(db)


def test_a_damaged_log_is_told_and_what_there_was_can_be_read(path: Path) -> None:
    with ivm.connect(path, compile="off") as shop:
        begin(shop)
        db, (log,) = follower(path), path.glob("*.log")
        start = log.stat().st_size
        shop.sql("INSERT INTO sale (id) VALUES (1)")
        shop.sql("INSERT INTO sale (id) VALUES (2)")
        data = log.read_bytes()
        with log.open("r+b") as file:
            file.seek(start + HEADER)
            file.write(b"xx")
        refused(db, "is damaged")
        assert "is damaged" in db.sql("SELECT error FROM ivm_following").fetchall()[0][0]
        log.write_bytes(data)
        assert db.refresh() == 2
        assert contents(db) == contents(shop)
        os.truncate(log, start)
        refused(db, "shorter than it was")
        log.write_bytes(data)
        rmtree(path)
        path.mkdir()
    refused(db, "its log is gone")
    assert db.sql("SELECT count(*) FROM sale").fetchall() == [(2,)]
    db.close()
    with pytest.raises(ivm.InterfaceError, match="closed"):
        db.refresh()


def refused(db: ivm.Database, why: str) -> None:
    with pytest.raises(ivm.StorageError, match=why):
        db.refresh()


def test_refusals(shop: ivm.Database, path: Path) -> None:
    with pytest.raises(ivm.UnsupportedError, match="read_only"):
        ivm.connect(path, follow=True)
    with pytest.raises(ivm.InterfaceError, match="follows nobody"):
        shop.refresh()
    finish(shop)
    with ivm.connect(path, read_only=True, compile="off") as db, pytest.raises(ivm.InterfaceError, match="follow=True"):
        db.refresh()
