"""Rescaling where others use the folder, or it fails: all of it takes effect, or nothing, and nothing is left behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

import ivm
from ivm.catalog.errors import StorageError
from ivm.cluster.driver.database import ShardedCore, ShardedDatabase
from ivm.cluster.driver.driver import Driver
from ivm.cluster.files import chains
from ivm.cluster.files.chains import NOTES, Chain, begin, clean_left, remove
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import Files
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.protocol.terms import Superseded
from ivm.session.database import core_of
from tests.cluster.faulty import CALM, Faulty, Rates
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import OverCopies, connect

TABLES = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR, mood mood) REPLICATED;
CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price BIGINT UNIQUE);
INSERT INTO shop VALUES (1, 'Bern', 'good'), (2, 'Oslo', NULL);
CREATE MATERIALIZED VIEW cities AS SELECT city, sum(price) AS total FROM sale JOIN shop ON shop = shop.id GROUP BY city;
CREATE TABLE later (id BIGINT PRIMARY KEY);
"""
SAMPLE = 2


class Killed(BaseException):
    pass


def made(folder: Faulty, pauses: tuple[float, ...] = (0,)) -> ShardedDatabase:
    db = connect(folder, 2, pauses=pauses)
    db.sql(TABLES)
    db.apply({"sale": [{"id": i, "shop": i % 2 + 1, "price": i} for i in range(9)]}, batch=("s", 0))
    return db


def driver(db: ivm.Database) -> Driver:
    core = core_of(db)
    assert isinstance(core, ShardedCore)
    return core.driver


def folder_of() -> Faulty:
    return Faulty(random.Random(0))


def names(folder: Faulty) -> list[str]:
    assert isinstance(folder.inner, MemoryFolder)
    return folder.inner.all()


def go_on(db: ivm.Database, number: int) -> None:
    """A batch, perhaps again; and all that there is."""
    db.apply({"sale": [{"id": 100 + number, "shop": 2, "price": -number}]}, batch=("s", number))
    db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT shop, count(*) AS n FROM sale GROUP BY shop")
    db.verify()
    assert db.sql("SELECT count(*) FROM sale WHERE id >= 100").fetchall() == [(number,)]
    assert [table.name for table in db.tables()] == ["shop", "sale", "later"]


def test_it_is_opened_again_where_it_has_moved():
    folder = folder_of()
    db = made(folder)
    for number, shards in enumerate((3, 1, 2), 1):
        db.rescale(shards)
        go_on(db, number)
        before = db
        db = connect(folder)
        assert driver(db).transport.shards == shards
        db.apply({"sale": [{"id": 100 + number, "shop": 2, "price": -number}]}, batch=("s", number))
        db.sql("INSERT INTO later VALUES (1); DELETE FROM later")
        with pytest.raises(StorageError, match="another driver"):
            before.sql("DELETE FROM sale")
    assert Chain.of(Versions(Files(folder)).newest().moved).generation == 2, "no more than one leads there in between"


def test_what_is_left_is_removed_and_the_way_is_found():
    folder = folder_of()
    db = made(folder)
    old = connect(folder)
    db.rescale(3)
    db.rescale(1)
    db.sql("INSERT INTO later VALUES (1)")
    before = len(names(folder))
    clean_left(Files(folder))
    clean_left(Files(folder))
    name = driver(db).ledger.name
    chains = {name for name in names(folder) if not name.startswith(f"scaled/{name}/")}
    left = [each for each in chains if not each.startswith((f"scaled/{name}/", NOTES))]
    assert len(left) == 2 < before, "the pages that say where the two have moved"
    assert len(folder.inner.names(NOTES)) == 2, "of the one there is, and of the one before"
    with pytest.raises(StorageError):
        old.sql("INSERT INTO later VALUES (2)")
    with pytest.raises(StorageError):
        old.view("cities").arrow()
    go_on(connect(folder), 1)


def test_a_page_without_what_it_leads_to_is_an_error():
    folder = folder_of()
    db = made(folder)
    db.rescale(3)
    for name in folder.inner.names(f"scaled/{driver(db).ledger.name}/commits"):
        folder.inner.remove(name)
    with pytest.raises(StorageError, match="cannot find any version under memory/scaled"):
        connect(folder)


def test_of_two_drivers_one_goes_on(monkeypatch):
    folder = folder_of()
    db, other = made(folder), connect(folder)
    other.rescale(3)
    with pytest.raises(Superseded):
        db.rescale(1)
    for _ in range(2):
        with pytest.raises(StorageError, match="another driver has gone on"):
            db.rescale(1)
    assert not any(isinstance(each, OverCopies) and each.is_left for each in (driver(other).transport,))
    go_on(other, 1)


