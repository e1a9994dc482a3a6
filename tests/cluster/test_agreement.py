"""Writers who agree by files of their own: all orders of their calls that a seed draws, some of them dying."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest

from ivm.storage.agreement import put_by_agreement
from tests.cluster.faulty import CALM, Faulty, Rates
from tests.cluster.turns import Died, Turns

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
                seen.append(folder.read("c/1").to_pybytes())
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
    kept = folder.inner.read("c/1").to_pybytes() if told else None
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
