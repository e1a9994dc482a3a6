"""`ivm check` and `ivm recover` over whole and damaged files, and backups of a database that is written."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest

import ivm
from ivm.durable.copying import new_directory
from ivm.durable.history import history, whole_before
from ivm.storage import record
from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.certain import note
from ivm.storage.directory import Directory
from ivm.storage.open_directory import DirectoryFile
from tests.durable.opening import begin_file, call, contents, killed


@pytest.fixture
def path(tmp_path):
    """Records: 1 a table, 2 to 6 commits of times 1 to 5, 7 a view, 8 commits times 7 to 9, 9 drops the view."""
    with TemporaryDirectory() as place, ivm.connect(Path(place, "shop.ivm"), compile="off") as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
        for n in range(5):
            db.apply({"t": {"a": [n]}})
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
        db.apply({"t": [{"a": time, "_time": time} for time in (7, 8, 9)]})
        db.sql("DROP VIEW v")
        return killed(db, Path(place, "shop.ivm"), tmp_path / "shop.ivm")


def _ends(path):
    return [each.end for each in whole_before(list(history(Directory(path, writable=False), 0)))]


def _log(path):
    return next(Path(path).glob("*.log"))


def _flip(path, at):
    data = bytearray(_log(path).read_bytes())
    data[at] ^= 4
    _log(path).write_bytes(data)


def _files(path):
    return {each.name: each.read_bytes() for each in Path(path).iterdir()}


def test_a_whole_database(path):
    done = call("check", path)
    assert (done.exit_code, done.stdout) == (0, f"{path}: whole up to record 9, at time 9\n")
    done = call("check", path, "--json", "--deep")
    said = {"path": str(path), "whole": True, "record": 9, "time": 9, "problems": [], "verified": []}
    assert json.loads(done.stdout) == said


def _lost(log, ends):
    """What a disk may make of a log, by what that is called."""
    flipped = bytearray(log)
    flipped[ends[-2] + 50] ^= 1
    return {
        "emptied": b"",
        "zeros": bytes(len(log)),
        "an early end": log[: ends[3]],
        "without the last": log[: ends[-2]],
        "a bit of the last": bytes(flipped),
        "the last one cut": log[:-1],
    }


def test_what_was_acknowledged_and_is_lost_is_known(path, tmp_path):
    log, name = _log(path).read_bytes(), _log(path).name
    for what, damaged in _lost(log, _ends(path)).items():
        (path / name).write_bytes(damaged)
        before, done = _files(path), call("check", path, "--deep")
        assert done.exit_code == 1, what
        assert "record 9 was written and synced" in done.stderr, what
        for read_only in (False, True):
            with pytest.raises(ivm.StorageError, match="record 9 was written and synced"):
                ivm.connect(path, compile="off", read_only=read_only)
        assert _files(path) == before, "nothing is cut off"
        done = call("recover", path, "--out", tmp_path / f"{what}.ivm")
        assert done.exit_code == 0
        assert "which was acknowledged" in done.stderr
        assert call("check", tmp_path / f"{what}.ivm").exit_code == 0
        ivm.connect(tmp_path / f"{what}.ivm", compile="off").close()


@pytest.mark.parametrize("told", [None, b"", note(9)[:-1] + b"x"])
def test_where_it_is_not_known_that_is_said_and_what_is_cut_off_is_kept(path, tmp_path, told):
    ends, log = _ends(path), _log(path).name
    files = {name: data for name, data in _files(path).items() if name != CERTAIN}
    for what, damaged in _lost(files[log], ends).items():
        copy = tmp_path / f"{what}.ivm"
        copy.mkdir()
        for name, data in (files | {log: damaged} | ({} if told is None else {CERTAIN: told})).items():
            (copy / name).write_bytes(data)
        done = call("check", copy)
        assert done.exit_code == 0
        assert "that were acknowledged is not known" in done.stderr
        ivm.connect(copy, compile="off").close()
        kept = {each.name: each.read_bytes() for each in copy.glob("*.cut")}
        said = damaged[ends[-2] :].rstrip(b"\0")  # zeros fill a record up, and what is reserved
        assert kept == ({f"{9:020}.cut": said} if what in ("a bit of the last", "the last one cut") else {})
        assert call("check", copy).stderr == ""


def test_deep_opens_and_compares(path):
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
        assert call("check", path, "--deep").stdout.splitlines()[1] == "1 view equal DuckDB"
        assert db.time == 9


def test_what_a_crash_left_is_told_and_harmless(path):
    with _log(path).open("ab") as file:
        file.write(b"ivmR and a half")
    done = call("check", path)
    assert done.exit_code == 0
    assert "its last 15 bytes are no whole record" in done.stderr
    assert "nobody was told" in done.stderr
    assert json.loads(call("check", path, "--json").stdout)["problems"][0]["harmless"]


def test_each_damaged_file_is_named_with_what_is_affected(path):
    ends, before = _ends(path), None
    _flip(path, ends[3] + 60)  # record 5, of time 4
    before = _files(path)
    done = call("check", path, "--deep")
    assert done.exit_code == 1
    assert f"{_log(path)}: record 5, bytes {ends[3]} to {ends[4]}, cannot be read" in done.stderr
    assert (
        "after record 4, at time 3, cannot be opened; of it 4 records are whole, up to record 9, at time 9"
        in done.stderr
    )
    assert "whole only up to record 4, at time 3; `ivm recover" in done.stdout
    with pytest.raises(ivm.StorageError, match="`ivm recover` makes a copy"):
        ivm.connect(path, compile="off")
    assert _files(path) == before


def test_a_missing_file_of_the_log_and_one_that_cannot_be_understood(path):
    _log(path).rename(path / f"{11:020}.log")
    done = call("check", path)
    assert done.exit_code == 1
    assert "begins at record 11, where record 1 is expected" in done.stderr
    (path / f"{11:020}.log").unlink()
    (path / f"{1:020}.log").write_bytes(_record(1, b"\x02\0\0\0[]") + _record(2, b"") + _record(3, b"", version=9))
    done = call("check", path)
    assert done.exit_code == 1
    assert "record 1 cannot be understood" in done.stderr
    assert "version 9" in done.stderr


def _record(number, payload, version=1):
    with patch.object(record, "VERSION", version):
        return b"".join(map(bytes, record.written(1, number, number - 1, [payload])))


@pytest.mark.parametrize("command", [["check"], ["check", "--deep"], ["recover", "--out", "copy.ivm"]])
def test_what_is_no_database(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = call(*command, "nothing.ivm")
    assert isinstance(done.exception, ivm.StorageError)
    assert "there is no database" in str(done.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("to", "time", "rows", "views", "left"),
    [(0, 0, 0, 0, 8), (1, 1, 1, 0, 7), (5, 5, 5, 0, 3), (8, 5, 5, 0, 3), (9, 9, 8, 1, 1), (None, 9, 8, 0, 0)],
)
def test_a_copy_as_of_a_commit(path, tmp_path, to, time, rows, views, left):
    before, out = _files(path), tmp_path / "copy.ivm"
    done = call("recover", path, "--out", out, *([] if to is None else ["--to", to]))
    assert done.exit_code == 0, done.exception
    later = f", without {left} later step{'' if left == 1 else 's'}" if left else ""
    assert done.stdout == f"{out}: as of time {time}{later}\n"
    assert _files(path) == before
    with ivm.connect(out, compile="off") as db:
        assert (db.time, [table.rows for table in db.tables()], len(db.views())) == (time, [rows], views)
        db.verify()
        db.apply({"t": {"a": [100]}})
    assert sorted(os.listdir(tmp_path)) == ["copy.ivm", "shop.ivm"]


def test_a_copy_of_what_is_before_damage(path, tmp_path):
    _flip(path, _ends(path)[3] + 60)
    done = call("recover", path, "--out", tmp_path / "copy.ivm")
    assert done.exit_code == 0
    assert "as of time 3" in done.stdout
    assert "lost: " in done.stderr
    assert "of it 4 records are whole" in done.stderr
    with ivm.connect(tmp_path / "copy.ivm", compile="off") as db:
        assert db.time == 3
    done = call("recover", path, "--out", tmp_path / "other.ivm", "--to", "5")
    assert "what is whole of its log goes from time 0 to 3; give one of these" in str(done.exception)
    done = call("recover", path, "--out", tmp_path / "copy.ivm")
    assert "there is something already" in str(done.exception)
    assert sorted(os.listdir(tmp_path)) == ["copy.ivm", "shop.ivm"]


def test_a_backup_while_others_commit(tmp_path):
    path, out, stop = tmp_path / "shop.ivm", tmp_path / "copy.ivm", threading.Event()
    out.mkdir()
    with ivm.connect(path, compile="off", durability="off") as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")

        def work():
            while not stop.is_set():
                db.apply({"t": {"a": [db.time]}})

        worker = threading.Thread(target=work)
        worker.start()
        while db.time < 50:
            os.sched_yield()
        time = db.time
        db.backup(out)
        after = db.time
        stop.set()
        worker.join()
        with ivm.connect(out, compile="off") as copy:
            assert time <= copy.time <= after
            assert copy.view("v").fetchall() == [(copy.time,)]
            copy.verify()
        db.backup(tmp_path / "again.ivm")
        with ivm.connect(tmp_path / "again.ivm", compile="off", read_only=True) as copy:
            assert contents(copy) == contents(db)
            with pytest.raises(ivm.InterfaceError, match="only read"):
                copy.backup(tmp_path / "third.ivm")
        for taken in (path, out, "", tmp_path / "no" / "where.ivm"):
            with pytest.raises(ivm.StorageError, match="nothing is left there"):
                db.backup(taken)
    with pytest.raises(ivm.InterfaceError, match="in memory"):
        ivm.connect(compile="off").backup(tmp_path / "third.ivm")


def test_a_log_of_several_files(tmp_path):
    path = tmp_path / "shop.ivm"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
        for n in range(4):
            begin_file(db)
            db.apply({"t": {"a": [n]}})
        begin_file(db)
        db.backup(tmp_path / "copy.ivm")
        killed(db, path, tmp_path / "killed.ivm")
    assert "whole up to record 5, at time 4" in call("check", tmp_path / "copy.ivm").stdout
    assert call("recover", tmp_path / "killed.ivm", "--to", "2", "--out", tmp_path / "before.ivm").exit_code == 0
    with ivm.connect(tmp_path / "before.ivm", compile="off") as db:
        assert db.sql("SELECT max(a) FROM t").fetchall() == [(1,)]
    (tmp_path / "killed.ivm" / f"{3:020}.log").unlink()
    done = call("check", tmp_path / "killed.ivm")
    assert done.exit_code == 1
    assert f"{4:020}.log: it begins at record 4, where record 3 is expected" in done.stderr
    assert "after record 2, at time 1, cannot be opened; of it 2 records are whole, up to record 5" in done.stderr


@pytest.fixture
def saved(tmp_path):
    """A checkpoint at time 3, a table that is made at that time, and a commit at time 4."""
    with TemporaryDirectory() as place, ivm.connect(Path(place, "shop.ivm"), compile="off") as db:
        db.sql(
            "CREATE TABLE t (a BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT a % 2, sum(a) FROM t GROUP BY 1"
        )
        for n in range(3):
            db.apply({"t": {"a": [n]}}, batch=("source", n))
        db.sql("CHECKPOINT; CREATE TABLE later (a BIGINT)")
        db.sql("DELETE FROM t WHERE a = 1")
        assert db.time == 4
        return killed(db, Path(place, "shop.ivm"), tmp_path / "shop.ivm")


def test_copies_of_a_checkpoint(saved, tmp_path):
    assert "whole up to record 7, at time 4" in call("check", saved, "--deep").stdout
    for to, tables in (3, 1), (4, 2), (None, 2):
        out = tmp_path / f"{to}.ivm"
        done = call("recover", saved, "--out", out, *([] if to is None else ["--to", to]))
        assert done.exit_code == 0, done.exception
        with ivm.connect(out, compile="off") as db:
            assert (db.time, len(db.tables()), db.batches()) == (to or 4, tables, {"source": 2})
            db.verify()
            assert not [each for each in call("check", out).stderr.splitlines() if "affects" in each]
            db.backup(tmp_path / f"{to}-copy.ivm")
            db.sql("INSERT INTO t VALUES (7); CHECKPOINT")
            db.backup(tmp_path / f"{to}-checkpoint.ivm")
            with ivm.connect(tmp_path / f"{to}-checkpoint.ivm", compile="off") as copy:
                assert contents(copy) == contents(db)
        assert "whole up to" in call("check", tmp_path / f"{to}-copy.ivm").stdout
    for to in 2, 5:
        done = call("recover", saved, "--out", tmp_path / "copy.ivm", "--to", to)
        assert f"as of time {to}: its log goes from time 3 to 4; give one of these" in str(done.exception)


def test_each_file_of_a_checkpoint_that_is_damaged_is_named(saved):
    for file in sorted(saved.iterdir()):
        whole = file.read_bytes()
        if file.name == "LOCK" or not whole:
            continue
        for damaged in (whole[:-1], whole[:10] + bytes([whole[10] ^ 1]) + whole[11:], None):
            file.unlink() if damaged is None else file.write_bytes(damaged)
            done = call("check", saved)
            assert done.exit_code == (0 if file.name == CERTAIN else 1), (file, done.stdout)
            assert file.name in done.stderr or (file.name == "MANIFEST" and damaged is None)
            affected = {
                "state": "which can be made again",
                "rows": "rows of table t",
                "MANIFEST": "nothing can be opened",
            }
            assert affected.get(file.name.partition("-")[0], "") in done.stderr or damaged is None
            file.write_bytes(whole)
    assert call("check", saved).exit_code == 0


def test_what_no_copy_can_do_without(saved, tmp_path):
    rows = next(saved.glob("rows-*"))
    rows.write_bytes(rows.read_bytes()[:-1])
    done = call("recover", saved, "--out", tmp_path / "copy.ivm")
    assert isinstance(done.exception, ivm.StorageError)
    assert str(rows) in str(done.exception)
    assert os.listdir(tmp_path) == ["shop.ivm"]


@pytest.mark.parametrize("fails", ["write", "sync"])
def test_of_a_backup_that_fails_nothing_is_left(tmp_path, monkeypatch, fails):
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        db.sql("CREATE TABLE t (a BIGINT)")
        good = getattr(DirectoryFile, fails)

        def bad(self, *given):
            if "copy.ivm" in os.readlink(f"/proc/self/fd/{self._handle}"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return good(self, *given)

        monkeypatch.setattr(DirectoryFile, fails, bad)
        with pytest.raises(ivm.StorageError, match="No space left"):
            db.backup(tmp_path / "copy.ivm")
        assert os.listdir(tmp_path) == ["shop.ivm"]
        db.sql("INSERT INTO t VALUES (1)")


def test_what_is_filled_is_there_whole_or_not_at_all(tmp_path):
    with pytest.raises(ZeroDivisionError), new_directory(tmp_path / "a") as aside:
        (aside / "b").touch()
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
