"""A driver that another has overtaken does not read what was there before in silence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ivm
from ivm.catalog.errors import StorageError
from ivm.cluster.driver.database import ShardedCore
from ivm.cluster.files import ledger
from ivm.cluster.protocol.questions import Question
from ivm.session.database import core_of
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import connect

TABLES = """
CREATE TABLE sale (id BIGINT PRIMARY KEY, price BIGINT);
CREATE MATERIALIZED VIEW total AS SELECT sum(price) AS price FROM sale;
INSERT INTO sale VALUES (1, 10)
"""
READS = {
    "a view": lambda db: db.view("total").fetchall(),
    "a query": lambda db: db.sql("SELECT price FROM total").fetchall(),
    "a table": lambda db: db.sql("SELECT price FROM sale").fetchall(),
    "changes": lambda db: [db.view("total").changes(db.time).to_pylist()],
}


class Unlisted(MemoryFolder):
    """It can be written and read, and tells no names while `is_out`."""

    is_out = False

    def names(self, under=""):
        if self.is_out:
            raise OSError("cannot be reached")
        return super().names(under)


class Asked(MemoryFolder):
    """Somebody reads as soon as there is a page."""

    def __init__(self):
        super().__init__()
        self.reads: list[Callable[[], object]] = []

    def put_new(self, name, data):
        is_new = super().put_new(name, data)
        while self.reads:
            self.reads.pop()()
        return is_new


def test_a_version_of_ones_own_is_no_other_drivers(monkeypatch):
    monkeypatch.setattr(ledger, "LOOKS", 0.0)
    folder = Asked()
    with connect(folder) as db:
        db.sql(TABLES)
        core = core_of(db)
        assert isinstance(core, ShardedCore)
        found = []
        folder.reads = [
            lambda: found.append(core.driver.ask(Question("sizes")))
        ]  # as who plans a view, without the lock
        db.sql("UPDATE sale SET price = 20")
        assert len(found) == 1
        assert db.view("total").fetchall() == [(20,)]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_who_was_overtaken_is_told_when_he_reads(read, monkeypatch):
    monkeypatch.setattr(ledger, "LOOKS", 0.0)
    folder = Unlisted()
    first = connect(folder, history=5)
    first.sql(TABLES)
    second = connect(folder, history=5)
    assert read(first) == read(second)
    second.sql("UPDATE sale SET price = 20")
    folder.is_out = True
    assert read(first), "nobody can know"
    folder.is_out = False
    for _ in range(2):
        with pytest.raises(StorageError, match="another driver has gone on; open the database anew"):
            read(first)
    with pytest.raises(StorageError):
        first.sql("UPDATE sale SET price = 30")
    assert second.view("total").fetchall() == [(20,)]
    third = connect(folder, history=5)
    second.close()
    assert third.view("total").fetchall() == [(20,)]
    for db in (first, third):
        db.close()


def test_who_was_overtaken_by_other_shards_is_told_too(monkeypatch):
    monkeypatch.setattr(ledger, "LOOKS", 0.0)
    folder = MemoryFolder()
    first, second = connect(folder), None
    first.sql(TABLES)
    second = connect(folder)
    second.rescale(3)
    with pytest.raises(StorageError, match="another driver"):
        first.view("total").fetchall()
    second.sql("UPDATE sale SET price = 20")
    assert second.view("total").fetchall() == [(20,)]
    for db in (first, second):
        db.close()


def test_it_looks_seldom():
    lists = list[str]()

    class Counted(MemoryFolder):
        def names(self, under=""):
            lists.append(under)
            return super().names(under)

    with connect(Counted()) as db:
        db.sql(TABLES)
        lists.clear()
        for _ in range(20):
            assert db.view("total").fetchall() == [(10,)]
        assert len(lists) <= 2


def test_a_database_that_nobody_shares_is_read_as_ever():
    with ivm.connect(shards=2) as db:
        db.sql(TABLES)
        assert db.view("total").fetchall() == [(10,)]
