"""A checkpoint has what there was, may fail or be cut short anywhere, and is written but once."""

import json
import logging
import random
import re
import threading
import zlib

import pyarrow as pa
import pytest

import ivm
from ivm.storage.certain import NAME as CERTAIN
from ivm.trace.rows import compaction
from tests import gone
from tests.durable.disk import Disk
from tests.durable.opening import contents, held_by, opened
from tests.durable.workload import begin, steps
from tests.faults.lines import lines_of, raising

SOME = """
CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR, c DECIMAL(10, 2), d DOUBLE, e DATE, f BOOLEAN, h BLOB);
CREATE TABLE many (a BIGINT, b VARCHAR);
CREATE MATERIALIZED VIEW grouped AS SELECT b, sum(c) AS s, avg(d) AS m, max(a) AS most, list(e) AS l FROM t GROUP BY b;
CREATE MATERIALIZED VIEW joined AS SELECT t.a, many.b FROM t JOIN many ON t.b = many.b;
CREATE MATERIALIZED VIEW top AS SELECT * FROM t ORDER BY c DESC, a LIMIT 3;
CREATE MATERIALIZED VIEW above AS SELECT b, count(*) AS n FROM grouped GROUP BY b;
CREATE MATERIALIZED VIEW dear AS SELECT a FROM t WHERE c > (SELECT avg(c) FROM t);
CREATE MATERIALIZED VIEW numbered AS SELECT a, row_number() OVER (PARTITION BY b ORDER BY a) AS n FROM t;
CREATE MATERIALIZED VIEW others AS SELECT DISTINCT b FROM t EXCEPT SELECT b FROM many;
"""
ROWS = """
INSERT INTO t SELECT i, 'b' || (i % 7), i * 0.25, i / 3, DATE '2024-01-01' + (i % 50)::INTEGER, i % 2 = 0,
    ('x' || i)::BLOB FROM range({0}, {1}) r (i)
"""


def _filled():
    disk = Disk()
    db = opened(disk)
    db.sql(SOME)
    db.sql(ROWS.format(0, 700))
    db.sql("INSERT INTO many SELECT i, 'b' || (i % 9) FROM range(60) r (i)")
    db.sql("DELETE FROM t WHERE a % 10 = 3; INSERT INTO t (a, b) VALUES (3, NULL)")
    return disk, db


def test_what_was_written_is_what_there_was():
    disk, db = _filled()
    for number in range(4):
        db.sql("CHECKPOINT")
        again = opened(Disk(disk.files()))
        assert contents(again) == contents(db)
        again.verify()
        for each in (db, again):
            each.sql(ROWS.format(1000 * number + 1000, 1000 * number + 1010))
            each.sql(f"DELETE FROM t WHERE a % 10 = {number}; UPDATE many SET b = 'b1' WHERE a = {number}")
        again.verify()
        assert contents(again) == contents(db)
        if number == 1:
            disk = Disk(disk.files())
            db = opened(disk)


