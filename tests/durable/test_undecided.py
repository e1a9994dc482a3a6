"""What of a commit is written before it is decided counts for nobody: not after a kill, a loss of power, nor beside."""

import errno
import random

import pytest

import ivm
from ivm.cluster.driver.driver import Driver
from ivm.durable import journal
from ivm.durable.recovery import reached
from ivm.engine.engine import Engine
from ivm.session.core import Core
from ivm.session.database import Database
from ivm.storage.record import HEADER
from tests.durable.disk import Disk
from tests.durable.opening import contents, held_by, opened
from tests.durable.places import Directory, OverShards

TABLES = (
    "CREATE TABLE t (a BIGINT PRIMARY KEY, x BIGINT CHECK (x >= 0))",
    "CREATE MATERIALIZED VIEW v AS SELECT a % 3 AS g, max(x) * 4 AS s FROM t GROUP BY g",
)
ROWS = 8


def _rows(number, **other):
    return {"t": {"a": range(number, number + ROWS), "x": [1] * (ROWS - 1) + [other.get("x", 1)]}}


@pytest.fixture
def written_first(monkeypatch):
    """Commits of few rows are written while they are worked on; what is written ahead is before anything is refused."""
    monkeypatch.setattr(journal, "LARGE", ROWS)
    plain, through = Engine._begun, Driver._tried

    def prepared(self, *given):
        if self.journal is not None and self.journal._begun is not None:
            self.journal._begun.wait()
        found = plain(self, *given)
        if found.time in INTERRUPTED:
            INTERRUPTED.remove(found.time)
            raise KeyboardInterrupt
        return found

    def gone_through(self, *given):
        found = through(self, *given)
        if self.time + 1 in INTERRUPTED:
            INTERRUPTED.remove(self.time + 1)
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Engine, "_begun", prepared)
    monkeypatch.setattr(Driver, "_tried", gone_through)


INTERRUPTED: list[int] = []
"""The times of commits that Ctrl-C ends."""


def _interrupted(db):
    INTERRUPTED.append(db.time + 1)
    db.apply(_rows(900))


WORKS = {
    "taken": lambda db: db.apply(_rows(100 + ROWS * db.time, x=2 + db.time), batch=("source", db.time)),
    "key": lambda db: db.apply(_rows(100 + ROWS)),  # the first that was taken
    "check": lambda db: db.apply(_rows(900, x=-1)),
    "view": lambda db: db.apply(_rows(900, x=2**62)),
    "interrupted": _interrupted,
    "small": lambda db: db.apply({"t": [{"a": -db.time, "x": 1}]}),
    "many times": lambda db: db.apply(
        {"t": [{"a": 10_000 * db.time + n, "x": 1, "_time": db.time + 1 + n} for n in range(ROWS)]}
    ),
    "definition": lambda db: db.sql(f"CREATE TABLE u{db.time} AS SELECT a FROM t"),
    "checkpoint": lambda db: db.sql("CHECKPOINT"),
}
ORDER = ["small", "taken", "key", "check", "taken", "view", "interrupted", "many times", "definition", "view", "small"]
ORDER += ["key", "checkpoint", "check", "taken", "interrupted", "interrupted", "small", "view"]


def _history(place):
    """What the database held after so many of the steps of its place; of refused commits nothing."""
    db = place.open()
    for text in TABLES:
        db.sql(text)
    held, refused = [(place.steps(), contents(db))], 0
    for work in ORDER:
        try:
            WORKS[work](db)
        except (ivm.Error, KeyboardInterrupt):
            refused += 1
            assert contents(db) == held[-1][1]
        if contents(db) != held[-1][1]:
            held.append((place.steps(), contents(db)))
    assert refused == sum(work in ("key", "check", "view", "interrupted") for work in ORDER)
    return held


class Torn(Directory):
    """That of a process that is killed within a step, or of a machine that loses power."""

    def lost(self, steps, chance):
        """See `Place.lost`."""
        for files in self._killed(steps):
            yield Directory(Disk(files))
        if self.disk.steps[steps - 1][0] != "sync":
            yield from super().lost(steps, chance)

    def _killed(self, done):
        """The files after so many steps and a part of the next one."""
        steps = self.disk.steps
        yield Disk.replayed(steps[:done])
        if done < len(steps) and steps[done][0] == "write":
            what, number, at, data = steps[done]
            for size in {HEADER - 1, HEADER, len(data) - 1}:
                if 0 < size < len(data):
                    yield Disk.replayed([*steps[:done], (what, number, at, data[:size])])


@pytest.mark.parametrize("kind", [Torn, OverShards])
def test_at_whatever_moment_it_is_killed_or_loses_power(written_first, kind):
    place, chance, met = kind(), random.Random(4), 0
    held = _history(place)
    for done in place.moments(held[0][0]):
        acknowledged = max(i for i, (by, _) in enumerate(held) if by <= done)
        allowed = [each for _, each in held[acknowledged : acknowledged + 2]]
        for left in place.lost(done, chance):
            found = left.contents()
            assert found in allowed
            met += found != allowed[0]
    assert met > 10 or kind is OverShards  # whose page is there as a whole, and is the last that is written


def test_beside_it_nothing_is_seen_of_it(written_first):
    place = Directory()
    held, disk = _history(place), place.disk
    for done in range(held[0][0], len(disk.steps) + 1):
        if disk.steps[done - 1][0] in ("write", "truncate"):
            acknowledged = max(i for i, (by, _) in enumerate(held) if by <= done)
            core = Core(Engine(None, history=0), external_access=False)
            reached(core, Disk(Disk.replayed(disk.steps[:done])), None)
            assert contents(Database(core)) in [each for _, each in held[acknowledged : acknowledged + 2]]


@pytest.mark.parametrize(("work", "call"), [("taken", 1), ("taken", 2), ("small", 1), ("definition", 1)])
@pytest.mark.parametrize("failure", [errno.ENOSPC, "short"])
def test_what_cannot_be_written_has_not_happened(written_first, work, call, failure):
    disk = Disk()
    db = opened(disk)
    for text in TABLES:
        db.sql(text)
    WORKS["taken"](db)
    with db.subscribe("v") as subscription:
        before = contents(db)
        disk.fails[disk.calls + call] = failure
        with pytest.raises(ivm.StorageError, match="nothing was changed"):
            WORKS[work](db)
        assert contents(db) == before == held_by(disk.files())
        assert not subscription.fetch().num_rows
        WORKS[work](db)
        assert contents(db) == held_by(disk.files()) != before
        assert bool(subscription.fetch().num_rows) == (work != "definition")
