"""A database in one piece, spread over shards."""

from __future__ import annotations

from unittest.mock import patch

import pytest

import ivm
from ivm.catalog.errors import Error
from ivm.cluster.driver.driver import Driver
from ivm.storage.directory_folder import DirectoryFolder
from tests.cluster import over_copies
from tests.cluster.test_recovering import TABLES, recovered, rows


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A directory, and what it has."""
    path = tmp_path_factory.mktemp("one") / "one.ivm"
    with ivm.connect(path) as db:
        db.sql(TABLES)
        db.sql("CREATE SCHEMA old; CREATE TABLE old.sale AS SELECT * FROM sale; CREATE MACRO twice(x) AS 2 * x")
        db.sql("CREATE MATERIALIZED VIEW again AS SELECT id, twice(price) AS p FROM sale")
        for n in range(20):
            db.apply({"sale": [{"id": n, "city": "Bern" if n % 3 else "Oslo", "price": n}]}, batch=("sales", n))
        db.sql("CHECKPOINT; DELETE FROM sale WHERE id = 7")
    with ivm.connect(path) as db:  # closing has given back numbers of the sequence
        return path, all_of(db)


def all_of(db):
    return db.time, db.batches(), sorted(each.name for each in db.views()), rows(db), db.sql("FROM again").fetchall()


def restore(db, path):
    """What `ivm.connect` gives with shards is a `Database` to types, which has no such thing."""
    db.restore(path)


def same(found, expected):
    assert found[:4] == expected[:4]
    assert sorted(found[4]) == sorted(expected[4])


@pytest.mark.parametrize("shards", [1, 3])
def test_in_one_process(one, shards):
    path, expected = one
    with ivm.connect(shards=shards) as db:
        restore(db, path)
        same(all_of(db), expected)
        assert len(db.verify()) == 3
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO sale VALUES (5, 'Bern', 1)")
        db.apply({"sale": [{"id": 77, "city": "Oslo", "price": 7}]}, batch=("sales", 20))
        db.apply({"sale": [{"id": 78, "city": "Oslo", "price": 7}]}, batch=("sales", 20))
        assert db.sql("SELECT count(*) FROM sale WHERE id > 70").fetchone() == (1,)
        db.sql("INSERT INTO old.sale SELECT * FROM sale; INSERT INTO seen VALUES ('z', nextval('numbers'), NULL)")
        assert db.sql("SELECT max(n) > 1 FROM seen").fetchone() == (True,)
        db.verify()
        with pytest.raises(ivm.InterfaceError, match="the database has something already"):
            restore(db, path)


def test_there_and_back_over_a_folder(one, tmp_path):
    path, expected = one
    with over_copies.connect(DirectoryFolder(tmp_path / "shop"), 3) as db:
        restore(db, path)
        same(all_of(db), expected)
    with over_copies.connect(DirectoryFolder(tmp_path / "shop")) as db:
        same(all_of(db), expected)
        db.sql("DELETE FROM sale WHERE id = 8")
        db.verify()
        expected = all_of(db)
    recovered(tmp_path / "shop", tmp_path / "back.ivm")
    with ivm.connect(tmp_path / "back.ivm") as db:
        same(all_of(db), expected)
        db.verify()


@pytest.mark.parametrize("at", ["bring", "leave_for", "put"])
def test_what_fails_leaves_nothing(one, tmp_path, at):
    path, expected = one
    with over_copies.connect(DirectoryFolder(tmp_path / "shop")) as db:
        with patch.object(Driver, at, side_effect=Error("no more")), pytest.raises(Error, match="no more"):
            restore(db, path)
        assert db.views() == []
        restore(db, path)
        same(all_of(db), expected)
    with over_copies.connect(DirectoryFolder(tmp_path / "shop")) as db:
        same(all_of(db), expected)


def test_a_driver_that_is_gone_leaves_nothing(one, tmp_path):
    path, expected = one
    killed = patch.object(Driver, "leave_for", side_effect=KeyboardInterrupt)
    with over_copies.connect(DirectoryFolder(tmp_path / "shop")) as db, killed, pytest.raises(KeyboardInterrupt):
        restore(db, path)
    with over_copies.connect(DirectoryFolder(tmp_path / "shop")) as db:
        assert (db.views(), db.time) == ([], 0)
        restore(db, path)
        same(all_of(db), expected)


def test_nothing_is_there(tmp_path):
    with ivm.connect(shards=2) as db, pytest.raises(ivm.StorageError, match="there is no database"):
        restore(db, tmp_path / "none.ivm")
    with ivm.connect(tmp_path / "empty.ivm"):
        pass
    with ivm.connect(shards=2) as db:
        restore(db, tmp_path / "empty.ivm")
        db.sql("CREATE TABLE t (a BIGINT)")


def test_a_table_that_shards_cannot_have_is_named(tmp_path):
    with ivm.connect(tmp_path / "one.ivm") as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, b BIGINT) PARTITIONED BY (b)")
    with ivm.connect(shards=2) as db, pytest.raises(ivm.UnsupportedError, match="cannot create table t: its rows"):
        restore(db, tmp_path / "one.ivm")
