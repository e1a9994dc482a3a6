"""Power may be lost after any step, or a process be killed; what is there then is what some moment had acknowledged, or was
about to.
"""

import random

import pytest

import ivm
from ivm.storage.log import log_files
from tests.durable.disk import Disk
from tests.durable.opening import contents, opened
from tests.durable.places import PLACES, Directory, Lazy, OverShards
from tests.durable.workload import TABLES, VIEWS, begin, steps
from tests.more import with_more

COMMITS = 10


def _history(place, seed):
    """What the database held after so many of the steps of its place."""
    db = place.open()
    held = [(0, {"rows": {}, "views": {}, "columns": {}, "time": 0, "batches": {}})]
    for step in (*(lambda db, text=text: db.sql(text) for text in (*TABLES, *VIEWS)), *steps(seed, COMMITS)):
        step(db)
        now = contents(db)
        if now != held[-1][1]:
            held.append((place.steps(), now))
    return held


@pytest.mark.parametrize("case", with_more([(Directory, 0), (OverShards, 0)], [(Directory, 1)]))
def test_what_was_acknowledged_is_there_after_a_loss_of_power_or_a_kill(case):
    kind, seed = case
    place, chance, met = kind(), random.Random(seed), 0
    held = _history(place, seed)
    for done in place.moments():
        acknowledged = max(i for i, (by, _) in enumerate(held) if by <= done)
        for left in place.lost(done, chance):
            found = left.contents()
            assert found in [each for _, each in held[acknowledged : acknowledged + 2]]
            met += found != held[acknowledged][1]
    assert met > 10 or kind is OverShards  # whose page is there as a whole, and is the last that is written


def test_what_does_not_wait_for_the_disk_is_there_up_to_some_commit():
    place = Lazy()
    known = [each for _, each in _history(place, 5)]
    chance = random.Random(5)
    found = [left.contents() for _ in range(6) for left in place.lost(place.steps(), chance)]
    assert all(each in known for each in found)


@pytest.mark.parametrize("kind", PLACES)
def test_after_a_loss_the_next_commits_survive_one_too(kind):
    place = kind()
    _history(place, 3)
    chance = random.Random(3)
    for left in place.lost(place.steps() - 1, chance):
        db = left.open()
        db.sql("INSERT INTO sale (id) VALUES (-1)")
        before = contents(db)
        for again in left.lost(left.steps(), chance):
            assert again.contents() == before


def test_a_log_of_which_a_file_is_missing_is_refused():
    disk = Disk()
    begin(opened(disk))
    (name,) = log_files(disk)
    with pytest.raises(ivm.StorageError, match="ends at record 0 and goes on in 00000000000000000005"):
        opened(Disk({f"{5:020}.log": disk.files()[name]}))
