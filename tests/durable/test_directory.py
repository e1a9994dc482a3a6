"""A directory is the one that was opened, whatever is done to its path, and nothing in it leads elsewhere."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from functools import partial

import pytest

import ivm
from ivm.durable import copying, opening
from ivm.durable.outline import outline
from ivm.storage.directory import Directory
from ivm.storage.log import log_name
from tests.durable.opening import call

connect = partial(ivm.connect, compile="off")
PRECIOUS = "what is precious to somebody\n" * 9


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A database with a checkpoint and a log."""
    path = tmp_path_factory.mktemp("saved") / "shop.ivm"
    with connect(path) as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); INSERT INTO t VALUES (1)")
        db.sql("CHECKPOINT")
        db.sql("INSERT INTO t VALUES (2)")
        return shutil.copytree(path, path.with_name("killed.ivm"))


@pytest.fixture
def shop(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "shop.ivm")


def _rows(path):
    with connect(path, read_only=True) as db:
        return [a for (a,) in db.sql("SELECT a FROM t ORDER BY a").fetchall()]


def _contents(path):
    return {each.name: each.read_bytes() for each in path.iterdir()}


def _said(use):
    try:
        return use()
    except ivm.StorageError as error:
        return str(error)


def test_a_renamed_directory_goes_on_and_what_has_its_path_is_not_touched(saved, shop, tmp_path):
    old = tmp_path / "old.ivm"
    with connect(shop) as db:
        shop.rename(old)
        shutil.copytree(saved, shop)
        with connect(shop) as other:
            other.sql("INSERT INTO t VALUES (10)")
            db.sql("INSERT INTO t VALUES (3)")
            db.sql("CHECKPOINT")
            db.sql("INSERT INTO t VALUES (4)")
            db.backup(tmp_path / "copy.ivm")
            other.sql("CHECKPOINT")
        before = _contents(shop)
        db.sql("CHECKPOINT; INSERT INTO t VALUES (5)")
        assert _contents(shop) == before
    assert _contents(shop) == before
    assert [_rows(path) for path in (shop, old, tmp_path / "copy.ivm")] == [[1, 2, 10], [1, 2, 3, 4, 5], [1, 2, 3, 4]]


@pytest.mark.parametrize("durability", ["commit", "off"])
def test_what_others_may_have_by_now_is_not_written_to(shop, durability):
    db = connect(shop, durability=durability)
    db.sql("INSERT INTO t VALUES (3); CHECKPOINT")
    (shop / "LOCK").unlink()  # as if it were a stale one
    with connect(shop) as other:
        other.sql("INSERT INTO t VALUES (4)")
        before = _contents(shop)
        with pytest.raises(ivm.StorageError, match="removed or replaced LOCK") as raised:
            for a in range(5, 100_000):
                db.sql(f"INSERT INTO t VALUES ({a})")
        assert "close the database, and open it again" in str(raised.value)
        for use in (lambda: db.sql("CHECKPOINT"), db.close):
            assert ("removed or replaced LOCK" in str(_said(use))) == (durability == "off")  # else all is written
        assert _contents(shop) == before
        other.sql("INSERT INTO t VALUES (5)")
    assert _rows(shop) == [1, 2, 3, 4, 5]


def test_a_database_whose_lock_was_removed_is_opened_again(shop):
    (shop / "LOCK").unlink()
    assert _rows(shop) == [1, 2]
    with connect(shop) as db:
        db.sql("INSERT INTO t VALUES (3)")
    assert _rows(shop) == [1, 2, 3]


def test_a_log_that_was_removed_takes_no_commit(shop):
    db = connect(shop)
    (shop / log_name(3)).unlink()
    for use in (lambda: db.sql("INSERT INTO t VALUES (3)"), db.close):
        assert "could not be synced: somebody has removed it" in str(_said(use))


KINDS = {
    "a symbolic link": lambda path, victim: path.symlink_to(victim),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a directory": lambda path, _: path.mkdir(),
}
NAMES = ("LOCK", "MANIFEST", log_name(3), log_name(4), "rows-1.arrows")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_it_is_followed_or_waited_for(shop, tmp_path, name, kind):
    victim = tmp_path / "victim"
    if (shop / name).exists():
        (shop / name).rename(victim)
    else:
        victim.write_text(PRECIOUS)
    KINDS[kind](shop / name, victim)
    before = victim.read_bytes()
    recovered = call("recover", shop, "--out", tmp_path / "copy.ivm")
    said = [
        _said(lambda: connect(shop)),
        _said(lambda: connect(shop, read_only=True)),
        call("check", shop).stderr,
        f"{recovered.stderr} {recovered.exception}",
    ]
    for each in said if name != "LOCK" else said[:1]:  # which who reads has no use for
        assert name in each
        assert f"it is {kind}" in each
        assert "put the file itself there" in each
    assert victim.read_bytes() == before


