"""`ivm check` and `ivm recover` over a cluster's folder, whole and damaged."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from shutil import copytree

import pytest

import ivm
from ivm.cluster.files.checking import checked
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import Files
from ivm.cluster.shard import recovering
from ivm.storage.directory_folder import DirectoryFolder
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder
from tests.cluster.test_filling import driver
from tests.durable.opening import call

TABLES = """
    CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR REFERENCES city, price DECIMAL(9,2) NOT NULL);
    CREATE TABLE seen (what VARCHAR, n BIGINT, tags VARCHAR[]);
    CREATE SEQUENCE numbers;
    CREATE MATERIALIZED VIEW revenue AS
        SELECT country, sum(price) AS total FROM sale JOIN city ON sale.city = city.name GROUP BY country;
    CREATE MATERIALIZED VIEW dear AS SELECT * FROM sale WHERE price > 2;
    CREATE VIEW pair AS SELECT * FROM revenue CROSS JOIN dear;
    INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO');
    INSERT INTO seen VALUES ('x', 1, ['a', NULL]), ('x', 1, ['a', NULL]), (NULL, NULL, NULL), ('y', nextval('numbers'), []);
"""
READ = [f"SELECT * FROM {name} ORDER BY ALL" for name in ("city", "sale", "seen", "revenue", "dear", "pair")]


def rows(db):
    return [db.sql(each).fetchall() for each in READ]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder, and what it has by its logical time."""
    folder, seen = tmp_path_factory.mktemp("made") / "shop", {}
    with over_copies.connect(DirectoryFolder(folder)) as db:
        db.sql(TABLES)
        for n in range(40):
            db.apply({"sale": [{"id": n, "city": "Bern" if n % 3 else "Oslo", "price": n}]}, batch=("sales", n))
            seen[db.time] = rows(db)
            if n % 7 == 6:
                db.sql(f"DELETE FROM sale WHERE id = {n - 3}")
                seen[db.time] = rows(db)
    with over_copies.connect(DirectoryFolder(folder)) as db:  # closing has given back numbers of the sequence
        seen[db.time] = rows(db)
    return folder, seen


@pytest.fixture
def shop(made, tmp_path):
    """A copy of it."""
    return Path(copytree(made[0], tmp_path / "shop")), made[1]


def files(folder, under):
    return sorted(each for each in (folder / under).rglob("*") if each.is_file())


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def rescaled(db, shards):
    db.rescale(shards)


def recovered(folder, out, *more):
    done = call("recover", folder, "--out", out, *more)
    assert done.exit_code == 0, done.output
    return done


def test_all_of_a_folder_is_one_database(shop, tmp_path):
    folder, seen = shop
    last = max(seen)
    done = call("check", folder)
    assert (done.exit_code, done.stdout) == (0, f"{folder}: whole up to version 56, at time {last}\n")
    assert json.loads(call("check", folder, "--json").stdout)["problems"] == []
    before = {each: each.read_bytes() for each in files(folder, ".")}
    done = recovered(folder, tmp_path / "one.ivm")
    assert done.stdout == f"{tmp_path / 'one.ivm'}: as of time {last}\n"
    assert {each: each.read_bytes() for each in files(folder, ".")} == before
    with ivm.connect(tmp_path / "one.ivm") as db:
        assert rows(db) == seen[last]
        assert (db.time, db.batches()) == (last, {"sales": 39})
        assert len(db.verify()) == 2
        assert not db.apply({"sale": [{"id": 99, "city": "Bern", "price": 1}]}, batch=("sales", 39)) > last
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO sale VALUES (5, 'Bern', 1)")
        db.sql("INSERT INTO seen VALUES ('z', nextval('numbers'), NULL)")
        assert db.sql("SELECT max(n) > 1 FROM seen").fetchone() == (True,)
    assert call("check", tmp_path / "one.ivm", "--deep").exit_code == 0


