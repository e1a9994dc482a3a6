"""A log of several files is read as one; a new one is begun, or nothing has happened."""

import errno
import random
from contextlib import suppress

import pytest

import ivm
from ivm.storage.log import log_files, log_name
from tests.durable.disk import Disk
from tests.durable.opening import begin_file, contents, finish, held_by, opened
from tests.durable.workload import TABLES, VIEWS, steps
from tests.faults.lines import lines_of, raising

STEPS = [*(lambda db, text=text: db.sql(text) for text in (*TABLES, *VIEWS)), *steps(7, 14)]


def test_records_go_on_in_a_file_of_their_own():
    disk = Disk()
    db = opened(disk)
    assert begin_file(db) == 0
    for number, step in enumerate(STEPS):
        step(db)
        if number % 5 == 4:
            last = begin_file(db)
            assert log_name(last + 1) in disk.names()
            assert begin_file(db) == last
    assert len([name for name in disk.names() if name.endswith(".log")]) > 1
    for _ in range(2):
        found = contents(db)
        db = opened(Disk(disk.files()))
        assert contents(db) == found


def test_power_may_be_lost_meanwhile():
    disk, chance = Disk(), random.Random(3)
    db = opened(disk)
    held = [(0, contents(opened(Disk())))]
    for number, step in enumerate(STEPS):
        step(db)
        held.append((len(disk.steps), contents(db)))
        if number % 4 == 3:
            begin_file(db)
    for done in range(1, len(disk.steps) + 1, 2):
        acknowledged = max(i for i, (by, _) in enumerate(held) if by <= done)
        for files in disk.after_loss(done, chance):
            assert held_by(files) in [each for _, each in held[acknowledged : acknowledged + 2]]


@pytest.mark.parametrize("call", range(1, 5))
@pytest.mark.parametrize("again", [1, 9])
def test_where_it_fails_records_go_where_they_went(call, again):
    disk, chance = Disk(), random.Random(call)
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT)")
    finish(db)
    disk.fails = {disk.calls + call: errno.ENOSPC, disk.calls + call + again: errno.EIO}
    with pytest.raises(ivm.StorageError, match="cannot"):
        begin_file(db)
    if call == 1:  # the sync of what was there
        with pytest.raises(ivm.StorageError):
            db.close()
        return
    disk.fails = {}
    db.apply({"t": {"a": [1]}})
    for files in disk.after_loss(len(disk.steps), chance):
        held_by(files)
    finish(db)
    found = contents(db)
    assert held_by(disk.files()) == found
    begin_file(db)
    db.apply({"t": {"a": [2]}})
    begin_file(db)
    for files in disk.after_loss(len(disk.steps), chance):
        assert held_by(files) == contents(db)


def test_something_may_be_raised_at_any_line():
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")

    def work():
        db.apply({"t": {"a": [db.time]}})
        with suppress(ivm.StorageError):
            begin_file(db)

    places = [place for place in lines_of(work) if place[0] == "ivm/storage/log.py"]
    assert len(places) > 20
    for number, place in enumerate(places):
        raising(work, place, (KeyboardInterrupt, MemoryError)[number % 2])
        db.apply({"t": {"a": [1000 + number]}})
        assert held_by(disk.files()) == contents(db)


def test_a_torn_record_before_a_file_of_records_is_refused():
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT)")
    begin_file(db)
    db.apply({"t": {"a": [1]}})
    first, second = log_files(disk)
    files = disk.files()
    with pytest.raises(ivm.StorageError, match="ends at record 0 and goes on in"):
        opened(Disk({**files, first: files[first][:-1]}))
    with pytest.raises(ivm.StorageError, match="ends at record 0 and goes on in"):
        opened(Disk({second: files[second]}))
    assert held_by({first: files[first], second: b""})["time"] == 0
