"""One shard of a cluster's folder, opened by itself: it shows what it has, whatever becomes of the folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree

import pytest
from pyarrow import fs

import ivm
from ivm.cluster.driver.database import ShardedDatabase
from ivm.storage.arrow_folder import ArrowFolder
from ivm.storage.directory_folder import DirectoryFolder
from ivm.storage.storage import Shared
from tests.cluster import over_copies
from tests.cluster.test_filling import driver
from tests.cluster.test_recovering import files, flip
from tests.durable.opening import call

TABLES = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR UNIQUE, price BIGINT, up BIGINT REFERENCES sale)
    WITH (check_foreign_keys = true);
CREATE MATERIALIZED VIEW revenue AS SELECT country, sum(price) AS total FROM sale JOIN city ON city < name || 'x'
    GROUP BY country;
CREATE MATERIALIZED VIEW best AS SELECT * FROM sale ORDER BY price DESC LIMIT 3;
CREATE MATERIALIZED VIEW countries AS SELECT DISTINCT country FROM city;
CREATE VIEW many AS SELECT count(*) AS n FROM sale;
INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO');
"""
SPREAD, WHOLE = ("sale", "revenue", "best"), ("city", "countries")


def rows(db: ivm.Database, name: str) -> Counter[str]:
    return Counter(map(str, db.sql(f"FROM {name}").fetchall()))