@pytest.mark.parametrize("kind", [*KINDS, "a hard link"])
def test_what_is_aside_of_a_checkpoint_is_not_written_through(shop, tmp_path, kind):
    victim = tmp_path / "victim"
    victim.write_text(PRECIOUS)
    KINDS.get(kind, lambda path, victim: path.hardlink_to(victim))(shop / ".MANIFEST.new", victim)
    with connect(shop) as db:
        db.sql("INSERT INTO t VALUES (3)")
        said = _said(lambda: db.sql("CHECKPOINT"))
    assert (".MANIFEST.new cannot be written: Is a directory" in str(said)) == (kind == "a directory")
    assert victim.read_text() == PRECIOUS
    assert _rows(shop) == [1, 2, 3]


@pytest.mark.parametrize("name", ["LOCK", log_name(3)])
def test_what_has_another_name_too_is_not_written_to(shop, tmp_path, name):
    (tmp_path / "victim").hardlink_to(shop / name)
    before = (shop / name).read_bytes()
    with pytest.raises(ivm.StorageError, match=rf"{name}: it has another name too \(a hard link\)"):
        connect(shop)
    assert (shop / name).read_bytes() == before
    assert _rows(shop) == [1, 2]
    assert call("check", shop).exit_code == 0


def test_a_file_system_without_locks_is_not_another_process(shop, monkeypatch):
    def no(handle, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", no)
        with pytest.raises(ivm.StorageError, match=r"cannot lock a file \(flock: No locks available\)") as raised:
            connect(shop)
        assert "read_only=True" in str(raised.value)
        assert _rows(shop) == [1, 2]
        with pytest.raises(ivm.StorageError, match="cannot lock"):
            connect(shop.with_name("new.ivm"))
    connect(shop).close()


@pytest.mark.parametrize("path", ["a\0b.ivm", "a\ud800.ivm", b"a\0b.ivm", ""])
def test_what_can_be_no_path_is_refused(shop, tmp_path, path):
    with connect(shop) as db:
        uses = [
            lambda: connect(path),
            lambda: connect(path, read_only=True),
            lambda: db.backup(path),
            lambda: outline(path),
        ]
        for use in uses:
            with pytest.raises(ivm.StorageError, match=r"its name (is empty|holds a NUL|holds half of)"):
                use()
    with pytest.raises(ivm.TypeMismatchError, match="a path is given as a str"):
        connect(5)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == ["shop.ivm"]


def test_names_are_told_whole_to_all_threads(shop):
    directory, found = Directory(shop), set()
    for n in range(2000):
        (shop / f"file-{n}").touch()

    def work():
        for _ in range(30):
            found.add(len(directory.names()))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    directory.close()
    assert len(found) == 1


def test_of_those_who_make_a_directory_one_has_it(tmp_path):
    made, refused, together = [], [], threading.Barrier(3)

    def work():
        together.wait()
        try:
            made.append(Directory(tmp_path / "shop.ivm"))
        except ivm.StorageError as error:
            refused.append(str(error))

    for _ in range(50):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(made) == 1
        made.pop().close()
        shutil.rmtree(tmp_path / "shop.ivm")
    assert all("has it open" in each for each in refused)


def test_what_is_not_opened_is_let_go(shop, monkeypatch):
    def fails(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(opening, "open_storage", fails)
        with pytest.raises(MemoryError):
            connect(shop)
        with pytest.raises(MemoryError):
            opening.held(fails, shop, "commit", 1.0, None)
    connect(shop).close()


def test_a_backup_goes_on_beside_others_of_the_same_name(shop, tmp_path):
    target = tmp_path / "copy.ivm"
    with connect(shop) as db:
        (tmp_path / f".copy.ivm.{os.getpid()}").mkdir()  # of a process of the same number, which was killed
        with copying.new_directory(target) as aside:
            (aside / "file").touch()
            db.backup(target)
            assert (aside / "file").exists()
            shutil.rmtree(target)
        with pytest.raises(ivm.StorageError, match="there is something already"):
            db.backup(target)
    assert os.listdir(target) == ["file"]


def test_a_backup_that_may_not_be_found_again_is_not_there(shop, tmp_path, monkeypatch):
    def fails(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with connect(shop) as db, monkeypatch.context() as patched:
        patched.setattr(copying, "sync_directory", fails)
        with pytest.raises(ivm.StorageError, match="Input/output error; nothing is left there"):
            db.backup(tmp_path / "copy.ivm")
    assert os.listdir(tmp_path) == ["shop.ivm"]
