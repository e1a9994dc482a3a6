"""Calls of the operating system may fail, each of them; nothing acknowledged is lost, and nothing is half there."""

import errno
from contextlib import suppress

import pytest

import ivm
from ivm.durable.grouping import LARGE
from ivm.storage.certain import noted
from tests.durable.disk import Disk
from tests.durable.opening import contents, held_by, opened
from tests.durable.places import PLACES
from tests.durable.workload import TABLES, VIEWS, steps

STEPS = [*(lambda db, text=text: db.sql(text) for text in (*TABLES, *VIEWS)), *steps(11, 25)]


def _run(disk, db):
    """Do all steps; each that fails for the disk leaves things as they were, and is done again."""
    failed = 0
    for step, before in zip(STEPS, HELD, strict=False):
        error = _error(step, db)
        if error:
            failed += 1
            assert "disk/" in error
            if "is not known" in error:
                return "unknown"
            assert contents(db) == before
            step(db)
    # A sync is not made of parts, and what a checkpoint needs no more may stay.
    assert failed == 1 or "short" in disk.fails.values() or [what for what, _ in disk.failed] == ["remove"]
    return "went on"


def _error(step, db):
    try:
        step(db)
    except ivm.StorageError as error:
        return str(error)
    return None


def _history():
    """The calls that the steps make, and what is there before each step, and at the end."""
    disk = Disk()
    db = opened(disk)
    begun, held = disk.calls, [contents(db)]
    for step in STEPS:
        step(db)
        held.append(contents(db))
    return range(begun + 1, disk.calls + 1), held


CALLS, HELD = _history()


FEW = [
    "CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR)",
    "CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b",
    "INSERT INTO t SELECT range, 'b' || range % 3 FROM range(20)",
    "CREATE TABLE u AS SELECT a FROM t WHERE b = 'b1'",
    "UPDATE t SET b = 'b1' WHERE a < 5",
    "BEGIN; DELETE FROM u; CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT b FROM t WHERE a > 3; COMMIT",
    "CHECKPOINT",
    "INSERT INTO u VALUES (1), (1)",
    "DROP TABLE t CASCADE",
]


@pytest.mark.parametrize("kind", PLACES)
def test_whichever_call_fails_a_statement_has_happened_or_not(kind):
    whole, held = kind(), []
    with whole.open() as db:
        for text in FEW:
            held.append(contents(db))
            db.sql(text)
        held.append(contents(db))
    failed = 0
    for call in range(1, whole.steps() + 1, 5):
        place = kind()
        db = place.open()
        place.fails(call, errno.EIO)
        for number, text in enumerate(FEW):
            try:
                db.sql(text)
            except ivm.StorageError:
                failed += 1
                place = place.left()
                db = place.open()
                found = contents(db)
                assert found in held[number : number + 2], (call, text)
                if found == held[number]:
                    db.sql(text)
            assert contents(db) == held[number + 1], (call, text)
        assert place.contents() == held[-1]
    assert failed > 3


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EIO, "short"])
def test_a_call_that_fails_changes_nothing(failure):
    ways = set()
    # A write and its sync, which may leave it unknown what the disk holds, and others all over.
    for call in (*CALLS[:2], *CALLS[len(CALLS) // 9 :: len(CALLS) // 9]):
        disk = Disk()
        db = opened(disk)
        disk.fails[call] = failure
        how = _run(disk, db)
        ways.add(how)
        if how == "unknown":
            with pytest.raises(ivm.StorageError, match="open it again"):
                db.sql("CREATE TABLE other (a BIGINT)")
            contents(db)  # what is there can be read
            with suppress(ivm.StorageError):
                db.close()
        else:
            db.close()
        if how == "went on":
            assert held_by(disk.files()) == HELD[-1]
    assert ways == ({"went on", "unknown"} if failure != "short" else {"went on"})


def test_where_it_cannot_be_noted_what_is_certain_all_else_goes_on():
    disk = Disk()
    disk.without_note = True
    db = opened(disk)
    for step in STEPS[:12]:
        step(db)
    db.close()
    disk.without_note = False
    assert held_by(disk.files()) == HELD[12]
    opened(disk).close()
    assert noted(disk) is not None


def test_a_database_that_cannot_be_cut_back_writes_nothing_more():
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")
    disk.fails = {disk.calls + 1: errno.EIO, disk.calls + 2: errno.EIO}
    with pytest.raises(ivm.StorageError, match="cannot be written"):
        db.apply({"t": {"a": [1]}})
    with pytest.raises(ivm.StorageError, match="cannot be cut back"):
        db.apply({"t": {"a": [2]}})
    assert held_by(disk.files())["rows"] == {"t": []}


@pytest.mark.parametrize("failure", [None, errno.ENOSPC, "short"])
def test_large_commits_are_written_while_they_are_worked_on(failure):
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
    rows = {"a": range(LARGE)}
    if failure is not None:
        disk.fails[disk.calls + 1] = failure
        with pytest.raises(ivm.StorageError, match="nothing was changed"):
            db.apply({"t": rows})
    db.apply({"t": rows})
    before = disk.calls
    with pytest.raises(ivm.ConstraintError):
        db.apply({"t": rows})
    assert disk.calls in (before, before + 2)  # it was written and cut off again, if the other thread came to it
    db.apply({"t": {"a": [-1]}})
    assert held_by(disk.files()) == contents(db)
