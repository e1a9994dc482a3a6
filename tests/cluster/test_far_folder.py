"""A folder of which each call takes its time, as those of object stores do: logs, feeds and snapshots are under way while
shards go on, and processes die meanwhile.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from threading import Lock

import pytest

from ivm.cluster.protocol.wire import EXCHANGE
from ivm.cluster.shard.copies import Copies
from ivm.cluster.shard.resident import Resident
from ivm.storage.agreement import put_by_agreement
from tests.cluster import over_copies
from tests.cluster.memory import MemoryFolder
from tests.more import with_more

WAIT = 0.02
"""Seconds of a call."""
TABLES = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price BIGINT);
CREATE MATERIALIZED VIEW revenue WITH (change_feed = true) AS
    SELECT country, sum(price) AS total, count(*) AS n FROM sale JOIN city ON sale.city = city.name GROUP BY country;
INSERT INTO city VALUES ('Bern', 'CH'), ('Basel', 'CH'), ('Oslo', 'NO')
"""


class Far(MemoryFolder):
    """Each call takes `WAIT`, however many there are; `counts` of them. A file is put once, or by agreement."""

    def __init__(self, by_agreement: bool = False) -> None:
        super().__init__()
        self.counts = Counter[str]()
        self._by_agreement = by_agreement
        self._counting = Lock()

    def put(self, name, pieces):
        self._go("put")
        super().put(name, pieces)

    def put_new(self, name, data):
        if self._by_agreement:
            return put_by_agreement(self, name, data)
        self._go("put_new")
        return super().put_new(name, data)

    def read(self, name, *, mapped=True):
        self._go("read")
        return super().read(name)

    def names(self, under=""):
        self._go("names")
        return super().names(under)

    def remove(self, name):
        self._go("remove")
        super().remove(name)

    def _go(self, call: str) -> None:
        with self._counting:
            self.counts[call] += 1
        time.sleep(WAIT)


class Threaded(over_copies.OverCopies):
    """Its processes write beside their work, as they do on a cluster, and are saved often."""

    def _process(self) -> Copies:
        def make(shard: int) -> Resident:
            return Resident(shard, self.shards, history=self._history)

        return Copies(self._versions, make, EXCHANGE, every=3)


@pytest.fixture(autouse=True)
def threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_copies, "OverCopies", Threaded)


@pytest.mark.parametrize("by_agreement", [False, True], ids=["once", "by agreement"])
@pytest.mark.parametrize("seed", with_more(range(1), range(10)))
def test_what_is_committed_is_there_whatever_dies_meanwhile(seed, by_agreement):
    chance, folder = random.Random(seed), Far(by_agreement)
    db = over_copies.connect(folder, 2, moves=lambda shard: chance.random() < 0.1)
    db.sql(TABLES)
    rows = dict[int, int]()
    for number in range(12):
        id_, price = chance.randrange(8), chance.randrange(100)
        rows[id_] = price
        db.apply({"sale": [{"id": id_, "city": "Bern", "price": price}]}, mode="upsert", batch=("source", number))
        if number == 4:
            db.sql("CREATE MATERIALIZED VIEW dear AS SELECT city, max(price) AS most FROM sale GROUP BY city")
        if number % 4 == 3:
            db.close()
            db = over_copies.connect(folder, moves=lambda shard: chance.random() < 0.1)
            assert db.batches() == {"source": number}
            time_ = db.apply({"sale": [{"id": 99, "city": "Oslo", "price": 1}]}, batch=("source", number))
            assert time_ == db.time, "that batch is in"
        assert db.view("revenue").fetchall() == [("CH", sum(rows.values()), len(rows))]
    assert {each.view for each in db.verify()} == {"revenue", "dear"}
    db.close()


def test_commits_make_as_many_calls_after_many_versions(monkeypatch):
    monkeypatch.setattr(f"{__name__}.WAIT", 0.0)
    folder, found = Far(), list[int]()
    with over_copies.connect(folder, 2) as db:
        db.sql(TABLES)
        for number in range(60):
            before = folder.counts.total()
            db.sql(f"INSERT INTO sale VALUES ({number}, 'Bern', 1)")
            found.append(folder.counts.total() - before)
    early, late = sum(found[10:30]), sum(found[40:])
    assert late <= 1.2 * early
    assert late / 20 < 25
