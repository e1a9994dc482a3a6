"""Commits that nobody waits for share records: what is read of these is what was committed, one by one."""

import random

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import ivm
from ivm.cli import app
from ivm.durable.grouping import records_of
from ivm.durable.history import Entry, history
from ivm.durable.manifest import read_manifest
from ivm.durable.payload import Commit, Given
from ivm.durable.streams import Streams
from ivm.storage import backlog
from ivm.storage.directory import Directory
from ivm.storage.pinned import pinned
from tests.durable.disk import Disk
from tests.durable.opening import contents, finish, held_by, opened
from tests.durable.workload import begin, steps


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Nothing is written before somebody waits for it, so what shares a record does not depend on the machine."""
    monkeypatch.setattr(backlog, "_NAP_SECONDS", 60.0)


def _entries(storage):
    manifest = read_manifest(storage)
    found = list(history(storage, manifest.record if manifest else 0))
    assert [each for each in found if not isinstance(each, Entry)] == []
    return found


def test_small_commits_share_a_record():
    disk = Disk()
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT, b TEXT)")
    finish(db)
    for number in range(200):
        db.apply({"t": [{"a": number, "b": str(number % 3)}]}, batch=(f"source {number % 2}", number))
    finish(db)
    entries = _entries(disk)
    assert len(entries) < 50
    assert [time for entry in entries for time in entry.times] == list(range(1, 201))
    assert held_by(disk.files()) == contents(db)
    assert db.batches() == {"source 0": 198, "source 1": 199}


def test_what_is_not_alike_has_records_of_its_own():
    disk = Disk()
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, b BIGINT DEFAULT 7); CREATE TABLE u (a BIGINT)")
    for number in range(0, 60, 3):
        db.apply({"t": {"a": [number, number + 1]}})
        db.apply({"t": {"a": [number, number + 2], "b": [2, 3]}}, mode="upsert")
        with db.transaction() as change:  # in one time, in this order
            change.delete("t", {"a": [number]})
            change.insert("t", {"a": [number], "b": [9]})
            change.insert("u", {"a": [number]})
        db.sql(f"CREATE VIEW v{number} AS SELECT * FROM t")
        db.apply({"u": pa.table({"a": [number], "_diff": [2]})})
        db.apply({"u": pa.table({"a": [number, number], "_diff": [1, -1], "_time": [db.time + 1, db.time + 2]})})
    finish(db)
    assert held_by(disk.files()) == contents(db)


def test_texts_of_different_dictionaries():
    disk, chance = Disk(), random.Random(3)
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a TEXT, b TEXT)")
    for number in range(300):
        words = pa.array([f"{number}-{chance.randrange(9)}" for _ in range(3)])
        few = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array([f"x{number}", f"y{number % 5}"]))
        db.apply({"t": pa.table({"a": words.dictionary_encode(), "b": few})})
    finish(db)
    assert held_by(disk.files()) == contents(db)


@pytest.mark.parametrize(
    ("rows", "counts"), [([1, 1, 20_000, 1, 9_000, 9_000, 1], [2, 1, 4]), ([15_000] * 20, [9, 9, 2])]
)
def test_many_rows_are_not_put_together(rows, counts):
    tables = [pa.record_batch({"a": np.arange(count)}) for count in rows]
    commits = [
        Commit([Given("t", each, None, None, "diff", "error")], time, [(time, None)])
        for time, each in enumerate(tables)
    ]
    assert [count for _, count in records_of(commits, Streams())] == counts


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_a_copy_as_of_any_commit_in_a_record(tmp_path, seed):
    path, held = tmp_path / "shop.ivm", {}
    with ivm.connect(compile="off") as db:
        begin(db)
        for step in steps(seed, 25):
            step(db)
            held[db.time] = [db.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in ("sale", "seen")]
    with ivm.connect(path, durability="off", compile="off") as db:
        begin(db)
        for step in steps(seed, 25):
            step(db)
        finish(db)
        entries = _entries(pinned(Directory(path, writable=False)))
        assert max(len(entry.times) for entry in entries) > 1
        for time in sorted({time for entry in entries for time in entry.times})[seed % 2 :: 2]:
            out = tmp_path / f"{time}.ivm"
            done = CliRunner().invoke(app, ["recover", str(path), "--out", str(out), "--to", str(time)])
            assert done.exit_code == 0, done.exception
            with ivm.connect(out, compile="off") as copy:
                assert [copy.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in ("sale", "seen")] == held[time]
                copy.verify()