def test_rows_of_any_layout_are_read_again():
    """Texts and bytes of large offsets, and in dictionaries, also within lists, structs and maps, are kept as they came."""
    pair, words = pa.struct([("a", pa.large_binary()), ("b", pa.large_string())]), pa.large_list(pa.large_string())
    rows = {
        "y BLOB": pa.array([b"a", None], pa.large_binary()),
        "w VARCHAR[]": pa.array([["a", None], []], words),
        "d VARCHAR[]": pa.array([["a"], None], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        "v VARCHAR[2]": pa.array([["a", "b"], None], pa.list_(pa.large_string(), 2)),
        "s STRUCT(a BLOB, b VARCHAR)": pa.array([{"a": b"x", "b": "y"}, None], pair),
        "m MAP(VARCHAR, BLOB)": pa.array([[("a", b"x")], None], pa.map_(pa.large_string(), pa.large_binary())),
        "j JSON[]": pa.array([["{}"], None], pa.list_(pa.large_string())),
    }
    disk = Disk()
    db = opened(disk)
    db.sql(f"CREATE TABLE t ({', '.join(rows)})")
    db.apply({"t": pa.table({column[0]: values for column, values in rows.items()})})
    db.sql("CHECKPOINT")
    assert contents(opened(Disk(disk.files()))) == contents(db)


def test_rows_are_written_once():
    disk, db = _filled()
    db.sql("CHECKPOINT")
    first = set(disk.names())
    db.sql("CHECKPOINT")
    assert set(disk.names()) == first, "nothing has happened"
    db.sql("INSERT INTO t (a) VALUES (-1)")
    db.sql("DELETE FROM t WHERE a = 20")
    db.sql("CHECKPOINT")
    kept = {name for name in first & set(disk.names()) if name.startswith("rows")}
    assert len(kept) == 2
    db.close()
    db = opened(disk)
    for number in range(40):
        db.sql(f"INSERT INTO t (a) VALUES ({number} - 100)")
        db.sql("CHECKPOINT")
    assert kept < set(disk.names())
    assert len([name for name in disk.names() if name.startswith("rows")]) < 12
    assert len([name for name in disk.names() if name.endswith(".log")]) == 1


def test_power_may_be_lost_while_one_is_made():
    disk, chance = Disk(), random.Random(1)
    db = opened(disk)
    begin(db)
    for step in steps(1, 6):
        step(db)
    held = []
    for step in (*steps(2, 2), lambda db: db.sql("CHECKPOINT"), *steps(3, 2), lambda db: db.sql("CHECKPOINT")):
        before = contents(db)
        begun = len(disk.steps)
        step(db)
        held += [(number, (before, contents(db))) for number in range(begun + 1, len(disk.steps) + 1)]
    for number, either in held[::2]:
        for files in disk.after_loss(number, chance):
            assert held_by(files) in either


@pytest.mark.parametrize("failure", [28, 5, "short"])
def test_a_call_that_fails_leaves_the_last_one(failure):
    made = 0
    for call in range(1, 40, 3):
        disk, db = _short()
        disk.fails = {disk.calls + call: failure}
        before, files = contents(db), _files(disk)
        error = _error(db, "CHECKPOINT")
        made += "disk/" in error
        if ".arrows cannot be written" in error:
            assert _files(disk) == files  # what was written takes no room for the next try
        assert contents(db) == before
        assert held_by(disk.files()) == before
        disk.fails = {}
        if "not known" in _error(db, "INSERT INTO seen VALUES ('ink', 5)"):
            continue
        db.sql("CHECKPOINT")
        assert held_by(disk.files()) == contents(db)
        assert len([name for name in disk.names() if name.endswith(".log")]) == 1
    assert made > 3


def _files(disk):
    return [name for name in disk.names() if name.endswith(".arrows")]


def _short():
    disk = Disk()
    db = opened(disk)
    begin(db)
    db.sql("INSERT INTO sale (id, item) VALUES (1, 'ink'), (2, 'pen')")
    db.sql("CHECKPOINT")
    db.sql("INSERT INTO sale (id, item) VALUES (3, 'ink'), (4, 'pen'); DELETE FROM sale WHERE id = 1")
    return disk, db


def _error(db, text):
    try:
        db.sql(text)
    except ivm.StorageError as error:
        return str(error)
    return ""


def test_something_may_be_raised_at_any_line():
    disk, db = _short()

    def work():
        db.sql(f"INSERT INTO sale (id) VALUES ({db.time + 100})")
        db.sql("CHECKPOINT")

    places = [place for place in lines_of(work) if place[0].startswith("ivm/durable")]
    assert len(places) > 50
    for number, place in enumerate(places[::4]):
        raising(work, place, (KeyboardInterrupt, MemoryError)[number % 2])
        assert held_by(disk.files()) == contents(db), f"at {place}"
    work()
    assert len([name for name in disk.names() if name.endswith(".log")]) == 1


def test_commits_go_on_meanwhile():
    disk, db = _filled()
    end, made = threading.Event(), []

    def checkpoints():
        while not end.is_set():
            db.sql("CHECKPOINT")
            made.append(db.time)

    beside = threading.Thread(target=checkpoints)
    beside.start()
    number = 0
    while len(set(made)) < 4 and beside.is_alive():
        number += 1
        db.sql(f"INSERT INTO t (a, b) VALUES ({10_000 + number}, 'b{number % 12}')")
        db.sql(f"DELETE FROM t WHERE a % 97 = {number}")
    end.set()
    beside.join()
    assert len(set(made)) >= 4
    found = opened(Disk(disk.files()))
    assert contents(found) == contents(db)
    found.verify()


def test_it_is_made_when_the_log_is_long(monkeypatch):
    monkeypatch.setattr("ivm.durable.checkpoint._LEAST_LOG", 2000)
    disk, db = Disk(), None
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")
    for number in range(60):
        db.apply({"t": {"a": [number] * 20}})
        for thread in threading.enumerate():
            if thread.name == "ivm-checkpoint":
                thread.join()
    assert "MANIFEST" in disk.names()
    assert held_by(disk.files()) == contents(db)


def test_a_database_without_changes_is_not_written_at_close():
    disk, db = _filled()
    db.close()
    before = len(disk.steps)
    opened(disk).close()
    assert [step for step in disk.steps[before:] if step[0] not in ("sync", "sync_names")] == []


def test_a_plan_that_was_not_saved_is_filled_anew_and_said(caplog, monkeypatch):
    disk, db = _filled()
    db.close()
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "ivm"):
        patch.setattr("ivm.plan.identity.Identities.of", lambda self, plan: "another")
        again = opened(disk)
    assert "view grouped is filled anew" in caplog.text
    again.verify()
    again.close()
    caplog.clear()
    opened(disk).verify()
    assert "filled anew" not in caplog.text, "it was written at close, though nothing was committed"


