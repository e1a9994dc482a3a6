"""Large batches, which trees take in their own order: the same answers as from a model, undone, and back to nothing."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR, SqlType, decimal
from ivm.operators.accumulable import AggregateSpec
from ivm.render.reduce import ordered_by
from ivm.trace.ordered import ordered_tree
from ivm.trace.ordered.ordered_tree import in_order
from ivm.trace.ordered.row_order import Term
from tests.reduce import test_ordered
from tests.reduce.model import Bag, Update, apply, plain
from tests.states import rollback, seal

POOLS: dict[str, tuple[SqlType, Any]] = {
    "few": (BIGINT, lambda random: int(random.integers(0, 40))),
    "far apart": (BIGINT, lambda random: int(random.integers(-(2**63), 2**63 - 1))),
    "doubles": (DOUBLE, lambda random: float(random.choice([-1.0, 1.0]) * random.integers(0, 9000) / 8)),
    "wide": (decimal(30, 4), lambda random: int(random.integers(-9, 9)) * 2**64 + int(random.integers(0, 2**40))),
    "texts": (VARCHAR, lambda random: "".join(random.choice(list("abé"), 3))),
}


def specs_of(type_: SqlType, nullable: bool) -> list[AggregateSpec]:
    """MIN and MAX, and aggregates of all forms; where values can be NULL they stand first or last."""
    term, other = Term(1, type_, nullable), Term(2, BIGINT, False)
    found = [AggregateSpec(name, 1, type_, nullable, type_) for name in ("min", "max")]
    asked: list[tuple[str, list[Term], list[Term], tuple[Any, ...]]] = [
        ("arg_min", [other], [], ()),
        ("arg_max", [other], [], ()),
        ("list", [], [Term(1, type_, nullable, True, True)], ()),
        ("quantile_disc", [], [], (Decimal("0.25"),)),
        ("quantile_disc", [], [], (0.9,)),
    ]
    if type_ == VARCHAR:
        asked.append(("string_agg", [], [other], ("+",)))
    elif type_ in (BIGINT, DOUBLE):
        asked.append(("quantile_cont", [], [], (Decimal("0.5"),)))
    for name, others, order, parameters in asked:
        ordered = ordered_by(name, term, others, order)
        result = DOUBLE if name == "quantile_cont" else test_ordered.result_type(name, type_)
        found.append(AggregateSpec(name, 1, type_, nullable, result, ordered, parameters))
    return found


class Driver(test_ordered.Driver):
    """The driver of ordered aggregates, with MIN and MAX beside them."""

    def wanted(self, held: Bag) -> Bag:
        """The model's groups."""
        groups: dict[Any, list[Any]] = {}
        for row, copies in held.items():
            groups.setdefault(row[0], []).extend([row] * copies)
        return Counter((key, *(_aggregate(spec, rows) for spec in self.specs)) for key, rows in groups.items())


def _aggregate(spec: AggregateSpec, rows: list[tuple[Any, ...]]) -> Any:
    if spec.ordered is not None:
        return test_ordered.aggregate(spec, list(rows))
    values = [row[1] for row in rows if row[1] is not None]
    by = (lambda value: value.encode()) if spec.type == VARCHAR else None
    return plain((min if spec.function == "min" else max)(values, key=by, default=None))


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("groups", [1, 7, 300])
@pytest.mark.parametrize("times", [1, 3])
def test_large_batches(pool, groups, times, monkeypatch):
    type_, draw = POOLS[pool]
    random = np.random.default_rng(groups)
    nullable = groups == 7
    types = ((BIGINT, False), (type_, nullable), (BIGINT, False))
    monkeypatch.setattr(ordered_tree, "_MANY", 256)
    driver = Driver(types, specs_of(type_, nullable))
    held: Bag = Counter()
    time = 0
    for share in (0.0, 0.5, 0.9, 1.0):
        gone = [(row, copies) for row, copies in held.items() if random.random() < share]
        batch: list[Update] = [(row, time + i % times, -copies) for i, (row, copies) in enumerate(gone)]
        for i in range(500 if share < 1 else 0):
            value = None if nullable and random.random() < 0.2 else draw(random)
            row = (int(random.integers(groups)), value, int(random.integers(50)))
            batch.append((tuple(map(plain, row)), time + i % times, int(random.integers(1, 3))))
        random.shuffle(batch)
        driver.step([(row, time, 2) for row, time, _ in batch])
        rollback(driver.reduce)
        assert driver.contents() == driver.out
        driver.out = apply(driver.out, driver.step(batch))
        seal(driver.reduce)
        held = apply(held, batch)
        assert driver.contents() == driver.out == driver.wanted(held)
        time += times
    size = driver.reduce.size()
    assert (size.rows, size.entries) == (0, 0)


def test_the_order_of_a_batch_is_that_of_the_tree():
    random = np.random.default_rng(1)
    kinds = np.zeros(3, np.int64)
    keys = np.stack([random.integers(0, 9, 5000), random.integers(-50, 50, 5000), random.integers(0, 99, 5000)], axis=1)
    ordered = keys[in_order(keys, kinds, 5)]
    assert ordered.tolist() == sorted(keys.tolist())
    assert len(in_order(keys, kinds, np.arange(5000))) == 0
    assert len(in_order(keys[:5], kinds, 5)) == 0


def test_rows_of_a_group_stand_together_however_far_their_values_are_apart():
    keys = np.array([[slot, value] for value in (2**63 - 1, -(2**63), 0) for slot in range(2000)], np.int64)
    slots = keys[in_order(keys, np.zeros(2, np.int64), 5), 0]
    assert slots.tolist() == sorted(slots.tolist())
