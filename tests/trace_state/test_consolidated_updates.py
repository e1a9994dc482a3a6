"""An update of one row is told apart without a hash table; what it comes to is the same."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR, decimal
from ivm.trace.consolidate import consolidate
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import apply, from_delta, to_delta

VALUES: dict[Any, list[Any]] = {
    BIGINT: [None, 1, 2],
    DOUBLE: [0.0, -0.0, 1.5, float("nan")],
    VARCHAR: [None, "a", "b"],
    decimal(30, 2): [1, 2**70],
}


def test_two_rows_of_any_diffs() -> None:
    for type_, values in VALUES.items():
        for one, other, first, second, later in product(values, values, (-1, 0, 1), (-1, 1, 2), (0, 1)):
            updates = [((one, 5), 1, first), ((other, 5), 1 + later, second)]
            types = ((type_, True), (BIGINT, False))
            dictionary = TextDictionary()
            net = from_delta(
                consolidate(to_delta(updates, types, dictionary), [type_, BIGINT]), [type_, BIGINT], dictionary
            )
            for time in (1, 2):
                wanted = apply(Counter(), [update for update in updates if update[1] == time])
                assert apply(Counter(), [update for update in net if update[1] == time]) == wanted
            assert all(diff for _, _, diff in net)
            assert len(net) <= 2 - (
                not later and apply(Counter(), updates[:1]).keys() == apply(Counter(), updates[1:]).keys()
            )
