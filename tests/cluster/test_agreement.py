"""Writers who agree by files of their own: all orders of their calls that a seed draws, some of them dying."""

from __future__ import annotations

import random
import threading
from functools import partial
from unittest.mock import patch

import pytest

from ivm.storage.agreement import put_by_agreement
from tests.cluster.faulty import CALM, Faulty, Rates


class Died(BaseException):
    pass


class Turns:
    """Threads of which one runs at a time, from one call of a folder to the next; the seed says which."""

    def __init__(self, chance):
        self.chance = chance
        self.waiting = {}
        self.changed = threading.Condition()
        self.running = None

    def meet(self, call):
        me = threading.get_ident()
        with self.changed:
            if me in self.waiting:
                self.running = None
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.running == me)
        if me in self.waiting and self.chance.random() < 0.02:
            raise Died

    def are_waiting(self, count):
        return len(self.waiting) == count

    def run(self, tasks):
        def work(task):
            me = threading.get_ident()
            with self.changed:
                self.waiting[me] = task
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.running == me)
            try:
                task()
            finally:
                with self.changed:
                    del self.waiting[me]
                    self.running = None
                    self.changed.notify_all()

        threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
        for count, each in enumerate(threads, 1):
            each.start()
            with self.changed:  # so that they are in the same order each time
                self.changed.wait_for(partial(self.are_waiting, count))
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.running is None)
                if not self.waiting:
                    break
                self.running = self.chance.choice(list(self.waiting))
                self.changed.notify_all()
        for each in threads:
            each.join()


RATES = Rates(refuse=0.03, deny=0.03, late=0.03)


def play(seed, rates):
    """Several writers of one name; what each was told, and what others read meanwhile."""
    chance = random.Random(seed)
    folder, turns = Faulty(chance, rates), Turns(chance)
    folder.before = turns.meet
    told, seen = [], []

    def writer(i):
        data = b"%d" % i
        for _ in range(6):
            try:
                told.append((i, put_by_agreement(folder, "c/1", data)))
                seen.append(folder.get("c/1"))
                return
            except OSError:
                continue
            except Died:
                return

    names = iter(range(1 << 20))
    with (
        patch("ivm.storage.agreement.token_hex", lambda n: f"{next(names) * 7919 % 65521:016x}"),
        patch("ivm.storage.agreement.time.sleep", lambda seconds: None),
    ):
        turns.run([lambda i=i: writer(i) for i in range(chance.randint(2, 4))])
    folder.settle()
    folder.rates = CALM
    kept = folder.inner.get("c/1") if told else None
    assert len({*seen, *([kept] if told else [])}) <= 1, (told, seen, kept)
    winners = [i for i, is_ours in told if is_ours]
    assert len(winners) <= 1
    assert not winners or kept == b"%d" % winners[0]
    return bool(winners)


@pytest.mark.parametrize("rates", [CALM, RATES], ids=["calm", "faulty"])
def test_all_see_the_same_and_one_at_most_is_told_that_it_was_the_first(rates):
    won = sum(play(seed, rates) for seed in range(150))
    assert won > 50


@pytest.mark.slow
@pytest.mark.parametrize("rates", [CALM, RATES], ids=["calm", "faulty"])
def test_the_same_in_thousands_of_orders(rates):
    for seed in range(5000):
        play(seed, rates)
