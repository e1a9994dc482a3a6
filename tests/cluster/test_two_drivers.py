"""Drivers on one folder at once, each with processes of its own, which take turns at every call of the folder.

Now and then one brings all there is to another number of shards, and goes on there.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest

from ivm.catalog.errors import StorageError
from ivm.cluster.files.chains import NOTES, Chain, clean_left, remove
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import Files
from ivm.cluster.files.ledger import opened
from ivm.cluster.files.versions import COMMITS, Version, number_of
from ivm.cluster.protocol.terms import Group, Order, Superseded
from ivm.cluster.shard.copies import Copies
from ivm.storage.agreement import put_by_agreement
from tests.cluster.beside import AtOnce
from tests.cluster.faulty import CALM, Faulty, Rates
from tests.cluster.toy import EXCHANGE, Change, Toy
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

    def __init__(self, name, folder, chance, rescaling):
        self.name, self.chance, self.rescaling = name, chance, rescaling
        self.root = Files(folder, (0,))
        self.acknowledged: list[tuple[int, str]] = []
        self.stopped = self.rescaled = 0

    def work(self):
        try:
            for attempt in range(60):
                try:
                    return self.go_on(attempt)
                except Superseded:
                    self.stopped += 1
                except StorageError:
                    continue
        except Died:
            return

    def begin(self, ledger, shards):
        self.ledger, self.toy = ledger, Toy(shards, LEVELS)
        self.copies = self.process()

    def process(self):
        def make(shard):
            return self.toy.make(shard, lambda: None)

        return Copies(self.ledger, make, EXCHANGE, every=2, beside=AtOnce())

    def go_on(self, attempt):
        ledger, last = opened(self.root)
        self.begin(ledger, last.shards or SHARDS)
        while (number := last.batches.get("s", -1) + 1) < BATCHES:
            if self.rescaling and number and self.chance.random() < self.rescaling:
                last = self.rescale(last, number, attempt)
                self.rescaled += 1
            last = self.commit(last, change(number), ("s", number), f"{number}.{self.name}.{attempt}")
            self.acknowledged.append((number, last.id))
            if self.chance.random() < 0.7:
                clean(self.ledger.files, last)
                clean_left(self.root)

    def rescale(self, last, number, attempt):
        old, shards = self.ledger, self.chance.randint(1, 3)
        self.begin(old.beside(last, shards), shards)
        made = replace(Version(), batches=last.batches)
        rows = Counter(key for each in range(number) for key, n in change(each).rows for _ in range(n))
        made = self.commit(made, Change({}, list(rows.items())), None, f"{number}.{self.name}.{attempt}.scaled")
        old.move(last, self.ledger.name)
        return made

    def commit(self, last, change, batch, id_):
        what, given = self.toy.order(change)
        shards = self.toy.shards
        groups = self.chance.randint(1, shards)
        said = EXCHANGE.messages(given, shards, groups)
        order = Order(last.version + 1, id_, last.id, what, LEVELS, shards)
        for level in range(1, LEVELS + 1):
            inputs = [[each.payload for each in said if each.to == group] for group in range(groups)]
            answers = [self.task(order, Group(n, groups), level, inputs[n]) for n in range(groups)]
            said = [each for messages, _ in answers for each in messages]
        statuses = [status for _, status in answers]
        return self.ledger.publish(last, order, statuses, time=order.version, batch=batch)

    def task(self, order, group, level, payloads):
        if self.chance.random() < 0.05:  # another process, which has nothing
            self.copies = self.process()
        for _ in range(5):
            try:
                return self.copies.run(order, group, level, payloads)
            except Superseded:
                raise
            except StorageError as error:
                failure = error
        raise failure


def play(seed, folder_kind, rescaling):
    chance = random.Random(seed)
    folder, turns = folder_kind(chance, chance.choice([CALM, RATES])), Turns(chance, 0.0005)
    published: dict[int, list[str]] = {}
    drivers = [Driver(name, folder, chance, rescaling) for name in range(chance.randint(2, 3))]
    names = iter(range(1 << 20))
    with (
        patch("ivm.cluster.files.files.token_hex", lambda _: f"{next(names):08x}"),
        patch("ivm.storage.agreement.token_hex", lambda n: f"{next(names):016x}"),
        patch("ivm.storage.agreement.time.sleep", lambda seconds: None),
    ):
        folder.before = turns.meet
        turns.run([each.work for each in drivers])
        folder.before = lambda call: None
        folder.settle()
        folder.rates = CALM
        last = Driver("last", folder, chance, 0)
        last.work()
        versions, newest = opened(Files(folder, ()))
        for each in (*drivers, last):
            for number, id_ in each.acknowledged:
                published.setdefault(number, []).append(id_)
        assert all(len(ids) == 1 for ids in published.values()), f"two were told that they committed: {published}"
        assert newest.batches == {"s": BATCHES - 1}
        for name in versions.files.names(COMMITS):  # what was acknowledged is what there is, as far as it is there
            page = versions.at(number_of(name))
            assert page.batch is None or published.get(page.batch[1], [page.id]) == [page.id]
        toy = Toy(newest.shards, LEVELS)
        copies = Copies(versions, lambda shard: toy.make(shard, lambda: None), EXCHANGE, every=2, beside=AtOnce())
        expected = toy.expected([change(number) for number in range(BATCHES)])
        for shard in range(newest.shards):
            with copies.reading(shard, newest.version, newest.id) as found:
                assert toy.contents(found) == expected[shard]
        last.begin(versions, newest.shards)
        last.commit(newest, Change({}, []), None, "end")
        clean_left(last.root)
    for note in folder.inner.names(NOTES):
        name = note.rpartition("/")[2]
        assert Chain.of(name).token == Chain.of(versions.name).token or not remove(last.root, name)
    return Counter(stopped=sum(each.stopped for each in drivers), rescaled=sum(each.rescaled for each in drivers))


KINDS = {"put_new": Faulty, "agreement": Agreeing}


def played(seeds, kind, rescaling):
    counts: Counter[str] = Counter()
    for seed in seeds:
        counts += play(seed, KINDS[kind], rescaling)
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_drivers_stop_each_other_and_no_batch_counts_twice(kind):
    assert played(range(15), kind, 0)["stopped"] > 15


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_where_they_bring_all_to_other_shards(kind):
    counts = played(range(15), kind, 0.3)
    assert counts["stopped"] > 15
    assert counts["rescaled"] > 15


@pytest.mark.slow
@pytest.mark.parametrize("rescaling", [0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_a_thousand_times(kind, rescaling):
    played(range(1000), kind, rescaling)
