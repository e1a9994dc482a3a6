"""Drivers on one folder at once, each with processes of its own, which take turns at every call of the folder."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest

from catalog.errors import StorageError
from ivm.cluster.cleaning import clean
from ivm.cluster.copies import Copies
from ivm.cluster.files import Files
from ivm.cluster.protocol import Order, Superseded
from ivm.cluster.versions import Versions
from ivm.storage.agreement import put_by_agreement
from tests.cluster.beside import AtOnce
from tests.cluster.faulty import CALM, Faulty, Rates
from tests.cluster.toy import Change, Toy
from tests.cluster.turns import Died, Turns

SHARDS, LEVELS, BATCHES = 2, 2, 8
RATES = Rates(refuse=0.005, deny=0.01, late=0.01)


class Agreeing(Faulty):
    def put_new(self, name, data):
        return put_by_agreement(self, name, data)


def change(number):
    chance = random.Random(number)
    return Change({}, [(chance.randrange(9), chance.randint(1, 3)) for _ in range(3)])


class Driver:
    """Commits the batches of a source, from where the folder says that they go on; begins anew where it has to stop."""

    def __init__(self, name, folder, toy, chance):
        self.name, self.toy, self.chance = name, toy, chance
        self.versions = Versions(Files(folder, (0,)))
        self.acknowledged: list[tuple[int, str]] = []
        self.stopped = 0

    def work(self):
        try:
            for attempt in range(60):
                try:
                    self.copies = Copies(self.versions, self.make, every=2, beside=AtOnce())
                    return self.go_on(attempt)
                except Superseded:
                    self.stopped += 1
                except StorageError:
                    continue
        except Died:
            return

    def make(self, shard):
        return self.toy.make(shard, lambda: None)

    def go_on(self, attempt):
        last = self.versions.newest()
        while (number := last.batches.get("s", -1) + 1) < BATCHES:
            last = self.commit(last, number, f"{number}.{self.name}.{attempt}")
            self.acknowledged.append((number, last.id))
            if self.chance.random() < 0.7:
                clean(self.versions.files, last)

    def commit(self, last, number, id_):
        what, inputs = self.toy.order(change(number))
        order = Order(last.version + 1, id_, last.id, what, LEVELS, SHARDS)
        for level in range(1, LEVELS + 1):
            answers = [self.task(order, shard, level, inputs[shard]) for shard in range(SHARDS)]
            said = [each for messages, _ in answers for each in messages]
            inputs = [[each.payload for each in said if each.to == shard] for shard in range(SHARDS)]
        statuses = [status for _, status in answers]
        return self.versions.publish(last, order, statuses, time=number, batch=("s", number))

    def task(self, order, shard, level, payloads):
        if self.chance.random() < 0.05:  # another process, which has nothing
            self.copies = Copies(self.versions, self.make, every=2, beside=AtOnce())
        for _ in range(5):
            try:
                return self.copies.run(order, shard, level, payloads)
            except Superseded:
                raise
            except StorageError as error:
                failure = error
        raise failure


def play(seed, folder_kind):
    chance = random.Random(seed)
    toy, folder, turns = Toy(SHARDS, LEVELS), folder_kind(chance, chance.choice([CALM, RATES])), Turns(chance, 0.0005)
    published: dict[int, list[str]] = {}
    drivers = [Driver(name, folder, toy, chance) for name in range(chance.randint(2, 3))]
    names = iter(range(1 << 20))
    with (
        patch("ivm.cluster.files.token_hex", lambda _: f"{next(names):08x}"),
        patch("ivm.storage.agreement.token_hex", lambda n: f"{next(names):016x}"),
        patch("ivm.storage.agreement.time.sleep", lambda seconds: None),
    ):
        folder.before = turns.meet
        turns.run([each.work for each in drivers])
        folder.before = lambda call: None
        folder.settle()
        folder.rates = CALM
        last = Driver("last", folder, toy, chance)
        last.work()
    versions = Versions(Files(folder, ()))
    newest = versions.newest()
    for each in (*drivers, last):
        for number, id_ in each.acknowledged:
            published.setdefault(number, []).append(id_)
    assert all(len(ids) == 1 for ids in published.values()), f"two were told that they committed: {published}"
    assert newest.version == BATCHES
    assert newest.batches == {"s": BATCHES - 1}
    kept = list(versions.between(newest.version - 1, versions.at(newest.version - 1).id, newest.version))
    assert [each.id for each in kept] == [newest.id]
    for number in range(BATCHES):  # what was acknowledged is what there is, as far as it is there
        if f"commits/{number + 1:020}" in folder.inner.names("commits"):
            assert published.get(number, [None])[0] in (None, versions.at(number + 1).id)
    copies = Copies(versions, last.make, every=2, beside=AtOnce())
    expected = toy.expected([change(number) for number in range(BATCHES)])
    for shard in range(SHARDS):
        with copies.reading(shard, newest.version, newest.id) as found:
            assert toy.contents(found) == expected[shard]
    return sum(each.stopped for each in drivers)


KINDS = {"put_new": Faulty, "agreement": Agreeing}


@pytest.mark.parametrize("kind", KINDS)
def test_drivers_stop_each_other_and_no_batch_counts_twice(kind):
    assert sum(play(seed, KINDS[kind]) for seed in range(25)) > 25


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_a_thousand_times(kind):
    for seed in range(1000):
        play(seed, KINDS[kind])
