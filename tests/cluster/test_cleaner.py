"""Old files are removed beside the work, many at a time, by a thread that no commit waits for and that nothing hurts."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import ivm
from ivm.cluster.files import cleaner, ledger
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import AT_ONCE, Files
from ivm.cluster.files.ledger import InFolder
from ivm.cluster.files.versions import number_of
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import connect
from tests.cluster.test_snapshots import many, numbers

SHARDS = 3
TABLES = """
CREATE TABLE s (id BIGINT PRIMARY KEY, a BIGINT, b BIGINT);
CREATE MATERIALIZED VIEW v WITH (change_feed = true) AS SELECT a, sum(b) AS t FROM s GROUP BY a;
"""


class Watched(MemoryFolder):
    """Counts calls, those of the thread that made it apart, and asks `before` each."""

    def __init__(self) -> None:
        super().__init__()
        self.own = threading.get_ident()
        self.calls = Counter[str]()
        self.beside = Counter[str]()
        self.at_once = self.most = 0
        self.before: Callable[[str], object] = lambda call: None

    def names(self, under=""):
        return self._called("names", lambda: super(Watched, self).names(under))

    def read(self, name, *, mapped=True):
        return self._called("read", lambda: super(Watched, self).read(name))

    def remove(self, name):
        return self._called("remove", lambda: super(Watched, self).remove(name))

    def _called(self, call, do):
        is_own = threading.get_ident() == self.own
        with self._lock:
            (self.calls if is_own else self.beside)[call] += 1
            self.at_once += call == "remove"
            self.most = max(self.most, self.at_once)
        try:
            if not is_own:
                self.before(call)
            return do()
        finally:
            with self._lock:
                self.at_once -= call == "remove"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards are saved every eighth version, so that is when it pays to clean."""
    monkeypatch.setattr(ledger, "_EVERY", 8)
    monkeypatch.setattr(cleaner, "_AFTER", 0)


@pytest.fixture
def folder() -> Iterator[Watched]:
    found = Watched()
    yield found
    found.before = lambda call: None
    wait(lambda: not cleaning())


def cleaning() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name in ("ivm-cleaning", "ivm-files")]


def wait(until: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.005)


def commits(db: ivm.Database, first: int, last: int) -> None:
    for i in range(first, last):
        db.apply({"s": [{"id": i * 8 + k, "a": k % 5, "b": i} for k in range(8)]})


def made(folder: Watched) -> ivm.Database:
    """A database whose old files nobody has removed yet, and of which a commit more has them removed."""
    db = connect(folder, SHARDS)
    db.sql(TABLES)
    with pytest.MonkeyPatch.context() as never:
        never.setattr(ledger, "_EVERY", 1 << 60)
        commits(db, 0, 37)
    return db


def oldest(folder: Watched) -> int:
    return min(number_of(name) for name in MemoryFolder.names(folder, "logs"))


def test_no_commit_waits_for_what_is_removed(folder):
    db, go_on = made(folder), threading.Event()
    folder.before = lambda call: go_on.wait(60)
    before = folder.calls["remove"], oldest(folder)
    commits(db, 37, 70)  # the folder does not answer those who clean
    assert (folder.calls["remove"], oldest(folder)) == before
    assert [each.name for each in cleaning()].count("ivm-cleaning") == 1, "one pass at a time"
    go_on.set()
    wait(lambda: not cleaning())
    assert oldest(folder) > 50, "the pass that waited is of the last version, and those between are left out"
    db.verify()
    connect(folder).verify()
    db.close()


def test_many_files_are_removed_at_a_time_and_little_is_asked(folder):
    db = made(folder)
    files = len(folder.all())
    folder.before = lambda call: time.sleep(0.001) if call == "remove" else None
    commits(db, 37, 38)
    wait(lambda: bool(cleaning()) or bool(folder.beside))
    wait(lambda: not cleaning())
    assert AT_ONCE / 2 < folder.most <= AT_ONCE
    removed = folder.beside["remove"]
    assert files - len(folder.all()) > removed - 60 > 100
    pages = 40
    assert folder.beside["names"] <= 4 * SHARDS + 5 + pages, "four for each shard, and the bids of each page"
    assert folder.beside["read"] <= 5 * SHARDS
    db.close()