def test_a_commit_of_another_driver_meanwhile_wins(monkeypatch):
    folder = folder_of()
    db, other = made(folder), connect(folder)
    monkeypatch.setattr(Driver, "leave_for", first(lambda: go_on(other, 1), Driver.leave_for))
    with pytest.raises(Superseded):
        db.rescale(3)
    monkeypatch.undo()
    with pytest.raises(StorageError, match="open the database anew"):
        db.sql("DELETE FROM sale")
    clean_left(Files(folder))
    assert not any(name.startswith("scaled") for name in names(folder))
    again = connect(folder)
    again.rescale(3)
    go_on(again, 2)


def first(do: Callable[[], object], then: Callable[..., None]) -> Callable[..., None]:
    def both(*given: object) -> None:
        do()
        then(*given)

    return both


def test_one_that_is_under_way_is_not_removed(monkeypatch):
    folder = folder_of()
    db = made(folder)

    def cleaned() -> None:
        clean(Files(folder), driver(db).version)
        clean_left(Files(folder))

    monkeypatch.setattr(Driver, "leave_for", first(cleaned, Driver.leave_for))
    db.rescale(3)
    go_on(db, 1)
    go_on(connect(folder), 2)


def test_who_knows_little_removes_nothing_and_leads_nobody_back(monkeypatch):
    files = Files(folder_of())
    one = begin(files, "", Version(3, "a", shards=2), 3)
    Versions(files).move(Version(3, "a", shards=2), one)
    assert Chain.of(one)[:3] == (1, 3, 3)
    Versions(files.within(f"scaled/{one}")).move(Version(), two := begin(files, one, Version(), 2))
    Versions(files.within(f"scaled/{two}")).move(Version(), three := begin(files, two, Version(), 2))
    assert Versions(files).newest().moved == two
    begin(files, one, Version(), 4)
    assert Versions(files).newest().moved == two
    files.within(f"scaled/{three}").write("plans/x", b"")
    monkeypatch.setattr(chains, "current", lambda root: (one, Version(0)))
    clean_left(files)
    assert remove(files, three)


def test_nothing_has_changed_if_the_folder_fails():
    assert {failing(number) for number in chosen()} == {2, 3}


def chosen(sample: int | None = SAMPLE) -> list[int]:
    """Calls of the folder in a rescale, the last ones among them, which publish it."""
    folder = folder_of()
    db = made(folder)
    before = sum(folder.counts.values())
    db.rescale(3)
    calls = sum(folder.counts.values()) - before
    places = range(1, calls + 1)
    return [*places] if sample is None else sorted({*random.Random().sample(places, sample), *places[-3:]})


def failing(number: int) -> int:
    """The shards after a rescale of which all calls of the folder from one on fail. It goes on, perhaps opened anew."""
    folder = folder_of()
    db = made(folder, pauses=())
    calls = [number]

    def count(call: str) -> None:
        calls[0] -= 1
        if calls[0] <= 0:
            raise OSError(5, "no answer")

    folder.before = count
    with pytest.raises(StorageError):
        db.rescale(3)
    folder.before = lambda call: None
    try:
        go_on(db, 1)
    except StorageError as error:
        assert "open the database anew" in str(error)  # noqa: PT017
        db = connect(folder)
        go_on(db, 1)
    return driver(db).transport.shards


@pytest.mark.slow
def test_a_driver_dies_at_every_call():
    assert {dying(number) for number in chosen(None)} == {2, 3}


def test_a_driver_dies():
    assert {dying(number) for number in chosen()} == {2, 3}


def dying(number: int) -> int:
    """The shards that there are after a driver has died at a call of the folder."""
    folder = folder_of()
    db = made(folder)
    calls = [number]

    def count(call: str) -> None:
        calls[0] -= 1
        if calls[0] <= 0:
            raise Killed

    folder.before = count
    with pytest.raises(Killed):
        db.rescale(3)
    folder.before = lambda call: None
    again = connect(folder)
    found = driver(again).transport.shards
    go_on(again, 1)
    clean_left(Files(folder))
    again.rescale(1)
    go_on(connect(folder), 2)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_with_a_folder_that_fails_now_and_then(seed):
    chance = random.Random(seed)
    folder, rates = Faulty(chance, CALM), Rates(refuse=0.02, deny=0.02, late=0.02, garble=0.01)
    more = partial(connect, folder, moves=lambda shard: chance.random() < 0.1, pauses=(0,) * 9)
    db = more(2)
    db.sql(TABLES)
    for number, shards in enumerate((3, 1, 2), 1):
        while driver(db).transport.shards != shards:
            folder.rates = rates
            try:
                db.rescale(shards)
            except StorageError:
                folder.rates = CALM  # what the driver cannot read then it says, which is another matter
                db = more()
        folder.rates = CALM
        go_on(db, number)
    go_on(more(), 4)