@pytest.mark.parametrize("what", gone.DROPPED)
def test_what_was_shared_with_a_view_that_is_gone_is_there_again_or_made_anew(what):
    disk = Disk()
    with opened(disk) as db:
        gone.run(db, *(f"CREATE TABLE {each}" for each in gone.TABLES), *gone.ROWS, *gone.DROPPED[what])
    for _ in range(2):
        with opened(disk) as db:
            db.verify()
            db.sql("INSERT INTO b VALUES (0, 0)")
            db.verify()


@pytest.mark.parametrize("how", ["cut", "flipped", "gone", "other"])
def test_damage_is_said(how, caplog):
    disk, db = _filled()
    db.close()
    whole = disk.files()
    for name in whole:
        files = dict(whole)
        content = bytearray(files.pop(name))
        if how == "cut":
            del content[len(content) // 2 :]
        elif how == "flipped":
            middle = slice(len(content) // 2, len(content) // 2 + 1)
            content[middle] = bytes(each ^ 4 for each in content[middle])
        elif how == "other":
            content = bytearray(b"a letter")
        if how != "gone":
            files[name] = bytes(content)
        caplog.clear()
        if name.startswith("state"):
            again = opened(Disk(files))
            assert name in caplog.text
            again.verify()
        elif name == CERTAIN or (name.endswith(".log") and how in ("cut", "flipped", "other")):
            assert opened(Disk(files)).time > 0  # without a record it may be torn
        else:
            with pytest.raises(ivm.StorageError, match=r"disk|cannot open"):
                opened(Disk(files))


def test_a_newer_format_is_refused():
    disk, db = _filled()
    db.close()
    files = disk.files()
    files["MANIFEST"] = files["MANIFEST"].replace(b"format 1,", b"format 2,", 1)
    with pytest.raises(ivm.StorageError, match="it has format 2, and this release of ivm reads format 1"):
        opened(Disk(files))


def test_files_that_somebody_else_made_are_refused(caplog):
    assert _opened_after_changes(5, 60, caplog) == {"anew", "opened", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_more_of_them(seed, caplog):
    assert _opened_after_changes(seed, 500, caplog) == {"anew", "opened", "refused"}


def _opened_after_changes(seed, rounds, caplog):
    """How databases are opened that have the right sums, and say what is changed or taken from other places."""
    disk, db = _filled()
    db.close()
    whole, chance, ways = disk.files(), random.Random(seed), set()
    for _ in range(rounds):
        files = dict(whole)
        manifest = json.loads(files["MANIFEST"].split(b"\n", 1)[1])
        _change(manifest, chance)
        name = chance.choice([each for each in files if each.endswith(".arrows")])
        if chance.random() < 0.5:
            files[name] = _changed(files[name], files[chance.choice([*files])], chance)
            written = {"file": name, "bytes": len(files[name]), "crc": zlib.crc32(files[name])}
            manifest = json.loads(re.sub(rf'\{{"file": "{name}"[^}}]*\}}', json.dumps(written), json.dumps(manifest)))
        text = json.dumps(manifest).encode()
        files["MANIFEST"] = b"ivm database, format 1, crc32 %08x\n" % zlib.crc32(text) + text
        caplog.clear()
        try:
            opened(Disk(files))
            ways.add("anew" if "filled anew" in caplog.text else "opened")
        except ivm.StorageError:
            ways.add("refused")
    return ways


def _change(value, chance):
    """Change something somewhere in a value of JSON."""
    places = list(value) if isinstance(value, dict) else range(len(value))
    place = chance.choice([*places]) if places else None
    if place is None:
        return
    inner = value[place]
    if isinstance(inner, dict | list) and inner and chance.random() < 0.9:
        _change(inner, chance)
    elif chance.random() < 0.2:
        del value[place]
    else:
        value[place] = chance.choice([None, 0, -1, 7, 2**40, "x", "../LOCK", [], {}, True, 1.5])


def _changed(content, other, chance):
    """Bytes with some of them changed, or others in their place."""
    if chance.random() < 0.2:
        return other
    content = bytearray(content)
    for _ in range(chance.choice([1, 8])):
        if content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content)


def test_rows_that_get_other_numbers_as_they_are_read_are_written_anew(monkeypatch):
    monkeypatch.setattr(compaction, "FROM_ROWS", 8)
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); INSERT INTO t SELECT * FROM range(400); CHECKPOINT")
    db.sql("DELETE FROM t WHERE a < 200; DELETE FROM t WHERE a = 200; CHECKPOINT")  # the others have their numbers yet
    disk = Disk(disk.files())
    again = opened(disk)
    again.sql("INSERT INTO t VALUES (1000); CHECKPOINT")
    assert contents(opened(Disk(disk.files()))) == contents(again)