def added(several: Iterable[Counter[str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in several:
        found += each
    return found


def check(db: ShardedDatabase, path: str) -> None:
    """All shards together have what the database has."""
    shards = driver(db).transport.shards
    opened = [ivm.connect(path, read_only=True, shard=number, compile="off") for number in range(shards)]
    for name in SPREAD:
        assert added(rows(each, name) for each in opened) == rows(db, name)
        assert added(Counter(map(str, each.sql(f"SELECT * FROM {name}").fetchall())) for each in opened) == rows(
            db, name
        )
    for name in WHOLE:
        assert all(rows(each, name) == rows(db, name) for each in opened)
    assert sum(each.sql("FROM many").fetchall()[0][0] for each in opened) == len(db.sql("FROM sale").fetchall())
    for each in opened:
        assert (each.time, each.tables()[0].name) == (db.time, "city")
        assert [view.name for view in each.views()] == [view.name for view in db.views()]
        said = {name: (where, count) for name, _, where, count in each.sql("FROM ivm_shard").fetchall()}
        assert said["sale"] == ("hashed by id", len(each.sql("FROM sale").fetchall()))
        assert said["city"] == ("on every shard", 2)
        assert "many" not in said
        each.close()


def commits(db: ivm.Database, count: int) -> None:
    first = db.sql("SELECT coalesce(max(id), 0) FROM sale").fetchall()[0][0] + 1
    for n in range(first, first + count):
        db.sql(f"INSERT INTO sale VALUES ({n}, 'Oslo {n}', {n % 7}, NULL)")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shared:
    """An object store, whose buckets are in a directory."""
    files = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())

    class Stores:
        @staticmethod
        def from_uri(uri: str) -> tuple[fs.FileSystem, str]:
            return files, uri.partition("://")[2].partition("?")[0]

    monkeypatch.setattr(fs, "FileSystem", Stores)
    return ArrowFolder(files, "bucket/shop")


def test_all_together_are_the_database_whatever_has_happened(tmp_path):
    path = str(tmp_path / "shop")
    db = over_copies.connect(DirectoryFolder(path), 3)
    with db:
        db.sql(TABLES)
        check(db, path)  # nothing is saved yet
        commits(db, 20)
        assert len(files(Path(path), "snapshots")) >= 3
        db.sql("CREATE OR REPLACE VIEW many AS SELECT count(id) AS n FROM sale")
        check(db, path)
        db.sql("DELETE FROM sale WHERE id % 3 = 0; ALTER TABLE sale RENAME COLUMN price TO cost; DROP VIEW best")
        db.sql("CREATE MATERIALIZED VIEW best AS SELECT city, cost FROM sale WHERE cost > 3")
        check(db, path)
        with ivm.connect(path, read_only=True, shard=1) as one:
            before = rows(one, "sale")
            db.rescale(2)
            commits(db, 2)
            assert rows(one, "sale") == before
        check(db, path)
    with ivm.connect(path, read_only=True, shard=1) as one, pytest.raises(ivm.InterfaceError, match="over 2 shards"):
        ivm.connect(path, read_only=True, shard=2)
    assert one.closed


def test_in_an_object_store(store):
    db = over_copies.connect(store, 2)
    with db:
        db.sql(TABLES)
        commits(db, 12)
        check(db, "s3://bucket/shop")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "shop"
    with over_copies.connect(DirectoryFolder(path), 2) as db:
        db.sql(TABLES)
        commits(db, 30)
    return path


def test_it_is_only_looked_at(made):
    before = {each: each.read_bytes() for each in files(made, ".")}
    told: list[ivm.Progress] = []
    with ivm.connect(made, read_only=True, shard=0, progress=told.append) as one:
        assert told
        assert told[-1].rows == told[-1].expected
        for text in ("INSERT INTO city VALUES ('Rom', 'IT')", "DROP VIEW best", "CREATE TABLE t (a INT)"):
            with pytest.raises(ivm.AccessError, match="cannot change shard 0 of 2 of"):
                one.sql(text)
        with pytest.raises(ivm.AccessError, match="only looked at"):
            one.apply({"city": [{"name": "Rom", "country": "IT"}]})
        with pytest.raises(ivm.UnsupportedError, match="cannot verify views of shard 0 of 2"):
            one.verify()
        with pytest.raises(ivm.UnsupportedError, match="cannot tell what would be in shard 0 of 2"):
            one.what_if()
        assert "table sale" in one.explain("SELECT price, count(*) FROM sale GROUP BY price")
        views = {each["view"] for each in one.sql("FROM ivm_views").arrow().to_pylist()}
        assert views >= {"revenue", "best", "countries"}
        with one.snapshot() as snapshot:
            assert snapshot.sql("FROM many").fetchall() == one.sql("FROM many").fetchall()
    assert {each: each.read_bytes() for each in files(made, ".")} == before


def test_what_is_no_shard_is_refused(made, tmp_path):
    for number, error, what in (
        (2, ivm.InterfaceError, "cannot open shard 2 of .*: it is over 2 shards"),
        (-1, ivm.TypeMismatchError, "shard is -1"),
        ("0", ivm.TypeMismatchError, "shard is a str"),
    ):
        with pytest.raises(error, match=what):
            ivm.connect(made, read_only=True, shard=number)  # type: ignore[arg-type]
    for path, more in ((made, {}), (None, {"read_only": True}), (made, {"read_only": True, "shards": 2})):
        with pytest.raises(ivm.UnsupportedError, match="give a cluster's folder and read_only=True"):
            ivm.connect(path, shard=0, **more)
    with pytest.raises(ivm.UnsupportedError, match="without follow"):
        ivm.connect(made, shard=0, read_only=True, follow=True)
    with pytest.raises(ivm.StorageError, match="there is no database over shards"):
        ivm.connect(tmp_path / "none", read_only=True, shard=0)
    assert not (tmp_path / "none").exists()
    with ivm.connect(tmp_path / "one.ivm"), pytest.raises(ivm.StorageError, match="in one piece; leave shard out"):
        ivm.connect(tmp_path / "one.ivm", read_only=True, shard=0)

    def ends(now: ivm.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ivm.connect(made, read_only=True, shard=0, progress=ends)


def test_what_is_damaged_is_named_or_made_up_for(made, tmp_path):
    folder = Path(copytree(made, tmp_path / "shop"))
    with ivm.connect(folder, read_only=True, shard=1) as one:
        expected = rows(one, "sale")
    flip(files(folder, "snapshots/1")[-1])
    with ivm.connect(folder, read_only=True, shard=1) as one:
        assert rows(one, "sale") == expected
    log = files(folder, "logs")[-1]
    flip(log)
    opened, failed = 0, ""
    for number in range(2):  # the last commit was given to one of them
        try:
            ivm.connect(folder, read_only=True, shard=number).close()
            opened += 1
        except ivm.StorageError as error:
            failed = str(error)
    assert opened == 1
    assert str(log) in failed
    assert str(log) in call("check", folder).output
