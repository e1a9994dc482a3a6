"""A shard that is loaded plans its views as they were, whatever they were planned beside and by: that may be gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from unittest.mock import patch

import pytest

import ivm
from ivm.catalog.errors import StorageError
from ivm.cluster.driver.database import ShardedDatabase
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.filler import Pace
from ivm.cluster.driver.transport import InProcess
from ivm.cluster.files.chains import files_of
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import Files
from ivm.cluster.shard.resident import Resident
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import OverCopies
from tests.cluster.saved import loaded_from
from tests.cluster.test_filling import driver
from tests.gone import DROPPED, GROUPS, OTHER_SIZES, ROWS, TABLES, TOTAL, run, view


def begun(db, *more):
    """Tables of some sizes."""
    run(db, *(f"CREATE TABLE {each} PARTITIONED BY (a)" for each in TABLES), *ROWS, *more)


def commits(db, folder):
    """So many that of each shard nothing is left but snapshots that are younger than its views."""
    defined = driver(db).version.version
    for i in range(30):
        db.apply({"b": [{"a": 90_000 + i, "y": i}]})
    assert clean(files_of(Files(folder), driver(db).ledger.name), driver(db).version) > defined


@pytest.mark.parametrize("fills", ["at once", "between commits"])
@pytest.mark.parametrize("what", DROPPED)
def test_what_was_shared_with_a_view_that_is_gone_is_found_again(what, fills):
    folder = MemoryFolder()
    pace = Pace(0, 1 << 15, 0) if fills == "between commits" else OverCopies.pace
    with patch.object(OverCopies, "pace", pace), over_copies.connect(folder) as db:
        begun(db, *DROPPED[what])
        commits(db, folder)
    with over_copies.connect(folder) as db:
        db.verify()
        db.sql("INSERT INTO b VALUES (0, 0)")
        db.verify()


def test_what_was_shared_is_found_again_after_rescale():
    folder = MemoryFolder()
    with over_copies.connect(folder) as db:
        begun(db, view("v", TOTAL.format(k=1)))
        assert isinstance(db, ShardedDatabase)
        db.rescale(1)
        run(db, *OTHER_SIZES, view("w", TOTAL.format(k=2)), "DROP VIEW v")
        commits(db, folder)
    with over_copies.connect(folder) as db:
        assert driver(db).transport.shards == 1
        db.verify()


SMALL = {"b": 2000.0, "c": 2000.0, "e": 1.0}
LARGE = {"b": 2000.0, "c": 1.0, "e": 60_000.0}


def histories(there: tuple[int, ...] = (), made: int = 0) -> Iterator[tuple[int | None, ...]]:
    """All ways in which three views come and go, as long as one is there: None for one that comes, else who goes."""
    if made == 3 and len(there) == 1:
        yield ()
        return
    if made < 3:
        yield from ((None, *rest) for rest in histories((*there, made), made + 1))
    if len(there) > 1:
        for gone in there:
            left = tuple(each for each in there if each != gone)
            yield from ((gone, *rest) for rest in histories(left, made))


def loaded_again(db):
    """Let each shard be another, loaded from what it has saved; with the same plans."""
    transport = driver(db).transport
    assert isinstance(transport, InProcess)
    made = []
    for number, old in enumerate(transport.residents):
        new = Resident(number, transport.shards)
        loaded_from(old, new)
        assert new.engine.plans() == old.engine.plans()
        made.append(new)
    transport.residents = made


@pytest.mark.parametrize("loads", ["each time", "at last"])
@pytest.mark.parametrize("sizes", [(SMALL, LARGE, LARGE), (SMALL, SMALL, LARGE), (SMALL, LARGE, SMALL)])
def test_three_views_that_share_exchanges_come_and_go_in_every_order(sizes, loads):
    for history in histories():
        with ivm.connect(shards=1, compile="off") as db:
            run(db, *(f"CREATE TABLE {each} PARTITIONED BY (a)" for each in TABLES))
            made = 0
            for gone in history:
                if gone is None:
                    with patch.object(
                        Driver, "sizes", lambda self, at=made: sizes[at] | dict.fromkeys(self.views, 1.0)
                    ):
                        db.sql(view(f"v{made}", TOTAL.format(k=made)))
                    made += 1
                else:
                    db.sql(f"DROP VIEW v{gone}")
                    if loads == "each time":
                        loaded_again(db)
            loaded_again(db)
            for table in "bce":
                db.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
            (left,) = (each.name for each in db.views())
            assert db.view(left).fetchall() == [(2 + int(left[1:]),)]


def resident():
    db = ivm.connect(shards=1, compile="off")
    begun(db, view("v", GROUPS.format(k=1)))
    return driver(db).transport.residents[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("what", ["parts", "of"])
def test_plans_of_another_release_are_refused(what):
    def other(head):
        said = json.loads(head)
        if what == "parts":
            said["plans"]["parts"][-1]["is"] = "SomethingNewPlan"
        else:
            said["plans"]["of"]["v"] = "another relation"
        return json.dumps(said).encode()

    with pytest.raises(StorageError, match="of other plans than this release of ivm makes"):
        loaded_from(resident(), Resident(0, 1), head=other)


@pytest.mark.parametrize("head", [b"", b"{}", b"[]", b'{"manifest": {}}', b"\xff"])
def test_a_head_that_is_none_is_refused(head):
    with pytest.raises(StorageError, match="it was not written by ivm"):
        loaded_from(resident(), Resident(0, 1), head=lambda _: head)


def test_what_a_shard_has_written_once_is_not_written_again():
    db = ivm.connect(shards=1, compile="off")
    begun(db, "INSERT INTO e VALUES (1, 1)", view("v", GROUPS.format(k=1)))
    folder, made = MemoryFolder(), list[list[str]]()
    (old,) = driver(db).transport.residents  # type: ignore[attr-defined]
    for number in range(8):
        before = set(folder.all())
        new = Resident(0, 1)
        loaded_from(old, new, folder)
        assert new.engine.plans() == old.engine.plans()
        assert [(n, table.count) for n, table in new.engine.tables.items()] == [
            (n, table.count) for n, table in old.engine.tables.items()
        ]
        made.append([name for name in folder.all() if name not in before and name.startswith("pieces")])
        if number == 4:
            old = new  # which knows of one snapshot alone
            driver(db).transport.residents = [new]  # type: ignore[attr-defined]
        if number in (2, 5):
            db.sql("DELETE FROM b WHERE a = (SELECT min(a) FROM b)")
            db.verify()
    sizes = [*map(len, made)]
    assert sizes[0] == sizes[1] == sizes[5], "of the last one nothing is used again"
    assert sizes[2] == 1, "nothing has changed"
    assert sizes[3] == sizes[4] == sizes[6] == sizes[7] < sizes[0], "which rows live, and a state"
