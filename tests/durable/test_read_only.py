"""A database that is opened beside the process that changes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest

import ivm
from ivm.durable.recovery import reached, recover
from ivm.engine.engine import Engine
from ivm.session.core import Core
from ivm.session.database import Database
from ivm.storage.directory import Directory
from ivm.storage.log import Draft, log_name
from ivm.storage.pinned import pinned
from ivm.storage.record import HEADER, Record, records
from tests.durable.disk import Disk
from tests.durable.opening import contents, finish, killed
from tests.durable.workload import begin, steps


@pytest.fixture
def shop(tmp_path):
    with ivm.connect(tmp_path / "shop.ivm", compile="off", durability="off") as db:
        begin(db)
        for step in steps(3, 20):
            step(db)
        db.sql("INSERT INTO sale (id, item, price) VALUES (-1, 'ink', 3)")
        finish(db)
        yield db


def _files(path):
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in path.iterdir()}


def test_what_is_there_is_seen_and_nothing_is_written(shop, tmp_path):
    path, before = tmp_path / "shop.ivm", _files(tmp_path / "shop.ivm")
    with ivm.connect(path, read_only=True, compile="off") as db:
        assert contents(db) == contents(shop)
        db.verify()
        assert "sum" in db.explain("SELECT item, sum(price) FROM sale GROUP BY item")
        with db.subscribe("by_item", snapshot=True) as subscription:
            assert len(subscription.fetch()) == len(db.view("by_item"))
        shop.sql("INSERT INTO sale (id) VALUES (-2)")
        finish(shop)
        assert contents(db) != contents(shop)
    assert {name: _files(path)[name] for name in before if ".log" not in name} == {
        name: each for name, each in before.items() if ".log" not in name
    }
    with ivm.connect(path, read_only=True, compile="off") as db:
        assert contents(db) == contents(shop)


CHANGES = [
    "INSERT INTO sale (id) VALUES (-3)",
    "INSERT INTO sale (id) SELECT 1 + max(id) FROM sale",
    "UPDATE sale SET price = 1",
    "DELETE FROM sale WHERE id = -1",
    "MERGE INTO sale USING (SELECT -1 AS id) USING (id) WHEN MATCHED THEN DELETE",
    "TRUNCATE sale",
    "CREATE TABLE more (a BIGINT)",
    "CREATE VIEW more AS SELECT * FROM sale",
    "CREATE MATERIALIZED VIEW more AS SELECT * FROM sale",
    "CREATE TYPE other AS ENUM ('a')",
    "DROP VIEW by_item",
    "CREATE UNIQUE INDEX other ON sale (id)",
]


def test_nothing_can_be_changed(shop, tmp_path):
    with ivm.connect(tmp_path / "shop.ivm", read_only=True, compile="off") as db:
        uses: list[Callable[[], object]] = [partial(db.sql, text) for text in CHANGES]
        uses += [db.transaction, lambda: db.apply({"seen": [{"item": "ink", "n": 1}]})]
        for use in uses:
            with pytest.raises(ivm.AccessError, match=r"shop\.ivm: it was opened with read_only"):
                use()
        assert contents(db) == contents(shop)


def test_what_another_process_is_writing_is_left_alone(shop, tmp_path, caplog):
    (log,) = (tmp_path / "shop.ivm").glob("*.log")
    with log.open("ab") as file:
        file.write(b"ivmR half of a record")
    size = log.stat().st_size
    with ivm.connect(tmp_path / "shop.ivm", read_only=True, compile="off") as db:
        assert contents(db) == contents(shop)
    assert log.stat().st_size == size
    assert not caplog.text


@pytest.mark.parametrize("path", ["", "nothing.ivm", "letters", "letters/a.txt"])
def test_where_there_is_no_database_none_is_made(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with pytest.raises(ivm.StorageError, match="cannot open database"):
        ivm.connect(path, read_only=True)
    assert os.listdir(tmp_path) == ["letters"]
    assert os.listdir(tmp_path / "letters") == ["a.txt"]


def test_in_memory_there_is_nothing_to_read():
    with pytest.raises(ivm.StorageError, match="in memory with read_only"):
        ivm.connect(read_only=True)


def test_what_a_checkpoint_removes_meanwhile_is_read_all_the_same(shop, tmp_path):
    shop.sql("CHECKPOINT")
    shop.sql("INSERT INTO sale (id, item, price) VALUES (-2, 'pen', 3)")
    finish(shop)
    before, held = contents(shop), pinned(Directory(tmp_path / "shop.ivm", writable=False))
    shop.sql("DELETE FROM sale WHERE id > 0; DROP VIEW met")
    shop.sql("CHECKPOINT")
    assert not set(held.names()) <= set(os.listdir(tmp_path / "shop.ivm"))
    core = Core(Engine(None, history=0), external_access=False)
    reached(core, held, None)
    assert contents(Database(core)) == before


def test_files_that_are_replaced_while_they_are_met_are_met_again():
    class Busy(Disk):
        left = 0

        def read(self, name, *, mapped=True):
            found = super().read(name)
            if self.left:
                self.left -= 1
                self.did("create", f"rows-{self.left}")
                self.did("remove", name)
            return found

    disk = Busy({"rows": b"1"})
    disk.left = 3
    assert pinned(disk).names() == ["rows-0"]
    disk.left = 10**9
    with pytest.raises(ivm.StorageError, match="replaced 100 times"):
        pinned(disk)


def test_a_commit_that_is_decided_while_the_log_is_read_is_no_damage():
    disk = Deciding()
    log, _ = recover(Core(Engine(None, history=0), external_access=False), disk)
    for payload in (b"one", b"two", b"three"):
        put = log.put_ahead(Draft(1, 1, partial(list, [payload])))
        disk.undecided.append(disk.files()[log_name(1)])
        log.keep(put)
        log.settle(log.number)
    log.append(Draft(1, 1, lambda: [b"four"]))
    found = list(records(pinned(disk).read(log_name(1)), 1, ""))
    payloads = [each.payload.to_pybytes() for each in found if isinstance(each, Record)]
    assert payloads == [b"one", b"two", b"three", b"four"]
    file = disk.open(log_name(1))
    file.write(HEADER, [b"eno"])
    with pytest.raises(ivm.StorageError, match="record 1, at byte 0, is damaged"):
        list(records(pinned(disk).read(log_name(1)), 1, ""))


class Deciding(Disk):
    """A log that is read while its records are decided, one after the other: the last ones are met first."""

    def __init__(self):
        super().__init__()
        self.undecided: list[bytes] = []

    def read(self, name, *, mapped=True):
        found = super().read(name)
        if name != log_name(1) or not self.undecided:
            return found
        before = self.undecided.pop(0)
        return pa.py_buffer(before + found.to_pybytes()[len(before) :])


@pytest.fixture
def long(tmp_path):
    """A directory with a log to read, and a view to fill."""
    with ivm.connect(tmp_path / "long.ivm", compile="off", durability="off") as db:
        db.sql("CREATE TABLE t (a BIGINT); CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
        for n in range(3):
            db.apply({"t": {"a": range(n, 200_000)}})
        yield killed(db, tmp_path / "long.ivm", tmp_path / "killed.ivm")


@pytest.mark.parametrize("read_only", [True, False])
def test_progress_is_told(long, read_only):
    told = list[ivm.Progress]()
    (log,) = long.glob("*.log")
    size = log.stat().st_size
    with ivm.connect(long, compile="off", progress=told.append, read_only=read_only):
        read = [each for each in told if not each.view]
        filled = [each for each in told if each.view]
        assert told == read + filled
        assert len(read) >= 3
        assert {each.expected for each in read} == {size}
        assert read[-1].rows == size
        assert filled[-1].view == "v"
        assert 599_997 <= filled[-1].rows == filled[-1].expected


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("when", ["", "v"])
@pytest.mark.parametrize("error", [InterruptedError, ValueError, KeyboardInterrupt, ivm.BindError])
def test_progress_may_end_it(long, read_only, when, error):
    def no(now):
        if now.view == when:
            raise error

    with pytest.raises(error):
        ivm.connect(long, compile="off", progress=no, read_only=read_only)
    ivm.connect(long, compile="off").close()