def test_a_database_that_is_closed_removes_nothing_more(folder, monkeypatch):
    db, go_on = made(folder), threading.Event()
    folder.before = lambda call: call != "remove" or go_on.wait(60)
    commits(db, 37, 38)
    wait(lambda: folder.at_once > 1)
    monkeypatch.setattr(cleaner, "_PATIENCE", 0.01)
    db.close()  # it does not wait for a folder that does not answer
    before = folder.beside["remove"]
    go_on.set()
    wait(lambda: not cleaning())
    assert folder.beside["remove"] == before <= AT_ONCE
    monkeypatch.undo()
    monkeypatch.setattr(ledger, "_EVERY", 1)
    again = connect(folder)
    commits(again, 38, 46)
    again.close()
    assert not cleaning(), "it waits for one that does"
    assert oldest(folder) > 30, "also where each driver ends with the commit that has files removed"
    assert connect(folder).sql("SELECT count(*) FROM s").fetchall() == [(46 * 8,)]


def test_what_cannot_be_removed_is_said_and_is_removed_the_next_time(folder, caplog):
    db = made(folder)
    before = oldest(folder)

    def refuses(call: str) -> None:
        if call == refused:
            raise PermissionError(13, "not yours")

    folder.before = refuses
    for refused, says in (
        ("names", "cannot list memory/snapshots/"),
        ("remove", " files that nobody needs any more, "),
    ):
        caplog.clear()
        commits(db, 8 * len(refused), 8 * len(refused) + 8)
        wait(lambda: not cleaning())
        assert any(says in each.message and "not yours" in each.message for each in caplog.records)
        assert oldest(folder) == before
    refused = ""
    commits(db, 60, 68)
    wait(lambda: not cleaning())
    assert oldest(folder) > 40
    db.verify()
    db.close()


def test_drivers_that_clean_at_once_leave_what_is_needed(folder):
    commits(made(folder), 37, 38)
    drivers = [InFolder(Files(folder)) for _ in range(3)]
    newest = drivers[0].newest()
    assert newest.version % 8 == 0
    for _ in range(2):
        for each in drivers:
            each.tidy(newest)
    wait(lambda: not cleaning())
    for each in drivers:
        each.close()
    assert oldest(folder) > 20
    db = connect(folder)
    db.rescale(2)
    commits(db, 50, 60)
    db.verify()
    db.close()
    connect(folder).verify()
    wait(lambda: not cleaning())


class Killed(BaseException):
    pass


def test_a_pass_that_is_cut_short_anywhere_is_made_up_for_by_the_next():
    cluster = many(14)
    before = {under: dict(files) for under, files in cluster.folder.inner._folders.items()}
    cluster.folder.before = lambda call: None
    bids = f"commits/{3:020}.bids/1.claim"

    def restored() -> None:
        cluster.folder.inner._folders.clear()
        cluster.folder.inner._folders.update({under: dict(files) for under, files in before.items()})
        cluster.folder.put(bids, [])
        cluster.folder.counts.clear()

    restored()
    clean(cluster.versions.files, cluster.last)
    after, calls = cluster.folder.inner.all(), sum(cluster.folder.counts.values())
    assert bids not in after
    for number in range(calls):
        restored()

        def killed(call: str, number: int = number) -> None:
            if sum(cluster.folder.counts.values()) > number:
                raise Killed

        cluster.folder.before = killed
        with pytest.raises(Killed):
            clean(cluster.versions.files, cluster.last)
        cluster.folder.before = lambda call: None
        if number % 8 == 0:
            cluster.compare(cluster.process())
        clean(cluster.versions.files, cluster.last)
        assert cluster.folder.inner.all() == after


def test_no_page_stays_without_its_bids_nor_bids_without_their_page():
    cluster = many(30)
    bids = f"commits/{3:020}.bids/1.claim"
    cluster.folder.put(bids, [])
    remove = cluster.folder.remove
    cluster.folder.remove = lambda name: (_ for _ in ()).throw(OSError(5, "no")) if name == bids else remove(name)
    clean(cluster.versions.files, cluster.last)
    assert numbers(cluster, "commits") == [3, *range(24, 31)]
    cluster.folder.remove = remove
    clean(cluster.versions.files, cluster.last)
    assert bids not in cluster.folder.inner.all()
    assert numbers(cluster, "commits") == [*range(24, 31)]
