import errno
import logging
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import ivm
from ivm.durable import remains
from ivm.storage.log import log_files
from tests.durable.disk import Disk
from tests.durable.opening import contents, opened
from tests.durable.places import PLACES
from tests.durable.workload import begin, steps


@pytest.fixture(params=PLACES)
def place(request):
    return request.param()


@pytest.mark.parametrize("seed", range(6))
def test_it_is_found_as_it_was_left(place, seed):
    db = place.open()
    begin(db)
    for number, step in enumerate(steps(seed, 60)):
        step(db)
        if number % 20 == 19:
            before = contents(db)
            db.close()
            place = place.left()
            db = place.open()
            assert contents(db) == before
            db.verify()


def test_commits_go_on_after_what_was_found(place):
    db = place.open()
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
    for n in range(5):
        assert db.time == n
        db.apply({"t": {"a": [n]}})
        db.close()
        db = place.open()
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(5,)]


def test_names_and_order_of_a_view_with_columns_of_its_own_are_found(place):
    db = place.open()
    db.sql("CREATE TABLE t (a BIGINT, b VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW v (x, y) AS SELECT b, sum(a) FROM t GROUP BY b ORDER BY max(a) DESC")
    db.apply({"t": {"a": [1, 5, 3], "b": ["p", "q", "r"]}})
    for _ in range(2):
        assert db.sql("SELECT * FROM v").fetchall() == [("q", 5), ("r", 3), ("p", 1)]
        assert db.view("v").arrow().column_names == ["x", "y"]
        db.close()
        db = place.open()


def test_constraints_defaults_and_types_are_found(place):
    db = place.open()
    db.sql("CREATE TYPE mood AS ENUM ('good', 'bad')")
    db.sql("CREATE TABLE p (a BIGINT PRIMARY KEY, m mood DEFAULT 'bad', UNIQUE (m))")
    db.sql("CREATE TABLE c (a BIGINT REFERENCES p (a), n INTEGER CHECK (n > 0), l BLOB)")
    db.sql("INSERT INTO p (a) VALUES (1)")
    db.sql("INSERT INTO c VALUES (1, 2, '\\xFFa')")
    db.close()
    db = place.open()
    assert db.sql("SELECT * FROM p").fetchall() == [(1, "bad")]
    assert db.sql("SELECT l FROM c").fetchall() == [(b"\xffa",)]
    for text in (
        "INSERT INTO p (a) VALUES (2)",
        "INSERT INTO c VALUES (1, 0, NULL)",
        "INSERT INTO p VALUES (1, 'good')",
    ):
        with pytest.raises(ivm.ConstraintError):
            db.sql(text)
    db.sql("CREATE TABLE more (m mood)")


def test_a_batch_counts_once(place):
    db = place.open()
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
    assert db.apply({"t": {"a": [1]}}, batch=("orders", 7)) == 1
    for _ in range(2):
        assert db.apply({"t": {"a": [1]}}, batch=("orders", 7)) == 1
        assert db.apply({"t": {"a": [2]}}, batch=("orders", 3)) == 1
        assert db.batches() == {"orders": 7}
        db.close()
        db = place.open()
    with db.transaction(batch=("orders", 7)) as tx:
        tx.insert("t", {"a": [9]})
    with db.transaction(batch=("others", 0)) as tx:
        tx.insert("t", {"a": [10]})
    assert db.batches() == {"orders": 7, "others": 0}
    assert db.sql("SELECT * FROM t ORDER BY a").fetchall() == [(1,), (10,)]
    with pytest.raises(ivm.ConstraintError):
        db.apply({"t": {"a": [1]}}, batch=("others", 1))
    assert db.batches()["others"] == 0


@pytest.mark.parametrize("batch", ["orders", ("orders",), ("orders", -1), ("orders", "1"), (1, 1), ("orders", 1.5)])
def test_what_is_no_batch_is_refused(batch):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT)")
    with pytest.raises(ivm.TypeMismatchError, match="batch"):
        db.apply({"t": {"a": [1]}}, batch=batch)
    assert db.time == 0


def test_what_a_crash_left_is_cut_off_and_said(caplog):
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")
    db.apply({"t": {"a": [1]}})
    (name,) = log_files(disk)
    whole = disk.files()[name]
    with caplog.at_level(logging.WARNING, "ivm"):
        db = opened(Disk({name: whole + b"ivmR and so on"}))
    assert "the last 14 bytes" in caplog.text
    assert db.sql("SELECT * FROM t").fetchall() == [(1,)]
    db.apply({"t": {"a": [2]}})


def test_what_is_cut_off_is_kept_beside(caplog, monkeypatch):
    monkeypatch.setattr(remains, "_MOST_BYTES", 20)
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")
    for number in range(2, 8):
        db.close()
        files = disk.files()
        log = max(log_files(disk))
        left = b"half a record" + bytes(number % 2 * 20)
        disk = Disk({**files, log: files[log] + left * number})
        db = opened(disk)
        assert disk.files()[f"{number:020}.cut"] == (left * number)[:20].rstrip(b"\0")
        db.sql("INSERT INTO t VALUES (1)")
    assert [name for name in disk.names() if name.endswith(".cut")] == [f"{number:020}.cut" for number in (5, 6, 7)]
    files = disk.files()
    log = max(log_files(disk))
    for left, said in (bytes(50), "cut off: zeros"), (b"a letter", "cut off, and could not be kept: made to fail"):
        full = Disk({**files, log: files[log] + left})
        full.fails = {3: errno.ENOSPC} if any(left) else {}
        with caplog.at_level(logging.WARNING, "ivm"):
            assert opened(full).sql("SELECT count(*) FROM t").fetchall() == [(6,)]
        assert said in caplog.text
        assert f"{8:020}.cut" not in full.names()


def test_damage_before_what_was_settled_is_refused():
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")
    for n in range(3):
        db.apply({"t": {"a": [n]}})
    (name,) = log_files(disk)
    broken = bytearray(disk.files()[name])
    broken[len(broken) // 2] ^= 1
    with pytest.raises(ivm.StorageError, match=name):
        opened(Disk({name: bytes(broken)}))


def test_a_directory(tmp_path):
    path = tmp_path / "shop.ivm"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
        db.apply({"t": {"a": range(1000)}})
        with pytest.raises(ivm.StorageError, match=rf"this process \({os.getpid()}\) has it open"):
            ivm.connect(path)
    for durability in ("off", "interval", "commit"):
        with ivm.connect(str(path), compile="off", durability=durability, interval=0.01) as db:
            db.apply({"t": pa.table({"a": [2000 + db.time]})})
            db.verify()
    with ivm.connect(path, compile="off") as db:
        assert db.view("v").arrow().to_pylist() == [{"s": 499500 + 6003 + 3}]


@pytest.mark.parametrize("path", ["", "no/such/folder/shop.ivm", "/dev/null", "/proc/shop.ivm"])
def test_where_no_database_can_be(path):
    with pytest.raises(ivm.StorageError, match="cannot open database"):
        ivm.connect(path)


def test_a_directory_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ivm.StorageError, match="a directory of other files"):
        ivm.connect(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]


def test_in_memory_pays_nothing():
    code = "import ivm, sys; ivm.connect(':memory:').close(); sys.exit('ivm.durable.recovery' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
