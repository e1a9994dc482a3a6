"""Power may be lost after any step; what is there then is what some moment had acknowledged, or was about to."""

import random

import pytest

import ivm
from ivm.storage.log import log_files
from tests.durable.disk import Disk
from tests.durable.opening import contents, held_by, opened
from tests.durable.workload import begin, steps
from tests.more import with_more

COMMITS = 10


def _history(seed, durability):
    """A disk, and what the database held after so many of its steps."""
    disk = Disk()
    db = opened(disk, durability)
    held = [(0, {"rows": {}, "views": {}, "columns": {}, "time": 0, "batches": {}})]

    def note():
        now = contents(db)
        if now != held[-1][1]:
            held.append((len(disk.steps), now))

    for step in (lambda db: None, *_one_by_one(), *steps(seed, COMMITS)):
        step(db)
        note()
    return disk, held


def _one_by_one():
    from tests.durable.workload import TABLES, VIEWS

    return [lambda db, text=text: db.sql(text) for text in (*TABLES, *VIEWS)]


@pytest.mark.parametrize("seed", with_more([0], [1]))
def test_after_a_loss_of_power_all_that_was_acknowledged_is_there(seed):
    disk, held = _history(seed, "commit")
    chance, met = random.Random(seed), 0
    for done in range(1, len(disk.steps) + 1):
        acknowledged = max(i for i, (by, _) in enumerate(held) if by <= done)
        for files in disk.after_loss(done, chance):
            found = held_by(files)
            assert found in [each for _, each in held[acknowledged : acknowledged + 2]]
            met += found != held[acknowledged][1]
    assert met > 10


def test_what_does_not_wait_for_the_disk_is_there_up_to_some_commit():
    disk, held = _history(5, "off")
    chance = random.Random(5)
    found = [held_by(files) for _ in range(6) for files in disk.after_loss(len(disk.steps), chance)]
    known = [each for _, each in held]
    assert all(each in known for each in found)


def test_after_a_loss_the_next_commits_survive_one_too():
    disk, _ = _history(3, "commit")
    chance = random.Random(3)
    for files in disk.after_loss(len(disk.steps) - 1, chance):
        again = Disk(files)
        db = opened(again)
        db.sql("INSERT INTO sale (id) VALUES (-1)")
        before = contents(db)
        for left in again.after_loss(len(again.steps), chance):
            assert held_by(left) == before


def test_a_log_of_which_a_file_is_missing_is_refused():
    disk = Disk()
    begin(opened(disk))
    (name,) = log_files(disk)
    with pytest.raises(ivm.StorageError, match="ends at record 0 and goes on in 00000000000000000005"):
        opened(Disk({f"{5:020}.log": disk.files()[name]}))