def test_a_folder_in_use_that_is_cleaned_is_whole(tmp_path):
    folder = MemoryFolder()
    files, done = Files(folder, (0,)), threading.Event()
    with over_copies.connect(folder) as db:
        db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")

        def work():
            for n in range(90):
                db.apply({"t": [{"a": n}]})
                if n % 30 == 29:
                    clean(files, driver(db).version)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            assert checked(files).problems == []
        thread.join()
    found = checked(files)
    assert (found.problems, found.last.version) == ([], found.newest)
    assert min(found.whole) > 60, "it was cleaned"
    recovering.recovered(found, tmp_path / "one.ivm")
    with ivm.connect(tmp_path / "one.ivm") as one:
        assert one.view("v").fetchall() == [(90 * 89 // 2,)]


def test_as_of_a_time(shop, tmp_path):
    folder, seen = shop
    whole = checked(Files(DirectoryFolder(folder)))
    for time in (max(seen), whole.versions[whole.whole[0]].time):
        recovered(folder, tmp_path / f"{time}.ivm", "--to", str(time))
        with ivm.connect(tmp_path / f"{time}.ivm", read_only=True) as db:
            assert db.time == time
            assert time not in seen or rows(db) == seen[time]


@pytest.mark.parametrize("what", ["cut", "flip", "gone"])
@pytest.mark.parametrize("under", ["commits", "logs", "plans", "snapshots/0", "snapshots/1", "pieces/0", "pieces/1"])
def test_a_file_that_is_damaged(shop, tmp_path, under, what):
    folder, seen = shop
    last = files(folder, under)[-1]
    if what == "gone":
        last.unlink()
    elif what == "flip":
        flip(last)
    else:
        last.write_bytes(last.read_bytes()[:-1])
    done = call("check", folder)
    is_known = not (what == "gone" and under in ("commits", "snapshots/0", "snapshots/1"))  # nobody says that they are
    assert done.exit_code == is_known
    assert (str(last) in done.output) == is_known, done.output
    recovered(folder, tmp_path / "one.ivm")
    with ivm.connect(tmp_path / "one.ivm", read_only=True) as db:
        assert rows(db) == seen[db.time]
        assert db.time >= max(seen) - (under in ("commits", "logs"))
    if under in ("commits", "logs") and is_known:
        assert f"whole only up to version 55, at time {max(seen) - 1}" in done.output
    if under == "plans":
        assert "what exists is not known" in done.output
    if under.startswith(("snapshots", "pieces")) and is_known:
        assert "what is there besides makes up for it" in done.output


@pytest.mark.parametrize("at", [2, 20])
def test_a_page_that_is_missing(shop, tmp_path, at):
    folder, seen = shop
    page = files(folder, "commits")[-at]
    page.unlink()
    done = call("check", folder)
    recovered(folder, tmp_path / "one.ivm")
    with ivm.connect(tmp_path / "one.ivm", read_only=True) as db:
        assert rows(db) == seen[db.time]
        time = db.time
    if at == 2:
        assert done.exit_code == 1
        assert f"{page}: it is missing" in done.output
    else:
        assert time == max(seen), "snapshots are later"


def test_where_snapshots_are_missing(shop):
    folder, _ = shop
    for each in (*files(folder, "snapshots/0"), *files(folder, "commits")[:9]):
        each.unlink()
    done = call("check", folder)
    assert done.exit_code == 1
    assert "snapshots are missing, and the first logs are removed" in done.output


def test_what_comes_after_damage_is_left_out(shop, tmp_path):
    folder, seen = shop
    for each in files(folder, "snapshots"):
        flip(each)
    for each in files(folder, "logs")[-20:]:
        flip(each)
    done = call("recover", folder, "--out", tmp_path / "late.ivm", "--to", str(max(seen)))
    assert done.exit_code == 1
    assert "what can be read of it goes from time 0 to" in str(done.exception)
    done = recovered(folder, tmp_path / "one.ivm")
    assert "later steps" in done.stdout
    assert "lost: " in done.output
    with ivm.connect(tmp_path / "one.ivm", read_only=True) as db:
        assert rows(db) == seen[db.time]
        assert 0 < db.time <= max(seen) - 10


def test_where_nothing_can_be_had(shop, tmp_path):
    folder, _ = shop
    for each in files(folder, "snapshots/1"):
        flip(each)
    flip(files(folder, "commits")[0])
    done = call("check", folder)
    assert "whole only up to version 0" in done.output
    assert "can be loaded at no version" in done.output
    done = call("recover", folder, "--out", tmp_path / "one.ivm")
    assert done.exit_code == 1
    assert "no version that every shard can be loaded at" in str(done.exception)
    assert not (tmp_path / "one.ivm").exists()


def test_after_rescale_what_counts_is_read(shop, tmp_path):
    folder, seen = shop
    with over_copies.connect(DirectoryFolder(folder)) as db:
        rescaled(db, 3)
        time = db.time
        db.sql("INSERT INTO sale VALUES (77, 'Oslo', 7.7)")
        found = rows(db)
    assert call("check", folder).exit_code == 0
    recovered(folder, tmp_path / "one.ivm")
    with ivm.connect(tmp_path / "one.ivm", read_only=True) as db:
        assert rows(db) == found != seen[max(seen)]
    recovered(folder, tmp_path / "then.ivm", "--to", time)
    with ivm.connect(tmp_path / "then.ivm", read_only=True) as db:
        assert rows(db) == seen[time]
    done = call("recover", folder, "--out", tmp_path / "before.ivm", "--to", time - 1)
    assert f"goes from time {time} to {time + 1}" in str(done.exception)
